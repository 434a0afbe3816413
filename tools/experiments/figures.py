"""Figures and tables of the papers, as the YAML files below figures/ describe them.

A file says what the paper measured (sweeps, series), what the paper found (published numbers, claims), and what the
benchmark lacks for it (needs). README.md lists the keys.
"""

import dataclasses
import pathlib

import yaml

import claims
import formulas

ROOT = pathlib.Path(__file__).resolve().parent / "figures"
PAPERS = {
    "skyalign": "Bøgh, Chester, Assent: Work-Efficient Parallel Skyline Computation for the GPU, PVLDB 8(9), 2015",
    "bitonic": "Shanbhag, Pirk, Madden: Efficient Top-K Query Processing on Massively Parallel Hardware, SIGMOD 2018",
    "dr-topk": "Gaihre et al.: Dr. Top-k: Delegate-Centric Top-k on GPUs, SC 2021",
    "randomized": "Monroe, Wendelberger, Michalak: Randomized Selection on the GPU, HPG 2011",
}
SCALES = ("quick", "gpu", "machine", "paper")
CELL_KEYS = ("distribution", "order", "type", "n", "d", "k", "share", "parameters")
AXES = ("linear", "log2", "log10")
MEASURES = ("time", "time_with_transfer", "dominance_tests_per_row", "work_per_row", "speedup", "load_transactions",
            "store_transactions", "stage_time", "stage_rows", "stage_rows_per_row", "stage_rows_ratio", "memory")
STAGE_MEASURES = ("stage_time", "stage_rows", "stage_rows_per_row", "stage_rows_ratio")
RATIOS = ("speedup", "stage_rows_ratio")  # over another series, or of it
OURS = "ours"  # the planner's model of an algorithm
PREDICTIONS = (OURS, *formulas.FORMULAS, *formulas.MEMORY_FORMULAS)
ITERATION = "iteration"  # an x axis along the stages of one run
FLOOR = "floor"  # stands for an algorithm: the time to read all keys once


class FigureError(Exception):
    """A figure's file is wrong; the message names the file, the key, and what would be right."""


@dataclasses.dataclass(frozen=True)
class Series:
    """One algorithm of a figure."""
    id: str
    label: str
    algorithm: str
    on_cpu: str | None       # the algorithm that stands in on the CPU
    threads: int             # 0: all
    parameters: dict
    float_parameters: dict   # more of them, for cells of floats
    over: str | None         # the series that a ratio compares with
    stages: tuple[str, ...]  # the stages of a run whose time or rows are shown, added up
    predicted: str | None    # the model whose time, or memory, is shown: one of PREDICTIONS
    k_up_to: int | None      # measured for no greater k
    needs: tuple[str, ...]

    def parameters_of(self, type):
        """Returns the parameters for cells of a type."""
        return {**self.parameters, **(self.float_parameters if type.startswith("float") else {})}

    def algorithm_on(self, device):
        """Returns the name of the algorithm that is measured with --device `device`, or None."""
        if device == "cpu" and self.algorithm.startswith("cuda-"):
            return self.on_cpu
        return self.algorithm


@dataclasses.dataclass(frozen=True)
class Sweep:
    """One x axis: cells that differ in `x`, at each scale."""
    name: str
    title: str
    x: str
    x_axis: str
    y: str
    effort: dict  # keys of the benchmark's cells that say how often to run: repeats, seeds, budget_s, enough_s
    cells: dict  # scale to {key: list of values}; `parameters` is a map of such lists

    def varies_parameters(self):
        return "parameters" in self.cells["paper"]


@dataclasses.dataclass(frozen=True)
class Published:
    """A number of the paper's text, tables or talk."""
    series: str
    sweep: str
    facet: str | None
    x: float
    y: float
    source: str


@dataclasses.dataclass(frozen=True)
class Figure:
    id: str
    paper: str
    figure: str              # as the paper numbers it
    title: str
    section: str
    machine: str             # on which the paper measured
    op: str
    facet: str | None        # the key whose values have panels of their own
    facet_labels: dict
    lines: str | None        # the key whose values have lines of their own
    kind: str                # lines, bars or stack (areas, one series upon the other)
    y_axis: str
    sweeps: tuple[Sweep, ...]
    series: tuple[Series, ...]
    published: tuple[Published, ...]
    claims: tuple[claims.Claim, ...]
    caveats: tuple[str, ...]
    needs: tuple[str, ...]

    def series_of(self, id):
        return next(series for series in self.series if series.id == id)

    def reasons_not_drawn(self, device):
        """Returns why the figure cannot be drawn with --device `device`; nothing if it can."""
        if self.needs:
            return self.needs
        if not self.measured_series(device):
            return ("a GPU (--device cuda)",)
        return ()

    def measured_series(self, device):
        """Returns the series that the benchmark can measure with --device `device`."""
        fixed = any(it.varies_parameters() for it in self.sweeps)  # a stand-in lacks the parameters
        return [it for it in self.series if not it.needs and it.algorithm != FLOOR and it.algorithm_on(device)
                and not (fixed and it.algorithm_on(device) != it.algorithm)]


class Reader:
    """A map of a YAML file that knows where it stands, and complains about keys that nobody asked for."""

    def __init__(self, file, path, value):
        self.file, self.path, self.left = file, path, value
        if not isinstance(value, dict):
            self.fail("", f"needs a map, found {value!r}")
        self.left = dict(value)

    def fail(self, key, message):
        place = ".".join(part for part in (self.path, str(key)) if part)
        raise FigureError(f"{self.file}: {place or 'the file'}: {message}")

    def take(self, key, kind, default=dataclasses.MISSING):
        """Returns and removes the value of `key`, which must be of the type `kind`."""
        if key not in self.left:
            if default is dataclasses.MISSING:
                self.fail(key, "is missing")
            return default
        value = self.left.pop(key)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            names = " or ".join(it.__name__ for it in (kind if isinstance(kind, tuple) else (kind,)))
            self.fail(key, f"needs a value of type {names}, found {value!r}")
        return value

    def choice(self, key, choices, default=dataclasses.MISSING):
        value = self.take(key, str, default)
        if value is not default and value not in choices:
            self.fail(key, f"'{value}' is not known; choose one of {', '.join(choices)}")
        return value

    def texts(self, key):
        values = self.take(key, list, [])
        for place, value in enumerate(values):
            if not isinstance(value, str):
                self.fail(f"{key}.{place}", f"needs a text, found {value!r}")
        return tuple(values)

    def inner(self, key):
        return Reader(self.file, f"{self.path}.{key}".lstrip("."), self.take(key, dict))

    def each(self, key):
        """Yields a reader for each map in the list `key`."""
        for place, value in enumerate(self.take(key, list, [])):
            yield Reader(self.file, f"{self.path}.{key}.{place}".lstrip("."), value)

    def finish(self):
        for key in self.left:
            self.fail(key, "is not a key here")


def read_cells(reader, key, base):
    """Returns `base` with the keys that the map `key` gives; every value a list."""
    given = reader.take(key, dict, {})
    for name in given:
        if name not in CELL_KEYS:
            reader.fail(f"{key}.{name}", f"is not known; choose from {', '.join(CELL_KEYS)}")
    def as_list(value):
        return value if isinstance(value, list) else [value]
    lists = {name: as_list(value) for name, value in given.items() if name != "parameters"}
    if parameters := given.get("parameters", base.get("parameters")):
        lists["parameters"] = {name: as_list(value) for name, value in parameters.items()}
    return {**base, **lists}


def read_effort(reader, base):
    """Returns `base` with what a map says of how often an algorithm runs at the scale `paper`."""
    given = {"repeats": reader.take("repeats", int, None), "seeds": reader.choice("seeds", ("one", "each_run"), None),
             "budget_s": reader.take("budget_s", (int, float), None), "enough_s": reader.take("enough_s", (int, float), None)}
    return {**base, **{key: value for key, value in given.items() if value is not None}}


def read_sweep(reader, y, effort):
    name = reader.take("name", str)
    x = reader.take("x", str)
    paper = read_cells(reader, "cells", {})
    quick = read_cells(reader, "quick", paper)
    cells = {"paper": paper, "machine": read_cells(reader, "machine", paper), "quick": quick,
             "gpu": read_cells(reader, "gpu", quick)}
    for key in ("distribution", "n", *(() if x not in CELL_KEYS else (x,))):
        if key not in paper:
            reader.fail(f"cells.{key}", "is missing")
    if x not in (*CELL_KEYS, ITERATION) and x not in paper.get("parameters", {}):
        reader.fail("x", f"'{x}' is no key of the cells")
    sweep = Sweep(name, reader.take("title", str, name), x, reader.choice("x_axis", AXES, "linear"),
                  reader.choice("y", MEASURES, y), read_effort(reader, effort), cells)
    reader.finish()
    return sweep


def read_stages(reader):
    """Returns the names that `stage` gives: one, or a list."""
    if isinstance(reader.left.get("stage"), list):
        return reader.texts("stage")
    name = reader.take("stage", str, None)
    return (name,) if name else ()


def read_series(reader, id):
    series = Series(id, reader.take("label", str), reader.take("algorithm", str), reader.take("on_cpu", str, None),
                    reader.take("threads", int, 0), reader.take("parameters", dict, {}), reader.take("float_parameters", dict, {}),
                    reader.take("over", str, None), read_stages(reader), reader.choice("predicted", PREDICTIONS, None), reader.take("k_up_to", int, None),
                    reader.texts("needs"))
    if not id.isidentifier():
        reader.fail("", "a series needs a name of letters, digits and _, as rules name it")
    if id in {*claims.CURVES, *claims.PLAIN, *claims.VARIABLES}:
        reader.fail("", f"a series cannot have the name '{id}', which means something else in rules")
    reader.finish()
    return series


def read_published(reader):
    number = (int, float)
    published = Published(reader.take("series", str), reader.take("sweep", str), reader.take("facet", str, None),
                          reader.take("x", number), reader.take("y", number), reader.take("source", str))
    reader.finish()
    return published


def read_claim(reader):
    text, rule = reader.take("text", str), reader.take("rule", str, None)
    across, share = reader.take("across", str, None), reader.take("share", (int, float), 1)
    needs = reader.take("needs", str, None)
    why_not = reader.take("why_not", str, None)
    if (rule is None) == (needs is None):
        reader.fail("rule", "a claim has either a rule, or needs that say why there is none")
    try:
        claim = claims.Claim(text, rule and claims.parse(rule), across, share, needs, why_not)
    except claims.RuleError as error:
        reader.fail("rule", str(error))
    reader.finish()
    return claim


def load(path):
    """Returns the figure that a file describes. FigureError if it is wrong."""
    path = pathlib.Path(path)
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise FigureError(f"{path}: {error}") from None
    reader = Reader(path, "", value)
    paper = path.parent.name
    y = reader.choice("y", MEASURES, "time")
    effort = read_effort(reader, {})
    series = reader.inner("series")
    figure = Figure(
        id=f"{paper}/{path.stem}", paper=paper, figure=reader.take("figure", str), title=reader.take("title", str),
        section=reader.take("section", str), machine=reader.take("machine", str),
        op=reader.choice("op", ("skyline", "top-k")), facet=reader.choice("facet", CELL_KEYS, None),
        facet_labels=reader.take("facet_labels", dict, {}), lines=reader.choice("lines", CELL_KEYS, None),
        kind=reader.choice("kind", ("lines", "bars", "stack"), "lines"), y_axis=reader.choice("y_axis", AXES, "log10"),
        sweeps=tuple(read_sweep(it, y, effort) for it in reader.each("sweeps")),
        series=tuple(read_series(series.inner(id), id) for id in list(series.left)),
        published=tuple(read_published(it) for it in reader.each("published")),
        claims=tuple(read_claim(it) for it in reader.each("claims")),
        caveats=reader.texts("caveats"), needs=reader.texts("needs"))
    reader.finish()
    check_references(figure, reader)
    return figure


def check_references(figure, reader):
    """Complains about names that nothing in the figure has, and about what the benchmark cannot do."""
    ids = {it.id for it in figure.series}
    if figure.paper not in PAPERS:
        reader.fail("", f"the folder '{figure.paper}' is no paper; there are {', '.join(PAPERS)}")
    for series in figure.series:
        if series.over and series.over not in ids:
            reader.fail(f"series.{series.id}.over", f"there is no series '{series.over}'")
        measure = "memory" if series.predicted in formulas.MEMORY_FORMULAS else "time"
        if series.predicted and {it.y for it in figure.sweeps} != {measure}:
            reader.fail(f"series.{series.id}.predicted", f"is a {measure}, and the measure is another")
        along = [it for it in figure.sweeps if it.x != ITERATION and it.y in STAGE_MEASURES]
        if along and not series.stages:
            reader.fail(f"series.{series.id}.stage", f"is missing, for the measure {along[0].y}")
    for place, sweep in enumerate(figure.sweeps):
        if sweep.x == ITERATION and sweep.y not in STAGE_MEASURES:
            reader.fail(f"sweeps.{place}.y", f"along iterations there are {', '.join(STAGE_MEASURES)}")
        if (figure.op == "top-k") == ("k" not in sweep.cells["paper"] and "share" not in sweep.cells["paper"]):
            reader.fail(f"sweeps.{place}.cells.k", "rankings need 'k' or 'share', skylines have neither")
    for place, published in enumerate(figure.published):
        if published.series not in ids:
            reader.fail(f"published.{place}.series", f"there is no series '{published.series}'")
        if published.sweep not in {it.name for it in figure.sweeps}:
            reader.fail(f"published.{place}.sweep", f"there is no sweep '{published.sweep}'")
    for place, claim in enumerate(figure.claims):
        unknown = claim.rule.names - ids - claims.VARIABLES if claim.rule else set()
        if unknown:
            reader.fail(f"claims.{place}.rule", f"there is no series '{sorted(unknown)[0]}'; there are {', '.join(ids)}")


def load_all(root=ROOT):
    """Returns all figures, paper by paper in the papers' order."""
    def place(figure):
        head = figure.id.split("/")[1]
        digits = "".join(c for c in head if c.isdigit())
        return (list(PAPERS).index(figure.paper), not head[0].isdigit(), int(digits or 0), head)
    return sorted((load(path) for path in pathlib.Path(root).glob("*/*.yaml")), key=place)


def check_algorithms(figure, registry, file=None):
    """Checks names and parameters of the algorithms.

    `registry` maps names of algorithms to {parameter: (least value, greatest value)}. FigureError if a series has an
    algorithm that is not there, or a parameter or value that the algorithm does not take.
    """
    file = file or f"{figure.id}.yaml"
    swept = {}
    for sweep in figure.sweeps:
        swept.update(sweep.cells["paper"].get("parameters", {}))
    for series in figure.series:
        for name in filter(None, (series.algorithm, series.on_cpu)):
            if name != FLOOR and name not in registry:
                raise FigureError(f"{file}: series.{series.id}: there is no algorithm '{name}'; "
                                  f"there are {', '.join(sorted(registry))}")
        for name, values in {**swept, **series.parameters, **series.float_parameters}.items():
            limits = registry.get(series.algorithm, {}).get(name)
            place = f"{file}: series.{series.id}.parameters.{name}"
            if limits is None:
                raise FigureError(f"{place}: '{series.algorithm}' has no such parameter")
            for value in values if isinstance(values, list) else [values]:
                if not limits[0] <= value <= limits[1]:
                    raise FigureError(f"{place}: {value} is not from {limits[0]} to {limits[1]}")
