#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peak memory of `heddle split` by the shape of the trace.

  split_memory.py HEDDLE

Each shape is made in two sizes. With --index-memory M the peak is below 32 MiB + M + the largest event (splitting.md 12.2)
and grows by hardly a byte for each event more: whatever grows with a trace lies in the spill. Shapes of which the call tree
is built also stay below 32 MiB + 40 bytes an event without a ceiling. Exit 1 when one does not.
"""
import os, sys, tempfile

MIB = 1 << 20
M = 8 * MIB
SMALL, LARGE = 150000, 450000
GROWTH = 6  # bytes for each event more, which rounding of pages and of the allocator may take


class Trace(object):
    def __init__(self, path):
        self.file = open(path, "w", buffering=1 << 20)
        self.file.write('{"traceEvents":[')
        self.n = 0

    def add(self, cat, name, tid, ts, dur, args=""):
        self.file.write('%s\n{"ph":"X","cat":"%s","name":"%s","pid":1,"tid":%d,"ts":%d,"dur":%d,"args":{%s}}'
                        % ("," if self.n else "", cat, name, tid, ts, dur, args))
        self.n += 1

    def close(self):
        self.file.write("\n]}\n")
        self.file.close()


def name_of(i):
    return "op_%d" % (i * 2654435761 % (1 << 32) >> 24)  # of 256, without a period


def kernel(trace, i):
    trace.add("kernel", "kernel_%d" % (i % 7), 1000000, i * 100 + 50, 40, '"correlation":%d,"stream":7' % (i + 1))


def calls(trace, i, tid, cat):
    """one operator or frame with a launch and its kernel"""
    trace.add(cat, name_of(i), tid, i * 100, 80)
    if cat == "python_function":
        trace.add("cpu_op", "aten::mm", tid, i * 100 + 5, 70)
    trace.add("cuda_runtime", "cudaLaunchKernel", tid, i * 100 + 10, 20, '"correlation":%d' % (i + 1))
    kernel(trace, i)


SHAPES = {
    "siblings": lambda trace, i: calls(trace, i, 1, "cpu_op"),
    "frames": lambda trace, i: calls(trace, i, 1, "python_function"),
    "threads": lambda trace, i: calls(trace, i, 1 + i % 500, "cpu_op"),
    "kernels": kernel,
    "annotations": lambda trace, i: trace.add("user_annotation", "part %d" % (i % 50), 1, i * 100, 80)
    if i else kernel(trace, i),
    "instant_start": lambda trace, i: calls(trace, i, 1, "cpu_op") if i % 2 == 0 else
    trace.add("cpu_op", name_of(i), 2, 0, 100000 + i % 1000),
}
WITH_TREE = ("siblings", "frames", "threads")


def make(path, shape, n):
    trace = Trace(path)
    i = 0
    while trace.n < n:
        SHAPES[shape](trace, i)
        i += 1
    trace.close()
    return trace.n


def peak(heddle, path, folder, bounded):
    argv = [heddle, "split", path, "--json", "--tmp-dir", folder] + (["--index-memory", str(M)] if bounded else [])
    pid = os.fork()
    if pid == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.execv(heddle, argv)
    _, status, usage = os.wait4(pid, 0)
    if not os.WIFEXITED(status) or os.WEXITSTATUS(status) not in (0, 1):
        raise SystemExit("%s ended with status %d" % (" ".join(argv), status))
    return usage.ru_maxrss * 1024


def check(what, got, most):
    print("%-34s %6.1f MiB, at most %6.1f" % (what, got / MIB, most / MIB))
    if got > most:
        print("FAILED %s" % what)
    return got <= most


def main():
    heddle = sys.argv[1]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        for shape in SHAPES:
            peaks, sizes = [], []
            for n in (SMALL, LARGE):
                sizes.append(make(path, shape, n))
                peaks.append(peak(heddle, path, folder, True))
            good &= check("%s, with a ceiling" % shape, peaks[1], 32 * MIB + M + 4096)
            good &= check("%s, growth" % shape, peaks[1] - peaks[0], MIB + GROWTH * (sizes[1] - sizes[0]))
            if shape in WITH_TREE:
                good &= check("%s, without" % shape, peak(heddle, path, folder, False), 32 * MIB + 40 * sizes[1] + 4096)
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
