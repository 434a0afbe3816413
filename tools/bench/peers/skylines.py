#!/usr/bin/env python3
"""Skylines of Parquet files beside pyarrow, which reads the same columns and does no more: same files, machine and threads,
A B A B.

SkyRank comes twice. "skyrank" is a call of the Python package in the process of pyarrow, over the path of the file, so that
it opens the file and reads what it needs. "skyrank process" is `skyrank run`, from its start to its last byte, with the
answer in an Arrow file. The files are in the cache of the operating system. All answers are compared with the skyline of
the table in memory.

The columns are float32, independent and uniform, or correlated by 0.5 and normal. Rows are shuffled, sorted by the first
column, or in z-order of all columns. Row groups have a thirtieth of the rows.

Needs a Python with numpy, pyarrow and SkyRank's package:
  PYTHONPATH=build/release/python .deps/python/bin/python tools/bench/peers/skylines.py --threads 2 --out skylines-cpu.csv
"""

import dataclasses
import pathlib
import resource
import statistics
import sys
import tempfile
import time

from files import call, parse_arguments, write_csv

import numpy
import pyarrow
import pyarrow.parquet
import skyrank

ROW_GROUPS = 30


@dataclasses.dataclass(frozen=True)
class Cell:
    """A file and the columns of its skyline, which are all that it has."""

    columns: int
    points: str
    order: str

    @property
    def name(self):
        return f"{self.columns} {self.points} columns, {self.order}"

    @property
    def names(self):
        return [f"c{i}" for i in range(self.columns)]

    @property
    def query(self):
        return skyrank.Query().prefer(skyrank.pareto([skyrank.low(name) for name in self.names]))

    @property
    def yaml(self):
        return "prefer: {pareto: [%s]}" % ", ".join(f"{{low: {name}}}" for name in self.names)


CELLS = [Cell(columns, "independent", order) for order in ("shuffled", "sorted", "z-order") for columns in (3, 6)]
CELLS += [Cell(3, "correlated", order) for order in ("shuffled", "sorted")]


def points_of(cell, rows):
    """Returns an array of values for each column."""
    random = numpy.random.default_rng(1)
    if cell.points == "independent":
        return [random.random(rows, dtype=numpy.float32) for _ in range(cell.columns)]
    shared = random.standard_normal(rows, dtype=numpy.float32)
    half = numpy.float32(0.5) ** numpy.float32(0.5)
    return [half * (shared + random.standard_normal(rows, dtype=numpy.float32)) for _ in range(cell.columns)]


def places_in_z_order(columns, bits=10):
    """Returns each row's place along a curve through cells, of which each column has 2^bits, equally wide."""
    places = numpy.zeros(len(columns[0]), dtype=numpy.int64)
    for i, column in enumerate(columns):
        scaled = (column - column.min()) / (column.max() - column.min())
        cells = numpy.minimum(scaled * 2**bits, 2**bits - 1).astype(numpy.int64)
        for bit in range(bits):
            places |= (cells >> bit & 1) << (bit * len(columns) + i)
    return places


def write_points(cell, rows, file):
    columns = points_of(cell, rows)
    if cell.order != "shuffled":
        order = numpy.argsort(columns[0] if cell.order == "sorted" else places_in_z_order(columns), kind="stable")
        columns = [column[order] for column in columns]
    table = pyarrow.table(dict(zip(cell.names, columns)))
    pyarrow.parquet.write_table(table, file, row_group_size=-(-rows // ROW_GROUPS))


def make_file(cell, rows, folder):
    """Returns the file of a cell, made if it is not there yet."""
    file = folder / f"skyline-{cell.columns}-{cell.points}-{cell.order}-{rows}.parquet"
    if not file.exists():
        write_points(cell, rows, file)
    return file.resolve()


@dataclasses.dataclass
class Seconds:
    """Seconds of a run, and those of all cores that it kept busy."""

    wall: float
    cpu: float


def timed(run, cpu_clock):
    begin, cpu_begin = time.perf_counter(), cpu_clock()
    answer = run()
    return Seconds(time.perf_counter() - begin, cpu_clock() - cpu_begin), answer


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Reading:
    """What only reads the table that is queried, by `read` of a cell and its file."""

    name = "pyarrow"

    def __init__(self, read):
        self.read = read

    def run(self, cell, file):
        """Returns the seconds, and no rows."""
        seconds, _ = timed(lambda: self.read(cell, file), time.process_time)
        return seconds, None


class Package:
    name = "skyrank"

    def __init__(self, threads):
        self.engine = skyrank.Engine(threads=threads, device="cpu")

    def rows(self, cell, data):
        return self.engine.run(cell.query, data).rows

    def run(self, cell, file):
        return timed(lambda: self.rows(cell, file), time.process_time)


class Process:
    name = "skyrank process"

    def __init__(self, program, threads, folder):
        self.program = program
        self.options = ["--threads", threads, "--device", "cpu", "--format", "arrow", "--out", folder / "answers"]
        self.folder = folder

    def run(self, cell, file):
        batch = self.folder / "batch.yaml"
        batch.write_text(f"version: 1\ntables: {{t: {{file: {file}}}}}\nqueries:\n"
                         f"  - {{name: q, from: t, {cell.yaml}}}\n")
        seconds, _ = timed(lambda: call(self.program, "run", batch, *self.options), cpu_of_children)
        with pyarrow.OSFile(str(self.folder / "answers" / "q.arrow")) as answer:
            return seconds, pyarrow.ipc.open_file(answer).read_all()["row"].to_numpy()


def measure(cell, file, systems, rounds):
    """The lines of one cell, one a system, after one run of each that is not counted."""
    reading, package, _ = systems
    expected = package.rows(cell, reading.read(cell, file))
    seconds = {system.name: [] for system in systems}
    for turn in range(1 + rounds):
        for system in systems:
            passed, rows = system.run(cell, file)
            if rows is not None and not numpy.array_equal(rows, expected):
                sys.exit(f"{system.name} answers '{cell.name}' differently from the table in memory")
            if turn > 0:
                seconds[system.name].append(passed)
    return [{"query": cell.name, "system": name, "median_s": f"{statistics.median(s.wall for s in times):.4f}",
             "min_s": f"{min(s.wall for s in times):.4f}", "min_cpu_s": f"{min(s.cpu for s in times):.4f}",
             "result_size": len(expected)} for name, times in seconds.items()]


def print_lines(lines):
    print(f"{lines[0]['query']}: {lines[0]['result_size']} rows")
    reading = next(line for line in lines if line["system"] == Reading.name)
    for line in lines:
        ratios = {of: float(line[of]) / float(reading[of]) for of in ("median_s", "min_s", "min_cpu_s")}
        text = f"  {line['system']:<16}{float(line['median_s']):>9.3f} s"
        if line is not reading:
            text += (f"{ratios['median_s']:>8.2f} of reading (least times {ratios['min_s']:.2f}, "
                     f"time of cores {ratios['min_cpu_s']:.2f})")
        print(text, flush=True)


def compare(arguments, cells, make, read):
    """Measures SkyRank beside `read`, prints and writes what was measured. `make` returns a cell's file in a folder."""
    pyarrow.set_cpu_count(arguments.threads)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        data = arguments.data or folder
        data.mkdir(parents=True, exist_ok=True)
        systems = [Reading(read), Package(arguments.threads), Process(arguments.skyrank, arguments.threads, folder)]
        measured = []
        for cell in (c for c in cells if arguments.only in c.name):
            measured.append(measure(cell, make(cell, arguments.rows, data), systems, arguments.rounds))
            print_lines(measured[-1])
    if arguments.out and measured:
        write_csv(arguments, measured, (Reading.name,))


def main():
    compare(parse_arguments(__doc__, 30_000_000), CELLS, make_file,
            lambda cell, file: pyarrow.parquet.read_table(file, columns=cell.names))


if __name__ == "__main__":
    main()
