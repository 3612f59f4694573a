#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random traces, parameters and inputs of the small pieces: the executable model's whole answer against Heddle's.

  split_answers.py HEDDLE_VECTORS [--seed N] [--cases N] [--units N] [--first N] [--keep DIR]

The model's answers become vector files, which heddle-vectors runs through the workers' functions in its own process. A
case is a trace of gen_trace.py, plain or damaged (as in split_differential.py), or one made here of calls, steps and
kernels that lie as no profiler would put them. Exit 1 when one differs; its name holds the seed and its number.
"""
import argparse, base64, json, os, random, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import split_differential as D  # noqa: E402
import split_oracle as O  # noqa: E402

BATCH = 40
NAMES = ["execute_{a}_context_{b}(sq{c}sk9sqsq1sqsk1)_generation_{d}(sq{e}sk9sqsq1sqsk1)", "execute_context_{b}({c})_generation_{d}({e})",
         "execute_context_{b}({c}_{a})_generation_{d}({e}_1)", "step[DECODE bs={b}]", "step[EXTEND bs={b} toks={c}]", "step[MIXED bs={b} toks={c}]",
         "STEP[mixed c={b} c_sq={c} g={d} g_sq={e} sqsq=4]", "step[DECODE bs={b} g_sq={c} sqsq={d} toks={e}]", "step[TARGET_VERIFY bs={b} c_sq={c} sqsq=1]",
         "prefill[bs={b} tok={c}]", "decode[bs={b} tok={c} sqsq={d}]", "prefill[bs={b}/9 tok={c} sqsq=1 x] tail", "execute_diffusion_{b}_{c}x{d}", "step {a}",
         "ProfilerStep#{a}", "step[DECODEbs={b}]", "decode[bs={b}\n]", "execute_x", "warmup", "forward", "step[VERIFY\tbs={b}  toks={c}] more"]
KERNELS = ["gemm", "ncclDevKernel_AllReduce_Sum", "allReduceKernel", "reduce_kernel", "cross_device_reduce_1stage", "rccl_x", "Memcpy DtoD", "void cclx<int>",
           "broadcast_all", "attention", "all_to_all_v"]
OPS = ["aten::mm", "aten::linear", "aten::view", "vllm::unified_attention_with_output", "aten::to", "custom::op", "aten::add"]
FRAMES = ["model.py(12): forward", "a/b.py(3): run", "<built-in method x>", "nn.Module: L_0", "run.py(7): step", "x.py(): y", "m.py(12): forward 0x7f12"]
LAUNCHES = ["cudaLaunchKernel", "cudaGraphLaunch", "hipModuleLaunchKernel", "cuLaunchKernel", "hipGraphLaunch", "cudaMemcpyAsync", "cudaStreamSynchronize"]


def us(ns):
    return O.Us(ns)


def name_of(rnd, pattern):
    return pattern.format(**{k: rnd.choice([0, 0, 1, 1, 2, 8, 32, 200, 10 ** 20]) for k in "abcde"})


class Maker(object):
    """a trace of nested calls with launches, steps around them, and what follows on the GPU"""

    def __init__(self, rnd):
        self.rnd, self.out, self.corr, self.flavour = rnd, [], rnd.choice([0, 100, 2 ** 31]), rnd.random()
        self.dims = [[[rnd.choice([1, 4, 4, 64, 900, "x", 2.5])] + [rnd.randrange(9)] for _ in range(rnd.randrange(4))] for _ in range(4)] + [[], [[]], "s", None]
        self.kernels = [rnd.choice(KERNELS) for _ in range(rnd.randrange(1, 6))]
        self.externals = rnd.random() < 0.5
        self.shift = rnd.choice([0, 0, 5, 300])

    def add(self, cat, name, tid, ts, dur, args, pid=1, ph="X", **more):
        e = {"ph": ph, "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": us(ts)}
        if dur is not None:
            e["dur"] = us(dur)
        if args:
            e["args"] = args
        e.update(more)
        if ph == "X" and self.rnd.random() < 0.01:
            end = dict(e, ph="E", ts=us(ts + dur))
            e["ph"] = "B"
            del e["dur"]
            self.out.append(e)
            e = end
        self.out.append(e)

    def launch(self, tid, ts, dur, kernels):
        rnd = self.rnd
        if rnd.random() > 0.03:
            self.corr += 1
        args = {"correlation": self.corr}
        if self.externals and rnd.random() < 0.7:
            args["External id"] = rnd.randrange(1, 200)
        if rnd.random() < 0.03:
            del args["correlation"]
        cat = rnd.choice(["cuda_runtime"] * 5 + ["cuda_driver", "cpu_op", "other"])
        self.add(cat, rnd.choice(LAUNCHES), tid, ts, dur, args)
        if rnd.random() < 0.05:
            self.add("cuda_driver", "cuLaunchKernel", tid, ts, max(0, dur - 1), args)
        for _ in range(kernels):
            gpu = {"correlation": self.corr, "stream": rnd.choice([7, 7, 7, 20, "x"])}
            if rnd.random() < 0.05:
                del gpu["correlation"]
            if rnd.random() < 0.2:
                gpu["External id"] = rnd.randrange(1, 200)
            if rnd.random() < 0.4:
                gpu["grid"], gpu["block"] = [rnd.randrange(9), 1, 1], rnd.choice([[64, 1, 1], None, 3])
            at, length = ts + rnd.randrange(0, 40000), rnd.choice([0, 500, 1000, 5000, 20000]) + rnd.randrange(100)
            self.add(rnd.choice(["kernel"] * 6 + ["gpu_memcpy", "gpu_memset"]), rnd.choice(self.kernels), gpu["stream"], at, length, gpu, pid=0)
            if rnd.random() < 0.3:
                self.add("ac2g", "ac2g", tid, ts, None, None, ph=rnd.choice("sf"), id=self.corr)

    def call(self, tid, ts, end, depth):
        rnd, at = self.rnd, ts
        while at < end and rnd.random() < 0.9 and len(self.out) < 900:
            dur = rnd.randrange(0, max(1, (end - at) // rnd.choice([1, 2, 3])) + 1)
            kind = rnd.random()
            if kind < 0.35 or depth > 4:
                self.launch(tid, at, dur, rnd.choice([0, 1, 1, 1, 2, 4]))
            elif kind < 0.7:
                args = {}
                if rnd.random() < 0.8:
                    args["Input Dims"] = rnd.choice(self.dims)
                if rnd.random() < 0.5:
                    args["Input type"] = rnd.choice([["float"], [], "x"])
                if self.externals:
                    args["External id"] = rnd.randrange(1, 200)
                self.add("cpu_op", rnd.choice(OPS), tid, at, dur, args)
                self.call(tid, at, at + dur, depth + 1)
            else:
                self.add("python_function", rnd.choice(FRAMES), tid, at, dur, None)
                self.call(tid, at, at + dur, depth + 1)
            at += rnd.choice([dur, dur, dur + rnd.randrange(2000), max(0, dur - rnd.choice([1, 500, 2000]))])

    def steps(self):
        rnd = self.rnd
        n, length = rnd.choice([1, 3, 4, 6, 12, 20]), rnd.choice([20000, 50000, 100000])
        patterns = [rnd.choice(NAMES) for _ in range(rnd.choice([1, 1, 2, 3]))]
        annotate = rnd.random()
        body = rnd.randrange(1 << 30)
        at = 1000000
        if rnd.random() < 0.3:
            self.call(10, at - 60000, at - 10000, 1)
        for k in range(n):
            dur = length + rnd.randrange(-3000, 3000) * rnd.choice([0, 1, 1, 4])
            tid = 10 if rnd.random() < 0.93 else 11
            if annotate < 0.6 and rnd.random() < 0.97:
                args = {"External id": 1000 + k} if rnd.random() < 0.8 else {}
                if rnd.random() < 0.1:
                    args["correlation"] = self.corr
                self.add("user_annotation", name_of(rnd, rnd.choice(patterns)), tid, at, dur, args)
                if self.flavour < 0.3:
                    self.add("gpu_user_annotation", "g", 7, at + 1000, dur + rnd.randrange(40000), {"External id": 1000 + k}, pid=0)
            if rnd.random() < 0.6:
                saved, self.rnd = self.rnd, random.Random(body)
                self.call(tid if annotate < 0.8 else rnd.choice([10, 12]), at + self.shift, at + dur - 5000, 0)
                self.rnd = saved
            else:
                self.call(tid, at + self.shift, at + dur, 0)
            if rnd.random() < 0.1:
                self.add("x", "mark", 10, at + rnd.randrange(dur), None, None, ph=rnd.choice("iI"))
            at += dur + rnd.choice([0, 0, 1, 2000, -500])

    def text(self):
        self.steps()
        self.add("", "process_name", 0, 0, None, {"name": "p"}, ph="M")
        if self.rnd.random() < 0.3:
            self.rnd.shuffle(self.out)
        return O.dump({"traceEvents": self.out, "traceName": "t"}).encode()


def params_of(rnd):
    p = {}
    if rnd.random() < 0.7:
        p["num_steps"] = rnd.choice([1, 2, 3, 4, 8, 32])
    if rnd.random() < 0.4:
        p["llm"] = True
    if rnd.random() < 0.5:
        p["mode"] = rnd.choice(["mixed", "decode_only", "prefilldecode", "generic", "range"])
    if p.get("mode") == "range" or rnd.random() < 0.2:
        a = rnd.randrange(6)
        p["iterations"] = rnd.choice(["%d" % a, "%d:%d" % (a, a + 1 + rnd.randrange(9)), "all"])
    for k, v in (("conc", rnd.choice([1, 8, 32])), ("osl", rnd.choice([8.0, 128.0])), ("r", rnd.choice([0.5, 1.0, 1.5, -1.0])), ("max_num_seq", rnd.choice([4, 64]))):
        if rnd.random() < 0.25:
            p[k] = v
    p["allow_degraded"] = rnd.random() < 0.6
    p["salvage"] = rnd.random() < 0.5
    return p


def trace_case(rnd, tmp):
    if rnd.random() < 0.75:
        raw = Maker(rnd).text()
        if rnd.random() < 0.1:
            raw = D.damaged(rnd, raw)
        if rnd.random() < 0.1:
            raw = D.packed(rnd, raw)
    else:
        raw = D.generated(rnd, tmp)
        if rnd.random() < 0.4:
            raw = D.damaged(rnd, raw)
        if rnd.random() < 0.3:
            raw = D.packed(rnd, raw)
    params = params_of(rnd)
    try:
        plain = O.open_container(raw, O.Notes())[0]
    except O.Refusal:
        plain = b""
    if D.MODEL_DIFFERS.search(plain):
        return None
    try:
        answer = O.split(raw, O.Params(**params))
    except Exception as e:                       # the model itself fell over
        print("skipped: the model raised %s: %s" % (type(e).__name__, e))
        return None
    return dict(input={"base64": base64.b64encode(raw).decode(), "params": params}, expect=answer)


# ------------------------------------------------------------------------------------------------ small pieces
def unit_name(rnd):
    name = name_of(rnd, rnd.choice(NAMES))
    for _ in range(rnd.choice([0, 0, 1, 2])):
        at = rnd.randrange(len(name) + 1)
        name = name[:at] + rnd.choice(["", "]", "[", " ", "\n", "_", "=", "sqsq=1", "7", "bs=3", "\u00e9"]) + name[at + rnd.randrange(2):]
    kind, d = O.details_of(name)
    return {"name": name}, dict(tier=O.tier_of(name), kind=kind, phase=O.phase_of(d), skeleton=O.skeleton(name), **d)


def unit_period(rnd):
    block = [rnd.choice("abcde") for _ in range(rnd.randrange(1, 7))]
    labels = [rnd.choice("abc") for _ in range(rnd.randrange(4))] + block * rnd.randrange(8) + [rnd.choice("abc") for _ in range(rnd.randrange(4))]
    for _ in range(rnd.choice([0, 0, 1, 3])):
        if labels:
            labels[rnd.randrange(len(labels))] = rnd.choice("abx")
    r = O.find_period(labels)
    return {"labels": labels}, None if r is None else dict(period=r[0], start=r[1], repeats=r[2])


def some_values(rnd, n):
    top = rnd.choice([1, 5, 20, 300])
    return [rnd.choice([top, top, top, top - 1, top // 2, 0, rnd.randrange(top + 1)]) for _ in range(n)]


def unit_regions(rnd):
    i = dict(values=some_values(rnd, rnd.randrange(60)), num_steps=rnd.choice([1, 4, 8, 32, 64]), min_run=rnd.choice([1, 5]))
    return i, dict(regions=O.scan_regions(i["values"], i["num_steps"], i["min_run"]))


KINDS3 = ("mixed", "decode_only", "prefilldecode")


def unit_annotated(rnd):
    patterns = [rnd.choice(NAMES[:13]) for _ in range(rnd.choice([1, 2, 4]))]
    i = dict(names=[rnd.choice(patterns).format(**{k: rnd.choice([0, 1, 8, 8, 8, 9, 20]) for k in "abcde"}) for _ in range(rnd.randrange(1, 70))],
             num_steps=rnd.choice([1, 3, 8, 20, 32]))
    a = (None, None)
    if rnd.random() < 0.4:
        i.update(conc=rnd.choice([1, 8, 64]), osl=rnd.choice([4.0, 100.0, 999.5]), r=rnd.choice([0.0, 0.8, 1.0]))
        a = O.analytic(i["conc"], i["osl"], i["r"])
    r, ref, w = O.annotated_windows([O.details_of(x)[1] for x in i["names"]], i["num_steps"], KINDS3, *a)
    return i, dict(regions=r, reference_ratio=ref, analytic_steps=a[1], picks=w)


def unit_shapes(rnd):
    sizes = [rnd.choice([None, 8, 8, 32, 32, 33, 900, 1, 0, -3, 2 ** 40]) for _ in range(rnd.randrange(1, 50))]
    i = dict(sizes=sizes, max_num_seq=rnd.choice([None, None, 16, 64]), num_steps=rnd.choice([1, 3, 8, 20]))
    l, t = O.batch_labels(sizes, i["max_num_seq"])
    r, ref, w = O.shape_windows(sizes, l, i["num_steps"], KINDS3)
    return i, dict(labels=l, threshold=t, regions=r, reference_ratio=ref, picks=w)


def unit_duration(rnd):
    top = rnd.choice([1, 10, 10 ** 6, 2 ** 62])
    durs = [rnd.choice([top, top - top // 9, top // 2, rnd.randrange(top + 1)]) for _ in range(rnd.randrange(1, 40))]
    i = dict(durs_ns=durs, num_steps=rnd.choice([1, 2, 4, 9, 32]))
    w, cv, n = O.duration_window(durs, i["num_steps"])
    return i, dict(window=w, cv=cv, windows_passing=n)


def unit_tiles(rnd):
    roots = [["1", rnd.choice(["1", "2"]), rnd.randrange(3000), rnd.randrange(900)] for _ in range(rnd.randrange(1, 12))]
    rs = []
    for k, (pid, tid, ts, dur) in enumerate(roots):
        rs.append(O.Root("r", ts, dur, pid, tid, None, k))
        rs[-1].step = k
    t, o, g = O.tiles_of(rs)
    return {"roots_ns": roots}, dict(tiles=[t[k] for k in range(len(rs))], n_overlapping_roots=o, greatest_end=g)


def unit_grades(rnd):
    whole = rnd.choice([0, 1, 1000, rnd.randrange(1 << 62)])
    part = rnd.choice([whole, whole * 19 // 20, whole * 3 // 4, rnd.randrange(whole + 1)])
    i = dict(part_ns=part, spans_ns=rnd.choice([part, part // 2, rnd.randrange(part + 1)]), whole_ns=whole)
    return i, dict(status=O.grade(part, whole), span_share_ok=part > 0 and 2 * i["spans_ns"] >= part,
                   passes=O.Coverage(i["spans_ns"], part, whole, "correlation").passes)


UNITS = {"names": unit_name, "period": unit_period, "regions": unit_regions, "windows_annotated": unit_annotated, "windows_shapes": unit_shapes,
         "windows_duration": unit_duration, "tiles": unit_tiles, "grades": unit_grades}


# ------------------------------------------------------------------------------------------------ running
def run(program, folder, kind, vectors):
    """-> (passed, failed)"""
    path = os.path.join(folder, "split", kind + ".json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(O.dump({"kind": kind, "vectors": vectors}))
    r = subprocess.run([program, "--dir", folder, "--only", "split/" + kind], stdout=subprocess.PIPE)
    text = r.stdout.decode("utf-8", "replace")
    last = text.strip().splitlines()[-1].split() if text.strip() else []
    if len(last) != 4 or last[1] != "passed,":
        print("heddle-vectors ended with %d: %s" % (r.returncode, ", ".join(v["name"] for v in vectors)))
        return 0, len(vectors)
    for line in text.splitlines():
        if line.startswith("FAILED"):
            print(line[:600], flush=True)
    return int(last[0]), int(last[2])


def main():
    a = argparse.ArgumentParser()
    a.add_argument("program")
    a.add_argument("--seed", type=int)
    a.add_argument("--cases", type=int, default=500)
    a.add_argument("--units", type=int, default=400)
    a.add_argument("--first", type=int, default=0)
    a.add_argument("--keep", metavar="DIR", help="leave the vector files there")
    o = a.parse_args()
    seed = o.seed if o.seed is not None else random.SystemRandom().randrange(1 << 32)
    print("seed %d" % seed, flush=True)
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as tmp:
        for kind, make in UNITS.items():
            vectors = []
            for n in range(o.units):
                i, e = make(random.Random("%d/%s/%d" % (seed, kind, n)))
                vectors.append(dict(name="seed %d %s %d" % (seed, kind, n), input=i, expect=e))
            p, f = run(o.program, o.keep or tmp, kind, vectors) if vectors else (0, 0)
            passed, failed = passed + p, failed + f
        for first in range(o.first, o.first + o.cases, BATCH):
            vectors = []
            for n in range(first, min(first + BATCH, o.first + o.cases)):
                v = trace_case(random.Random("%d/%d" % (seed, n)), tmp)
                if v is None:
                    skipped += 1
                else:
                    vectors.append(dict(v, name="seed %d case %d" % (seed, n)))
            p, f = run(o.program, os.path.join(o.keep, str(first)) if o.keep else tmp, "traces", vectors) if vectors else (0, 0)
            passed, failed = passed + p, failed + f
    print("%d skipped" % skipped)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
