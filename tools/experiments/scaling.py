#!/usr/bin/env python3
"""Draws time and speed-up over the number of GPUs, and prints them.

    skyrank_gpus_bench shares --query top-k --rows 1073741824 --devices 0,1,2,3 --csv gpus.csv
    tools/mpi/table2.py --out table2.csv
    tools/experiments/scaling.py gpus.csv table2.csv --out build/scaling

Each file, of `skyrank_gpus_bench shares --csv` or of table2.py, becomes a picture NAME.svg and NAME.png: solid the time end
to end, dashed that of computing. A speed-up is over one GPU; dotted is that of as many times as there are GPUs. Measurements of
the same query on as many GPUs count as one, by their median. The exit status is 0; 1 if an answer was wrong, which is not drawn;
2 if something could not be done.
"""

import argparse
import csv
import dataclasses
import pathlib
import re
import statistics
import sys

GPUS = ("query", "distribution", "rows", "dims", "limit", "devices", "median_ms", "compute_ms", "checked")
TABLE2 = ("ranks", "rows", "k", "algorithm", "total_ms", "correct")


class ScalingError(Exception):
    """Something could not be done; the message is for the user."""


@dataclasses.dataclass(frozen=True)
class Time:
    """What one query took on some GPUs."""
    query: str            # in words
    gpus: int
    ms: float             # end to end
    compute_ms: float | None
    correct: bool


def number(count):
    """Returns a count of rows in words: 2^30, 8 M, 3,000."""
    if count >= 4096 and count & (count - 1) == 0:
        return f"2^{count.bit_length() - 1}"
    return f"{count / 1e6:g} M" if count >= 500_000 else f"{count:,}"


def gpus_of(text):
    """Returns how many GPUs a count (4) or a list of their numbers (0,1,2,3) means."""
    numbers = [int(it) for it in re.split(r"[^0-9]+", text.strip()) if it]
    if not numbers:
        raise ValueError(f"'{text}' is neither a number of GPUs nor a list of them")
    return max(1, numbers[0]) if len(numbers) == 1 else len(numbers)


def time_on_gpus(row):
    """Returns the time in a row of skyrank_gpus_bench."""
    rows = number(int(row["rows"]))
    query = (f"top {row['limit']} of {rows} rows" if row["query"] == "top-k"
             else f"skyline of {rows} rows, {row['dims']} columns, {row['distribution']}")
    compute = float(row["compute_ms"]) if row["compute_ms"] else None
    return Time(query, gpus_of(row["devices"]), float(row["median_ms"]), compute, row["checked"] == "yes")


def time_of_ranks(row):
    """Returns the time in a row of table2.py."""
    query = f"{row['algorithm']}, top {row['k']} of {number(int(row['rows']))} keys"
    return Time(query, int(row["ranks"]), float(row["total_ms"]), None, row["correct"] == "yes")


def read(file):
    """Returns the times in a file. Throws ScalingError for a file that neither program writes."""
    try:
        with open(file, newline="", encoding="utf-8") as stream:
            reader = csv.DictReader(stream)
            names = reader.fieldnames or []
            kind = next((kind for kind in ((GPUS, time_on_gpus), (TABLE2, time_of_ranks)) if set(kind[0]) <= set(names)), None)
            if kind is None:
                raise ScalingError(f"{file}: has the columns {', '.join(names) or 'of nothing'}; those of skyrank_gpus_bench "
                                   f"are {', '.join(GPUS)}, those of table2.py {', '.join(TABLE2)}")
            times = []
            for line, row in enumerate(reader, 2):
                try:
                    times.append(kind[1](row))
                except (ValueError, TypeError) as error:
                    raise ScalingError(f"{file}:{line}: {error}") from None
            if not times:
                raise ScalingError(f"{file}: has no measurements")
            return times
    except OSError as error:
        raise ScalingError(f"{file}: {error.strerror}") from None


def lines_of(times, value):
    """Returns {query: {GPUs: median of value}} of the right answers, in the order of the file."""
    lines = {}
    for it in times:
        if it.correct and value(it) is not None:
            lines.setdefault(it.query, {}).setdefault(it.gpus, []).append(value(it))
    return {query: {gpus: statistics.median(line[gpus]) for gpus in sorted(line)} for query, line in lines.items()}


def speedups(line):
    """Returns {GPUs: speed-up over one GPU}; nothing without one GPU, or of times of 0."""
    return {gpus: line[1] / ms for gpus, ms in line.items() if ms > 0} if line.get(1) else {}


def whole(it):
    return it.ms


def computing(it):
    return it.compute_ms


def print_table(times):
    """Prints a line for each query and number of GPUs."""
    ends, computes = lines_of(times, whole), lines_of(times, computing)
    width = max((len(query) for query in ends), default=5)

    def columns(line, gpus):
        if gpus not in line:
            return f"{'-':>12} {'-':>9}"
        faster = speedups(line).get(gpus)
        return f"{line[gpus]:>12.3f} " + (f"{faster:>8.2f}x" if faster else f"{'-':>9}")

    print(f"{'query':<{width}} {'GPUs':>4} {'time (ms)':>12} {'speed-up':>9} {'computing':>12} {'speed-up':>9}")
    for query, line in ends.items():
        for gpus in line:
            print(f"{query:<{width}} {gpus:>4} {columns(line, gpus)} {columns(computes.get(query, {}), gpus)}")


def draw(times, title, picture):
    """Draws both plots to picture.svg and picture.png."""
    import plots

    counts = sorted({it.gpus for it in times if it.correct})
    with plots.plt.rc_context(plots.STYLE):
        figure, (left, right) = plots.plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
        for i, query in enumerate(lines_of(times, whole)):
            for value, dashes, words in ((whole, "-", ""), (computing, "--", ", computing")):
                line = lines_of(times, value).get(query, {})
                look = {"color": plots.COLOURS[i % len(plots.COLOURS)], "marker": plots.MARKERS[i % len(plots.MARKERS)],
                        "markersize": 4, "linestyle": dashes}
                if line:
                    left.plot(*zip(*line.items()), label=query + words, **look)
                if faster := speedups(line):
                    right.plot(*zip(*faster.items()), **look)
        right.plot(counts, counts, color="#999999", linestyle=":", label="as many times as GPUs")
        for panel, words in ((left, "time (ms)"), (right, "speed-up over one GPU")):
            panel.set_xlabel("GPUs")
            panel.set_ylabel(words)
            panel.set_xscale("log", base=2)
            panel.xaxis.set_major_locator(plots.ticker.FixedLocator(counts))
            panel.xaxis.set_major_formatter(plots.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
            panel.xaxis.set_minor_locator(plots.ticker.NullLocator())
            plots.scale_axis(panel, "y", "log10", [])
        right.set_yscale("log", base=2)
        right.yaxis.set_major_formatter(plots.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        handles = {}
        for panel in (left, right):
            handles.update(dict(zip(*reversed(panel.get_legend_handles_labels()))))
        figure.suptitle(title, fontsize=10.5, x=0.01, ha="left")
        plots.add_legend(figure, handles, beside=False)
        for ending in ("svg", "png"):
            figure.savefig(picture.with_suffix(f".{ending}"), dpi=110, metadata={"Date": None} if ending == "svg" else None)
        plots.plt.close(figure)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("files", type=pathlib.Path, nargs="+", metavar="FILE",
                        help="CSV of skyrank_gpus_bench shares --csv, or of tools/mpi/table2.py")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="where the pictures go; without it only the table")
    parser.add_argument("--machine", default="", help="words for the titles, such as '4 NVIDIA H200'")
    return parser.parse_args()


def run(options):
    wrong = False
    if twice := {it.stem for it in options.files if [other.stem for other in options.files].count(it.stem) > 1}:
        raise ScalingError(f"several files are named {min(twice)}, and so would their pictures be; rename them")
    for file in options.files:
        times = read(file)
        for it in times:
            if not it.correct:
                wrong = True
                print(f"WRONG ANSWER: {file}: {it.query} on {it.gpus} GPUs", file=sys.stderr)
        print_table(times)
        if options.out is not None and any(it.correct for it in times):
            options.out.mkdir(parents=True, exist_ok=True)
            title = "Time and speed-up over the number of GPUs" + (f", {options.machine}" if options.machine else "")
            draw(times, title, options.out / file.stem)
    return 1 if wrong else 0


def main():
    try:
        return run(arguments())
    except ScalingError as error:
        print(f"scaling: {error}", file=sys.stderr)
    except ImportError as error:
        print(f"scaling: not drawn: {error}; pip install matplotlib pyyaml", file=sys.stderr)
    except OSError as error:
        print(f"scaling: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
