#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays the records of heddle-split beside the answers of `heddle split --json`.

    split_records.py HEDDLE HEDDLE_SPLIT [--cases N] [--seed S]

Both make one answer of one trace, the worker as an Avro record and the verb as the
document of splitting.md 11.5. Generated traces of every framework, sound, damaged and
with every kind of parameter; a field that differs is a failure. Besides, each event is
run twice: records, chunk objects and their names must be the same.
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FRAMEWORKS = ["vllm", "vllm-native", "sglang", "sglang-native", "atom", "xdit", "profilerstep",
              "none", "drift"]
HOSTILE = [None] * 12 + """unescaped-quote backslash control-char non-utf8 bad-escape inf dup-keys
string-ts scientific-ts begin-end args-null no-dur negative-dur no-correlation string-correlation
missing-comma trailing-comma huge-event bare-array open-array bom crlf decoy truncated worker-threads
empty-steps shuffled two-threads gz-members gz-padding gz-truncated gz-badcrc""".split()
# Not in the document, or of another value there.
WORKER_ONLY = {"trace", "request", "split", "origin", "provenance"}
# Fields of time: thousandths in the record, microseconds in the document.
TIMES = {"ts", "dur", "tile", "gpu_start", "gpu_end", "gpu_extent", "gpu_busy", "gpu_duration",
         "gpu_busy_duration"}


def plain(value):
    """Avro JSON without the names of union branches."""
    if isinstance(value, dict):
        if len(value) == 1:
            (key, inner), = value.items()
            if key in ("long", "int", "double", "string", "boolean", "array") or key.startswith("heddle."):
                return plain(inner)
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def is_time(key):
    return key in TIMES or (key.endswith("_us") and key != "captured_at_us")


def in_thousandths(text):
    whole, _, rest = text.partition(".")
    sign = -1 if whole.startswith("-") else 1
    return int(whole) * 1000 + sign * int(rest)


class Figure(str):
    """A number of the document as it is written."""


def same(path, record, document, out, key=""):
    if isinstance(document, Figure):
        if is_time(key):
            ok = isinstance(record, int) and record == in_thousandths(document)
        else:
            ok = record is not None and float(record) == float(document)
        if not ok:
            out.append(f"{path}: record {record}, document {document}")
    elif isinstance(record, dict) or isinstance(document, dict):
        left, right = record or {}, document or {}
        for name in sorted(set(left) | set(right)):
            same(f"{path}.{name}", left.get(name), right.get(name), out, name)
    elif isinstance(record, list) and isinstance(document, list) and len(record) == len(document):
        for i, (left, right) in enumerate(zip(record, document)):
            same(f"{path}[{i}]", left, right, out, key)
    elif record != document and not (isinstance(record, list) and isinstance(document, list)
                                     and not record and not document):
        out.append(f"{path}: record {str(record)[:80]}, document {str(document)[:80]}")


def compare(record, document):
    out = []
    record = {key: value for key, value in record.items() if key not in WORKER_ONLY}
    for chunk in record["chunks"]:
        del chunk["uri"]
    for chunk in document["chunks"]:
        chunk.setdefault("bytes", None)
    same("", record, document, out)
    return out


def generate(rng, folder, i):
    args = ["--framework", rng.choice(FRAMEWORKS), "--mode",
            rng.choice(["eager", "graph", "piecewise"]), "--seed", str(rng.randrange(1 << 30)),
            "--steps", str(rng.choice([3, 12, 40, 70])), "--layers", str(rng.choice([1, 2]))]
    if rng.random() < 0.3:
        args += ["--transient", "5"]
    hostile = rng.choice(HOSTILE)
    path = folder / f"t{i}.pt.trace{rng.choice(['.json', '.json.gz'])}"
    if hostile:
        args += ["--hostile", hostile]
    done = subprocess.run([sys.executable, str(HERE / "gen_trace.py"), str(path)] + args,
                          capture_output=True)
    if done.returncode != 0 and hostile:
        args = args[:-2]
        done = subprocess.run([sys.executable, str(HERE / "gen_trace.py"), str(path)] + args,
                              capture_output=True)
    if done.returncode != 0:
        sys.exit(f"gen_trace.py {args}: {done.stderr.decode()[-300:]}")
    if rng.random() < 0.2:
        data = bytearray(path.read_bytes())
        data = data[:rng.randrange(1, len(data))] if rng.random() < 0.5 else data
        for _ in range(3):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(bytes(data))
    return path, args


def parameters(rng):
    """The event's `split`, and the same as flags."""
    given, flags = {}, []
    choices = [("num_steps", "int", [1, 4, 8, 32, 0]), ("conc", "long", [1, 8, 64, -1]),
               ("osl", "double", [1.0, 64.0]), ("r", "double", [0.5, 1.5, -0.1]),
               ("max_num_seq", "long", [1, 16]), ("iterations", "string", ["all", "2:9", "500", "x"]),
               ("mode", "string", ["auto", "mixed", "decode_only", "generic", "range"])]
    for name, kind, values in choices:
        if rng.random() < 0.25:
            value = rng.choice(values)
            given[name] = {kind: value}
            flags += [f"--{name.replace('_', '-')}={value}"]
    for name in ("allow_degraded", "salvage"):
        if rng.random() < 0.4:
            given[name] = {"boolean": True}
            flags += [f"--{name.replace('_', '-')}"]
    return given, flags


def event(path, given):
    data = path.read_bytes()
    null = dict.fromkeys("num_steps conc osl r max_num_seq mode iterations llm_inference "
                         "allow_degraded salvage".split())
    return {
        "origin": {"event_id": "0" * 64, "node": "n", "session": "", "captured_at_us": 1,
                   "producer": "test"},
        "payload": {"heddle.v1.Claim": {"uri": f"file://{path}", "size": len(data),
                                        "sha256": hashlib.sha256(data).hexdigest()}},
        "trace_name": None,
        "request": {"request_id": path.name, "framework": "vllm", "framework_kind": None,
                    "requested_mode": None, "attempt": 1, "retry_of": None, "from_mode": None,
                    "source_warning_code": None, "target_platform": None, "model_name": None,
                    "baseline": None, "campaign_framework": None},
        "split": {**null, **given},
    }


def run_worker(worker, folder, events, store):
    source = folder / "events.jsonl"
    source.write_text("".join(json.dumps(one) + "\n" for one in events))
    store.mkdir(exist_ok=True)
    done = subprocess.run([worker, "--dry-run", "--input", str(source), "--store",
                           f"file://{store}", "--claim-roots", str(folder)],
                          capture_output=True)
    if done.returncode != 0:
        sys.exit(f"heddle-split: {done.returncode}: {done.stdout[-300:]} {done.stderr[-300:]}")
    return done.stdout


def objects(store):
    return {path.name: path.read_bytes() for path in sorted((store / "chunks").glob("*"))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("heddle")
    parser.add_argument("worker")
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    options = parser.parse_args()
    rng = random.Random(options.seed)
    for name in [name for name in os.environ if name.startswith("HEDDLE_")]:
        del os.environ[name]
    os.environ["HEDDLE_CONFIG"] = "/dev/null"
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cases = []
        for i in range(options.cases):
            path, args = generate(rng, folder, i)
            cases.append((path, args, *parameters(rng)))
        events = [event(path, given) for path, _, given, _ in cases]
        first = run_worker(options.worker, folder, events, folder / "store")
        again = run_worker(options.worker, folder, events, folder / "store2")
        kept = objects(folder / "store")
        run_worker(options.worker, folder, events, folder / "store")
        if first != again or kept != objects(folder / "store2") or kept != objects(folder / "store"):
            failed += 1
            print("FAILED: the same events twice give other records or objects", file=sys.stderr)
        lines = first.splitlines()
        if len(lines) != len(cases):
            failed += 1
            print(f"FAILED: {len(lines)} records of {len(cases)} events", file=sys.stderr)
        for (path, args, _, flags), line in zip(cases, lines):
            record = plain(json.loads(line)["value"])
            base = path.name.replace(".pt.trace", "").replace(".json.gz", "").replace(".json", "")
            if not any(flag.startswith("--num-steps") for flag in flags):
                flags = flags + ["--num-steps=32"]
            out = folder / "out"
            done = subprocess.run([options.heddle, "split", str(path), "--json", "-o", str(out),
                                   "--llm-inference", "--base", base] + flags,
                                  capture_output=True)
            if done.returncode not in (0, 1):
                sys.exit(f"heddle split {flags}: {done.returncode} {done.stderr[-300:]}")
            document = json.loads(done.stdout, parse_float=Figure)
            wrong = compare(record, document)
            for chunk in record["chunks"]:
                if f"{chunk['sha256']}.json.gz" not in kept:
                    wrong.append(f"chunk {chunk['sha256']} is not in the store")
            if wrong:
                failed += 1
                print(f"FAILED {' '.join(args)} | {' '.join(flags)}", *wrong[:8], sep="\n  ",
                      file=sys.stderr)
            else:
                passed += 1
    print(f"seed {options.seed}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
