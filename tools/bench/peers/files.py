#!/usr/bin/env python3
"""Whole queries over Parquet files: SkyRank beside DuckDB and Polars, on the same files, machine and threads, A B A B.

SkyRank comes twice. "skyrank" is a process of its own for each query: `skyrank run`, from its start to its last byte, with
the answer in an Arrow file. "skyrank warm" is the query as a later one of a batch over the same file, as `--json` reports
it. DuckDB and Polars run in one process that has started before: SQL over read_parquet into Arrow, scan_parquet into a
frame. They read the file for each query; it is in the cache of the operating system for all. All answers are compared.

The tables are those of `skyrank generate --distribution tweets`, and groups of random rows, in row groups of 10^6 rows.

Needs a Python with duckdb, numpy, polars and pyarrow:
  python3 -m venv build/peers && build/peers/bin/pip install duckdb numpy polars pyarrow
  build/peers/bin/python tools/bench/peers/files.py --skyrank build/release/skyrank --threads 2 --out files-cpu.csv
"""

import argparse
import csv
import dataclasses
import importlib.metadata
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

MAY = 1493596800  # 2017-05-01 00:00:00
DAY = 86400


@dataclasses.dataclass(frozen=True)
class Question:
    """A query as each system spells it. Answers are equal when the columns of `compared` are, as sorted rows: which of
    rows that tie is in the answer is left open."""

    name: str
    table: str
    yaml: str
    sql: str
    polars: object  # function of (frame, polars)
    compared: tuple


def best(frame, polars, by, select):
    return frame.sort(by, descending=True).head(50).select(select)


def best_per_group(frame, polars):
    return frame.filter(polars.col("value").rank("ordinal", descending=True).over("group") <= 5).select("group", "value")


PER_GROUP = {
    "yaml": "partition_by: [group], rank_by: {high: value}, limit: 5, select: [group, value]",
    "sql": 'SELECT "group", value FROM t QUALIFY row_number() OVER (PARTITION BY "group" ORDER BY value DESC) <= 5',
    "polars": best_per_group,
    "compared": ("group", "value"),
}

QUESTIONS = [
    Question("filter on time, top 50", "shuffled",
             f"where: tweet_time < {MAY + 10 * DAY}, rank_by: {{high: retweet_count}}, limit: 50, select: [id, retweet_count]",
             f"SELECT id, retweet_count FROM t WHERE tweet_time < {MAY + 10 * DAY} ORDER BY retweet_count DESC LIMIT 50",
             lambda f, p: best(f.filter(p.col("tweet_time") < MAY + 10 * DAY), p, "retweet_count", ["id", "retweet_count"]),
             ("retweet_count",)),
    Question("weighted sum, top 50", "shuffled",
             "rank_by: {high: retweet_count + 0.5 * likes_count}, limit: 50, "
             "select: [id, {score: retweet_count + 0.5 * likes_count}]",
             "SELECT id, retweet_count + 0.5 * likes_count AS score FROM t ORDER BY score DESC LIMIT 50",
             lambda f, p: best(f.with_columns(score=p.col("retweet_count") + 0.5 * p.col("likes_count")), p, "score",
                               ["id", "score"]),
             ("score",)),
    Question("filter on language, top 50", "shuffled",
             "where: \"lang in ['en', 'es']\", rank_by: {high: retweet_count}, limit: 50, select: [id, retweet_count]",
             "SELECT id, retweet_count FROM t WHERE lang IN ('en', 'es') ORDER BY retweet_count DESC LIMIT 50",
             lambda f, p: best(f.filter(p.col("lang").cast(p.String).is_in(["en", "es"])), p, "retweet_count",
                               ["id", "retweet_count"]),
             ("retweet_count",)),
    Question("count by user, top 50", "shuffled",
             "group_by: [uid], aggregate: {tweets: count()}, rank_by: {high: tweets}, limit: 50",
             "SELECT uid, count(*) AS tweets FROM t GROUP BY uid ORDER BY tweets DESC LIMIT 50",
             lambda f, p: f.group_by("uid").agg(tweets=p.len()).sort("tweets", descending=True).head(50),
             ("tweets",)),
    Question("count by language", "shuffled",
             "group_by: [lang], aggregate: {tweets: count()}, rank_by: {high: tweets}, limit: 50",
             "SELECT lang, count(*) AS tweets FROM t GROUP BY lang ORDER BY tweets DESC LIMIT 50",
             lambda f, p: f.group_by("lang").agg(tweets=p.len()).sort("tweets", descending=True).head(50),
             ("lang", "tweets")),
    Question("max by language", "shuffled",
             "group_by: [lang], aggregate: {most: max(retweet_count)}, rank_by: {high: most}, limit: 50",
             "SELECT lang, max(retweet_count) AS most FROM t GROUP BY lang ORDER BY most DESC LIMIT 50",
             lambda f, p: f.group_by("lang").agg(most=p.col("retweet_count").max()).sort("most", descending=True).head(50),
             ("lang", "most")),
    Question("top 5 of each language", "shuffled",
             "partition_by: [lang], rank_by: {high: retweet_count}, limit: 5, select: [lang, retweet_count]",
             "SELECT lang, retweet_count FROM t "
             "QUALIFY row_number() OVER (PARTITION BY lang ORDER BY retweet_count DESC) <= 5",
             lambda f, p: f.filter(p.col("retweet_count").rank("ordinal", descending=True).over("lang") <= 5)
             .select("lang", "retweet_count"),
             ("lang", "retweet_count")),
    Question("count by name", "names",
             "group_by: [name], aggregate: {rows: count()}, rank_by: {high: rows}, limit: 50",
             "SELECT name, count(*) AS rows FROM t GROUP BY name ORDER BY rows DESC LIMIT 50",
             lambda f, p: f.group_by("name").agg(rows=p.len()).sort("rows", descending=True).head(50),
             ("rows",)),
    Question("top 5 of each of 2,000 groups", "groups", **PER_GROUP),
    Question("top 5 of each of 2,000 groups, in their order", "ordered", **PER_GROUP),
    Question("top 5 of each of 10^6 groups", "many", **PER_GROUP),
    Question("latest 50, file in the order of time", "time",
             "rank_by: {high: tweet_time}, limit: 50, select: [id, tweet_time]",
             "SELECT id, tweet_time FROM t ORDER BY tweet_time DESC LIMIT 50",
             lambda f, p: best(f, p, "tweet_time", ["id", "tweet_time"]),
             ("tweet_time",)),
]


def write_groups(file, rows, groups, ordered):
    import numpy
    import pyarrow
    import pyarrow.parquet

    random = numpy.random.default_rng(1)
    of_row = random.integers(0, groups, rows, dtype=numpy.int32)
    if ordered:
        of_row.sort()
    table = pyarrow.table({"group": of_row, "value": random.random(rows, dtype=numpy.float32)})
    pyarrow.parquet.write_table(table, file, row_group_size=1_000_000)


def write_names(file, rows):
    """Strings of which a dictionary page of the default size holds all: 20,000 names, some far more common than others."""
    import numpy
    import pyarrow
    import pyarrow.parquet

    names = pyarrow.array([f"name {i:06}" for i in range(20_000)])
    drawn = numpy.random.default_rng(1).random(rows) ** 3 * len(names)
    chosen = pyarrow.DictionaryArray.from_arrays(drawn.astype(numpy.int32), names)
    pyarrow.parquet.write_table(pyarrow.table({"name": chosen.cast(pyarrow.string())}), file, row_group_size=1_000_000)


def make_tables(folder, rows, skyrank):
    """The Parquet file of each table, made where it is not there yet."""
    makers = {
        "shuffled": lambda file: generate(skyrank, "tweets-shuffled", rows, file),
        "time": lambda file: generate(skyrank, "tweets", rows, file),
        "groups": lambda file: write_groups(file, rows, 2_000, False),
        "ordered": lambda file: write_groups(file, rows, 2_000, True),
        "names": lambda file: write_names(file, rows),
        "many": lambda file: write_groups(file, rows, 1_000_000, False),
    }
    files = {}
    for name, make in makers.items():
        files[name] = folder / f"{name}-{rows}.parquet"
        if not files[name].exists():
            make(files[name])
    return files


def call(skyrank, *arguments):
    done = subprocess.run([skyrank, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{skyrank} {arguments[0]} failed\n{done.stdout}{done.stderr}")
    return done.stdout


def generate(skyrank, distribution, rows, file):
    call(skyrank, "generate", "--distribution", distribution, "--rows", rows, "--out", file)


class SkyRank:
    def __init__(self, program, threads, folder):
        self.name = "skyrank"
        self.program = program
        self.options = ["--threads", threads, "--device", "cpu", "--format", "arrow", "--out", folder / "answers"]
        self.folder = folder

    def batch(self, question, file, times):
        path = self.folder / "batch.yaml"
        query = f"from: t, {question.yaml}"
        path.write_text(f"version: 1\ntables: {{t: {{file: {file}}}}}\nqueries:\n"
                        + "".join(f"  - {{name: q{i}, {query}}}\n" for i in range(times)))
        return path

    def run(self, question, file):
        """Seconds of a process, and the answer."""
        import pyarrow

        batch = self.batch(question, file, 1)
        start = time.perf_counter()
        call(self.program, "run", batch, *self.options)
        seconds = time.perf_counter() - start
        with pyarrow.OSFile(str(self.folder / "answers" / "q0.arrow")) as answer:
            return seconds, pyarrow.ipc.open_file(answer).read_all()

    def run_warm(self, question, file):
        """Seconds of the last of three queries of a batch."""
        output = call(self.program, "run", self.batch(question, file, 3), "--json", *self.options)
        timing = json.loads(output)["queries"][-1]["timing"]
        return (timing["total_ms"] + timing.get("read_ms", 0)) / 1e3


class DuckDb:
    def __init__(self, threads):
        import duckdb

        self.name = "duckdb"
        self.connection = duckdb.connect(config={"threads": threads})

    def run(self, question, file):
        sql = question.sql.replace("FROM t", f"FROM read_parquet('{file}')")
        start = time.perf_counter()
        answer = self.connection.sql(sql).to_arrow_table()
        return time.perf_counter() - start, answer


class Polars:
    def __init__(self, threads):
        os.environ["POLARS_MAX_THREADS"] = str(threads)  # read when polars is first imported
        import polars

        self.name = "polars"
        self.polars = polars

    def run(self, question, file):
        start = time.perf_counter()
        answer = question.polars(self.polars.scan_parquet(file), self.polars).collect()
        return time.perf_counter() - start, answer.to_arrow()


def rows_of(question, answer):
    return sorted(zip(*(answer[column].to_pylist() for column in question.compared)))


def measure(question, file, systems, rounds):
    """The lines of one question, one a system, after one run of each that is not counted."""
    skyrank = systems[0]
    seconds = {system.name: [] for system in systems} | {"skyrank warm": []}
    expected = None
    for turn in range(1 + rounds):
        for system in systems:
            passed, answer = system.run(question, file)
            rows = rows_of(question, answer)
            expected = expected or rows
            if rows != expected:
                sys.exit(f"files: {system.name} answers '{question.name}' differently from {skyrank.name}")
            if turn > 0:
                seconds[system.name].append(passed)
        if turn > 0:
            seconds["skyrank warm"].append(skyrank.run_warm(question, file))
    return [{"query": question.name, "system": name, "median_s": f"{statistics.median(times):.4f}",
             "min_s": f"{min(times):.4f}"} for name, times in seconds.items()]


def print_lines(lines):
    print(lines[0]["query"])
    peers = [float(line["median_s"]) for line in lines if not line["system"].startswith("skyrank")]
    for line in lines:
        median = float(line["median_s"])
        ratio = f"{median / min(peers):>8.2f}" if line["system"].startswith("skyrank") else ""
        print(f"  {line['system']:<16}{median:>9.3f} s{ratio}", flush=True)


def print_summary(cells):
    for name in ("skyrank", "skyrank warm"):
        ratios = []
        for lines in cells:
            median = {line["system"]: float(line["median_s"]) for line in lines}
            ratios.append(median[name] / min(median["duckdb"], median["polars"]))
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{name} over the better of DuckDB and Polars: {mean:.2f} in geometric mean, {max(ratios):.2f} at most")


def version_of_program(skyrank):
    """Returns the version and the commit of the program, such as `0.2.0 (commit 1a2b3c4)`."""
    return call(skyrank, "--version").splitlines()[0].removeprefix("skyrank ")


def write_csv(arguments, cells, peers):
    """Writes the lines of all cells, with the versions of the peers, which are the names of packages."""
    versions = {name: importlib.metadata.version(name) for name in peers}
    ours = version_of_program(arguments.skyrank)
    figures = [name for name in cells[0][0] if name not in ("query", "system")]
    with open(arguments.out, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["query", "system", "version", "rows", "threads", *figures])
        for line in (line for lines in cells for line in lines):
            known = [line["query"], line["system"], versions.get(line["system"], ours), arguments.rows, arguments.threads]
            writer.writerow(known + [line[name] for name in figures])


def parse_arguments(description, rows):
    """Returns the arguments that the commands over files share; `rows` of a table by default."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skyrank", default="build/release/skyrank", help="the program (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=rows, help="of each table (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all cores")
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of each (default: %(default)s)")
    parser.add_argument("--only", default="", help="questions whose name has this text")
    parser.add_argument("--data", type=pathlib.Path, help="folder that keeps the files (default: a temporary one)")
    parser.add_argument("--out", type=pathlib.Path, help="CSV file to write")
    return parser.parse_args()


def main():
    arguments = parse_arguments(__doc__, 20_000_000)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        data = arguments.data or folder
        data.mkdir(parents=True, exist_ok=True)
        files = make_tables(data, arguments.rows, arguments.skyrank)
        systems = [SkyRank(arguments.skyrank, arguments.threads, folder), DuckDb(arguments.threads), Polars(arguments.threads)]
        cells = []
        for question in (q for q in QUESTIONS if arguments.only in q.name):
            cells.append(measure(question, files[question.table].resolve(), systems, arguments.rounds))
            print_lines(cells[-1])
    print_summary(cells)
    if arguments.out:
        write_csv(arguments, cells, ("duckdb", "polars"))


if __name__ == "__main__":
    main()
