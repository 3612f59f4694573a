#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated and damaged traces: the executable model's reading and index against Heddle's.

  split_differential.py SPLIT_DUMP [--seed N] [--cases N] [--files FILE...] [--keep DIR]

Each case is a trace of gen_trace.py (framework, mode and damage drawn from the seed), then
cut or with bytes changed, plain or gzip, or assembled from odd JSON. A case that differs
prints the first difference and the command that shows it again; exit 1 when one did.
"""
import argparse, gzip, io, json, os, random, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import gen_trace  # noqa: E402
import split_oracle as O  # noqa: E402

CATEGORY = {c: i for i, c in enumerate(
    ["", "cpu_op", "cuda_runtime", "cuda_driver", "python_function", "", "gpu_user_annotation", "kernel", "gpu_memcpy", "gpu_memset"]) if c}
FRAMEWORKS = "vllm vllm-native sglang sglang-native atom atom-native xdit profilerstep none drift".split()


def text(s):
    return O.re.sub("[\ud800-\udfff]", "\ufffd", s)


LONE = O.re.compile(r"(\\ud[89ab]..\\ud[c-f]..)|\\ud[89a-f]..")


def halves(s):
    """the compact form of a value, in which half of a surrogate pair counts as U+FFFD whatever it came from"""
    return s if s is None else LONE.sub(lambda m: m.group(1) or "\\ufffd", s)


def ident(v):
    k = O.key(v)
    return None if k is None else text(k)


def event(e, annotation=False):
    gpu = e.cat in O.GPU_CATS
    cat = 5 if annotation else 0 if e.cat == "user_annotation" else CATEGORY.get(e.cat, 0)
    a = e.args
    row = [e.i, -1 if e.i2 is None else e.i2, e.ts, e.dur, cat, e.name, text(e.pid), text(e.tid), ident(a.get("correlation")), ident(a.get("External id"))]
    if gpu:
        return row + [ident(a.get("stream"))] + [halves(O.compact(a[k])) if isinstance(a.get(k), list) else None for k in ("grid", "block")]
    return row + [halves(O.compact(a[k])) if k in a else None for k in ("Input Dims", "Input type")] + [O.has_dims(e)]


def model(raw, salvage, cap=O.EVENT_CAP):
    notes, doc = O.Notes(), {"refusal": None}
    p = O.Params(salvage=salvage)
    try:
        rd = O.read_events(raw, p, notes, cap)
        ix = O.Index([(o, d) for o, d, _, _ in rd.events], notes)
        notes.set("events", len(rd.events))
        ann = set(e.i for e in ix.annotations)
        links = {}
        for e in ix.kernels:
            links.setdefault(ident(e.args.get("correlation")), []).append(e.i)
        doc["index"] = {
            "gpu_busy": ix.gpu_busy, "metadata": len(ix.meta), "objects": ix.n_event_objects,
            "cpu": [event(e, e.i in ann) for e in ix.cpu], "gpu": [event(e) for e in ix.kernels],
            "annotations": [event(e, True) for e in ix.annotations], "gpu_annotations": [event(e) for e in ix.gpu_annotations],
            "instants": [[e.i, e.ts] for e in ix.instants],
            "flows": sorted([text(k)] + sorted(e.i for e in v) for k, v in ix.flows.items()),
            "gpu_of": [[ident(e.args.get("correlation"))] + (sorted(links[ident(e.args.get("correlation"))]) if ident(e.args.get("correlation")) is not None else [])
                       for e in ix.kernels],
            "correlated": sorted([text(t[0]), text(t[1])] + [e.i for e in v] for t, v in ix.by_thread.items())}
    except O.Refusal as r:
        doc["refusal"] = dict({k: v for k, v in r.detail.items() if k in ("bytes", "offset", "events", "damaged_events")}, code=r.code)
    doc["input"] = {k: v for k, v in notes.n.items() if v not in (0, False)}
    return doc


def ours(program, path, options):
    r = subprocess.run([program] + options + [path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if r.returncode:
        return {"failed": r.returncode, "stderr": r.stderr.decode("utf-8", "replace")[-2000:]}
    doc = json.loads(r.stdout.decode("utf-8"))
    if "index" in doc:
        for lists in ("cpu", "gpu", "annotations", "gpu_annotations"):
            for row in doc["index"][lists]:
                row[10:] = [halves(v) if isinstance(v, str) else v for v in row[10:]]
        doc["index"]["flows"].sort()
        doc["index"]["correlated"].sort()
    return doc


def difference(a, b, path=""):
    """the first path at which two documents differ, with both values"""
    if isinstance(a, dict) and isinstance(b, dict):
        for k in list(a) + [k for k in b if k not in a]:
            d = difference(a.get(k), b.get(k), path + "." + k)
            if d:
                return d
        return None
    if isinstance(a, list) and isinstance(b, list):
        for i, (x, y) in enumerate(zip(a, b)):
            d = difference(x, y, "%s[%d]" % (path, i))
            if d:
                return d
        return None if len(a) == len(b) else "%s: model has %d, Heddle %d" % (path, len(a), len(b))
    return None if a == b and type(a) == type(b) else "%s: model %.300r, Heddle %.300r" % (path, a, b)


# ------------------------------------------------------------------------------------------------ cases
def generated(rnd, tmp):
    out = os.path.join(tmp, "generated.json")
    args = [sys.executable, os.path.join(HERE, "gen_trace.py"), out, "--seed", str(rnd.randrange(1 << 30)), "--framework", rnd.choice(FRAMEWORKS),
            "--mode", rnd.choice(["eager", "graph", "piecewise"]), "--steps", str(rnd.randrange(2, 12)), "--layers", str(rnd.randrange(1, 6)),
            "--stack", rnd.choice(["0", "0", "3"]), "--style", rnd.choice(["kineto", "compact"])]
    if rnd.random() < 0.3:
        args.append("--gpu-annotations")
    for _ in range(rnd.choice([0, 0, 1, 1, 2])):
        args += ["--hostile", rnd.choice(HOSTILE)]
    r = subprocess.run(args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if r.returncode:
        raise SystemExit("gen_trace.py failed: %s\n%s" % (args, r.stderr.decode()))
    with open(out, "rb") as f:
        return f.read()


def odd_value(rnd, depth=0):
    kind = rnd.randrange(14)
    if kind == 0 and depth < 4:
        return "[%s]" % rnd.choice([",", ", "]).join(odd_value(rnd, depth + 1) for _ in range(rnd.randrange(4)))
    if kind == 1 and depth < 4:
        return "{%s}" % ",".join('"%s"%s:%s' % (rnd.choice(ODD_KEYS), rnd.choice(["", " "]), odd_value(rnd, depth + 1)) for _ in range(rnd.randrange(4)))
    return rnd.choice(ODD_VALUES)


ODD_KEYS = ["ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args", "correlation", "External id", "Input Dims", "Input type", "stream", "grid",
            "block", "x", "\\u0070h", "n\\u0061me", "traceEvents", "", "ph\\d"]
ODD_VALUES = ["0", "-0", "1", "12.5", "5.0", "-1", "1e3", "1E+2", "1.5e-3", "4611686018427387", "9223372036854775808", "01", "1.", "-", "+1", ".5", "1e", "true", "false",
              "null", "nan", "NaN", "-inf", "Infinity", "-Infinity", "infinit", "nanx", '"X"', '"M"', '"B"', '"E"', '"s"', '"f"', '"i"', '"kernel"',
              '"cpu_op"', '"user_annotation"', '"gpu_memcpy"', '""', '"5"', '" 12 "', '"1e3"', '"a\\"b"', '"a\\\\"', '"\\d"', '"\\u00e9"', '"\\ud83d\\ude00"',
              '"\\ud800"', '"\\u12"', '"tab\there"', '"\xff\xfe"', '"\xc3\xa9"', '"}, {"', '"]"', "[]", "{}", "[[1,2],[3]]", "[[],[]]", '[["}"]]', "[1,]", '{"a":1,}',
              '[" [1"]', "truefalse", "[[[2]]]", '"\\', '"']


def odd_event(rnd):
    if rnd.random() < 0.15:
        return odd_value(rnd)
    fields = ['"ph"%s:%s' % (rnd.choice(["", " ", "\n"]), rnd.choice(['"X"', '"X"', '"X"', '"M"', '"B"', '"E"', '"s"', '"f"', '"i"', '"I"', "5", "null"]))]
    for k in ODD_KEYS[1:8]:
        if rnd.random() < 0.8:
            good = {"ts": str(rnd.randrange(1000)) + rnd.choice(["", ".5", ".123", ".1235", ".0005"]), "dur": str(rnd.randrange(50)), "pid": str(rnd.randrange(2)),
                    "tid": rnd.choice(["1", '"1"', "2"]), "cat": rnd.choice(['"kernel"', '"cpu_op"', '"user_annotation"', '"gpu_memset"', '"cuda_runtime"',
                                                                           '"gpu_user_annotation"']), "name": '"op%d"' % rnd.randrange(5), "id": str(rnd.randrange(4))}
            fields.append('"%s":%s%s' % (k, rnd.choice(["", " "]), good[k] if rnd.random() < 0.9 else odd_value(rnd)))
    if rnd.random() < 0.8:
        inner = ['"%s": %s' % (k, rnd.choice(["1", "2", '"2"', "3.0", "[[2,3],[]]", '[["a"], []]', "[1, 2,3]"]) if rnd.random() < 0.8 else odd_value(rnd))
                 for k in ODD_KEYS[9:16] if rnd.random() < 0.4]
        fields.append('"args": {%s}' % ", ".join(inner) if rnd.random() < 0.9 else '"args":' + odd_value(rnd))
    if rnd.random() < 0.1:
        fields.append('"%s": %s' % (rnd.choice(ODD_KEYS), odd_value(rnd)))
    if rnd.random() < 0.2:
        rnd.shuffle(fields)
    return "{%s%s}" % (rnd.choice([",", ", ", ",\n    "]).join(fields), rnd.choice([""] * 12 + [",", "\n", " ,", '"']))


def odd(rnd, tmp):
    events = [odd_event(rnd) for _ in range(rnd.choice([0, 1, 2, 5, 20, 60]))]
    sep = [",", ", ", ",\n", " ,\r\n  "]
    body = "".join(e + (rnd.choice(sep) if rnd.random() < 0.97 else rnd.choice(["", ",,", " "])) for e in events)
    if events and rnd.random() < 0.9:
        body = body.rstrip(", \r\n")
    head = "".join('"%s": %s, ' % (rnd.choice(["a", "b", "schemaVersion", "x\\u0041", "traceEventsX"]), odd_value(rnd) if rnd.random() < 0.2 else rnd.choice(
        ["1", '"traceEvents"', '{"traceEvents": [1]}', "[1, 2]", '{"ph": 1, "ph": 2}'])) for _ in range(rnd.choice([0, 0, 1, 3])))
    tail = "".join(', "%s": %s' % (rnd.choice(["a", "z", "traceName", "baseTimeNanoseconds"]), odd_value(rnd) if rnd.random() < 0.15 else '"v"') for _ in range(
        rnd.choice([0, 0, 1, 2])))
    doc = rnd.choice(['{%s"traceEvents": [%s]%s}' % (head, body, tail)] * 6 + ["[%s]" % body, "[%s" % body, body])
    doc += rnd.choice([""] * 6 + ["\n", "\0\0", " x", "}, {\"ph\": \"X\"", "\n" + doc])
    return rnd.choice([b""] * 8 + [b"\xef\xbb\xbf", b"\n ", b"\0"]) + doc.encode("latin-1")


def damaged(rnd, raw):
    raw = bytearray(raw)
    kind = rnd.randrange(8)
    if kind == 0:
        return bytes(raw[:rnd.randrange(len(raw) + 1)])
    if kind in (1, 2, 3) and raw:
        for _ in range(rnd.choice([1, 1, 2, 5, 20])):
            raw[rnd.randrange(len(raw))] ^= 1 << rnd.randrange(8)
    elif kind == 4 and len(raw) > 10:
        at = rnd.randrange(len(raw))
        del raw[at:at + rnd.randrange(1, 200)]
    elif kind == 5 and raw:
        at = rnd.randrange(len(raw))
        raw[at:at] = rnd.choice([b'"', b"\\", b"}", b"]", b",", b"{", b"[", b"\0", b'},{"ph"', b"\xff"])
    return bytes(raw)


def packed(rnd, raw):
    out = io.BytesIO()
    parts = [raw] if rnd.random() < 0.7 else [raw[:len(raw) // 2], raw[len(raw) // 2:]]
    for p in parts:
        with gzip.GzipFile(filename=rnd.choice(["", "name"]), mode="wb", fileobj=out, compresslevel=rnd.choice([0, 1, 6, 9]), mtime=0) as g:
            g.write(p)
        out.write(rnd.choice([b"", b"", b"\0" * 7]))
    raw = out.getvalue() + rnd.choice([b"", b"", b"", b"tail", b"\x1f"])
    return damaged(rnd, raw) if rnd.random() < 0.5 else raw


def case(rnd, tmp):
    raw = odd(rnd, tmp) if rnd.random() < 0.6 else generated(rnd, tmp)
    if rnd.random() < 0.6:
        raw = damaged(rnd, raw)
    if rnd.random() < 0.3:
        raw = packed(rnd, raw)
    return raw


HOSTILE = [k for k in gen_trace.HOSTILE if k != "huge-event" and not k.startswith("gz-")]


# A number with a point as ph, cat or name: the model takes its text, the specification its canonical form.
MODEL_DIFFERS = O.re.compile(rb'"(ph|\\u0070h|cat|name|n\\u0061me)"\s*:\s*-?[0-9]+[.eE]')


def check(program, raw, path, options, salvage, cap=O.EVENT_CAP):
    try:
        plain = O.open_container(raw, O.Notes())[0]
    except O.Refusal:
        plain = b""
    try:
        if MODEL_DIFFERS.search(plain):
            return "skipped: a decimal where a string belongs"
        if plain[:3] == b"\xef\xbb\xbf" and not plain[3:].strip(b"\0 \t\r\n"):
            return "skipped: the model counts characters"
        want = model(raw, salvage, cap)
    except Exception as e:                       # the model itself fell over (int() of a very long number, a Decimal out of its context)
        return "skipped: the model raised %s" % type(e).__name__
    return difference(want, ours(program, path, options + (["--salvage"] if salvage else [])))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("program")
    a.add_argument("--seed", type=int)
    a.add_argument("--cases", type=int, default=200)
    a.add_argument("--first", type=int, default=0)
    a.add_argument("--files", nargs="*")
    a.add_argument("--keep")
    o = a.parse_args()
    seed = o.seed if o.seed is not None else random.SystemRandom().randrange(1 << 32)
    print("seed %d" % seed, flush=True)
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as tmp:
        for n in range(o.first, o.first + (len(o.files) if o.files else o.cases)):
            rnd = random.Random("%d/%d" % (seed, n))
            if o.files:
                path = o.files[n - o.first]
                with open(path, "rb") as f:
                    raw = f.read()
            else:
                raw = case(rnd, tmp)
                path = os.path.join(tmp, "case.bin")
                with open(path, "wb") as f:
                    f.write(raw)
            for salvage in (False, True):
                options = rnd.choice([[], [], ["--zlib"], ["--thread"], ["--variant", "avx2"], ["--variant", "sse"], ["--variant", "portable"], ["--index-memory", "1000000"]])
                cap = O.EVENT_CAP
                if rnd.random() < 0.1 and raw.isascii():
                    cap = rnd.choice([40, 200, 500])
                    options = options + ["--max-event-bytes", str(cap)]
                d = check(o.program, raw, path, options, salvage, cap)
                if d and d.startswith("skipped"):
                    skipped += 1
                elif d:
                    failed += 1
                    print("case %d (%d bytes, salvage %s, %s): %s" % (n, len(raw), salvage, " ".join(options), d), flush=True)
                    if o.keep:
                        os.makedirs(o.keep, exist_ok=True)
                        with open(os.path.join(o.keep, "case-%d.bin" % n), "wb") as f:
                            f.write(raw)
                else:
                    passed += 1
    print("%d passed, %d failed, %d without an answer of the model" % (passed, failed, skipped))
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
