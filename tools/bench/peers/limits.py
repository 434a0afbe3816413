#!/usr/bin/env python3
"""Queries over a file within a limit of memory, beside the same without one and DuckDB with the same limit, in turns.

Each run is a process of its own, so that its peak of resident memory can be told, and is timed from its start to its last
byte. `x free` is the time within the limit over that without one; `x DuckDB` over DuckDB's within the limit, which sorts and
groups beyond it through files, as SkyRank does. All answers are compared. The table is that of `skyrank generate
--distribution tweets-shuffled`: 150 million rows are 3 GB of Parquet.

  tools/bench/peers/limits.py --rows 150000000 --limit 400MB --threads 2 --data build/limits --out limits.csv

Needs Python alone; DuckDB is left out where there is none.
"""

import argparse
import csv
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

QUESTIONS = {
    "filter on time, top 50": (
        "where: tweet_time < 1494460800, rank_by: {high: retweet_count}, limit: 50, select: [id, retweet_count]",
        "SELECT retweet_count FROM t WHERE tweet_time < 1494460800 ORDER BY retweet_count DESC LIMIT 50",
        "retweet_count",
    ),
    "weighted sum, top 50": (
        "rank_by: {high: retweet_count + 0.5 * likes_count}, limit: 50, "
        "select: [id, {score: retweet_count + 0.5 * likes_count}]",
        "SELECT retweet_count + 0.5 * likes_count AS score FROM t ORDER BY score DESC LIMIT 50",
        "score",
    ),
    "count by language": (
        "group_by: [lang], aggregate: {tweets: count()}, rank_by: {high: tweets}, limit: 50",
        "SELECT count(*) AS tweets FROM t GROUP BY lang ORDER BY tweets DESC LIMIT 50",
        "tweets",
    ),
    "count by user, top 50": (
        "group_by: [uid], aggregate: {tweets: count()}, rank_by: {high: tweets}, limit: 50",
        "SELECT count(*) AS tweets FROM t GROUP BY uid ORDER BY tweets DESC LIMIT 50",
        "tweets",
    ),
    "count by tweet, top 50": (
        "group_by: [id], aggregate: {tweets: count()}, rank_by: [{high: tweets}, {low: id}], limit: 50",
        "SELECT id FROM t GROUP BY id ORDER BY count(*) DESC, id LIMIT 50",
        "id",
    ),
}

DUCKDB = """
import sys, duckdb
sql, file, out, threads, limit, spill = sys.argv[1:]
config = {"threads": int(threads), "memory_limit": limit, "temp_directory": spill}
duckdb.connect(config=config).execute(f"COPY ({sql.replace('FROM t', f'FROM read_parquet({file!r})')}) TO '{out}' (HEADER)")
"""


def run(command):
    """Returns the seconds of a process and the most bytes that it had in memory; where it fails None, and why."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        if process.returncode != 0:
            output.seek(0)
            return None, output.read().decode(errors="replace").strip().splitlines()[-1:]
    return seconds, usage.ru_maxrss * 1024


def values_of(file, column):
    """Returns a column of a CSV file as sorted numbers."""
    with open(file, newline="") as opened:
        return sorted(float(row[column]) for row in csv.DictReader(opened))


class Ways:
    """The commands of one question; each writes its answer to a CSV file of its own."""

    def __init__(self, arguments, folder, file):
        self.arguments = arguments
        self.folder = folder
        self.file = file
        found = subprocess.run([sys.executable, "-c", "import duckdb"], capture_output=True)
        self.has_duckdb = found.returncode == 0

    def commands(self, name):
        yaml, sql, _ = QUESTIONS[name]
        batch = self.folder / "batch.yaml"
        batch.write_text(f"version: 1\ntables: {{t: {{file: {self.file}}}}}\nqueries:\n  - {{name: q, from: t, {yaml}}}\n")
        ours = [self.arguments.skyrank, "run", batch, "--device", "cpu", "--threads", str(self.arguments.threads)]
        limited = [*ours, "--memory-limit", self.arguments.limit, "--format", "csv", "--out", self.folder / "limited"]
        ways = {
            "limited": (limited, self.folder / "limited" / "q.csv"),
            "free": ([*ours, "--format", "csv", "--out", self.folder / "free"], self.folder / "free" / "q.csv"),
        }
        if self.has_duckdb:
            out = self.folder / "duckdb.csv"
            words = [sql, self.file, out, self.arguments.threads, self.arguments.limit, self.folder / "spill"]
            ways["duckdb"] = ([sys.executable, "-c", DUCKDB, *map(str, words)], out)
        return ways


def measure(name, ways, rounds):
    """Returns the lines of a question, one a way."""
    column = QUESTIONS[name][2]
    seconds, memory, failures, expected = {}, {}, {}, None
    for _ in range(rounds):
        for way, (command, answer) in ways.commands(name).items():
            if way in failures:
                continue
            passed, peak = run(command)
            if passed is None:
                failures[way] = peak
                continue
            seconds.setdefault(way, []).append(passed)
            memory[way] = max(memory.get(way, 0), peak)
            values = values_of(answer, column)
            expected = expected or values
            if values != expected:
                sys.exit(f"limits: {way} answers '{name}' differently")
    for way, failure in failures.items():
        print(f"  {name}: {way} failed: {' '.join(failure)}", flush=True)
    median = {way: statistics.median(times) for way, times in seconds.items()}
    lines = []
    for way, time_of in median.items():
        lines.append({"query": name, "way": way, "median_s": f"{time_of:.3f}", "peak_MB": round(memory[way] / 1e6)})
    ratios = [f"x free {median['limited'] / median['free']:.2f}"] if {"limited", "free"} <= median.keys() else []
    if {"limited", "duckdb"} <= median.keys():
        ratios.append(f"x DuckDB {median['limited'] / median['duckdb']:.2f}")
    shown = ", ".join(f"{line['way']} {line['median_s']} s {line['peak_MB']} MB" for line in lines)
    print(f"{name}: {shown}; {', '.join(ratios)}", flush=True)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skyrank", default="build/release/skyrank", help="the program (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=150_000_000, help="of the table (default: %(default)s)")
    parser.add_argument("--limit", default="400MB", help="of memory (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all cores")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each way (default: %(default)s)")
    parser.add_argument("--only", default="", help="questions whose name has this text")
    parser.add_argument("--data", type=pathlib.Path, help="folder that keeps the file (default: a temporary one)")
    parser.add_argument("--out", type=pathlib.Path, help="CSV file to write")
    arguments = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        data = arguments.data or folder
        data.mkdir(parents=True, exist_ok=True)
        file = (data / f"shuffled-{arguments.rows}.parquet").resolve()
        if not file.exists():
            generate = ["generate", "--distribution", "tweets-shuffled", "--rows", str(arguments.rows), "--out", file]
            subprocess.run([arguments.skyrank, *generate], check=True, stdout=subprocess.DEVNULL)
        print(f"{file.stat().st_size / 1e9:.2f} GB of Parquet, within {arguments.limit}", flush=True)
        ways = Ways(arguments, folder, file)
        for name in (name for name in QUESTIONS if arguments.only in name):
            lines += measure(name, ways, arguments.rounds)
    if arguments.out:
        with open(arguments.out, "w", newline="") as opened:
            writer = csv.DictWriter(opened, ["query", "way", "median_s", "peak_MB"], lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)


if __name__ == "__main__":
    main()
