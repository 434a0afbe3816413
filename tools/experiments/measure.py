"""Measures the cells of figures with `skyrank bench`, and keeps what it measured."""

import csv
import dataclasses
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

import figures
import formulas

# Warm-ups, timed runs, and seconds for one algorithm in one cell.
EFFORTS = {"quick": (1, 3, 3), "gpu": (1, 5, 3), "machine": (1, 5, 20), "paper": (1, 5, 20)}
KEY = ("op", "type", "dist", "n", "d", "k", "threads", "parameters", "algorithm")
TRANSACTION = 32  # bytes of a memory transaction of a GPU
# Data of the applications, which applications/tables.py makes, and which of their values are the best.
APPLICATIONS = {"neighbours": "low", "degrees": "high", "scores": "high", "radio": "high"}
LEFT_OUT = re.compile(r"  (\S+) left out: (.*)")
TITLE = re.compile(r"(skyline|top-k)  \S+  n .*thread")


class MeasureError(Exception):
    """The benchmark could not run; the message is for the user."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """One problem, and the number of threads."""
    op: str
    type: str
    distribution: str
    n: int
    d: int
    k: int | None
    threads: int
    order: str = "low"      # the best values: low, high
    parameters: tuple = ()  # pairs of a name and a value, in the order of the names

    def name(self):
        """Returns what the benchmark calls the distribution."""
        return self.distribution + (" high" if self.order == "high" else "")

    def key(self, algorithm):
        """Returns what the benchmark's CSV says in the columns KEY."""
        of_file = self.distribution in APPLICATIONS
        return (self.op, "of the file" if of_file else self.type,
                file_of(self.distribution) if of_file else self.name(), str(self.n), str(self.d), "" if self.k is None else str(self.k),
                str(self.threads), in_words(self.parameters), algorithm)


@dataclasses.dataclass(frozen=True)
class Task:
    """One point to measure: a cell and an algorithm, and where the point stands in its figure."""
    series: str
    cell: Cell
    algorithm: str
    sweep: figures.Sweep
    x: float
    place: dict
    variables: dict


@dataclasses.dataclass(frozen=True)
class Point:
    """One measured value of a figure."""
    series: str
    x: float
    y: float
    x_name: str
    place: dict      # sweep, and the facet and the line if the figure has them
    variables: dict  # the cell, for the conditions of rules
    row: dict        # of the benchmark's CSV


class Program:
    """The command-line program `skyrank`."""

    def __init__(self, path):
        self.path = str(path)
        version = self.output("--version")
        match = re.search(r"\(commit (\S+)\)", version)
        self.commit = match[1] if match else "unknown"

    def output(self, *arguments):
        try:
            done = subprocess.run([self.path, *arguments], capture_output=True, text=True, check=True)
        except FileNotFoundError:
            raise MeasureError(f"{self.path}: there is no such program; build it, or name it with --skyrank") from None
        except subprocess.CalledProcessError as error:
            raise MeasureError(error.stderr.strip()) from None
        return done.stdout

    def registry(self):
        """Returns {algorithm: {parameter: (least value, greatest value)}} of this build."""
        return {it["name"]: {p["name"]: (p["min"], p["max"]) for p in it["parameters"]}
                for it in json.loads(self.output("algorithms", "--json"))}

    def bench(self, grid, out):
        """Starts the benchmark, whose lines can be read from `stdout`."""
        return subprocess.Popen([self.path, "bench", str(grid), "--out", str(out)], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)


class Store:
    """All finished cells of a folder, in its file cells.csv: rows of the benchmark with a note where there is no time."""

    def __init__(self, folder):
        self.file = pathlib.Path(folder) / "cells.csv"
        self.rows = {}
        if self.file.exists():
            for row in read_csv(self.file):
                self.rows[tuple(row[name] for name in KEY)] = row

    def __contains__(self, key):
        return key in self.rows

    def row(self, key):
        """Returns the row of a cell if it was measured and right, or None."""
        row = self.rows.get(key)
        return row if row and row.get("correct") == "yes" else None

    def note(self, key):
        """Returns why there is no time of a cell, or an empty text."""
        row = self.rows.get(key)
        if row is None or row.get("correct") == "yes":
            return ""
        return "WRONG ANSWER" if row.get("correct") == "no" else row["note"]

    def wrong(self):
        return [key for key, row in self.rows.items() if row.get("correct") == "no"]

    def add(self, rows):
        for row in rows:
            self.rows[tuple(row[name] for name in KEY)] = row
        names = list(dict.fromkeys(itertools.chain.from_iterable(self.rows.values()))) or list(KEY)
        write_csv(self.file, names, self.rows.values())


def file_of(application):
    """Returns the name of the file with the data of an application."""
    return f"{application}.parquet"


def in_words(parameters):
    """Returns what the benchmark writes about parameters."""
    return " ".join(f"{name}={value}" for name, value in sorted(dict(parameters).items()))


def read_csv(file):
    with open(file, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write_csv(file, names, rows):
    """Writes a file whole or not at all."""
    file = pathlib.Path(file)
    unfinished = file.with_suffix(".unfinished")
    with open(unfinished, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, names, restval="", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    unfinished.replace(file)


def cores():
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def combinations(lists):
    """Yields a map for each combination of the values, with `k` in place of a share of the rows."""
    parameters = lists.get("parameters", {})
    plain = {name: values for name, values in lists.items() if name != "parameters"}
    for values in itertools.product(*plain.values(), *parameters.values()):
        cell = dict(zip([*plain, *parameters], values))
        cell["parameters"] = {name: cell[name] for name in parameters}
        if "share" in cell:
            cell["k"] = max(1, round(cell["share"] * cell["n"]))
        yield cell


def tasks_of(figure, scale, device, threads=None):
    """Returns what to measure for a figure; `threads`: of a machine, all of this one by default."""
    tasks = []
    for sweep in figure.sweeps:
        for values in combinations(sweep.cells[scale]):
            k = values.get("k")
            if k is not None and k > values["n"]:
                continue
            place = {"sweep": sweep.name}
            place.update({key: values[key] for key in (figure.facet, figure.lines) if key})
            variables = {"sweep": sweep.name, "type": "float32", "d": 1, **values}
            for series in figure.measured_series(device):
                if series.k_up_to and k is not None and k > series.k_up_to:
                    continue
                algorithm = series.algorithm_on(device)
                # A stand-in has no parameters of the algorithm that it stands in for.
                parameters = {}
                if algorithm == series.algorithm:
                    parameters = {**values["parameters"], **series.parameters_of(variables["type"])}
                cell = Cell(figure.op, variables["type"], values["distribution"], values["n"], variables["d"], k,
                            series.threads or threads or cores(), variables.get("order", "low"),
                            tuple(sorted(parameters.items())))
                tasks.append(Task(series.id, cell, algorithm, sweep, values.get(sweep.x), place, variables))
    return tasks


def grid_of(tasks, scale, data="data"):
    """Returns the text of a grid with all cells of the tasks, cells of the same data together.

    `data`: the folder that has the applications' files, as the grid names it.
    """
    warmups, repeats, budget = EFFORTS[scale]
    algorithms, efforts = {}, {}
    for task in tasks:
        names = algorithms.setdefault(task.cell, [])
        if task.algorithm not in names:
            names.append(task.algorithm)
        if scale == "paper":
            efforts[task.cell] = task.sweep.effort
    # Long answers first: what is right for them is right for shorter ones.
    def order(cell):
        return (cell.distribution, cell.order, cell.type, cell.d, cell.n, -(cell.k or 0), -cell.threads, cell.parameters)
    blocks = []
    for cell in sorted(algorithms, key=order):
        block = {key: value for key, value in dataclasses.asdict(cell).items() if value not in (None, ())}
        if cell.order == "low":
            del block["order"]
        if cell.parameters:
            block["parameters"] = dict(cell.parameters)
        if cell.distribution in APPLICATIONS:
            block = {key: value for key, value in block.items() if key not in ("distribution", "type", "d")}
            block.update(file=f"{data}/{file_of(cell.distribution)}", columns="value",
                         order=APPLICATIONS[cell.distribution])
        blocks.append({**block, "algorithms": algorithms[cell], "warmups": warmups, "repeats": repeats,
                       "budget_s": budget, **efforts.get(cell, {})})
    return yaml.safe_dump({"version": 1, "cells": blocks}, sort_keys=False, default_flow_style=None, width=200)


class Log:
    """What the benchmark printed: the cells that are done, and why algorithms were left out."""

    def __init__(self):
        self.lines, self.done, self.reasons = [], 0, {}

    def add(self, line):
        """Takes a line; returns true if it says that a cell is done."""
        self.lines.append(line)
        if TITLE.match(line):
            self.done += 1
            return True
        if match := LEFT_OUT.match(line):
            self.reasons.setdefault(match[1], match[2])
        return False


def missing(tasks, store):
    """Returns the tasks that the store does not have."""
    return [task for task in tasks if task.cell.key(task.algorithm) not in store]


def note_missing(tasks, store, reasons):
    """Notes in the store why tasks have no time."""
    store.add([{**dict(zip(KEY, task.cell.key(task.algorithm))), "note": reasons.get(task.algorithm, "not measured")}
               for task in missing(tasks, store)])


def provide_data(tasks, folder):
    """Makes the files of the applications that tasks measure. Returns {application: why there is none}."""
    faults = {}
    for name in sorted({task.cell.distribution for task in tasks} & set(APPLICATIONS)):
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "applications"))
        try:
            import tables
            tables.write(name, pathlib.Path(folder) / file_of(name))
        except ImportError as error:
            faults[name] = f"its data need a package: {error}"
        finally:
            sys.path.pop(0)
    return faults


def measure(program, tasks, scale, store, progress):
    """Measures the tasks that the store does not have, and adds them to it.

    Calls progress(number of the cell, cells, its title) when a cell is done. What was measured is kept even if the
    benchmark is stopped.
    """
    left = missing(tasks, store)
    faults = provide_data(left, store.file.parent / "data")
    for name, fault in faults.items():
        lost = [task for task in left if task.cell.distribution == name]
        note_missing(lost, store, dict.fromkeys({task.algorithm for task in lost}, fault))
    left = [task for task in left if task.cell.distribution not in faults]
    if not left:
        return
    cells = len({task.cell for task in left})
    log = Log()
    with tempfile.TemporaryDirectory() as folder:
        grid, out = pathlib.Path(folder, "figure.yaml"), pathlib.Path(folder, "figure.csv")
        grid.write_text(grid_of(left, scale, (store.file.parent / "data").resolve()), encoding="utf-8")
        process = program.bench(grid, out)
        try:
            for line in process.stdout:
                if log.add(line):
                    progress(log.done, cells, line.strip())
            status = process.wait()
        finally:
            process.terminate()
            if out.exists():
                store.add(read_csv(out))
    if log.done < cells:
        raise MeasureError(f"skyrank bench ended with status {status}: {''.join(log.lines[-3:]).strip()}")
    note_missing(left, store, log.reasons)


def take(folder, store):
    """Adds to the store what the benchmark wrote about grids in a folder: NAME.csv. Returns the number of rows."""
    rows = [row for file in sorted(pathlib.Path(folder).glob("*.csv")) for row in read_csv(file)]
    for row in rows:
        if absent := [name for name in KEY if name not in row]:
            raise MeasureError(f"{folder}: a CSV file has no column '{absent[0]}'; take those of skyrank bench")
    store.add(rows)
    return len(rows)


def reasons_in(folder, name):
    """Returns the log NAME.log of a grid in a folder, or an empty one."""
    log, file = Log(), pathlib.Path(folder, f"{name}.log")
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            log.add(line)
    return log


def value_of(measure, row):
    """Returns the value of a measure in a row of the benchmark's CSV, or None where it has none."""
    def number(name):
        return float(row[name] or "nan")
    n, d = number("n"), number("d")
    if measure in ("time", "speedup"):
        return number("median_ms")
    if measure == "time_with_transfer":
        return number("median_ms") + number("h2d_ms")
    if measure == "dominance_tests_per_row":
        return number("dominance_tests") / n
    if measure == "work_per_row":
        masks = number("mask_tests") + number("cell_tests")
        return (3 * masks + (6 * d + 4) * number("dominance_tests")) / n
    if measure == "load_transactions":
        return number("bytes_read") / TRANSACTION
    if measure == "memory":
        return number("extra_bytes") / 2**20
    return number("bytes_written") / TRANSACTION


def stages_of(row):
    """Returns the stages of a run, as maps with the keys stage, ms, rows, dominance_tests and mask_tests."""
    return json.loads(row.get("stages") or "[]")


def value_of_stage(measure, stage, row):
    if measure == "stage_time":
        return stage["ms"]
    return stage["rows"] / (float(row["n"]) if measure == "stage_rows_per_row" else 1)


def stage_value(measure, names, row):
    """Returns the sum over the stages of a run that have one of these names, or None if there is none."""
    values = [value_of_stage(measure, stage, row) for stage in stages_of(row) if stage["stage"] in names]
    return sum(values) if values else None


def iteration_values(measure, row):
    """Yields (iteration, value): 0 for all stages before the first phase, then one for each phase."""
    iteration, values = 0, {}
    for stage in stages_of(row):
        iteration += stage["stage"].startswith("phase")
        value = value_of_stage(measure, stage, row)
        if measure == "stage_time":
            values[iteration] = values.get(iteration, 0) + value
        elif value > 0 or iteration > 0:
            values[iteration] = value  # the rows that the last of its stages left
    yield from values.items()


UNITS = {"stage_time": "time of the stage (ms)", "stage_rows": "rows that the stage leaves",
         "stage_rows_per_row": "elements over rows", "stage_rows_ratio": "elements over those of the other", "memory": "temporary memory (MiB)",
         "time": "time (ms)", "time_with_transfer": "time and transfer (ms)",
         "dominance_tests_per_row": "dominance tests per row", "work_per_row": "work per row, 3 MT + (6 d + 4) DT",
         "speedup": "speed-up", "load_transactions": "loads of 32 bytes", "store_transactions": "stores of 32 bytes"}


def range_of(point):
    """Returns the least and the greatest time of the runs behind a point that is a time, or None."""
    least, median, greatest = (float(point.row.get(name) or "nan") for name in ("min_ms", "median_ms", "max_ms"))
    return (least, greatest) if point.y == median and greatest >= least else None


def points_of(figure, scale, device, store, threads=None):
    """Returns the measured points of a figure, in the order of its series."""
    tasks = tasks_of(figure, scale, device, threads)
    points = []
    for task in tasks:
        row = store.row(task.cell.key(task.algorithm))
        if row is None:
            continue
        for x, y in values_of(figure, task, tasks, store, row):
            points.append(Point(task.series, x, y, task.sweep.x, task.place, task.variables, row))
    points += floor_points(figure, points)
    ids = [series.id for series in figure.series]
    return sorted(points, key=lambda it: ids.index(it.series))


def values_of(figure, task, tasks, store, row):
    """Yields (x, y) for each point of a task: one, or one an iteration, or none."""
    measure = task.sweep.y
    if task.sweep.x == figures.ITERATION:
        yield from iteration_values(measure, row)
        return
    y = plain_value(figure, task, row)
    if measure in figures.RATIOS:
        y = ratio(figure, task, tasks, store, y)
    if y is not None:
        yield task.x, y


def plain_value(figure, task, row):
    """Returns the value of a task's measure, of a ratio that which is divided, or None where there is none."""
    measure, series = task.sweep.y, figure.series_of(task.series)
    if series.predicted:
        return predicted(series, task, row)
    if measure in figures.STAGE_MEASURES:
        return stage_value(measure, series.stages, row)
    return value_of(measure, row)


def predicted(series, task, row):
    """Returns the time that a model predicts, or None where there is none. A formula is for the paper's own algorithm."""
    if series.predicted == figures.OURS:
        return float(row["predicted_ms"]) if row.get("predicted_ms") else None
    return formulas.predicted(series.predicted, row) if task.algorithm == series.algorithm else None


def ratio(figure, task, tasks, store, value):
    """Returns the task's value over that of the series that it is compared with, the inverse for times, or None."""
    over = figure.series_of(task.series).over
    for other in tasks:
        if other.series == over and other.variables == task.variables:
            row = store.row(other.cell.key(other.algorithm))
            base = plain_value(figure, other, row) if row else None
            if not base or not value:
                return None
            return base / value if task.sweep.y == "speedup" else value / base
    return None


def floor_points(figure, points):
    """Returns a point for each time that the benchmark needed to read the keys once."""
    found = {}
    for series in figure.series:
        if series.algorithm != figures.FLOOR:
            continue
        for it in points:
            if it.row.get("floor_ms"):
                key = (it.x, *it.place.items())
                # That of the GPU, where there is one.
                if key not in found or it.row["device"] == "cuda":
                    found[key] = dataclasses.replace(it, series=series.id, y=float(it.row["floor_ms"]))
    return list(found.values())


def not_measured(figure, scale, device, store, threads=None):
    """Returns {series: reasons why some of its cells have no time}."""
    notes = {}
    for task in tasks_of(figure, scale, device, threads):
        if note := store.note(task.cell.key(task.algorithm)):
            notes.setdefault(task.series, {}).setdefault(note, None)
    return {series: list(reasons) for series, reasons in notes.items()}
