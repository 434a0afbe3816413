#!/usr/bin/env python3
"""What `--device auto` costs a user: each query or batch as a process of its own, from its start to its last byte, on the
CPU, on the GPU and as the planner chooses, in turns. The answers of all three are compared.

The tables are those of `skyrank generate`, as uncompressed Parquet files.

  tools/bench/devices.py --skyrank build/release/skyrank --out devices.csv      # on a machine with a GPU
"""

import argparse
import csv
import dataclasses
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

DEVICES = ("cpu", "cuda", "auto")
TARGET = 1.1  # of auto, over the better device


@dataclasses.dataclass(frozen=True)
class Cell:
    """A batch over one table."""

    name: str
    distribution: str
    rows: int
    dims: int
    queries: tuple  # as YAML, without their names and tables

    @property
    def file(self):
        return f"{self.distribution}-{self.rows}-{self.dims}.parquet"


def skyline(dims):
    return "prefer: [" + ", ".join(f"{{low: c{c}}}" for c in range(dims)) + "]"


TOP_10 = "rank_by: {low: c0}, limit: 10"
SUM = "rank_by: {low: c0 + 0.5 * c1}, limit: 50"


def filtered(count):
    return tuple(f"where: c5 < {(q + 1) / count:.3f}, {skyline(4)}" for q in range(count))


def cells(scale):
    """Those of tables of up to `scale` rows."""
    for rows in sorted({max(1, scale // 100), max(1, scale // 10), scale}):
        yield Cell(f"top 10 of {rows}", "independent", rows, 6, (TOP_10,))
        yield Cell(f"sum, top 50 of {rows}", "independent", rows, 6, (SUM,))
        yield Cell(f"skyline of 4 of {rows}", "independent", rows, 6, (skyline(4),))
        yield Cell(f"skyline of 6 of {rows}", "independent", rows, 6, (skyline(6),))
        yield Cell(f"skyline of 6 of {rows}, anticorrelated", "anticorrelated", rows, 6, (skyline(6),))
    for rows in sorted({max(1, scale // 100), max(1, scale // 10)}):
        yield Cell(f"skyline of 12 of {rows}, anticorrelated", "anticorrelated", rows, 12, (skyline(12),))
        yield Cell(f"20 filtered skylines of {rows}", "independent", rows, 6, filtered(20))


class Bench:
    def __init__(self, skyrank, folder, data):
        self.skyrank = skyrank
        self.folder = folder
        self.data = data

    def call(self, *arguments):
        done = subprocess.run([self.skyrank, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"devices: {self.skyrank} {arguments[0]} failed\n{done.stdout}{done.stderr}")
        return done.stdout

    def table(self, cell):
        """The file of a cell, made where it is not there yet."""
        file = self.data / cell.file
        if not file.exists():
            self.call("generate", "--distribution", cell.distribution, "--rows", cell.rows, "--dims", cell.dims,
                      "--out", file)
        return file.resolve()

    def batch(self, cell):
        path = self.folder / "batch.yaml"
        lines = [f"  - {{name: q{i}, from: t, {query}}}" for i, query in enumerate(cell.queries)]
        path.write_text(f"version: 1\ntables: {{t: {{file: {self.table(cell)}}}}}\nqueries:\n" + "\n".join(lines) + "\n")
        return path

    def run(self, batch, device):
        """Seconds of a process, and the bytes of its answers."""
        out = self.folder / device
        start = time.perf_counter()
        self.call("run", batch, "--device", device, "--format", "csv", "--out", out)
        seconds = time.perf_counter() - start
        return seconds, {answer.name: answer.read_bytes() for answer in out.iterdir()}

    def measure(self, cell, rounds):
        """Median seconds by device, after a run of each that is not counted."""
        batch = self.batch(cell)
        seconds = {device: [] for device in DEVICES}
        expected = None
        for turn in range(1 + rounds):
            for device in DEVICES:
                passed, answers = self.run(batch, device)
                expected = expected or answers
                if answers != expected:
                    sys.exit(f"devices: '{cell.name}' has another answer with --device {device}")
                if turn > 0:
                    seconds[device].append(passed)
        return {device: statistics.median(times) for device, times in seconds.items()}


def ratio(median):
    return median["auto"] / min(median["cpu"], median["cuda"])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skyrank", default="build/release/skyrank", help="the program (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the largest table (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of each (default: %(default)s)")
    parser.add_argument("--only", default="", help="cells whose name has this text")
    parser.add_argument("--data", type=pathlib.Path, help="folder that keeps the files (default: a temporary one)")
    parser.add_argument("--out", type=pathlib.Path, help="CSV file to write")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    lines = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        data = arguments.data or folder
        data.mkdir(parents=True, exist_ok=True)
        bench = Bench(arguments.skyrank, folder, data)
        for cell in (it for it in cells(arguments.rows) if arguments.only in it.name):
            median = bench.measure(cell, arguments.rounds)
            lines.append([cell.name, *(f"{median[device]:.4f}" for device in DEVICES), f"{ratio(median):.2f}"])
            print(f"{cell.name:<46}" + "".join(f"{median[device]:>8.3f}" for device in DEVICES)
                  + f"{ratio(median):>7.2f}", flush=True)
    worst = max(float(line[-1]) for line in lines)
    late = sum(float(line[-1]) > TARGET for line in lines)
    print(f"auto over the better device: {worst:.2f} at most; {late} of {len(lines)} cells above {TARGET}")
    if arguments.out:
        with open(arguments.out, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["cell", *(f"{device}_s" for device in DEVICES), "auto_over_best"])
            writer.writerows(lines)


if __name__ == "__main__":
    main()
