#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random cases of every kind of the areas gate and kernel-table: the executable model against the vector runner.

  gate_answers.py HEDDLE_VECTORS [--cases N] [--seed S] [--keep DIR]

N cases of each kind. The seed is printed; the same seed gives the same cases. Made are the inputs that the
specification gives one answer for: where the model reads text as Python does (digits and blanks beyond ASCII, the
characters that split lines in its regular expressions) no case is made.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import domain_oracle as oracle  # noqa: E402
import gate_differential as records  # noqa: E402

MODES = ["mixed", "decode_only", "prefilldecode", "generic"]
ODD_MODES = MODES + ["range", "Mixed", "prefill", " mixed ", "", " ", "generic\n", "mixed,generic"]
FRAMEWORKS = ["vllm", "sglang", "xdit", "custom", "XDIT ", " Custom", "trtllm", "tensorrt_llm", "atom", "", " ", "vLLM", "xdit2"]
CODES = ["steady_state_chunk_missing", "steady_state_chunk_low_quality", "trace_split_no_steady_state", "steady_state_mode_invalid",
         "quality_unmeasured", "steady_state_chunk_empty", "", "steady_state_chunk_missing "]
NUMBERS = ["0", "0.0", "0.05", ".05", "5.", "+0.5", "-0.1", "1", "1.0", "1.0000001", "1e-2", "5E-2", "1e400", "nan", "inf", "-inf", "x", "",
           " 0.25 ", "0x1", "1_0", "0,05", "100", "00.5", "1e", "--1", "2", "1e-400", "80", "10", "-5", "3.7", "99.999", "0.050", "0.5 0"]


def pick(rng, *values):
    return rng.choice(values)


def odds(rng, percent):
    return rng.randrange(100) < percent


def figure(rng, top=3000.0):
    """A number of JSON, often at an edge, sometimes none."""
    return rng.choice([None, 0, 0.0, 1, -1, 0.0004, 0.0005, 0.0006, 0.001, "nan", "inf", "-inf", "5", True, 1e306, 1e308, 50, 1000,
                       round(rng.random() * top, 3), rng.random() * top, rng.randrange(5000), 2.0005, 0.1 + 0.2])


def plain_figure(rng):
    return rng.choice([0, 1, 50.0, 1000.0, round(rng.random() * 3000, 3), round(rng.random() * 3000, 3), 400, 900])


def ratio(rng):
    return rng.choice([None, 0, 0.0, 0.05, 0.0499999999, 0.12, 0.02, 0.15, 0.1500000000000001, 1, 1.3, -0.1, "nan", "inf", "-inf", "x",
                       0.06, 0.16, 0.16000000000000003, 1e-300, round(rng.random(), 2), rng.random(), 0.0000005, 0.1234565])


def events(rng):
    return rng.choice([None, 0, 1, -3, 99, 100, 5000, 0.5, 1.5, "nan", "inf", 99.9])


def chunk_numbers(rng):
    if odds(rng, 10):
        return None
    fields = {"num_gpu_events": events(rng), "gpu_duration": figure(rng), "gpu_busy_duration": figure(rng), "busy_ratio": ratio(rng)}
    if odds(rng, 60):
        fields.update(num_gpu_events=rng.choice([0, 10, 500]), gpu_duration=plain_figure(rng), gpu_busy_duration=plain_figure(rng))
    if odds(rng, 50):
        fields.update(chunk_health(rng))
    return {k: v for k, v in fields.items() if odds(rng, 92)}


def chunk_health(rng):
    wall = plain_figure(rng)
    return {"num_steps": rng.choice([None, 0, 1, 2, 3, 32, 1.5, -2, "nan"]), "wall_us": rng.choice([wall, wall, wall, figure(rng)]),
            "busy_union_us": rng.choice([0, wall, wall * 0.2, round(wall * 0.2, 3), round(wall * 0.1999, 3), wall + 1, figure(rng)]),
            "compute_union_us": rng.choice([0, wall * 0.1, round(wall * 0.1, 3), round(wall * 0.0999, 3), wall, figure(rng)]),
            "exposed_comm_us": rng.choice([0, wall * 0.5, wall, figure(rng)]), "max_event_us": rng.choice([plain_figure(rng), figure(rng)]),
            "steps_without_gpu_events": rng.choice([0, 1, 2, 16, 17, 33, None, -1, 1.5])}


def trace_numbers(rng):
    if odds(rng, 30):
        return None
    fields = {"graded_coverage": ratio(rng), "root_span_share": ratio(rng), "startup_transient_trimmed": rng.choice([True, False, None]),
              "startup_transient_kernel": rng.choice([None, "ncclDevKernel", ""]), "startup_transient_collective_ratio": figure(rng, 9),
              "startup_transient_noise_ratio": figure(rng, 1), "gpu_busy_us": figure(rng), "graph_launch_count": rng.choice([None, 0, 1, 2, 4, 5, 2.5, "nan"]),
              "graph_launches_with_kernels": rng.choice([None, 0, 1, 2, 3, -1]), "graph_kernels": rng.choice([None, 0, 1, 9, -1]),
              "off_root_thread_busy_us": rng.choice([figure(rng), 0, 50, 5.0, 150]), "overlap_excess_us": rng.choice([figure(rng), 50, 250]),
              "overlap_device_us": rng.choice([1000, 1000.0, figure(rng)]), "overlap_worst_us": rng.choice([999.999, 999.9995, 1000.0, figure(rng)])}
    return {k: v for k, v in fields.items() if odds(rng, 85)}


def settings(rng):
    """-> config, env"""
    config, env = {}, {}
    if odds(rng, 25):
        config["min_busy_ratio"] = rng.choice([0, 0.05, 0.5, 1, 0.1, None])
    if odds(rng, 15):
        config["default_mode"] = rng.choice(ODD_MODES)
    for key in ("max_idle_pct", "min_compute_pct", "max_exposed_comm_pct"):
        if odds(rng, 15):
            config[key] = rng.choice([0, 20.0, 80, 50.5, 100, None])
    for name in ("INFERENCE_OPTIMIZER_CHUNK_QUALITY_MIN_BUSY_RATIO", "HYPERLOOM_TRACELENS_IDLE_PCT_THRESHOLD",
                 "HYPERLOOM_TRACELENS_MIN_COMPUTE_PCT_THRESHOLD"):
        if odds(rng, 15):
            env[name] = rng.choice(NUMBERS)
    if odds(rng, 15):
        env["INFERENCE_OPTIMIZER_STEADY_STATE_MODE"] = rng.choice(ODD_MODES)
    return config, env


def request(rng):
    out = {"request_id": rng.choice(["req-1", "", "r/2"]), "framework": rng.choice(FRAMEWORKS),
           "framework_kind": rng.choice(["serving"] * 5 + ["scriptable", "scriptable", "batch", "", "Serving"]),
           "requested_mode": rng.choice([None] * 3 + ODD_MODES), "attempt": rng.choice([1] * 8 + [2, 2, 2, 0, 3, -1])}
    if out["attempt"] == 2 or odds(rng, 10):
        out.update(retry_of=rng.choice(["req-0", "req-0", "", " ", None]), from_mode=rng.choice(["mixed", "mixed", "generic", " ", None]),
                   source_warning_code=rng.choice(CODES[:2] + [None]))
    return out


def split(rng):
    chunks = [{"kind": rng.choice(MODES * 3 + ["range"]), "file": "c%d.json.gz" % n, "numbers": chunk_numbers(rng)}
              for n in range(rng.choice([0, 1, 2, 2, 3, 4, 5]))]
    out = {"status": rng.choice(["SPLITTABLE"] * 6 + ["DEGRADED", "DEGRADED", "NOT_SPLITTABLE", None]), "aborted": odds(rng, 4),
           "failed": odds(rng, 4), "chunks": chunks, "numbers": trace_numbers(rng)}
    if odds(rng, 20):
        out["refusal_code"] = rng.choice(["no_roots", "", None, "degraded"])
    return out


def gate_decide(rng):
    config, env = settings(rng)
    return {"request": request(rng), "split": split(rng), "config": config, "env": env}


def gate_flow(rng):
    asked = {"request_id": "req-1", "framework": "vllm", "framework_kind": rng.choice(["serving"] * 5 + ["scriptable"]),
             "requested_mode": rng.choice([None] + MODES), "attempt": 1}
    config, env = settings(rng)
    return {"request": asked, "split": split(rng), "config": config, "env": env}


def gate_ratio(rng):
    return {"numbers": chunk_numbers(rng) or {}}


def gate_import_row(rng):
    cells = NUMBERS + ["12.5", "0.00", "0.05", "0.5", "0.055", "+.5", "1.", "-0.05", "500.9", "-3"]
    return {"row": {k: rng.choice(cells) for k in ("num_gpu_events", "gpu_duration", "gpu_busy_duration", "busy_ratio") if odds(rng, 88)}}


def gate_collect(rng):
    labels = list(oracle.LABEL.values()) + ["steady", "xmixed_steady_state", "Mixed_steady_state", "mixed_steady_states"]
    ends = [".trace.json.gz", ".json.gz", ".trace.json", ".json", ".json.zst", ".gz", "", ".JSON"]
    files = []
    for _ in range(rng.randrange(0, 7)):
        name = rng.choice(labels) + rng.choice(["_", "", "-"]) + rng.choice(["a", "prefill_0", "b.json", ""]) + rng.choice(ends)
        files.append(rng.choice(["", "sub/", "z/y/", "/abs/", "mixed_steady_state_d/"]) + name)
    return {"files": sorted(set(files), key=lambda _: rng.random()), "requested_mode": rng.choice(MODES * 3 + ["range", "", "Mixed"]),
            "failed": odds(rng, 8), "aborted": odds(rng, 8)}


def modes_field(rng):
    return rng.choice([[], [""], [" "], ["mixed"], [" decode_only "], [None, 5, "generic"], ["", "prefilldecode"], "mixed", None, {"mixed": 1}, 7, True,
                       [["mixed"]], ["range"]])


def gate_retry(rng):
    warnings = []
    for _ in range(rng.randrange(0, 4)):
        warning = {"code": rng.choice(CODES)}
        if odds(rng, 50):
            warning["non_empty_modes"] = modes_field(rng)
        if odds(rng, 50):
            warning["available_modes"] = modes_field(rng)
        if odds(rng, 10):
            del warning["code"]
        warnings.append(rng.choice([warning] * 9 + ["text"]) if odds(rng, 95) else rng.choice([None, 5, ["steady_state_chunk_missing"]]))
    return {"refused": odds(rng, 85), "framework_kind": rng.choice(["serving"] * 6 + ["scriptable"]), "attempt": rng.choice([1] * 6 + [2, 3]),
            "warnings": warnings}


def hint(rng):
    return rng.choice([None, "", " ", "16", " 8 ", 64, 0.5, 1.0, 0, "x", "1e3", 1e22, 1e16, 123456789012345, -0.25, 1e-7, 0.1])


def gate_split_request(rng):
    asked = {"framework": rng.choice(FRAMEWORKS + [None]), "steady_state_mode": rng.choice([None] + ODD_MODES)}
    for key in ("split_conc", "split_osl", "split_r"):
        if odds(rng, 40):
            asked[key] = hint(rng)
    if odds(rng, 50):
        asked["num_steps"] = rng.choice([None, 0, 1, 7, 8, 9, 32, 100, -5, "16", 12.5])
    env = {name: rng.choice(["", "4", " 12 ", "x", "0.8"]) for name in
           ("TRACELENS_SPLIT_CONC", "TRACELENS_SPLIT_OSL", "TRACELENS_SPLIT_R", "CONC", "OSL", "RANDOM_RANGE_RATIO") if odds(rng, 25)}
    if odds(rng, 20):
        env["INFERENCE_OPTIMIZER_STEADY_STATE_MODE"] = rng.choice(ODD_MODES)
    return {"request": asked, "baseline": {k: hint(rng) for k in ("conc", "osl", "random_range_ratio") if odds(rng, 40)},
            "campaign_framework": rng.choice([None, ""] + FRAMEWORKS), "env": env,
            "config": {"default_mode": rng.choice(ODD_MODES)} if odds(rng, 20) else {}}


def gate_health(rng):
    config, env = settings(rng)
    accepted = None if odds(rng, 15) else dict(chunk_numbers(rng) or {}, **chunk_health(rng))
    return {"numbers": trace_numbers(rng), "accepted": accepted,
            "status": rng.choice(["SPLITTABLE", "SPLITTABLE", "DEGRADED", "NOT_SPLITTABLE", None]), "config": config, "env": env}


def gate_selfcert(rng):
    flag = [True, False, None]
    facts = {"framework": rng.choice(["vllm", "sglang", "trtllm", "tensorrt_llm", "xdit", "", None]), "kernel_count": rng.choice([None, 0, 1, 100]),
             "stream_errors": rng.choice([None, 0, 1, 2]), "truncated": rng.choice(flag), "resolver_kernel_count": rng.choice([None, 0, 5]),
             "resolver_opens_other_file": rng.choice(flag), "selected_capture_fragment": rng.choice(flag),
             "attributed_pct": rng.choice([None, 0, 0.0, 60.0, 1e-9, -1, "nan"]), "graph_under_recorded": rng.choice(flag), "has_trace": rng.choice([True, False])}
    return {"facts": {k: v for k, v in facts.items() if odds(rng, 85)}}


# kernel table

def kernel_name(rng):
    name = "".join(rng.choice(records.PIECES) for _ in range(rng.randrange(1, 7)))
    return rng.choice([name, name, name.upper(), name.lower(), name + str(rng.randrange(9)), "", " ", "<x>", "a" * rng.choice([79, 80, 81, 4096])]) if odds(rng, 40) else name


NEEDLES = sorted({part for table in (oracle.CATEGORY, oracle.OP_CATEGORY) for _, needles, words in table
                  for needle in (needles + " " + words).split() for part in needle.split("..")})


def needle_name(rng):
    parts = [rng.choice(NEEDLES + ["_", "x", "<", " ", "::", "9", "-", "\u00e9"]) for _ in range(rng.randrange(1, 5))]
    text = rng.choice(["", "_", " ", "::"]).join(parts)
    if odds(rng, 20) and len(text) > 2:
        at = rng.randrange(len(text))
        text = text[:at] + text[at + 1:]
    return "".join(c.upper() if odds(rng, 15) else c for c in text)


def kernel_row(rng, name):
    row = records.kernel(rng, name)
    if odds(rng, 30):
        row["launches"] = [dict(launch, total_us=rng.choice([0.0, 5.0, launch["total_us"]])) for launch in row["launches"]]
    if odds(rng, 10):
        del row["eager_shapes"]
    return row


def kernel_table(rng):
    names = {needle_name(rng) if odds(rng, 50) else kernel_name(rng) for _ in range(rng.choice([0, 1, 2, 5, 9, 12]))}
    chunk = {"wall_us": rng.choice([None, 0, 1000.0, 0.001, round(rng.random() * 5000, 3)]), "kernels": [kernel_row(rng, n) for n in sorted(names)]}
    if odds(rng, 20) and chunk["kernels"]:
        for row in chunk["kernels"]:
            row["total_us"] = rng.choice([1.0, 2.0])
    config = {"max_rows": rng.choice([0, -1, 1, 3, 100])} if odds(rng, 40) else {}
    env = {"HYPERLOOM_KERNEL_CANDIDATES_TOP_K": rng.choice(["1", "0", "-2", "x", "2.9", "", "1e1", "nan"])} if odds(rng, 30) else {}
    return {"chunk": chunk, "config": config, "env": env}


def kernel_from_split(rng):
    row = kernel_row(rng, kernel_name(rng))
    row["frame"] = rng.choice(records.FRAMES + ["a.py(12): ", "a.py(x): f", ".py(1): f", "b.py(1):f", "c.py(99999999999): g", "d.pyx(1): f",
                                                "e.py(2): f\ng", "f.py(03): x.py(4): y"])
    return {"row": row}


def kernel_shapes(rng):
    return {"row": kernel_row(rng, kernel_name(rng))}


def kernel_operand(rng):
    dims = rng.choice([[], [rng.randrange(0, 9)], [1, 2, 3], [-1, 2], [[3, 4]], "x", None, 5, [1.5], [True], [None], ["2"], [1.0], [10 ** 20], [0, 0], {}])
    return {"dims": dims, "dtype": rng.choice(sorted(oracle.DTYPES) + ["C10::BFloat16", " float ", "Float", "x", "", None, 5, True, "half\t"])}


def kernel_category(rng):
    out = {"name": needle_name(rng) if odds(rng, 80) else kernel_name(rng)}
    if odds(rng, 40):
        out["category"] = rng.choice(["kernel", "gpu_memcpy", "gpu_memset"])
    if odds(rng, 60):
        out["op"] = needle_name(rng)
    return out


COLLECTIVES = ["all", "All", "ALL", "reduce", "Reduce", "gather", "Gather", "scatter", "Scatter", "to", "To", "broadcast", "Broadcast", "nccl", "NCCL", "rccl",
               "ccl", "clx", "cclx", "ncclx", "nclx", "cl", "cross_device_reduce", "cross", "device", "_", "__", "-", "::", "<", " ", "2", "x", "Kernel", "\u00e9"]


def kernel_collective(rng):
    return {"name": "".join(rng.choice(COLLECTIVES) for _ in range(rng.randrange(1, 7)))}


ROW_FIELDS = sorted(oracle.NUMBERS | oracle.STRINGS | oracle.LISTS | oracle.BOOLS)


def json_value(rng, depth=0):
    values = [None, True, False, 0, 5, -1.5, 1e300, "", "x", "5", " 7.5 ", "nan", "NaN", "Infinity", "1e400", "0x1", float("nan"), float("inf"), -float("inf"),
              "\u00e9\u20ac", "\"q\"", "k001", " k001 "]
    if depth < 2:
        values += [[json_value(rng, depth + 1)], {}, [], {"shape": "(1,2)", "call_num": 3}, {"a": json_value(rng, depth + 1)}]
    return rng.choice(values)


def external_row(rng):
    row = {}
    for field in rng.sample(ROW_FIELDS, rng.randrange(0, 6)) + ["own", "z"][:rng.randrange(0, 3)]:
        row[field] = json_value(rng)
    if odds(rng, 70):
        row["kernel_id"] = rng.choice(["k%03d" % rng.randrange(4), " k001", "k001 ", "", " ", None, 5])
    if odds(rng, 70):
        row["name"] = rng.choice(["n%d" % rng.randrange(3), "k001", "", " ", " n1", None, 7])
    items = list(row.items())
    rng.shuffle(items)
    return dict(items)


def kernel_external(rng):
    document = {}
    for name in ("hot_kernels", "kernel_candidates", "skipped_kernels", "routable_kernels"):
        if odds(rng, 50):
            document[name] = [external_row(rng) if odds(rng, 92) else json_value(rng) for _ in range(rng.randrange(0, 4))] \
                if odds(rng, 92) else json_value(rng)
    if odds(rng, 30):
        document["task_groups"] = [rng.choice([{"kernel_ids": [rng.choice(["k000", "k001", "k9", " k001", "n1", ""]) for _ in range(2)]}, {}, 5,
                                               {"kernel_ids": []}, {"kernel_ids": None}]) for _ in range(rng.randrange(0, 3))]
    for name in ("framework", "model_name", "target_platform", "source", "reusable_native_kernel_ids", "extra", "Hot_kernels"):
        if odds(rng, 20):
            document[name] = json_value(rng)
    items = list(document.items())
    rng.shuffle(items)
    text = json.dumps(dict(items), ensure_ascii=odds(rng, 50))
    if odds(rng, 6):
        text = rng.choice([text[:-1], text + "x", "", " ", "[]", "null", text + " \n", "5", "\"x\"", "{,}", text.replace(":", "", 1)])
    return {"text": text}


CELLS = ["", "-", "\u2013", "\u2014", "n/a", "N/A", "moe_gemm1_kernel", "Kernel 1: moe_gemm1_kernel", "Kernel 12:moe_gemm1_kernel", "Kernel1: x", "Kernel 2: ",
         "moe_gemm1_kernel<br>other_kernel", "Kernel 1: other_kernel<br>Kernel 2: moe_gemm1_kernel", "reduce_scatter_cross_device_st...", "reduce_scatter_...",
         "moe_gemm1_kernel...", "...", "reduce_scatter_cross ...", "other_kernel<br>-", "kernel 1: other_kernel"]
ARGS = ["", "-", "(8,16) bf16", "(8,16) bf16<br>(7,) fp32", "(8,16) bf16 <br> (7,) fp32", "n/a", "\u2014", "(1,1)", "scalar", "(8,16)  bf16", "(8,16", "()", "(8,16)bf16",
        "(8,16) bf16<br>"]


def table_lines(rng):
    titles = rng.sample(["Operation", "Kernel Name", " args ", "Kernel Path", "COUNT", "Time (ms)", "kernel name", "Args", "KERNEL NAME"], rng.randrange(2, 6))
    if odds(rng, 70):
        titles = ["Operation", "Args", "Kernel Name"] + rng.choice([[], ["Count"]])
        rng.shuffle(titles)
    lines = ["|" + "|".join(titles) + rng.choice(["|", ""]), rng.choice(["|---|---|---|", "|:--|--:|", "| - |", "|---", "|===|", "---|---", "||", "|-"])]
    for _ in range(rng.randrange(0, 5)):
        cells = []
        for title in titles:
            name = title.strip().lower()
            cells.append(rng.choice(CELLS) if name == "kernel name" else rng.choice(ARGS) if name == "args" else
                         rng.choice(["aten::mm", "", "-", "n/a", "vllm::moe"]))
        cells = cells[:rng.choice([len(cells), len(cells), len(cells), 1, 2])]
        lines.append(rng.choice(["", " ", "||"]) + "| " + " | ".join(cells) + rng.choice([" |", "", "|| "]))
    return lines


def report(rng):
    lines = []
    for _ in range(rng.randrange(1, 4)):
        lines += rng.choice([[], ["# R"], ["text"], [""], ["|"], ["| x |"]]) + table_lines(rng) + rng.choice([[], [""], ["text"], ["# x", ""]])
    names = ["moe_gemm1_kernel", "other_kernel", "reduce_scatter_cross_device_store_long", "reduce_scatter_cross_device_store", "reduce_scatter_x", "", None, "x"]
    candidates = [{"kernel_id": "k%03d" % n, "device_kernel_name": rng.choice(names), "shapes": rng.choice([[], [], [], ["(1,) bf16"], None])}
                  for n in range(1, rng.randrange(2, 5))]
    return {"markdown": rng.choice(["\n", "\n", "\n", "\r\n"]).join(lines) + rng.choice(["", "\n"]), "candidates": candidates}


def kernel_evidence(rng):
    return report(rng)


def kernel_confirm(rng):
    given = report(rng)
    found = [e for e in oracle.kt_evidence(given["markdown"], given["candidates"]) if e["shapes"]]
    shapes = rng.choice([found[0]["shapes"] if found else [], ["(8,16) bf16"], [], ["(8,16) bf16", "(7,) fp32"]])
    return dict(given, kernel_id=rng.choice([found[0]["kernel_id"] if found else "k001", "k001", "k9"]), shapes=shapes,
                shape_provenance=rng.choice(["review_backfill"] * 4 + ["torch_trace", "", "review_derived"]))


SYMBOLS = ["aiter::my_kern", "_ZN5aiter7my_kernEPf", "_Z7my_kernPf", "void aiter::my_kern<float, 4>(x)", "my_kern<a<b>>", "my_kern.kd", "x (foo Op)", "foo->bar",
           "_ZN12_GLOBAL__N_15inner4kernEv", "_ZNK5aiter7my_kernEv", "_ZN9aiter", "_Z", "<x>", "", " my_kern ", "triton_poi_fused_add", "size_t f", "a>b<c",
           "_ZN5aiter1x2yyE", "unsigned g<3>", "aiter::my_kern <int> (Bar Op)", "_ZN0x", "h\"i\\j", "\u00e9k"]


def kernel_groups(rng):
    rows = []
    for n in range(rng.randrange(0, 7)):
        row = {"kernel_id": "k%03d" % rng.choice([n, n, n, 1]), "name": rng.choice(SYMBOLS), "duration_us": rng.choice([10, 10.5, 20, 0, 0.1, 0.2, 1e9, 3.0005]),
               "call_count": rng.randrange(0, 100), "gpu_pct": rng.choice([0.1, 0.2, 5, None, "3", 12.345, 0.0005]),
               "source_file": rng.choice(["/r/a.cu", "/r/./a.cu", "/r//a.cu", "/r/b.py", " /r/a.cu ", "", " ", None, "/r/x/../a.cu", "/r/a.CU", "/r/a.h",
                                          "r/a.hip", "/", "/r/a.cu/"]),
               "reusable_native_kernel": rng.choice([True] * 6 + [False, None, "true", 1])}
        if odds(rng, 20):
            row["shape_dispatchable"] = rng.choice([True, False, None])
        rows.append(row)
    return {"rows": rows}


KINDS = {
    ("gate", "decide"): gate_decide, ("gate", "flow"): gate_flow, ("gate", "ratio"): gate_ratio, ("gate", "import_row"): gate_import_row,
    ("gate", "collect"): gate_collect, ("gate", "retry"): gate_retry, ("gate", "split_request"): gate_split_request,
    ("gate", "health"): gate_health, ("gate", "selfcert"): gate_selfcert,
    ("kernel-table", "table"): kernel_table, ("kernel-table", "from_split"): kernel_from_split, ("kernel-table", "shapes"): kernel_shapes,
    ("kernel-table", "operand"): kernel_operand, ("kernel-table", "category"): kernel_category, ("kernel-table", "collective"): kernel_collective,
    ("kernel-table", "external"): kernel_external, ("kernel-table", "evidence"): kernel_evidence, ("kernel-table", "confirm"): kernel_confirm,
    ("kernel-table", "groups"): kernel_groups,
}


def write_kind(folder, area, kind, cases, seed):
    rng = random.Random("%d %s %s" % (seed, area, kind))
    vectors = []
    for n in range(cases):
        given = KINDS[area, kind](rng)
        answer = oracle.RUN[area, kind](json.loads(json.dumps(given)))
        vectors.append({"id": "%s-%s-%d" % (area, kind, n), "why": "random", "input": given, "expect": oracle.plain(answer)})
    path = os.path.join(folder, area, kind + ".json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"format": "heddle-vectors/1", "worker": area, "kind": kind, "spec": "random", "vectors": vectors}, out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("runner", metavar="HEDDLE_VECTORS")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", metavar="DIR", help="write the cases there and leave them")
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 32)
    print("seed %d" % seed, flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or temporary
        for area, kind in KINDS:
            write_kind(folder, area, kind, args.cases, seed)
        return subprocess.run([args.runner, "--dir", folder], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
