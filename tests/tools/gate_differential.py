#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heddle gate against the executable model (domain_oracle.py), random split records.

    gate_differential.py HEDDLE [SEED [RECORDS]]

Every record goes through `heddle gate --json` and through the model; every key that the model
answers must agree (numbers within 1e-9). The seed is printed; a failure keeps its record.
"""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import domain_oracle as oracle

MODES = ["mixed", "decode_only", "prefilldecode", "generic", "range"]
PIECES = ["nccl", "AllReduce", "ncclDevKernel_", "cross_device_reduce", "rms_norm", "gemm", "_gemm_", "quant", "per_token",
          "Cijk_Ailk", "silu", "copy_", "rope", " rope ", "kernel", "<float, 4>", "void ", "(anonymous namespace)::", "at::native::",
          "elementwise", "BLOCK_SIZE_M_64", "_BLOCK_SIZE_K_32", "::", "_", "miopen", "conv", "bmm", "dynamic", "topk_softmax",
          "norm", "broadcast", "reduce", "scatter", "Reduce", "Scatter", "to", "All", "all", "cl", "ccl", "x", "\u00e9", "paged_attention",
          "memcpy", "..", "embedding", "scaled_mm", "KERNEL", "MoE", "routing"]
OPS = ["aten::mm", "aten::linear", "aten::convolution", "aten::scaled_dot_product_attention", "vllm::rms_norm", "aten::copy_",
       "c10d::allreduce_", "aten::add", " ", "", "aten::topk", "custom"]
TYPES = ["c10::BFloat16", "float", "long int", "Scalar", "", "c10::Float8_e4m3fn", "bool", "unsigned char", "TensorList", "Int"]
FRAMES = ["model.py(12): forward", "a.py(1): b.py(22): f", "x.py(): f", "nothing", "dir/y.py(7): <lambda>", None]


def us(rng, top):
    """Microseconds with three decimals, often at an edge."""
    return rng.choice([0.0, 0.001, 1.0, round(rng.random() * top, 3), round(rng.random() * top, 3), float(rng.randrange(1, 1000))])


def maybe(rng, value, odds=0.15):
    return None if rng.random() < odds else value


def odd(rng, value):
    """Now and then a number that can't be."""
    return rng.choice(["nan", "inf", -value, -1.5]) if rng.random() < 0.02 else value


def dims(rng):
    return json.dumps([rng.choice([[], [rng.randrange(0, 9)], [rng.randrange(1, 9999), 16], [[4, 4]], "x", [1.5], [True], None])
                       for _ in range(rng.randrange(0, 4))], separators=(",", ":"))


def types(rng):
    return rng.choice([None, "not json", json.dumps([rng.choice(TYPES) for _ in range(rng.randrange(0, 4))])])


def launch(rng, kind):
    out = {"kind": kind, "op": None, "dims_from": None, "input_dims": None, "input_type": None,
           "calls": rng.randrange(0, 9), "total_us": us(rng, 100)}
    if kind == "eager":
        out.update(op=rng.choice(OPS), dims_from=rng.choice(["op", "op", "ancestor", None]), input_dims=maybe(rng, dims(rng)),
                   input_type=types(rng))
    return out


def kernel(rng, name):
    launches = [launch(rng, rng.choice(["eager", "eager", "graph", "unlinked"])) for _ in range(rng.randrange(0, 5))]
    left = rng.choice([0, 0, 0, 2])
    return {"name": name, "category": rng.choice(["kernel"] * 6 + ["gpu_memcpy", "gpu_memset"]), "calls": rng.randrange(0, 50),
            "total_us": us(rng, 1000), "min_us": 0.0, "max_us": 1.0, "mean_us": 0.5, "share": 0.1, "collective": False,
            "streams": ["7"], "graph_launch_calls": 0, "unknown_launcher_calls": 0, "combinations": len(launches),
            "launches": launches, "omitted_launches": left, "omitted_launch_calls": left, "omitted_launch_us": us(rng, 50) if left else 0.0,
            "eager_shapes": [{"input_dims": dims(rng), "input_type": types(rng), "calls": 1, "total_us": 1.0}
                             for _ in range(rng.choice([0, 0, 1, 2]))],
            "omitted_eager_shapes": rng.choice([0, 0, 0, 1]), "launch_grid": None, "launch_block": None,
            "frame": rng.choice(FRAMES), "frame_calls": 3}


def chunk(rng, kind, number):
    wall = us(rng, 3000)
    busy = rng.choice([0.0, us(rng, 3000), round(wall * rng.random(), 3), wall, round(wall * 0.05, 3), round(wall * 0.15, 3)])
    steps = rng.randrange(0, 40)
    names = {"".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 6))) for _ in range(rng.choice([0, 1, 5, 130]))}
    ratio = rng.choice([None, 0.0, 0.05, 0.0499999, 1.3, rng.random(), busy / wall if wall else 0.0])
    out = {"kind": kind, "file": "%s_steady_state_%d.json.gz" % (kind, number), "num_steps": odd(rng, steps),
           "num_gpu_events": maybe(rng, odd(rng, rng.choice([0, 1, 99, 100, 5000])), 0.1),
           "gpu_duration": maybe(rng, odd(rng, wall)), "gpu_busy_duration": maybe(rng, odd(rng, busy)), "busy_ratio": ratio,
           "wall_us": maybe(rng, wall), "busy_union_us": maybe(rng, odd(rng, min(wall, busy))),
           "compute_union_us": maybe(rng, odd(rng, round(busy * rng.random(), 3))), "exposed_comm_us": maybe(rng, us(rng, 90)),
           "max_event_us": maybe(rng, round(busy * rng.random(), 3)), "steps_without_gpu_events": maybe(rng, rng.randrange(0, steps + 1)),
           "kernels": [kernel(rng, name) for name in sorted(names)]}
    return out


def record(rng):
    kinds = [rng.choice(MODES) for _ in range(rng.choice([0, 1, 2, 3, 3, 4, 5]))]
    manifest = {"status": rng.choice([0, 0, 0, 0, 1, 1, 2, None]), "aborted": rng.random() < 0.06}
    figures = {"graded_coverage": rng.random(), "root_span_share": rng.random(), "startup_transient_trimmed": rng.random() < 0.3,
               "startup_transient_kernel": "ncclDevKernel", "startup_transient_collective_ratio": rng.random() * 9,
               "startup_transient_noise_ratio": rng.random(), "gpu_busy_us": us(rng, 9000), "graph_launch_count": rng.randrange(0, 5),
               "graph_launches_with_kernels": rng.randrange(0, 3), "graph_kernels": rng.randrange(0, 3),
               "off_root_thread_busy_us": us(rng, 900), "overlap_excess_us": us(rng, 900), "overlap_device_us": us(rng, 9000),
               "overlap_worst_us": rng.choice([999.999, 1000.0, us(rng, 3000)])}
    manifest.update({key: odd(rng, value) if isinstance(value, float) else value for key, value in figures.items() if rng.random() > 0.1})
    return {"result": "split", "refusal": rng.choice([None, None, {"code": "not_splittable"}]), "manifest": manifest,
            "chunks": [chunk(rng, kind, n) for n, kind in enumerate(kinds)]}


def request(rng):
    framework = rng.choice(["vllm", "sglang", "xdit", "custom", "", "other"])
    out = {"request_id": "req-7", "framework": framework, "framework_kind": "scriptable" if framework in oracle.SCRIPTABLE else "serving",
           "requested_mode": rng.choice([None, "", "mixed", "decode_only", "prefilldecode", "generic", " mixed ", "prefill"]), "attempt": 1}
    if rng.random() < 0.1:
        out.update(attempt=rng.choice([2, 3]), retry_of=rng.choice(["req-0", " "]), from_mode="mixed", source_warning_code="c")
    return out


def differs(want, got, path):
    """The first path at which `got` is not what the model says; None when there is none."""
    if isinstance(want, bool) or isinstance(got, bool):
        return None if want is got else path
    if isinstance(want, (int, float)) and isinstance(got, (int, float)):
        return None if math.isclose(want, got, rel_tol=1e-12, abs_tol=1e-9) else path
    if isinstance(want, float) and isinstance(got, str):
        same = oracle.NONFINITE.get(got)
        return None if same is not None and (same == want or (math.isnan(same) and math.isnan(want))) else path
    if type(want) is not type(got):
        return path
    if isinstance(want, dict):
        if not want and got:
            return path
        return next((d for k in want for d in [differs(want[k], got[k], path + "." + k) if k in got else path + "." + k] if d), None)
    if isinstance(want, list):
        if len(want) != len(got):
            return path
        return next((d for n, pair in enumerate(zip(want, got)) for d in [differs(*pair, "%s[%d]" % (path, n))] if d), None)
    return None if want == got else path


def at(document, path):
    for part in path.replace("[", ".[").split(".")[1:]:
        try:
            document = document[int(part[1:-1])] if part.startswith("[") else document[part]
        except (KeyError, IndexError, TypeError):
            return "nothing"
    return document


def main():
    heddle, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32)
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    print("seed %d" % seed)
    rng = random.Random(seed)
    passed = failed = 0
    classes = {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "record.json")
        for n in range(count):
            given, asked = record(rng), request(rng)
            with open(path, "w", encoding="utf-8") as out:
                json.dump(given, out)
            want = oracle.gate_and_table(json.loads(json.dumps(given)), dict(asked))
            run = subprocess.run([heddle, "gate", "--json", "--request", json.dumps(asked), path], capture_output=True, check=False)
            last = want["verdicts"][-1]
            classes[last.get("class") or last.get("dead_letter")] = classes.get(last.get("class") or last.get("dead_letter"), 0) + 1
            status = 0 if last.get("verdict") == "accepted" else 1
            try:
                got = json.loads(run.stdout)
                where = differs(want, got, "") or (None if run.returncode == status else "exit status")
            except ValueError:
                got, where = None, "no JSON: " + run.stderr.decode("utf-8", "replace")[:300]
            if where is None:
                passed += 1
                continue
            failed += 1
            print("record %d: %s: model %s, heddle %s (status %d)" % (
                n, where, json.dumps(at(want, where))[:300], json.dumps(at(got, where))[:300], run.returncode))
            if failed == 1:
                keep = os.path.join(tempfile.gettempdir(), "gate_differential_%d_%d.json" % (seed, n))
                with open(keep, "w", encoding="utf-8") as out:
                    json.dump(given, out)
                print("kept as %s, request %s" % (keep, json.dumps(asked)))
    print("last verdicts: " + ", ".join("%s %d" % pair for pair in sorted(classes.items())))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
