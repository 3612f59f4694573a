#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random results, logs and verdicts through the executable model and through Heddle.

  audit_differential.py HEDDLE_VECTORS [--cases N] [--seed S]

Writes a folder of cases whose answers are those of tests/tools/gen_tuning.py and lets the
vector runner compare. The seed is printed; the same seed gives the same cases. Two rules
of the specification's text that the model lacks are added here: nesting above 1,000
levels, and the defaults of an event. For verdicts that are no object and zeros in front
of numbers of a log no case is made; unit tests hold these.
"""
import argparse
import base64
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gen_tuning as model  # noqa: E402

STATUSES = ["ok", "failed", "no_improvement", "empty_output", "partial_output", "skipped",
            "complete", "success", " FAILED\n", "\u00a0Failed\u2003", "faiIed", "\u212aok",
            "timeout", "", "Succeeded", "s\u212aipped", "S\u212aIPPED", "\u017fkipped", "fa\u0130led", "fa\u0131led",
            "\u3000failed\u205f", "failed\u200b", "\ufefffailed", "\u1680skipped\u202f", "\x1fok\x1e", "o\u212a", "O\u212a",
            "FAILED", "Partial_Output", "\u180eok", "empty_output\x85", "completed\u200b", "\u0130", "SKIPPED\x1c"]
CLASSES = ["subprocess_error", "timeout", "subprocess_timeout", "unsupported_argument",
           "Unsupported_Argument ", "", "ValueError", "TIMEOUT\t", "empty_output"]
# Characters of the private use area stand for bytes that are no UTF-8: each kind.
BAD_BYTES = [b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xed\xa0\x80",
             b"\xed\xbf\xbf", b"\xed\xa0\xbd\xed\xb8\x80", b"\xf0\x80\x80\x80", b"\xf0\x8f\xbf\xbf",
             b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff", b"\xfe", b"\xc3", b"\xe2\x82", b"\xf0\x9f",
             b"\xf0\x9f\x98", b"\xe2\x82\xe2\x82\xac", b"\xf8\x88\x80\x80\x80"]
BAD = [chr(0xF700 + i) for i in range(len(BAD_BYTES))]
ODD_TEXTS = ["\ufeff", "a\ufeffb", "\u2028", "\u2029x", "\x85", "\u0085\u00a0", "\udfff", "\udc00\ud800", "\ud83d\ude00",
             "\ud83d\\", "\ufffe\uffff", "\U0010ffff", "\u007f", "\u0000", "\uffff", "\u0600", "\u20ac" * 400,
             "\u20ac" * 401, "\U0001f600" * 200 + "\ud800" * 200, "a" * 399 + "\U0001f600", "a" * 400 + "\u0301",
             "\"" * 400, "\\" * 401, "\n" * 400] + BAD
NAMES = ["fmoe_ck", "a8w8", "sglang_dense_bf16", "a8w8_blockscale", "", "*", "unknown", "5",
         "NaN", "\ud800x", "\U0001f600", "a\u0000b", "-1.50"]
ENGINES = ["forge", " GEAK ", "\u0130STANBUL", "\u0391\u03a3", "\u0391\u03a3\u0391", "a\u03a3'",
           "\u00a0", "", "\u1e9e\u01c5\u2160", "\u00c9LAN\u03a3\u0301", "\ud835\udc00\ua64a",
           "\U00010400\U0001e900", "\u03a3", "A\u00ad\u03a3", ".\u03a3.", "1\u03a3"]
NUMBERS = ["0", "-0", "0.0", "1", "1.0", "1.0000001", "1.5", "12.500", "1e400", "-1e400",
           "1e-400", "9007199254740993", "-3.25E+2", "0e5", "2.2250738585072011e-308",
           "0.99999999999999999999", "1.00000000000000000000000000001", "5", "-1.50",
           "123456789012345678901234567890", "4.9e-324", "1E0", "1E+5", "-0.0e-0", "-0E9", "1e-5000", "0e99999", "1e99999999999999999999",
           "1" + "0" * 308, "1" + "0" * 309, "0." + "0" * 330 + "1", "179769313486231580793728971405301e276", "1.7976931348623159e308",
           "1.0000000000000002", "1.00000000000000011102230246251565404", "1.000000000000000111022302462515655", "1e-323", "2e-324",
           "2.4703282292062327208e-324", "2.4703282292062328e-324"]
SPECIALS = ["NaN", "Infinity", "-Infinity"]
ERRORS = ["Tuner exited with code %s: x", "exited with code %s", "xexited with code %s",
          "\u00e9exited with code %s", "(exited with code %s)", "exited with code %sa",
          "exited with code %s\u00e9", "exited with code %s\u0663", "exited with code 1234567890 exited with code %s",
          "\u20acexited with code %s.", "_exited with code %s", "exited with code  %s"]
WORKSPACES = ["/r/M/S/runs/gemm_tuning/T", "M/S/runs/gemm_tuning/T//", "/S/runs/gemm_tuning/T",
              "M/S/runs/gemm_tuning/", "M/S/runs/gemm_tuning/T/x", "M/S/runs/gemm_tuning/T\n",
              "M/S/runs/gemm_tuning/T/\n", "", "M/S/runs/gemm_tuning", "M//runs/gemm_tuning/T", "//M/S/runs/gemm_tuning/T///",
              "M/S/runs/gemm_tuning/T\n\n", "M/S/runs/gemm_tuning/T/\n/", "M\n/S\n/runs/gemm_tuning/T\nx", "\n/\n/runs/gemm_tuning/\n",
              "M/S/runs/gemm_tuning/runs/gemm_tuning/T", "A/B/runs/gemm_tuning/C/D/runs/gemm_tuning/E", "M/S/runs/gemm_tuning//\n",
              "M/S/runs/gemm_tuning/T//\n", "M/S/runs/gemm_tuning/\n\n", "x/M/S/Runs/gemm_tuning/T", "M/S//runs/gemm_tuning/T", "/", "\n", "a/M\u00e9/S\u0000/runs/gemm_tuning/\ud800"]
STRINGS = ODD_TEXTS + NAMES + STATUSES + ENGINES + ["x" * 399, "x" * 400, "x" * 401, "\u00e9" * 401,
           "\U0001f600" * 401, "e\u0301" * 300, "\ud83d" * 405, "\"\\\b\f\n\r\t/\x7f\x00\x1f"]
RUN_TEXTS = ["Error: No such option: --x", "Error: No such option --x", "Error: No such option:--x",
             "Error: Invalid value for '--y': z", "Error: Missing option '-q'", "Error: Missing option",
             "prog: error: unrecognized arguments: --libtype x", "a b: error: unrecognized arguments: q",
             "prog: error: argument -x: invalid choice: 'q'", "prog: error: argument : expected one",
             "prog: error: argument x: y: not allowed with z  ", "prog: error: ambiguous option: --a\r",
             "\x1b[31mprog: error: the following arguments are required: -i\x1b[0m", "",
             "p\u00a0q: error: ambiguous option: b", "p\u200bq: error: ambiguous option: b",
             "prog: error: argument x: invalidx", "prog: error: argument x:invalid",
             "prog: error: unrecognized arguments:", "prog: error: something else", "no", "Error: No such option:", "Error: No such option  x",
             "Error: Invalid value for  ", "error: unrecognized arguments: x", ": error: unrecognized arguments: x",
             "p:q: error: unrecognized arguments: x", "prog: error: argument a: b: expected", "prog: error: argument a: expectedb: invalid",
             "prog: error: argument : : invalid", "prog: error: argument :: invalid", "prog: error: argument a:  invalid",
             "prog: error: argument a: not  allowed", "prog: error: unrecognized arguments:  x", "prog: error: unrecognized arguments: \u2003",
             "prog:  error: ambiguous option: x", "prog: error:  ambiguous option: x", "\u2028p: error: ambiguous option: x",
             "p: error: ambiguous option: a\rb", "p: error: ambiguous option: a\u2028b", "p\x0b: error: ambiguous option: a",
             "p: error: ambiguous option: a\x0b\x0c\x1c\x85", "\x1b[0;1mp\x1b[m: \x1b[31merror: ambiguous option: a", "usage: error: ambiguous option: a",
             "\x1b[\x1b[0mp: error: ambiguous option: x", "\x1b[0 /mp: error: ambiguous option: x", "\ud800: error: ambiguous option: \udc00"]
LOG_LINES = ["# Command: python3 a/b/gemm_tuner.py -i x --libtype y", "# CWD: /x", "# Elapsed: 10.8s",
             "# Elapsed: 11s", "# Elapsed: 1.s", "# Elapsed: 12.5s x", "# Exit code: 0", "# Exit code: 2",
             "# Exit code: -9", "# Exit code: 1234567890", "# Exit code: 0 ", "# TIMEOUT after 3600.0s",
             "# Command: \u2003prog\u00a0dir/", "#", "", " ", "=== STDOUT ===", "usage: gemm_tuner.py [-h]",
             "usage: ", "usage: prog x", "!Process exited with code 2 (tuning finished with warnings)",
             "!Process exited with code 0", "!Process killed by signal 11, retrying (1/30)",
             "!Process exited with code x", " !Process exited with code 3",
             "[Tuning not Finished] some", "x [Tuning not Finished]", "retried num is 0",
             "gemm_tuner.py: error: unrecognized arguments: --libtype hipblaslt",
             "gemm_tuner.py: error: argument --x: invalid int value: 'a'",
             "\x1b[1;31mgemm_tuner.py: error: ambiguous option: --l\x1b[0m \r",
             "\x1b[?25lgemm_tuner.py\x1b[ q: error: the following arguments are required: -i",
             "prog: error: unrecognized arguments: \u00e9", "other: error: unrecognized arguments: z",
             "x gemm_tuner.py: error: unrecognized arguments: z", "\x1b[", "\x1b[3", "tail\u2028", "a\x0bb\x1c",
             "\u00e9\ufffd", "usage: usage", "usage: error: unrecognized arguments: z", "usage: error: more", "usage:\tprog", "usage:  prog:",
             "usage: gemm_tuner.py", "usage: \u2003p\u00a0x", "p: error: ambiguous option: a", "# Command: usage p", "# Command: a/b/ c//d /e/f: g",
             "d: error: ambiguous option: a", ": error: ambiguous option: a", "b: error: ambiguous option: a", "f: error: ambiguous option: a",
             "# Command:  x", "# Command: ", "# Command:", "# Elapsed: 0.50s", "# Elapsed: .5s", "# Elapsed: 1.5S",
             "# Elapsed: 1.5s\x0c", "# Elapsed: 1e3s", "# Elapsed: -1s", "# Exit code: 123456789", "# Exit code: -123456789", "# Exit code: -1234567890",
             "# Exit code: --1", "# Exit code: +1", "# Exit code: 3\u2028", "# Exit code: 3 x", "# Exit code:4", "# TIMEOUT after ", "# TIMEOUT after",
             "# TIMEOUT after x", " # Exit code: 7", "#  Exit code: 7", "\x1b[0m# Exit code: 8", "# Exit\x1b[1m code: 9", "\x0c", "\u2028", "\x1b[0m",
             "!Process killed by signal 9", "!Process killed by signal", "!Process killed by signal -9", "!Process exited with code -9",
             "!Process exited with code 12345678901234567890", "\x1b[31m!Process exited with code 5\x1b[0m", "!Process exited with code 10x",
             "[Tuning not\x1b[0m Finished]", "[[Tuning not Finished]", "[Tuning not Finished", "[Tuning [Tuning not Finished]]", "# x [Tuning not Finished]",
             "gemm_tuner.py: error: argument -x/--y: expected one argument", "gemm_tuner.py: error: ", "gemm_tuner.py: error: unrecognized arguments: ",
             "a\rgemm_tuner.py: error: ambiguous option: x", "\tgemm_tuner.py: error: ambiguous option: x", "gemm_tuner.py\t: error: ambiguous option: x",
             "gemm_tuner.py: error: ambiguous option: a\tb\x1b[K", "\x1b\x1b[0mgemm_tuner.py: error: ambiguous option: x", "\x1b[0;", "\x1b[0 ", "\x1b]0;t\x07"]


class Raw(str):
    """JSON text that stands as it is."""


def rand_value(rng, depth=0):
    k = rng.random()
    if k < 0.25:
        return rng.choice(STRINGS)
    if k < 0.45:
        return Raw(rng.choice(NUMBERS))
    if k < 0.52:
        return Raw(rng.choice(SPECIALS))
    if k < 0.68 or depth > 3:
        return rng.choice([None, True, False, [], {}])
    if k < 0.84:
        return [rand_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return Members((rng.choice(STRINGS + ["a", "b", "c"]), rand_value(rng, depth + 1))
                   for _ in range(rng.randrange(4)))


class Members(list):
    """An object as pairs, so keys may repeat."""


def deep(rng):
    n = rng.randrange(990, 1011)
    core = rng.choice(["", "1", "NaN", "\"x\"", "[],{}", "{\"k\":-Infinity}"])
    if rng.random() < 0.5:
        return Raw("[" * n + core + "]" * n)
    return Raw("{\"a\":" * n + (core if core not in ("", "[],{}") else "[]") + "}" * n)


def huge(rng):
    if rng.random() < 0.4:
        return deep(rng)
    if rng.random() < 0.4:
        return rng.choice("x\u00e9\U0001f600\"") * rng.randrange(398, 403)
    if rng.random() < 0.4:
        return ["x" * (rng.choice([4092, 8188]) + rng.randrange(-3, 4))]
    return rng.choice([["x" * rng.choice([4090, 4091, 4092, 4093, 8184, 8188, 8189, 8190, 9000])],
                       [Raw("NaN")] * rng.choice([10, 585, 586, 1170, 1171]),
                       Raw("[" * 900 + "]" * 900), "y" * 5000,
                       ["\u00e9" * 700, "\U0001f600" * 400]])


def write_string(rng, s):
    if rng.random() < 0.6:
        return json.dumps(s)
    out = []
    for ch in s:
        c = ord(ch)
        if 0xD800 <= c < 0xE000 or c < 0x20 or ch in "\"\\" or rng.random() < 0.1:
            out.append(json.dumps(ch)[1:-1])
        else:
            out.append(ch)
    return '"' + "".join(out) + '"'


def write(rng, v):
    ws = rng.choice(["", "", "", " ", "\n", "\t\r "])
    if isinstance(v, Raw):
        return ws + str(v)
    if isinstance(v, str):
        return ws + write_string(rng, v)
    if v is None or isinstance(v, bool):
        return ws + json.dumps(v)
    if isinstance(v, Members):
        pairs = list(v)
    elif isinstance(v, dict):
        pairs = list(v.items())
    else:
        return ws + "[" + ",".join(write(rng, e) for e in v) + ws + "]"
    return ws + "{" + ",".join(write_string(rng, k) + ws + ":" + write(rng, e) for k, e in pairs) + ws + "}"


def pick(rng, good, p=0.85):
    r = rng.random()
    if r < p:
        return rng.choice(good)
    return huge(rng) if r > 0.985 else rand_value(rng)


def code(rng):
    return rng.choice(["1", "-9", "139", "0", "-0", "124", "123456789", "-123456789", "1234567890", "12345678901", "--1", "+1",
                       "1\u0660", "1.5", "1-", "1_", "1\ud800", "\u0661"])


def rand_tuner(rng):
    t = Members()
    for key, values, share in [
            ("tuner", NAMES, 0.85), ("name", NAMES, 0.3), ("tuner_name", NAMES, 0.2),
            ("status", STATUSES, 0.9), ("elapsed_s", [Raw(n) for n in NUMBERS], 0.8),
            ("best_micro_speedup", [Raw(n) for n in NUMBERS] + [None], 0.5),
            ("error_class", CLASSES + [None], 0.4), ("kept", [None, True, False], 0.2),
            ("env_value", ["/p/1.csv", "/p/2.csv", "", Raw("5"), "5", Raw("NaN"), "NaN", Raw("-1.50"), "-1.50", None, ["5"]], 0.5),
            ("error", [e % code(rng) for e in ERRORS] + STRINGS + [None], 0.5),
            ("total_shapes", [Raw("3")], 0.2)]:
        if rng.random() < share:
            t.append((key, pick(rng, values)))
    while rng.random() < 0.3:
        t.append((rng.choice(["new_key", "other", "status", "\ud800", "kept", "tuner", "name", "error", "a\"\n\\", "\ufeff", BAD[6], BAD[0]]),
                  pick(rng, STRINGS, 0.4)))
    rng.shuffle(t)
    return t


def rand_result(rng):
    r = Members()
    for key, values, share in [
            ("status", STATUSES, 0.9), ("micro_decision", ["candidate", "failed"], 0.8),
            ("decision", ["KEEP", "REVERT"], 0.7), ("backend", ENGINES, 0.8), ("engine", ENGINES, 0.7),
            ("best_speedup", [Raw(n) for n in NUMBERS], 0.4), ("precision", ["bf16"], 0.5),
            ("framework", ["sglang"], 0.4), ("gpu_type", ["mi355x"], 0.4), ("tuned_file", ["/t"], 0.2),
            ("workspace", WORKSPACES, 0.7), ("requires_e2e_validation", [True, False], 0.3),
            ("error_class", CLASSES + [None], 0.4), ("error", STRINGS + RUN_TEXTS, 0.3),
            ("returncode", [Raw("1"), Raw("-15")], 0.2), ("skip_reason", ["a8w8: no shapes", ""], 0.2),
            ("stderr_tail", ["\n".join(rng.choice(RUN_TEXTS) for _ in range(3))], 0.3),
            ("attempt_id", ["att-1", "", "\ud800"], 0.2), ("run_id", ["run-1", ""], 0.2),
            ("started_at", ["2026-08-13T09:14:28Z", "", Raw("5"), None, ["x"], "\ud800", True], 0.4), ("tokens", [[Raw("1")]], 0.2)]:
        if rng.random() < share:
            r.append((key, pick(rng, values)))
    if rng.random() < 0.9:
        tuners = [rand_tuner(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 5]))]
        while rng.random() < 0.15:
            tuners.insert(rng.randrange(len(tuners) + 1), rand_value(rng))
        r.append(("tuners_run", tuners if rng.random() < 0.93 else rand_value(rng)))
        if rng.random() < 0.05:
            r.append(("tuners_run", rng.choice([None, [], tuners[:1], Raw("0"), Raw("0.0"), Raw("-0"), Raw("NaN"), {}, ""])))
    while rng.random() < 0.3:
        r.append((rng.choice(["later_key", "x\u00e9", "\U0001f600", "status", "tuners_run_2", "", "error", "workspace", "engine",
                              "a\"\n\\", "\u2028", "\udc00", BAD[2], BAD[8], BAD[16]]),
                  pick(rng, STRINGS, 0.3)))
    rng.shuffle(r)
    return r


def rand_log(rng):
    head = ["# Command: python3 a/gemm_tuner.py -i x", "# CWD: aiter", "# Elapsed: 10.8s",
            "# Exit code: %d" % rng.choice([0, 0, 2]), ""] if rng.random() < 0.6 else []
    body = [rng.choice(LOG_LINES) for _ in range(rng.randrange(8))]
    return rng.choice(["\n", "\n", "\r\n"]).join(head + body)


def rand_e2e(rng):
    def item():
        m = Members()
        for key, values, share in [("tuner", NAMES, 0.9), ("env_value", ["/p/1.csv", "/p/2.csv", "5", ""], 0.7),
                                   ("reason", ["x"], 0.3)]:
            if rng.random() < share:
                m.append((key, pick(rng, values, 0.95)))
        return m if rng.random() < 0.93 else rand_value(rng)
    body = Members((b, [item() for _ in range(rng.randrange(4))] if rng.random() < 0.9 else rand_value(rng))
                   for b in ("kept", "reverted", "faults") if rng.random() < 0.85)
    e = Members([("e2e_results", body if rng.random() < 0.93 else rand_value(rng))])
    for key in ("e2e_validated", "e2e_gain_pct", "decision", "status", "micro_decision", "other"):
        if rng.random() < 0.4:
            e.append((key, rand_value(rng)))
    return e


def mutate(rng, raw):
    raw = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 5])):
        if not raw:
            break
        at = rng.randrange(len(raw))
        k = rng.random()
        if k < 0.4:
            raw[at] = rng.randrange(256)
        elif k < 0.6:
            del raw[at:at + rng.choice([1, 1, 4, 100])]
        elif k < 0.8:
            raw[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 2, 3])))
        else:
            raw[at:at] = rng.choice([b"NaN", b"-", b"\\u", b"\\ud83d", b"\xef\xbb\xbf", b"\xed\xa0\x80", b",", b"]"])
    return bytes(raw)


def to_bytes(text):
    """Private characters become the bad bytes they stand for."""
    raw = text.encode("utf-8", "surrogatepass")
    for ch, bad in zip(BAD, BAD_BYTES):
        raw = raw.replace(ch.encode(), bad)
    return raw


def depth(v):
    """Levels of arrays and objects, without recursion."""
    deepest, left = 0, [(v, 1)]
    while left:
        v, level = left.pop()
        if isinstance(v, (list, dict)):
            deepest = max(deepest, level)
            left += [(e, level + 1) for e in (v.values() if isinstance(v, dict) else v)]
    return deepest


def omit_deep(row, key, path, notes):
    """The text's rule for a field of the row: above 1,000 levels its size stands there."""
    if depth(row.get(key)) <= 1000:
        return
    row[key] = {"$omitted_bytes": model.Num(len(model.dumps(row[key])))}
    if path:
        notes.add("too_deep:" + path)


def add_text_rules(want, result):
    if want["row"] is None:
        return
    row, x = want["row"], want["x"]
    notes = set(x.get("notes", []))
    for key in list(row):
        own = key != "error_class" or model.truthy(result.get(key))
        if key not in ("kind", "engine", "ts", "tuners_run"):
            omit_deep(row, key, key if own else None, notes)
    for entry, beside in zip(row["tuners_run"], x.get("tuners", [])):
        # Noted as it is read, like a NaN, even where a verdict replaces it.
        omit_deep({"kept": result["tuners_run"][int(beside["i"])].get("kept")}, "kept",
                  "tuners_run[%s].kept" % beside["i"], notes)
        for key in list(entry):
            omit_deep(entry, key, "tuners_run[%s].%s" % (beside["i"], key), notes)
    if notes:
        x["notes"] = sorted(notes)


def derive(raw, us, logs, e2e, defaults):
    """The model's answer, with what the text adds to it."""
    seen = {}

    def filled(text):
        result = plain_parse(text)
        if isinstance(result, dict):
            for key, value in defaults.items():
                result.setdefault(key, value)
        seen["result"] = result
        return result
    plain_parse, model.parse = model.parse, filled
    try:
        want = model.derive(raw, us, logs, e2e)
    finally:
        model.parse = plain_parse
    add_text_rules(want, seen.get("result"))
    return want


def rand_defaults(rng):
    pairs = Members()
    while rng.random() < 0.7:
        pairs.append((rng.choice(["engine", "backend", "workspace", "status", "decision", "tuners_run", "error", "later_key", "x\u00e9",
                                  "attempt_id", "a\"\n\\", "new", "new2", "started_at"]), pick(rng, STRINGS[:20] + WORKSPACES, 0.7)))
    return write(rng, pairs).strip()


def printable(text):
    return all(ch not in text for ch in BAD)


def make_case(rng, i):
    raw = to_bytes(write(rng, rand_result(rng)))
    k = rng.random()
    if k < 0.2:
        raw = mutate(rng, raw)
    elif k < 0.23:
        raw = rng.choice([b"", b" \n", b"[]", b"null", b"1e5", b"\"x\"", b"\xef\xbb\xbf" + raw])
    logs = {rng.choice(NAMES[:5] + ["*", "\U0001f600"]): rand_log(rng) for _ in range(rng.choice([0, 0, 1, 2]))}
    e2e = write(rng, rand_e2e(rng)).strip() if rng.random() < 0.4 else None
    if rng.random() < 0.02:
        raw += rng.choice(BAD_BYTES)
    defaults = rand_defaults(rng) if rng.random() < 0.2 else "{}"
    if e2e and not printable(e2e):
        e2e = None
    if not printable(defaults):
        defaults = "{}"
    us = rng.choice([1786957200000000, 0, -1, 253402300799999999, rng.randrange(10**16)])
    want = derive(raw, us, logs, model.parse(e2e) if e2e else None, model.parse(defaults))
    if want["row"] is not None:
        want["row_line"] = model.dumps(want["row"])
    else:
        want["row_line"] = None
    case = '{"id": %s, "event_time_us": %d, "result_b64": "%s", "logs": %s, "defaults": %s, "expected": %s' % (
        json.dumps("case %d" % i), us, base64.b64encode(raw).decode(), json.dumps(logs), defaults, model.dumps(want))
    return case + (', "e2e": %s}' % e2e if e2e else "}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("vectors")
    ap.add_argument("--cases", type=int, default=4000)
    ap.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    ap.add_argument("--keep", default="", help="keep the folder of cases there")
    a = ap.parse_args()
    print("seed %d, %d cases" % (a.seed, a.cases), flush=True)
    sys.setrecursionlimit(20000)
    rng = random.Random(a.seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = a.keep or scratch
        os.makedirs(folder + "/tuning", exist_ok=True)
        with open(folder + "/tuning/rows.json", "w", encoding="utf-8", errors="surrogatepass") as out:
            out.write('{"vectors": [\n')
            out.write(",\n".join(make_case(rng, i) for i in range(a.cases)))
            out.write("\n]}\n")
        return subprocess.run([a.vectors, "--dir", folder], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
