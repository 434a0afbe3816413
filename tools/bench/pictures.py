#!/usr/bin/env python3
"""Draws the pictures of the README from committed data: tools/bench/pictures.py (needs matplotlib)."""
import csv
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE / "results"
OURS, OURS_TOO, PEERS = "#1b6ca8", "#86b8dc", "#b9b9b9"
plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "skyrank", "font.family": "sans-serif", "font.size": 10,
                     "axes.spines.top": False, "axes.spines.right": False})


def read(name):
    with open(RESULTS / name, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def time_of(rows, algorithm, measure, **cell):
    """The one time of an algorithm in a cell, milliseconds."""
    found = [row for row in rows
             if row["algorithm"] == algorithm and all(row[key] == str(value) for key, value in cell.items())]
    assert len(found) == 1, f"{len(found)} rows of {algorithm} in {cell}"
    return float(found[0][measure])


def written(ms):
    if ms >= 1000:
        return f"{ms / 1000:.1f} s"
    return f"{ms:.2g} ms" if ms < 10 else f"{ms:.0f} ms"


def bars(axes, title, items):
    """Horizontal bars on a logarithmic axis, first item on top; item: label, milliseconds, colour."""
    for place, (_, ms, colour) in enumerate(items):
        axes.barh(-place, ms, color=colour, height=0.7)
        axes.text(ms * 1.15, -place, written(ms), va="center")
    axes.set_yticks([-place for place in range(len(items))], [label for label, _, _ in items])
    axes.set_xscale("log")
    axes.set_xlim(min(ms for _, ms, _ in items) / 3, max(ms for _, ms, _ in items) * 8)
    axes.minorticks_off()
    axes.set_xlabel("milliseconds, logarithmic")
    axes.set_title(title, fontsize=10.5, fontweight="bold")


def whole_queries(axes, title, rows):
    """A line for each query with a mark for each system, on a logarithmic axis, first query on top."""
    queries = list(dict.fromkeys(row["query"] for row in rows))
    marks = {"duckdb": ("DuckDB 2.0", "#6f6f6f", "D"), "polars": ("Polars 2.1", "#a8a8a8", "s"),
             "skyrank warm": ("SkyRank, later in a batch", OURS_TOO, "o"),
             "skyrank": ("SkyRank, a process", OURS, "o")}
    for system, (label, colour, shape) in marks.items():
        times = {row["query"]: 1e3 * float(row["median_s"]) for row in rows if row["system"] == system}
        axes.scatter([times[query] for query in queries], range(len(queries)), color=colour, marker=shape, s=34, label=label,
                     zorder=3)
    axes.set_yticks(range(len(queries)), queries)
    axes.invert_yaxis()
    axes.minorticks_off()
    axes.grid(axis="y", color="#e6e6e6")
    axes.set_xscale("log")
    axes.set_xlabel("milliseconds, logarithmic")
    axes.set_title(title, fontsize=10.5, fontweight="bold")
    axes.legend(loc="center left", fontsize=9, reverse=True)


def draw_speed():
    topk = read("topk-cpu.csv")
    skyline = read("skyline-cpu.csv")
    cell = {"dist": "uniform", "n": 100000000, "k": 32}
    figure = plt.figure(figsize=(9.6, 7.4), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(4.2, 3.2))
    left, right = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
    whole_queries(figure.add_subplot(grid[0, :]), "queries of a Parquet file of 20 million rows, two cores",
                  read("files-cpu.csv"))
    bars(left, "32 best of 100 million floats", [
        ("SkyRank, zone map", time_of(topk, "skyrank query", "median_ms", **cell), OURS),
        ("SkyRank, no zone map", time_of(topk, "skyrank kernel sampled-threshold", "median_ms", **cell), OURS_TOO),
        ("DuckDB 2.0", time_of(topk, "duckdb-2.0.0", "median_ms", **cell), PEERS),
        ("Polars 2.1", time_of(topk, "polars-sort-head-2.1.0", "median_ms", **cell), PEERS),
        ("NumPy 2.4", time_of(topk, "numpy-argpartition-2.4.6", "median_ms", **cell), PEERS)])
    items = []
    for d in (4, 8, 12):
        cell = {"dist": "anticorrelated", "n": 1000000, "d": d}
        items += [(f"{d} columns: blocked-bitmap", time_of(skyline, "blocked-bitmap", "median_ms", **cell), OURS),
                  ("hybrid", time_of(skyline, "hybrid", "median_ms", **cell), PEERS),
                  ("bskytree", time_of(skyline, "bskytree", "median_ms", **cell), PEERS)]
    bars(right, "skyline of 1 million points", items)
    figure.savefig(HERE / "pictures" / "speed.svg", metadata={"Date": None})


def draw_skyline():
    with open(HERE.parent.parent / "datasets" / "examples" / "hotels.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["price"] and row["rating"]]
    hotels = [(float(row["price"]), float(row["rating"]), row["name"]) for row in rows]
    front = sorted(h for h in hotels
                   if not any(o[0] <= h[0] and o[1] >= h[1] and o[:2] != h[:2] for o in hotels))
    figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    axes.scatter([h[0] for h in hotels], [h[1] for h in hotels], s=16, color=PEERS, label="beaten by another")
    axes.step([h[0] for h in front], [h[1] for h in front], where="post", color=OURS, linewidth=1)
    axes.scatter([h[0] for h in front], [h[1] for h in front], s=30, color=OURS, zorder=3, label="the skyline")
    for price, rating, name in front:
        axes.annotate(name, (price, rating), xytext=(-5, 4), textcoords="offset points", fontsize=8, ha="right")
    axes.set_xlim(left=15)
    axes.set_xlabel("price, lower is better")
    axes.set_ylabel("rating, higher is better")
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(HERE / "pictures" / "skyline.svg", metadata={"Date": None})


if __name__ == "__main__":
    draw_speed()
    draw_skyline()
