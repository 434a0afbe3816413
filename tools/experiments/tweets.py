#!/usr/bin/env python3
"""Measures and draws figure 16 and the fourth query of "Efficient Top-K Query Processing on Massively Parallel Hardware"
(SIGMOD 2018, section 6.8): whole queries over a table of tweets, by sorting, by bitonic top-k, and with the filter or the
ranking function inside its first kernel.

    tools/experiments/tweets.py --out build/tweets --device cuda --rows 250000000

Without a GPU, the heap stands in for bitonic top-k, and the scan that ranks as it filters for the combined kernel. The
first run of each query, which reads or sends columns, does not count. All methods have to give the same rows. The exit status
is 0; 1 if answers differ; 2 if something could not be done.
"""

import argparse
import csv
import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

MAY = (1493596800, 1496275200)  # tweet_time of the generated tweets: May 2017, in seconds
LIMITS = (16, 32, 64, 128, 256)
SORT, SEPARATE, COMBINED = "sort", "top-k", "combined"
APART = ["device-scan", "fusion"]  # the rules that filter and rank in one pass
# What would hide the work: keys that another query left, blocks of rows that their extremes rule out, and reading the columns
# of the answer from the file again.
NOT_IN_MAPD = ["shared-keys", "zone-maps", "late-columns"]
USING = {
    "cuda": {
        SORT: {"device": "cuda", "algorithm": "cuda-sort", "without": APART},
        SEPARATE: {"device": "cuda", "algorithm": "cuda-bitonic", "parameters": {"fused": 0}, "without": APART},
        COMBINED: {"device": "cuda", "algorithm": "cuda-bitonic"},
    },
    "cpu": {
        SORT: {"device": "cpu", "algorithm": "sort", "without": APART},
        SEPARATE: {"device": "cpu", "algorithm": "heap", "without": APART},
        COMBINED: {"device": "cpu"},
    },
}
LABELS = {
    "cuda": {SORT: "sort", SEPARATE: "bitonic top-k", COMBINED: "combined bitonic top-k"},
    "cpu": {SORT: "sort", SEPARATE: "heap", COMBINED: "one pass"},
}


class TweetsError(Exception):
    """Something could not be done; the message is for the user."""


@dataclasses.dataclass(frozen=True)
class Panel:
    """One of the figure's plots."""
    name: str
    title: str
    x_axis: str
    points: tuple        # pairs of a value of the x axis and the query there
    methods: tuple = (SORT, SEPARATE, COMBINED)


def panels():
    """Returns what is measured: the queries of section 6.8."""
    by_retweets = {"rank_by": {"high": "retweet_count"}, "select": ["id"]}

    def until(share):
        return {"where": f"tweet_time < {MAY[0] + round(share * (MAY[1] - MAY[0]))}", "limit": 50, **by_retweets}

    popular = {"rank_by": {"high": "retweet_count + 0.5 * likes_count"}, "select": ["id"]}
    languages = {"where": "lang in ('en', 'es')", **by_retweets}
    users = {"group_by": ["uid"], "aggregate": {"tweets": "count()"}, "rank_by": {"high": "tweets"}, "limit": 50,
             "select": ["uid", "tweets"]}
    return (
        Panel("16a", "a time range, top 50", "selectivity", tuple((s / 10, until(s / 10)) for s in range(1, 11))),
        Panel("16b", "retweets + 0.5 likes", "k", tuple((k, {"limit": k, **popular}) for k in LIMITS)),
        Panel("16c", "English or Spanish", "k", tuple((k, {"limit": k, **languages}) for k in LIMITS)),
        Panel("Q4", "tweets by user, top 50", "k", ((50, users),), (SORT, SEPARATE)),
    )


def batch(table, panel, device, runs):
    """Returns the queries of a panel as a batch: each `runs` times in a row, for each method."""
    queries = []
    for x, query in panel.points:
        for method in panel.methods:
            for run in range(runs):
                using = dict(USING[device][method])
                using["without"] = [*using.get("without", []), *NOT_IN_MAPD]
                queries.append({"name": f"{method}_{x}_{run}", "from": "tweets", **query, "using": using})
    return {"version": 1, "tables": {"tweets": {"file": str(table)}}, "queries": queries}


def output_of(*command):
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise TweetsError(f"{command[0]}: there is no such program; build it, or name it with --skyrank") from None
    if done.returncode != 0:
        raise TweetsError(done.stderr.strip() or f"{command[0]} ended with status {done.returncode}")
    return done.stdout


def measure(program, table, panel, device, runs):
    """Returns rows for the CSV file, and the points at which methods gave different answers."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        json.dump(batch(table, panel, device, runs), file)  # JSON is YAML, too
        file.flush()
        answers = json.loads(output_of(program, "run", file.name, "--json", "--plan", "--quiet"))["queries"]
    timed, rows, wrong = {}, [], []
    for answer in answers:
        method, x, _ = answer["name"].split("_")
        timed.setdefault((float(x), method), []).append(answer)
    for (x, method), runs_there in timed.items():
        compute = [t["filter_ms"] + t["keys_ms"] + t["compute_ms"] for t in (a["timing"] for a in runs_there[1:])]
        total = [a["timing"]["total_ms"] for a in runs_there[1:]]
        same = all(a["rows"] == timed[x, panel.methods[0]][0]["rows"] for a in runs_there)
        if not same:
            wrong.append(f"{panel.name}, {panel.x_axis} {x:g}, {LABELS[device][method]}")
        rows.append({"panel": panel.name, "x_name": panel.x_axis, "x": f"{x:g}", "method": LABELS[device][method],
                     "compute_ms": f"{statistics.median(compute):.4f}", "total_ms": f"{statistics.median(total):.4f}",
                     "correct": "yes" if same else "no"})
    return rows, wrong


def lines_of(panel, rows, device, column):
    """Returns {label: [(x, ms), ...]}."""
    lines = {LABELS[device][method]: [] for method in panel.methods}
    for row in rows:
        if row["panel"] == panel.name:
            lines[row["method"]].append((float(row["x"]), float(row[column])))
    return lines


def draw(rows, device, title, out):
    """Draws one plot a panel: time of the kernels, and of the whole query dotted."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 4, figsize=(15, 4), layout="constrained", width_ratios=(3, 3, 3, 2))
    for panel, plot in zip(panels(), axes):
        whole = lines_of(panel, rows, device, "total_ms")
        for i, (label, line) in enumerate(lines_of(panel, rows, device, "compute_ms").items()):
            if len(panel.points) == 1:
                plot.bar(i, line[0][1], color=f"C{i}")
                continue
            plot.plot(*zip(*line), marker="o", color=f"C{i}", label=label)
            plot.plot(*zip(*whole[label]), linestyle=":", color=f"C{i}")
        if len(panel.points) == 1:
            plot.set_xticks(range(len(panel.methods)), [LABELS[device][method] for method in panel.methods])
        else:
            plot.set_xlabel(panel.x_axis)
        if panel.x_axis == "k" and len(panel.points) > 1:
            plot.set_xscale("log", base=2)
        plot.set(title=f"{panel.name}: {panel.title}", ylim=(0, None))
        plot.grid(alpha=0.3)
    axes[0].set_ylabel("time (ms); whole query dotted")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(title, fontsize=10)
    for suffix in ("png", "svg"):
        figure.savefig(out / f"tweets.{suffix}", dpi=100)
    pyplot.close(figure)


def saving(rows, panel, x, before, after, column):
    """The share of the time that one method saves over another, or None."""
    times = {row["method"]: float(row[column]) for row in rows if (row["panel"], float(row["x"])) == (panel, x)}
    return 1 - times[after] / times[before] if before in times and after in times and times[before] > 0 else None


def print_savings(rows, device):
    """Prints what the paper says in numbers, and what was found."""
    label = LABELS[device]
    for text, panel, x, before, after, column in (
            ("16a: the combined kernel saves 30 % of the kernels' time at selectivity 1", "16a", 1, SEPARATE, COMBINED,
             "compute_ms"),
            ("16a: ... and 23 % of the whole query", "16a", 1, SEPARATE, COMBINED, "total_ms"),
            ("16b: the ranking function inside the kernel saves time (10 ms at 250 M rows)", "16b", 64, SEPARATE,
             COMBINED, "compute_ms"),
            ("16c: the filter inside the kernel saves time (16 ms at 250 M rows)", "16c", 64, SEPARATE, COMBINED,
             "compute_ms"),
            ("Q4: top-k instead of sorting saves 39 % of the query", "Q4", 50, SORT, SEPARATE, "total_ms")):
        found = saving(rows, panel, x, label[before], label[after], column)
        print(f"{text}: here {100 * found:.0f} % ({label[after]} instead of {label[before]})")


def table_of(options):
    """Returns the file of tweets, which is made unless it is there."""
    if options.data is not None:
        return options.data
    table = options.out / f"tweets-{options.rows}.parquet"
    if not table.exists():
        output_of(options.skyrank, "generate", "--distribution", "tweets", "--rows", options.rows, "--out", table, "--quiet")
    return table.resolve()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split(":\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="DIR", help="where the table, CSV and pictures go")
    parser.add_argument("--skyrank", default="build/release/skyrank", help="the program (default: %(default)s)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where to compute (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows; the paper has 250 million (default: %(default)s)")
    parser.add_argument("--data", type=pathlib.Path, help="a Parquet file of tweets instead of a generated one")
    parser.add_argument("--drawn", action="store_true",
                        help="measure nothing: draw the tweets.csv that DIR has, of so many --rows and of that --device")
    parser.add_argument("--runs", type=int, default=6, help="runs of each query; the first does not count (default: %(default)s)")
    options = parser.parse_args()
    if options.rows < 1 or options.runs < 2:
        parser.error("--rows must be at least 1 and --runs at least 2")
    return options


def measure_all(options):
    """Measures panel after panel into tweets.csv; returns its rows, and where methods gave different answers."""
    options.out.mkdir(parents=True, exist_ok=True)
    table = table_of(options)
    rows, wrong = [], []
    for panel in panels():
        print(f"{panel.name}: {panel.title}", flush=True)
        measured, different = measure(options.skyrank, table, panel, options.device, options.runs)
        rows += measured
        wrong += different
        with open(options.out / "tweets.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    return rows, wrong


def read(folder, device):
    """Returns what measure_all returned when it wrote the tweets.csv of a folder on that device."""
    file = folder / "tweets.csv"
    if not file.exists():
        raise TweetsError(f"{file}: there is no such file; measure without --drawn first")
    with open(file, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    if not {row["method"] for row in rows} <= set(LABELS[device].values()):
        raise TweetsError(f"{file}: was measured on another device; say --device {'cpu' if device == 'cuda' else 'cuda'}")
    return rows, [f"{row['panel']}, {row['x_name']} {row['x']}, {row['method']}" for row in rows if row["correct"] != "yes"]


def run(options):
    rows, wrong = read(options.out, options.device) if options.drawn else measure_all(options)
    print_savings(rows, options.device)
    for place in wrong:
        print(f"WRONG ANSWER: {place}")
    try:
        draw(rows, options.device, f"{options.rows:,} tweets on {options.device}", options.out)
    except ImportError as error:
        print(f"tweets: not drawn: {error}; pip install matplotlib", file=sys.stderr)
    return 1 if wrong else 0


def main():
    try:
        return run(arguments())
    except (TweetsError, OSError) as error:
        print(f"tweets: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
