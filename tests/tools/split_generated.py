#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated traces of 50 KB to 5 MB, and large ones: the executable model's whole answer against Heddle's.

  split_generated.py HEDDLE_VECTORS [--seed N] [--cases N] [--first N] [--large N] [--seconds N] [--keep DIR]

The traces go in turn through every --framework and --mode of gen_trace.py, and the damaged ones through every --hostile
kind, random byte flips and cuts; half of them are gzip, damaged before or after packing. heddle-vectors lays them beside
the answers of the model, in its own process, through the function behind `heddle split --json`, events of chunks as
digests (splitting.md 15.1). Case N of a seed is the same whatever else runs: --seed S --first N --cases 1 shows it again.
--seconds ends a run early and says how far it came. Exit 1 when one differs, or when the model has no answer for more than
a tenth.
"""
import argparse, hashlib, json, os, random, shutil, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import gen_trace  # noqa: E402
import split_answers as A  # noqa: E402
import split_differential as D  # noqa: E402
import split_oracle as O  # noqa: E402

MODES = ["eager", "graph", "piecewise"]
PRODUCERS = [(f, m) for f in D.FRAMEWORKS for m in MODES]
LEAST, MOST, LARGE = 50_000, 5_000_000, 50_000_000
BATCH_BYTES, BATCH_CASES = 40_000_000, 50
FLIPS, CUTS = "byte flips", "cut"
DAMAGE = gen_trace.HOSTILE + [FLIPS, CUTS]


def generate(path, arguments):
    command = [sys.executable, os.path.join(HERE, "gen_trace.py"), path] + arguments
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        raise SystemExit("%s failed:\n%s" % (" ".join(command), done.stderr.decode()))
    return os.path.getsize(path)


def sized(path, arguments, steps, layers, target):
    """arguments for a text of about `target` bytes: a small one says what a layer of a step costs"""
    size = generate(path, arguments + ["--steps", str(steps), "--layers", "2"])
    per_layer = max(1.0, (size - 20_000) / (steps * 4))
    layers = max(1, min(layers, int(target / (steps * per_layer))))
    steps = max(4, min(800, int(target / (layers + 2) / per_layer)))
    return arguments + ["--steps", str(steps), "--layers", str(layers)]


def flip(rnd, raw):
    raw = bytearray(raw)
    for _ in range(rnd.choice([1, 2, 5, 20])):
        raw[rnd.randrange(len(raw))] ^= 1 << rnd.randrange(8)
    return bytes(raw)


def cut(rnd, raw):
    at = rnd.randrange(len(raw))
    return raw[:at] if rnd.random() < 0.6 else raw[:at] + raw[at + rnd.randrange(1, 5000):]


def damages_of(rnd, n):
    """what is done to case n: two of three are damaged, every kind in turn"""
    if n % 3 == 0:
        return []
    kinds = [DAMAGE[(n - n // 3) % len(DAMAGE)]]
    if rnd.random() < 0.2:
        kinds.append(rnd.choice(DAMAGE))
    return kinds


def trace_of(rnd, n, path, target):
    framework, mode = PRODUCERS[n % len(PRODUCERS)]
    damages = damages_of(rnd, n)
    arguments = ["--framework", framework, "--mode", mode, "--seed", str(rnd.randrange(1 << 30)), "--stack", rnd.choice(["0", "0", "0", "3"]),
                 "--style", rnd.choice(["kineto", "kineto", "compact"]), "--vendor", rnd.choice(["amd", "nvidia"])]
    arguments += [o for o in ("--gpu-annotations", "--sync", "--comm-stream", "--worker-thread") if rnd.random() < 0.2]
    steps, layers = rnd.choice([6, 12, 40, 90]), rnd.choice([2, 8, 30])
    arguments = sized(path[:path.index(".json") + 5], arguments, steps, layers, target)
    for kind in damages:
        if kind in gen_trace.HOSTILE:
            arguments += ["--hostile", kind]
    generate(path, arguments + ["--hostile-size", str(target // 2)])
    with open(path, "rb") as f:
        raw = f.read()
    for kind in damages:
        if kind in (FLIPS, CUTS):
            raw = flip(rnd, raw) if kind == FLIPS else cut(rnd, raw)
    if path.endswith(".gz") and not any(k.startswith("gz-") or k in (FLIPS, CUTS) for k in damages) and rnd.random() < 0.1:
        raw = flip(rnd, raw)
    with open(path, "wb") as f:
        f.write(raw)
    return raw, "%s %s %s" % (framework, mode, "+".join(damages) or "whole")


def params_of(rnd):
    p = A.params_of(rnd) if rnd.random() < 0.5 else {"llm": rnd.random() < 0.5, "allow_degraded": True, "num_steps": rnd.choice([4, 8, 32])}
    p["salvage"] = rnd.random() < 0.6
    return p


def model_skips(raw):
    try:
        return D.MODEL_DIFFERS.search(O.open_container(raw, O.Notes())[0])
    except O.Refusal:
        return False


class Batch(object):
    """traces and answers in a folder that heddle-vectors reads"""

    def __init__(self, program, keep):
        self.program, self.keep = program, keep
        self.folder, self.bytes, self.n = None, 0, 0
        self.passed = self.failed = 0

    def path(self, name):
        if not self.folder:
            self.folder = tempfile.mkdtemp(prefix="split-generated-")
            os.makedirs(os.path.join(self.folder, "traces", "expected"))
        return os.path.join(self.folder, "traces", name)

    def add(self, name, raw, runs):
        doc = {"trace": name, "bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest(), "runs": runs}
        with open(os.path.join(self.folder, "traces", "expected", name + ".json"), "w") as f:
            f.write(O.dump(doc))
        self.bytes += len(raw)
        self.n += len(runs)

    def run(self):
        if not self.n:
            return
        traces = os.path.join(self.folder, "traces")
        done = subprocess.run([self.program, "--dir", "", "--traces", traces], stdout=subprocess.PIPE)
        lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
        last = lines[-1].split() if lines else []
        if len(last) != 4 or last[1] != "passed,":
            print("heddle-vectors ended with %d; the traces lie in %s" % (done.returncode, traces))
            self.failed += self.n
            self.folder = None
        else:
            self.passed += int(last[0])
            self.failed += int(last[2])
            for line in lines[:-1]:
                print(line.replace(self.folder, "")[:700], flush=True)
            if self.keep and int(last[2]):
                shutil.copytree(traces, self.keep, dirs_exist_ok=True)
        self.close()

    def close(self):
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder, self.bytes, self.n = None, 0, 0


def add_case(batch, rnd, seed, n, target):
    """how many traces the model has an answer for: this one or none"""
    name = "case%d.json%s" % (n, ".gz" if rnd.random() < 0.5 else "")
    raw, text = trace_of(rnd, n, batch.path(name), target)
    if model_skips(raw):
        return 0
    params = params_of(rnd)
    try:
        answer = O.split(raw, O.Params(digest=True, base=O.base_name(name), **params))
    except Exception as e:                       # the model itself fell over
        print("skipped: case %d (%s): the model raised %s: %s" % (n, text, type(e).__name__, e))
        return 0
    batch.add(name, raw, [{"name": "seed %d case %d, %d bytes, %s, %s" % (seed, n, len(raw), text, json.dumps(params, sort_keys=True)),
                           "params": params, "expect": answer}])
    return 1


def main():
    a = argparse.ArgumentParser()
    a.add_argument("program")
    a.add_argument("--seed", type=int)
    a.add_argument("--cases", type=int, default=500)
    a.add_argument("--first", type=int, default=0)
    a.add_argument("--large", type=int, default=0, help="traces of 50 MB after the others")
    a.add_argument("--seconds", type=int, default=0, help="end early; 0: never")
    a.add_argument("--keep", metavar="DIR", help="leave what differs there")
    o = a.parse_args()
    seed = o.seed if o.seed is not None else random.SystemRandom().randrange(1 << 32)
    print("seed %d" % seed, flush=True)
    start, skipped, done = time.monotonic(), 0, 0
    batch = Batch(o.program, o.keep)
    try:
        for n in range(o.first, o.first + o.cases + o.large):
            if o.seconds and time.monotonic() - start > o.seconds:
                break
            rnd = random.Random("%d/%d" % (seed, n))
            is_large = n >= o.first + o.cases
            target = LARGE if is_large else int(LEAST * (MOST / LEAST) ** rnd.random())
            skipped += 1 - add_case(batch, rnd, seed, n, target)
            done += 1
            if batch.bytes > BATCH_BYTES or batch.n >= BATCH_CASES:
                batch.run()
        batch.run()
    finally:
        batch.close()
    print("%d of %d traces, %d without an answer of the model" % (done, o.cases + o.large, skipped))
    if skipped * 10 > done:
        print("more than a tenth has no answer to be held against")
        batch.failed += 1
    print("%d passed, %d failed" % (batch.passed, batch.failed))
    return 1 if batch.failed or not batch.passed else 0


if __name__ == "__main__":
    sys.exit(main())
