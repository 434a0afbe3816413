#!/usr/bin/env python3
"""Whole queries over Parquet files of several writers and layouts: SkyRank beside the best of its peers, A B A B.

The questions and tables are those of files.py. Each table is written by pyarrow, DuckDB, Polars and fastparquet in three layouts: row
groups of 100,000 rows ("small groups"), one row group ("one group"), and rows in the order of the table's time, or of its
first column, so that pages have close bounds ("sorted").

SkyRank's package and its peers run in one process. Each opens the file for each query; it is in the cache of the operating
system for all. All answers are compared. `--clock cpu` counts the time of the processor, for machines with other work.

--out keeps what is measured, and a second call goes on from there; --data keeps the files. The summary names the cells above
--target, the worst first.

Needs a Python with duckdb, numpy, polars, pyarrow and SkyRank's package. chdb, datafusion and fastparquet are left out where
they are not there:
  PYTHONPATH=build/release/python build/peers/bin/python tools/bench/peers/layouts.py --rows 5000000 --out layouts.csv
"""

import argparse
import csv
import importlib.util
import math
import os
import pathlib
import re
import sys
import tempfile
import time

from files import QUESTIONS, make_tables, rows_of

COLUMNS = ("writer", "layout", "query", "rows", "threads", "clock", "skyrank", "best", "peer", "ratio")
LAYOUTS = ("small groups", "one group", "sorted")
SMALL_GROUP = 100_000
USUAL_GROUP = 1_000_000
ORDERED_BY = {"shuffled": "tweet_time", "time": "tweet_time", "names": "name"}  # other tables: "group"


def group_rows(layout, rows):
    return {"small groups": SMALL_GROUP, "one group": rows}.get(layout, USUAL_GROUP)


def write_by_pyarrow(table, file, size):
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, file, row_group_size=size, write_page_index=True, data_page_size=1 << 17)


def write_by_duckdb(table, file, size):
    import duckdb

    duckdb.from_arrow(table).create_view("written", replace=True)
    duckdb.sql(f"COPY written TO '{file}' (FORMAT parquet, ROW_GROUP_SIZE {size})")


def write_by_polars(table, file, size):
    import polars

    polars.from_arrow(table).write_parquet(file, row_group_size=size)


def write_by_fastparquet(table, file, size):
    import fastparquet

    fastparquet.write(str(file), table.to_pandas(), row_group_offsets=size, write_index=False)


WRITERS = {"pyarrow": write_by_pyarrow, "duckdb": write_by_duckdb, "polars": write_by_polars, "fastparquet": write_by_fastparquet}


def is_there(name):
    return importlib.util.find_spec(name) is not None


def written_file(question, sources, writer, layout, rows, folder):
    """Returns the file of a table as written by one writer in one layout, made if it is not there yet."""
    import pyarrow.parquet

    file = folder / f"{writer}-{layout.replace(' ', '-')}-{question.table}-{rows}.parquet"
    if not file.exists():
        table = pyarrow.parquet.read_table(sources[question.table])
        if layout == "sorted":
            table = table.sort_by(ORDERED_BY.get(question.table, "group"))
        unfinished = file.with_suffix(".unfinished")
        WRITERS[writer](table, unfinished, group_rows(layout, rows))
        unfinished.rename(file)
    return file.resolve()


class Package:
    """SkyRank's package, which takes the questions as SQL: the best of each partition are spelled differently there."""

    BEST_OF_EACH = re.compile(r"QUALIFY row_number\(\) OVER \(PARTITION BY (\S+) ORDER BY (\S+) DESC\) <= 5")

    def __init__(self, threads):
        import skyrank

        self.engine = skyrank.Engine(threads=threads, device="cpu")
        self.parse = skyrank.Query.parse

    def run(self, question, file):
        sql = self.BEST_OF_EACH.sub(r"PARTITION BY \1 ORDER BY \2 DESC LIMIT 5", question.sql)
        return self.engine.run(self.parse(sql), str(file)).to_arrow()


class DuckDb:
    def __init__(self, threads):
        import duckdb

        self.connection = duckdb.connect(config={"threads": threads})

    def run(self, question, file):
        return self.connection.sql(question.sql.replace("FROM t", f"FROM read_parquet('{file}')")).to_arrow_table()


class Polars:
    def __init__(self, threads):
        import polars

        self.polars = polars

    def run(self, question, file):
        return question.polars(self.polars.scan_parquet(file), self.polars).collect().to_arrow()


class DataFusion:
    def __init__(self, threads):
        import datafusion

        self.datafusion = datafusion
        self.config = datafusion.SessionConfig().with_target_partitions(threads)

    def run(self, question, file):
        context = self.datafusion.SessionContext(self.config)
        context.register_parquet("t", str(file))
        return context.sql(question.sql).to_arrow_table()


class ChDb:
    def __init__(self, threads):
        from chdb import session

        self.session = session.Session()
        self.threads = threads

    def run(self, question, file):
        import pyarrow

        sql = question.sql.replace("FROM t", f"FROM file('{file}', Parquet)")
        answer = self.session.query(f"{sql} SETTINGS max_threads = {self.threads}", "Arrow")
        return pyarrow.ipc.open_file(pyarrow.BufferReader(answer.bytes())).read_all()


PEERS = {"duckdb": DuckDb, "polars": Polars, "datafusion": DataFusion, "chdb": ChDb}


def measure(question, file, systems, rounds, clock, patience):
    """Returns the least seconds of each system. Peers that take far longer than SkyRank run once."""
    seconds = {}
    expected = None
    for turn in range(1 + rounds):
        for name, system in systems.items():
            if turn > 0 and seconds[name] > patience * seconds["skyrank"]:
                continue
            begin = clock()
            answer = system.run(question, file)
            passed = clock() - begin
            seconds[name] = min(seconds.get(name, math.inf), passed)
            rows = rows_of(question, answer) if turn == 0 else expected
            expected = expected or rows
            if rows != expected:
                sys.exit(f"layouts: {name} answers '{question.name}' of {file.name} differently from SkyRank")
    return seconds


def known_cells(path):
    if path is None or not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def key_of(cell):
    return tuple(str(cell[name]) for name in COLUMNS[:6])


def append(path, cell):
    if path is None:
        return
    is_new = not path.exists()
    with open(path, "a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(cell)


def print_summary(cells, target):
    ratios = sorted(cells, key=lambda cell: -float(cell["ratio"]))
    if not ratios:
        return
    mean = math.exp(sum(math.log(float(cell["ratio"])) for cell in ratios) / len(ratios))
    above = [cell for cell in ratios if float(cell["ratio"]) > target]
    print(f"{len(ratios)} cells, {mean:.2f} of the best peer in geometric mean, {len(above)} above {target}")
    for cell in above or ratios[:3]:
        print(f"  {float(cell['ratio']):.2f}  {cell['writer']}, {cell['layout']}: {cell['query']} "
              f"({cell['skyrank']} s; {cell['peer']} {cell['best']} s)")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skyrank", default="build/release/skyrank", help="makes the tables (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=20_000_000, help="of each table (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all cores")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs of each (default: %(default)s)")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="seconds that count (default: %(default)s)")
    parser.add_argument("--target", type=float, default=1.2, help="cells above it are listed (default: %(default)s)")
    parser.add_argument("--patience", type=float, default=8, help="peers this many times as slow run once (default: %(default)s)")
    parser.add_argument("--peers", default="duckdb,polars", help="of " + ", ".join(PEERS) + " (default: %(default)s)")
    parser.add_argument("--writers", default=",".join(WRITERS), help="default: %(default)s")
    parser.add_argument("--layouts", default=",".join(LAYOUTS), help="default: %(default)s")
    parser.add_argument("--only", default="", help="questions whose name has this text")
    parser.add_argument("--data", type=pathlib.Path, help="folder that keeps the files (default: a temporary one)")
    parser.add_argument("--out", type=pathlib.Path, help="CSV file that keeps what is measured")
    parser.add_argument("--report", action="store_true", help="print the summary of --out and measure nothing")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    cells = known_cells(arguments.out)
    if arguments.report:
        return print_summary(cells, arguments.target)
    os.environ["POLARS_MAX_THREADS"] = str(arguments.threads)  # read when polars is first imported
    names = [name for name in arguments.peers.split(",") if is_there(name)]
    systems = {"skyrank": Package(arguments.threads)} | {name: PEERS[name](arguments.threads) for name in names}
    clock = time.process_time if arguments.clock == "cpu" else time.perf_counter
    known = {key_of(cell) for cell in cells}
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.data or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        sources = make_tables(folder, arguments.rows, arguments.skyrank)
        for writer in (name for name in arguments.writers.split(",") if is_there(name)):
            for layout in arguments.layouts.split(","):
                for question in (q for q in QUESTIONS if arguments.only in q.name):
                    cell = dict(zip(COLUMNS, (writer, layout, question.name, arguments.rows, arguments.threads, arguments.clock)))
                    if key_of(cell) in known:
                        continue
                    file = written_file(question, sources, writer, layout, arguments.rows, folder)
                    seconds = measure(question, file, systems, arguments.rounds, clock, arguments.patience)
                    peer = min(names, key=seconds.get)
                    cell |= {"skyrank": f"{seconds['skyrank']:.4f}", "best": f"{seconds[peer]:.4f}", "peer": peer,
                             "ratio": f"{seconds['skyrank'] / seconds[peer]:.3f}"}
                    append(arguments.out, cell)
                    cells.append(cell)
                    print(f"{writer}, {layout}, {question.name}: {cell['ratio']} of {peer}", flush=True)
    print_summary(cells, arguments.target)


if __name__ == "__main__":
    main()
