#!/usr/bin/env python3
"""Queries of CSV files beside pyarrow, which parses the whole file and does no more: same files, machine and threads,
A B A B.

SkyRank comes twice, as in skylines.py: "skyrank" is a call of the Python package in the process of pyarrow, over the path
of the file; "skyrank process" is `skyrank run`, from its start to its last byte. The files are in the cache of the
operating system. All answers are compared with those of pyarrow's table.

A row of a file has four numbers and a short text, or five numbers; all but one of the former are floats.

Needs a Python with numpy, pyarrow and SkyRank's package:
  PYTHONPATH=build/release/python .deps/python/bin/python tools/bench/peers/csv_files.py --threads 2 --out csv-cpu.csv
"""

import dataclasses

from files import parse_arguments
from skylines import compare

import numpy
import pyarrow
import pyarrow.csv
import skyrank


@dataclasses.dataclass(frozen=True)
class Cell:
    """A file, and a query of it as the package and a batch spell it."""

    points: str
    question: str
    query: skyrank.Query
    yaml: str

    @property
    def name(self):
        return f"{self.points}, {self.question}"


QUESTIONS = [
    ("skyline of three columns", skyrank.Query().prefer([skyrank.low("a"), skyrank.low("b"), skyrank.high("c")]),
     "prefer: {pareto: [{low: a}, {low: b}, {high: c}]}"),
    ("top 50 by all numbers", skyrank.Query().rank_by("a + b + c + d").limit(50),
     "rank_by: {high: a + b + c + d}, limit: 50"),
]
CELLS = [Cell(points, *question) for points in ("mixed", "floats") for question in QUESTIONS]


def points_of(points, rows):
    random = numpy.random.default_rng(1)
    columns = {name: random.random(rows) for name in "abcde"}
    if points == "mixed":
        columns["d"] = random.integers(0, 10**9, rows)
        columns["e"] = numpy.array(["red", "green", "blue", "white"])[random.integers(0, 4, rows)]
    return columns


def make_file(cell, rows, folder):
    """Returns the file of a cell, made if it is not there yet."""
    file = folder / f"{cell.points}-{rows}.csv"
    if not file.exists():
        pyarrow.csv.write_csv(pyarrow.table(points_of(cell.points, rows)), file)
    return file.resolve()


def main():
    compare(parse_arguments(__doc__, 2_000_000), CELLS, make_file, lambda _, file: pyarrow.csv.read_csv(file))


if __name__ == "__main__":
    main()
