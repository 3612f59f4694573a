#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python model of the audit as a peer of bench_audit.

  audit_model.py inputs FILE         one campaign's results with their logs, a line each
  audit_model.py time FILE SECONDS   records a second, from bytes to row line and x
"""
import argparse
import json
import sys
import time

import gen_tuning as model


def inputs(path):
    a = argparse.Namespace(seed=1, first=0, scale=1, asof="0818", e2e=False, malformed=0,
                           dup=0.0, shuffle=False)
    logs, results = {}, []
    for event in model.events(a):
        if event["type"] == "tune_log":
            logs.setdefault(event["workspace"], {})[event["tuner"]] = event["text"]
        else:
            results.append(event)
    with open(path, "w", encoding="ascii") as out:
        for event in results:
            out.write(json.dumps({"result": json.dumps(event["value"]),
                                  "event_time_us": event["event_time_us"],
                                  "logs": logs.get(event["workspace"], {})}) + "\n")


def timed(path, seconds):
    with open(path, encoding="ascii") as lines:
        cases = [json.loads(line) for line in lines]
    cases = [(c["result"].encode(), c["event_time_us"], c["logs"]) for c in cases]
    done, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for raw, us, logs in cases:
            derived = model.derive(raw, us, logs)
            model.dumps(derived["row"])
            model.dumps(derived["x"])
        done += len(cases)
    print(done / (time.perf_counter() - begin))


if __name__ == "__main__":
    if sys.argv[1] == "inputs":
        inputs(sys.argv[2])
    else:
        timed(sys.argv[2], float(sys.argv[3]))
