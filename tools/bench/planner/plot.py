#!/usr/bin/env python3
"""Two pictures of the verdicts that `skyrank_planner_bench judge --out` writes: regret.png, what share of queries loses
how much by the planner's choice, and prediction.png, predicted beside measured time. Needs matplotlib.

    plot.py VERDICTS.csv [--out FOLDER]
"""

import argparse
import csv
import math
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


def read_verdicts(path):
    with open(path, newline="") as file:
        verdicts = list(csv.DictReader(line for line in file if not line.startswith("#")))
    if not verdicts:
        raise SystemExit(f"{path}: no verdicts")
    return verdicts


def plot_regret(verdicts, path):
    regrets = sorted(float(v["regret"]) for v in verdicts)
    shares = [100 * (i + 1) / len(regrets) for i in range(len(regrets))]
    finite = [r for r in regrets if math.isfinite(r)]
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.step(finite, shares[: len(finite)], where="post")
    for share, limit in ((50, 1.05), (95, 1.5), (100, 3)):
        axes.plot(limit, share, "v", color="tab:red")
    stopped = len(regrets) - len(finite)
    note = f", {stopped} stopped" if stopped else ""
    axes.set(xscale="log", xlabel="time of the chosen path over the best one's", ylabel="% of queries",
             title=f"Regret of {len(regrets)} held-out queries{note} (triangles: targets)")
    ticks = [t for t in (1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100) if t <= max(3, finite[-1])]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def plot_prediction(verdicts, path):
    figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
    for op, marker in (("skyline", "o"), ("top-k", "x")):
        points = [v for v in verdicts if f" {op} " in f"{v['query']} "]
        axes.plot([float(v["chosen_ms"]) for v in points], [float(v["predicted_ms"]) for v in points], marker,
                  markersize=3, label=op)
    times = [float(v["chosen_ms"]) for v in verdicts if math.isfinite(float(v["chosen_ms"]))]
    ends = [min(times), max(times)]
    within = sum(abs(float(v["predicted_over_measured"]) - 1) <= 0.25 for v in verdicts)
    axes.plot(ends, ends, color="black", linewidth=0.8)
    axes.fill_between(ends, [0.75 * t for t in ends], [1.25 * t for t in ends], color="black", alpha=0.1,
                      label=f"within 25 %: {within} of {len(verdicts)}")
    axes.set(xscale="log", yscale="log", xlabel="measured ms", ylabel="predicted ms",
             title="Time of the chosen path, held-out queries")
    axes.legend()
    axes.set_aspect("equal")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verdicts", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    arguments = parser.parse_args()
    verdicts = read_verdicts(arguments.verdicts)
    arguments.out.mkdir(parents=True, exist_ok=True)
    plot_regret(verdicts, arguments.out / "regret.png")
    plot_prediction(verdicts, arguments.out / "prediction.png")


if __name__ == "__main__":
    main()
