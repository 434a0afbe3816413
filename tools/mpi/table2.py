#!/usr/bin/env python3
"""Prints table 2 of Dr. Top-k (SC 2021): communication, reload and total time over the numbers of GPUs and of keys.

Runs `skyrank_mpi topk` with one rank a GPU for each number of GPUs, and prints its times beside the paper's. Every answer is
checked; the exit status is 1 if one is wrong, and 2 if a run failed.
"""

import argparse
import csv
import pathlib
import shutil
import subprocess
import sys

# (GPUs, keys as a power of two) to milliseconds of communication, reload and total, on Tesla V100S.
PAPER = {
    (1, 30): (0, 0, 6.1), (1, 31): (0, 373.14, 384.93), (1, 32): (0, 1238.13, 1261.51), (1, 33): (0, 2898.54, 2944.99),
    (2, 30): (0.11, 0, 3.7), (2, 31): (0.46, 0, 6.22), (2, 32): (0.06, 524.41, 536.218), (2, 33): (0.08, 1586.81, 1788.3),
    (4, 30): (0.11, 0, 2.5), (4, 31): (0.29, 0, 3.7), (4, 32): (0.12, 0, 8.8), (4, 33): (0.07, 1056.02, 1067.68),
}
ROOT = pathlib.Path(__file__).resolve().parents[2]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / "build/release/skyrank_mpi"), help="skyrank_mpi")
    parser.add_argument("--gpus", default="1,2,4", help="numbers of ranks, each with a GPU (default: 1,2,4)")
    parser.add_argument("--rows", default="2^30,2^31,2^32,2^33", help="numbers of keys (default: 2^30,2^31,2^32,2^33)")
    parser.add_argument("--sub-vector", default="2^30", help="most keys that a GPU holds (default: 2^30)")
    parser.add_argument("--k", default="128", help="keys that are wanted (default: 128)")
    parser.add_argument("--repeats", default="5", help="timed runs of each cell (default: 5)")
    parser.add_argument("--algorithm", default="cuda-dr-topk", help="top-k algorithm of each rank")
    parser.add_argument("--exchange-delegates", action="store_true", help="ranks exchange their k-th delegates")
    parser.add_argument("--gather", default="flat", choices=("flat", "tree"))
    parser.add_argument("--overlap", action="store_true", help="ranks send while others compute")
    parser.add_argument("--out", default="table2.csv", type=pathlib.Path, help="CSV of all cells (default: table2.csv)")
    parser.add_argument("--plot", type=pathlib.Path, help="picture of the total times to draw; needs matplotlib")
    parser.add_argument("--drawn", action="store_true", help="measure nothing: print and draw what --out has")
    parser.add_argument("--mpirun", default="mpirun --bind-to none --oversubscribe", help="the command that starts ranks")
    return parser.parse_args()


def run(options):
    """Measures all cells into options.out; returns the exit status of the first run that failed, or 0."""
    if options.out.exists():
        options.out.unlink()
    for ranks in options.gpus.split(","):
        command = [*options.mpirun.split(), "-n", ranks, options.program, "topk", "--rows", options.rows,
                   "--sub-vector", options.sub_vector, "--k", options.k, "--repeats", options.repeats,
                   "--algorithm", options.algorithm, "--gather", options.gather, "--out", str(options.out)]
        if options.exchange_delegates:
            command.append("--exchange-delegates")
        if options.overlap:
            command.append("--overlap")
        status = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
        # Cells with wrong answers are in the file, and told below.
        if status not in (0, 1) or not options.out.exists():
            print(f"table2: {' '.join(command)}: exit status {status}", file=sys.stderr)
            return 2
    return 0


def print_table(rows):
    """Prints a line for each number of GPUs and keys."""
    single = {row["rows"]: float(row["total_ms"]) for row in rows if row["ranks"] == "1"}
    print(f"{'GPUs':>4} {'keys':>6} {'communication':>14} {'reload':>10} {'total':>10} {'speed-up':>9} {'correct':>8}"
          f"   {'paper: communication':>20} {'reload':>9} {'total':>9}   (ms)")
    for row in rows:
        total = float(row["total_ms"])
        keys = int(row["rows"])
        exponent = keys.bit_length() - 1
        name = f"2^{exponent}" if keys == 1 << exponent else str(keys)
        speedup = f"{single[row['rows']] / total:.1f}x" if row["rows"] in single and total > 0 else "-"
        paper = PAPER.get((int(row["ranks"]), exponent)) if name.startswith("2^") else None
        beside = f"{paper[0]:>20.2f} {paper[1]:>9.1f} {paper[2]:>9.1f}" if paper else f"{'-':>20} {'-':>9} {'-':>9}"
        print(f"{row['ranks']:>4} {name:>6} {float(row['communication_ms']):>14.3f} {float(row['reload_ms']):>10.2f} "
              f"{total:>10.2f} {speedup:>9} {row['correct']:>8}   {beside}")


def draw(rows, picture):
    """Draws the total time over the number of GPUs, a line for each number of keys, and the paper's dotted."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.4, 4.2), layout="constrained")
    for keys in sorted({int(row["rows"]) for row in rows}):
        ours = sorted((int(row["ranks"]), float(row["total_ms"])) for row in rows if int(row["rows"]) == keys)
        exponent = keys.bit_length() - 1
        line, = axes.plot(*zip(*ours), marker="o", label=f"$2^{{{exponent}}}$ keys")
        paper = [(gpus, PAPER[gpus, exponent][2]) for gpus, _ in ours if (gpus, exponent) in PAPER]
        if paper and keys == 1 << exponent:
            axes.plot(*zip(*paper), marker="x", linestyle=":", color=line.get_color())
    counts = sorted({int(row["ranks"]) for row in rows})
    axes.set(title="Dr. Top-k on several GPUs (table 2), the paper's dotted", xlabel="GPUs", ylabel="total time (ms)",
             xscale="log", yscale="log", xticks=counts, xticklabels=counts)
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(picture, dpi=100)


def main():
    options = arguments()
    if not options.drawn and not shutil.which(options.mpirun.split()[0]):
        print(f"table2: there is no {options.mpirun.split()[0]}; install MPI, or name it with --mpirun", file=sys.stderr)
        return 2
    if not options.drawn and (status := run(options)):
        return status
    with open(options.out, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    print_table(rows)
    if options.plot:
        draw(rows, options.plot)
    return 0 if all(row["correct"] == "yes" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
