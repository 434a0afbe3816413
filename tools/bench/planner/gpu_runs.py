#!/usr/bin/env python3
"""Turns CSVs of `skyrank bench --device cuda` into runs that the planner's cost models are fitted to.

    gpu_runs.py --keep fitted skyline-gpu.csv topk-gpu.csv > planner/data/cuda.csv
    gpu_runs.py --keep held-out skyline-gpu.csv topk-gpu.csv > cuda-held-out.csv

Held out are all rankings of 2^26 rows, and of larger ones those with k = 65,536; skylines of 6 and of 12 dimensions. Of
skylines only the data of the classic generator count. Times of a device's events leave out how a problem gets there and
the wait for its answer. START seconds are added for that, so the "start" term of a fit means nothing and has to be
measured on a GPU. Keys lie on the device.
"""

import argparse
import csv
import math
import sys

START = 40e-6
GENERATED = ("correlated", "independent", "anticorrelated")
WIDTHS = {"uint8": 1, "uint16": 2, "float32": 4, "uint32": 4, "float64": 8, "uint64": 8}
GAMMA = (1, 0.5772, 0.9891, 0.9075, 0.9817, 0.9820, 0.9931)  # as in planner/facts/estimate.cpp
STATISTICS = ("selectivity", "distinct", "order", "ascending", "tied", "growth_sample", "dims", "drift", "survivors",
              "correlation")
HEADER = ("algorithm,data,n,d,k,widths,ties,fused,memory,threads,sample,selectivity,distinct,order,ascending,tied,"
          "growth_sample,dims,drift,survivors,correlation,planning,seconds,parameters")


def skyline_of_whole_dims(n, d):
    power, rows = 1.0, 0.0
    for j in range(d):
        if j > 0:
            power *= math.log(n) / j
        other = d - 1 - j
        rows += power * (GAMMA[other] if other < len(GAMMA) else 1)
    return min(max(rows, 1), n)


def effective_dims(n, skyline):
    """planner/facts/estimate.cpp: at which independent rows have a skyline of that size."""
    def rows(dims):
        below = skyline_of_whole_dims(n, int(dims))
        part = dims - int(dims)
        return below if part == 0 else below * (skyline_of_whole_dims(n, int(dims) + 1) / below) ** part
    least, most = 1.0, 64.0
    for _ in range(30):
        middle = (least + most) / 2
        least, most = (middle, most) if rows(middle) < skyline else (least, middle)
    return least


def held_out(run):
    n, d, k = int(run["n"]), int(run["d"]), int(run["k"] or 0)
    return d in (6, 12) if run["op"] == "skyline" else n == 1 << 26 or k == 65536


def statistics(run):
    """What a sample would tell of the distributions that decide, by their names."""
    dist, n, k = run["dist"], int(run["n"]), int(run["k"] or 0)
    if run["op"] == "skyline":
        size = int(run["result_size"] or 0)
        return dict(sample=n, growth_sample=n, dims=effective_dims(n, size), survivors=max(size / n, math.sqrt(size / n) / 4))
    distinct = {"all-equal": 1 / 1024, "few-distinct": 16 / 1024}.get(dist, 1)
    order = {"increasing": 1, "decreasing": -1}.get(dist, 0)
    tied = 1 if dist == "all-equal" else 1 / 16 if dist == "few-distinct" else 0
    return dict(sample=1024, distinct=distinct, order=order, ascending=0.5 + order / 2, tied=tied)


def line_of(run):
    skyline = run["op"] == "skyline"
    values = dict(selectivity=1, distinct=1, order=0, ascending=0.5, tied=0, growth_sample=0, dims=1, drift=0,
                  survivors=1, correlation=0)
    values.update(statistics(run))
    seconds = float(run["median_ms"]) / 1e3 + START
    fields = [run["algorithm"], run["dist"] + " " + run["type"], run["n"], run["d"], "" if skyline else run["k"],
              " ".join(str(WIDTHS[t]) for t in run["type"].split()), "" if skyline else 0, "" if skyline else 0, 1, 1]
    fields += [values["sample"]] + [f"{values[name]:.6g}" for name in STATISTICS]
    return ",".join(str(f) for f in fields + [0, f"{seconds:.6g}", run.get("parameters", "")])


def runs_in(path):
    with open(path, newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        for row in rows:
            known = row.get("op") in ("skyline", "top-k") and row.get("median_ms") and row["algorithm"].startswith("cuda-")
            known = known and (row["op"] == "top-k" or row["dist"] in GENERATED)
            if known and " " not in row["algorithm"] and all(t in WIDTHS for t in row["type"].split()):
                yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", choices=("fitted", "held-out"), required=True)
    parser.add_argument("csv", nargs="+")
    arguments = parser.parse_args()
    print("# times of GPU kernels, by tools/bench/planner/gpu_runs.py")
    print(HEADER)
    for path in arguments.csv:
        for run in runs_in(path):
            if held_out(run) == (arguments.keep == "held-out"):
                print(line_of(run))


if __name__ == "__main__":
    sys.exit(main())
