#!/usr/bin/env python3
"""Tests of tools/experiments: the figures' files, the rules of claims, what is kept, and a figure end to end.

The environment variable SKYRANK_PROGRAM names the built program; without it, nothing is measured.
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXPERIMENTS = ROOT / "tools/experiments"
sys.path.insert(0, str(EXPERIMENTS))

try:
    import yaml
except ImportError:
    print("skipped: there is no PyYAML")
    sys.exit(77)

import claims  # noqa: E402
import figures  # noqa: E402
import formulas  # noqa: E402
import measure  # noqa: E402

PROGRAM = os.environ.get("SKYRANK_PROGRAM")
Point = collections.namedtuple("Point", "series x y x_name place variables")

SMALL = """
    figure: Figure 1
    title: A test
    section: "1"
    machine: a machine
    op: top-k
    sweeps:
      - name: rows
        x: n
        cells: {distribution: uniform, n: [1000, 2000], k: 8}
    series:
      heap: {label: Heap, algorithm: heap}
      sort: {label: Sort, algorithm: cuda-sort, on_cpu: sort}
      fast: {label: Fast, algorithm: cuda-bitonic}
    claims:
      - {text: The heap is faster, rule: heap < sort}
"""


def curve(series, values, variables=None, **place):
    """Returns the points of a curve over k."""
    return [Point(series, k, y, "k", {"sweep": "k", **place}, {"k": k, "sweep": "k", **place, **(variables or {})})
            for k, y in values.items()]


def claim(rule, across=None, share=1):
    return claims.Claim("a claim", claims.parse(rule), across, share, None)


class Folder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def figure(self, text=SMALL):
        file = self.folder / "bitonic" / "1.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return figures.load(file)


class Files(Folder):
    def assert_refused(self, text, *words):
        with self.assertRaises(figures.FigureError) as caught:
            self.figure(text)
        for word in ("1.yaml", *words):
            self.assertIn(word, str(caught.exception))

    def test_all_files_are_valid(self):
        found = figures.load_all()
        self.assertEqual({it.paper for it in found}, set(figures.PAPERS))
        self.assertEqual(len(found), len(list(figures.ROOT.glob("*/*.yaml"))))

    def test_every_cell_of_a_scale_can_be_written_to_a_grid(self):
        for figure in figures.load_all():
            for scale in figures.SCALES:
                for device in ("cpu", "cuda"):
                    if not figure.reasons_not_drawn(device):
                        tasks = measure.tasks_of(figure, scale, device)
                        self.assertTrue(tasks, figure.id)
                        self.assertTrue(yaml.safe_load(measure.grid_of(tasks, scale))["cells"])

    def test_algorithms_and_parameters_are_in_the_sources(self):
        # A build without CUDA does not list those of GPUs, so that they are looked up where they are defined.
        sources = [file.read_text(encoding="utf-8") for ending in ("cu", "cpp") for file in ROOT.glob(f"kernels/**/*.{ending}")]
        headers = [file.read_text(encoding="utf-8") for file in ROOT.glob("kernels/**/*.cuh")]
        shared = {parameter: constant for text in headers
                  for constant, parameter in re.findall(r'inline constexpr Parameter (\w+)\{\s*"(\w+)"', text)}
        defining = {name: text for text in sources for name in re.findall(r'^\s+\.name = "([a-z-]+)",', text, re.MULTILINE)}
        for figure in figures.load_all():
            swept = {name for sweep in figure.sweeps for name in sweep.cells["paper"].get("parameters", {})}
            for series in figure.series:
                for name in {series.algorithm, series.on_cpu} - {None, figures.FLOOR}:
                    self.assertIn(name, defining, figure.id)
                for parameter in {*series.parameters, *series.float_parameters, *swept}:
                    text = defining[series.algorithm]
                    self.assertTrue(f'"{parameter}"' in text or parameter in shared and re.search(
                        rf"\b{shared[parameter]}\b", text), f"{figure.id}: {series.algorithm} has no '{parameter}'")

    def test_a_missing_key_is_named(self):
        self.assert_refused(SMALL.replace("title: A test", ""), "title: is missing")

    def test_an_unknown_key_is_named(self):
        self.assert_refused(SMALL.replace("label: Heap", "label: Heap, treads: 2"), "series.heap.treads")

    def test_an_unknown_cell_is_named(self):
        self.assert_refused(SMALL.replace("k: 8", "k: 8, rows: 9"), "sweeps.0.cells.rows")

    def test_a_wrong_type_is_named(self):
        self.assert_refused(SMALL.replace("title: A test", "title: [a]"), "title", "str")

    def test_a_rule_over_an_unknown_series_is_refused(self):
        self.assert_refused(SMALL.replace("heap < sort", "heap < sorted"), "claims.0.rule", "'sorted'")

    def test_a_claim_needs_a_rule_or_a_reason(self):
        self.assert_refused(SMALL.replace(", rule: heap < sort", ""), "claims.0.rule")

    def test_names_that_rules_know_are_refused(self):
        self.assert_refused(SMALL.replace("heap: {", "first: {"), "series.first", "something else in rules")

    def test_stages_need_names(self):
        self.assert_refused("y: stage_time\n" + textwrap.dedent(SMALL), "series.heap.stage", "is missing")

    def test_iterations_are_for_stages(self):
        self.assert_refused(SMALL.replace("x: n", "x: iteration"), "sweeps.0.y", "stage_time")

    def test_rankings_need_k(self):
        self.assert_refused(SMALL.replace(", k: 8", ""), "sweeps.0.cells.k")

    def test_names_and_parameters_are_checked_against_a_registry(self):
        registry = {"heap": {}, "sort": {}, "cuda-sort": {}, "cuda-bitonic": {"elements": (8, 64)}}
        figures.check_algorithms(self.figure(), registry)
        with self.assertRaisesRegex(figures.FigureError, "series.heap.*no algorithm 'heap'"):
            figures.check_algorithms(self.figure(), {"sort": {}})
        with_parameter = SMALL.replace("algorithm: cuda-bitonic", "algorithm: cuda-bitonic, parameters: {%s}")
        with self.assertRaisesRegex(figures.FigureError, "no such parameter"):
            figures.check_algorithms(self.figure(with_parameter % "element: 8"), registry)
        with self.assertRaisesRegex(figures.FigureError, "128 is not from 8 to 64"):
            figures.check_algorithms(self.figure(with_parameter % "elements: 128"), registry)

    def test_a_figure_without_series_of_the_cpu_needs_a_gpu(self):
        figure = self.figure(SMALL.replace("algorithm: heap", "algorithm: cuda-heap").replace(", on_cpu: sort", ""))
        self.assertTrue(figure.reasons_not_drawn("cpu"))
        self.assertFalse(figure.reasons_not_drawn("cuda"))


class Claims(unittest.TestCase):
    points = [*curve("a", {1: 2.0, 10: 20.0, 100: 200.0}), *curve("b", {1: 3.0, 10: 30.0, 100: 100.0})]

    def verdict(self, rule, points=None, **options):
        return claims.check(claim(rule, **options), self.points if points is None else points)

    def test_a_rule_that_holds_at_all_points(self):
        verdict = self.verdict("a < b for k <= 10")
        self.assertIs(verdict.holds, True)
        self.assertIn("2 of 2 points", verdict.evidence)

    def test_a_rule_that_fails_tells_where(self):
        verdict = self.verdict("a < b")
        self.assertIs(verdict.holds, False)
        self.assertIn("2 of 3 points; fails most at k, k = 100: 200 < 100", verdict.evidence)

    def test_a_share_of_the_points_may_be_enough(self):
        self.assertIs(self.verdict("a < b", share=0.5).holds, True)
        self.assertIs(self.verdict("a < b", share=0.9).holds, False)

    def test_a_series_that_was_not_measured_is_not_enough_data(self):
        verdict = self.verdict("a < c")
        self.assertIsNone(verdict.holds)
        self.assertIn("not measured: c", verdict.evidence)

    def test_no_point_that_meets_the_condition_is_not_enough_data(self):
        self.assertIsNone(self.verdict("a < b for k > 1000").holds)

    def test_functions_of_curves(self):
        self.assertIs(self.verdict("0.99 <= slope(a) <= 1.01").holds, True)
        self.assertIs(self.verdict("slope(a) < slope(b)").holds, False)
        self.assertIs(self.verdict("spread(a) == 100").holds, True)
        self.assertIs(self.verdict("last(b) > 30 * first(b)").holds, True)
        self.assertIs(self.verdict("at(a, 10) == 20").holds, True)
        self.assertIsNone(self.verdict("at(a, 11) == 20").holds)
        self.assertIsNone(self.verdict("slope(a) > 0 for k == 1").holds)
        # A line that does not go through the origin is straight; a square is not.
        line = curve("a", {1: 5.0, 10: 14.0, 100: 104.0, 1000: 1004.0})
        self.assertIs(self.verdict("bend(a) < 1e-9", line).holds, True)
        self.assertIs(self.verdict("bend(a) > 0.5", curve("a", {1: 1.0, 10: 100.0, 100: 1e4, 1000: 1e6})).holds, True)
        self.assertIsNone(self.verdict("bend(a) < 1 for k <= 10").holds)

    def test_curves_across_another_key(self):
        points = [*curve("a", {1: 2.0, 2: 2.0}, distribution="uniform"), *curve("a", {1: 6.0, 2: 3.0}, distribution="normal")]
        self.assertIs(self.verdict("at(a, 'normal') > at(a, 'uniform')", points, across="distribution").holds, True)
        verdict = self.verdict("spread(a) < 2", points, across="distribution")
        self.assertIs(verdict.holds, False)
        self.assertIn("k = 1: 3 < 2", verdict.evidence)

    def test_claims_without_a_rule_are_not_checked(self):
        verdict = claims.check(claims.Claim("a claim", None, None, 1, "two cards"), self.points)
        self.assertIsNone(verdict.holds)
        self.assertIn("two cards", verdict.evidence)

    def test_rules_that_are_not_understood(self):
        for rule, message in (("a <", "no expression"), ("a + b", "compares nothing"), ("a < f(b)", "no function 'f'"),
                              ("a < b for c > 1", "not 'c'"), ("a < b[0]", "Subscript"), ("a < b.real", "Attribute")):
            with self.assertRaisesRegex(claims.RuleError, re.escape(message), msg=rule):
                claims.parse(rule)


class Parameters(Folder):
    SWEPT = SMALL.replace("k: 8}", "k: 8, parameters: {block: [4, 2]}}").replace("x: n", "x: block")

    def tasks(self, text, device="cuda"):
        return measure.tasks_of(self.figure(text), "paper", device, threads=2)

    def test_series_and_cells_give_parameters(self):
        tasks = self.tasks(self.SWEPT.replace("label: Heap,", "label: Heap, parameters: {a: 1},"))
        heap = [it for it in tasks if it.series == "heap"]
        self.assertEqual([(it.x, it.cell.n, it.cell.parameters) for it in heap],
                         [(4, 1000, (("a", 1), ("block", 4))), (2, 1000, (("a", 1), ("block", 2))),
                          (4, 2000, (("a", 1), ("block", 4))), (2, 2000, (("a", 1), ("block", 2)))])
        self.assertIn("a=1 block=4", heap[0].cell.key("heap"))

    def test_floats_have_more(self):
        text = SMALL.replace("algorithm: cuda-bitonic", "algorithm: cuda-bitonic, parameters: {a: 1}, float_parameters: {b: 2}")
        for type, expected in (("float32", (("a", 1), ("b", 2))), ("uint32", (("a", 1),))):
            tasks = self.tasks(text.replace("k: 8}", f"k: 8, type: {type}}}"))
            self.assertEqual({it.cell.parameters for it in tasks if it.algorithm == "cuda-bitonic"}, {expected})

    def test_grids_have_them(self):
        cells = yaml.safe_load(measure.grid_of(self.tasks(self.SWEPT), "paper"))["cells"]
        self.assertEqual([it["parameters"] for it in cells], [{"block": 2}, {"block": 4}] * 2)
        plain = yaml.safe_load(measure.grid_of(self.tasks(SMALL), "paper"))["cells"]
        self.assertNotIn("parameters", plain[0])

    def test_sweeps_say_how_often_to_run_at_the_papers_scale(self):
        text = "repeats: 100\nseeds: each_run\n" + textwrap.dedent(SMALL).replace("x: n", "x: n\n    budget_s: 0.5\n    enough_s: 0.1")
        cell = yaml.safe_load(measure.grid_of(self.tasks(text), "paper"))["cells"][0]
        self.assertEqual((cell["repeats"], cell["seeds"], cell["budget_s"], cell["enough_s"]), (100, "each_run", 0.5, 0.1))
        cell = yaml.safe_load(measure.grid_of(self.tasks(text), "quick"))["cells"][0]
        self.assertNotIn("seeds", cell)
        self.assertEqual(cell["repeats"], measure.EFFORTS["quick"][1])

    def test_work_is_that_of_all_mask_tests_those_of_cells_too(self):
        row = {"n": "10", "d": "2", "dominance_tests": "5", "mask_tests": "30", "cell_tests": "20"}
        self.assertEqual(measure.value_of("work_per_row", row), (3 * (30 + 20) + (6 * 2 + 4) * 5) / 10)

    def test_the_greatest_values_can_be_the_best(self):
        task = self.tasks(SMALL.replace("distribution: uniform", "distribution: uniform, order: high"))[0]
        self.assertEqual(task.cell.key("heap")[2], "uniform high")
        self.assertEqual(yaml.safe_load(measure.grid_of([task], "paper"))["cells"][0]["order"], "high")
        self.assertNotIn("order", yaml.safe_load(measure.grid_of(self.tasks(SMALL), "paper"))["cells"][0])

    def test_a_series_may_end_at_a_k(self):
        text = SMALL.replace("k: 8}", "k: [8, 16]}").replace("label: Heap,", "label: Heap, k_up_to: 8,")
        self.assertEqual({it.cell.k for it in self.tasks(text) if it.series == "heap"}, {8})
        self.assertEqual({it.cell.k for it in self.tasks(text) if it.series == "sort"}, {8, 16})

    def test_stand_ins_have_none(self):
        text = SMALL.replace("on_cpu: sort", "on_cpu: sort, parameters: {a: 1}")
        sort = [it for it in self.tasks(text, "cpu") if it.series == "sort"]
        self.assertEqual({(it.algorithm, it.cell.parameters) for it in sort}, {("sort", ())})
        self.assertEqual({it.series for it in self.tasks(self.SWEPT, "cpu")}, {"heap"})


class Stages(Folder):
    STAGES = [{"stage": "masks", "ms": 1.5, "rows": 90}, {"stage": "sort", "ms": 0.5, "rows": 0},
              {"stage": "phase 1", "ms": 2, "rows": 50}, {"stage": "phase 2", "ms": 3, "rows": 0}]

    def points(self, text):
        text = textwrap.dedent(text).replace("n: [1000, 2000]", "n: 1000")
        figure, store = self.figure(text), measure.Store(self.folder)
        for task in measure.tasks_of(figure, "paper", "cpu", 2):
            row = dict(zip(measure.KEY, task.cell.key(task.algorithm)))
            store.add([{**row, "correct": "yes", "stages": json.dumps(self.STAGES)}])
        points = measure.points_of(figure, "paper", "cpu", measure.Store(self.folder), 2)
        return [(it.x, it.y) for it in points if it.series == "heap"]

    def test_a_stage_has_time_and_rows(self):
        staged = SMALL.replace("label: ", "stage: masks, label: ")
        for measure_name, y in (("stage_time", 1.5), ("stage_rows", 90), ("stage_rows_per_row", 0.09)):
            self.assertEqual(self.points(f"y: {measure_name}\n" + textwrap.dedent(staged)), [(1000, y)])
        self.assertEqual(self.points("y: stage_time\n" + textwrap.dedent(staged.replace("masks", "none"))), [])

    def test_iterations_are_points_along_the_axis(self):
        along = textwrap.dedent(SMALL).replace("x: n", "x: iteration")
        self.assertEqual(self.points("y: stage_time\n" + along), [(0, 2.0), (1, 2), (2, 3)])
        self.assertEqual(self.points("y: stage_rows\n" + along), [(0, 90), (1, 50), (2, 0)])


class Ratios(Folder):
    TEXT = """
        figure: Figure 1
        title: A test
        section: "1"
        machine: a machine
        op: top-k
        y: stage_rows_ratio
        sweeps:
          - name: rows
            x: n
            cells: {distribution: uniform, n: [1000, 2000], k: 8}
        series:
          other: {label: Other, algorithm: heap, stage: evaluation, over: base}
          base: {label: Base, algorithm: sort, stage: [delegates, concatenation]}
    """
    STAGES = {"heap": [{"stage": "evaluation", "ms": 1, "rows": 600}],
              "sort": [{"stage": "delegates", "ms": 1, "rows": 50}, {"stage": "first top-k", "ms": 1, "rows": 8},
                       {"stage": "concatenation", "ms": 1, "rows": 150}]}

    def test_rows_of_stages_over_those_of_another_series(self):
        figure, store = self.figure(self.TEXT), measure.Store(self.folder)
        for task in measure.tasks_of(figure, "paper", "cpu", 2):
            row = dict(zip(measure.KEY, task.cell.key(task.algorithm)))
            store.add([{**row, "correct": "yes", "stages": json.dumps(self.STAGES[task.algorithm])}])
        points = measure.points_of(figure, "paper", "cpu", store, 2)
        self.assertEqual([(it.series, it.x, it.y) for it in points], [("other", 1000, 3.0), ("other", 2000, 3.0)])

    def test_a_series_that_compares_with_nothing_has_no_points(self):
        figure, store = self.figure(self.TEXT.replace(", over: base", "")), measure.Store(self.folder)
        for task in measure.tasks_of(figure, "paper", "cpu", 2):
            row = dict(zip(measure.KEY, task.cell.key(task.algorithm)))
            store.add([{**row, "correct": "yes", "stages": json.dumps(self.STAGES[task.algorithm])}])
        self.assertEqual(measure.points_of(figure, "paper", "cpu", store, 2), [])


class Formulas(unittest.TestCase):
    ROW = {"n": str(2**29), "k": "32", "type": "float32", "floor_ms": "8.56", "parameters": ""}  # 2^31 bytes at 251 GB/s

    def predicted(self, name, **changes):
        return formulas.predicted(name, {**self.ROW, **changes})

    def test_bitonic_is_bound_by_global_memory_for_small_k_only(self):
        # T_s = 17.5 D / B_S is 13.0 ms with the 2.9 TB/s of the paper's GPU; the paper says 12.1.
        with unittest.mock.patch.object(formulas, "SHARED_BANDWIDTH", 2.9e12):
            few, many = self.predicted("bitonic", k="2"), self.predicted("bitonic", k="1024")
            self.assertAlmostEqual(few, 8.56 * (1 + 1 / 16) / (1 - 1 / 16))
            self.assertGreater(many, self.predicted("bitonic", k="512"))
            self.assertAlmostEqual(self.predicted("bitonic") * (1 - 1 / 16), 12.96, places=1)

    def test_radix_select_reads_twice_and_then_what_is_left(self):
        # Keys of 8 bits end with the first pass.
        one = self.predicted("radix-select", type="uint8", k="1")
        histograms = 3 * 64 * formulas.THREADS / 2**29 * 8.56
        self.assertAlmostEqual(one, 8.56 * (2 + 1 / 256) + histograms)
        self.assertGreater(self.predicted("radix-select", type="uint32"), 2 * 8.56)
        # Half of U(0, 1) has one exponent.
        run = formulas.Run({**self.ROW, "k": str(2**28 + 1)})
        self.assertAlmostEqual(formulas.leading_share(run), 0.5)

    def test_equation_6_is_least_at_rule_4(self):
        times = {alpha: self.predicted("delegates", k="1024", parameters=f"alpha={alpha}") for alpha in range(2, 20)}
        rule = (3 + 29 - 10) / 2
        self.assertLessEqual(abs(min(times, key=times.get) - rule), 0.5)
        self.assertEqual(self.predicted("delegates", k="1024"), times[11])

    def test_a_likelier_guess_has_a_larger_middle_bin(self):
        bins = [formulas.middle_bin(2**20, 2**18, chance) for chance in (0.1, 0.5, 0.8, 0.97)]
        self.assertEqual(bins, sorted(bins))
        self.assertLess(bins[-1], 2**20 / 20)
        self.assertGreater(self.predicted("randomized", k=str(2**28)), self.predicted("randomized", k=str(2**20)))

    def test_memory_is_of_the_answer_and_the_offsets(self):
        # 2^20 keys of 4 bytes: the answer's keys and values, a quarter of n in each thread's offsets, 1 / 256 of blocks'.
        expected = 4 * (2 * 2**18 + 2**18 + 2**12 + 8 * 2**10 + 5) / 2**20
        ours = self.predicted("randomized-memory", n=str(2**20), k=str(2**18), floor_ms="")
        self.assertAlmostEqual(ours, expected)
        self.assertLess(self.predicted("randomized-memory", n=str(2**20), k=str(2**18), parameters="keys_per_thread=64"), ours)

    def test_without_a_floor_there_is_no_prediction(self):
        self.assertIsNone(self.predicted("bitonic", floor_ms=""))


class Predictions(Folder):
    def test_ours_is_the_benchmarks_and_formulas_are_of_the_papers_algorithms(self):
        text = SMALL.replace("series:", """series:
      model: {label: Model, algorithm: heap, predicted: ours}
      formula: {label: Formula, algorithm: cuda-bitonic, on_cpu: bitonic, predicted: bitonic}""")
        figure, store = self.figure(text), measure.Store(self.folder)
        for task in measure.tasks_of(figure, "paper", "cpu", 2):
            row = dict(zip(measure.KEY, task.cell.key(task.algorithm)))
            store.add([{**row, "correct": "yes", "median_ms": "3", "floor_ms": "1", "predicted_ms": "2.5"}])
        points = measure.points_of(figure, "paper", "cpu", store, 2)
        self.assertEqual([(it.series, it.y) for it in points],
                         [("model", 2.5), ("model", 2.5), ("heap", 3), ("heap", 3), ("sort", 3), ("sort", 3)])

    def test_predictions_are_times(self):
        with self.assertRaisesRegex(figures.FigureError, "model.predicted: is a time, and the measure is another"):
            self.figure(SMALL.replace("op: top-k", "op: top-k\n    y: memory").replace(
                "series:", "series:\n      model: {label: Model, algorithm: heap, predicted: ours}"))


class Applications(Folder):
    def tasks(self):
        text = SMALL.replace("distribution: uniform", "distribution: [uniform, degrees]")
        return measure.tasks_of(self.figure(text), "paper", "cpu", 2)

    def test_grids_name_their_files(self):
        cells = yaml.safe_load(measure.grid_of(self.tasks(), "paper", "some/data"))["cells"]
        of_file = [it for it in cells if "file" in it]
        self.assertEqual(len(of_file), 2)
        self.assertEqual((of_file[0]["file"], of_file[0]["columns"], of_file[0]["order"]),
                         ("some/data/degrees.parquet", "value", "high"))
        self.assertFalse({"distribution", "type", "d"} & set(of_file[0]))

    def test_cells_have_the_names_of_the_benchmark(self):
        keys = {task.cell.key("heap")[:3] for task in self.tasks()}
        self.assertEqual(keys, {("top-k", "float32", "uniform"), ("top-k", "of the file", "degrees.parquet")})

    def test_the_benchmark_reads_them(self):
        if not PROGRAM or not pathlib.Path(PROGRAM).exists():
            self.skipTest("there is no built program")
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            self.skipTest("there is no pyarrow")
        store = measure.Store(self.folder)
        measure.measure(measure.Program(PROGRAM), self.tasks(), "quick", store, lambda *progress: None)
        self.assertTrue((self.folder / "data/degrees.parquet").exists())
        for task in self.tasks():
            self.assertEqual(store.note(task.cell.key(task.algorithm)), "")
            self.assertIsNotNone(store.row(task.cell.key(task.algorithm)))

    def test_what_they_lack_is_noted(self):
        store = measure.Store(self.folder)
        with unittest.mock.patch.object(measure, "provide_data", return_value={"degrees": "its data need a package: x"}):
            measure.measure(FakeProgram(), self.tasks(), "paper", store, lambda *progress: None)
        of_file = [task for task in self.tasks() if task.cell.distribution == "degrees"]
        self.assertEqual({store.note(task.cell.key(task.algorithm)) for task in of_file}, {"its data need a package: x"})
        self.assertEqual(measure.missing(self.tasks(), store), [])


class FakeProgram:
    """Stands in for the benchmark: measures the first cells of a grid, and ends early if told to."""

    stages = ("delegates", "first top-k", "concatenation", "second top-k", "splitters", "counting", "partition", "selection",
              "phase 1", "phase 2")

    def __init__(self, cells=1000, slow=()):
        self.cells, self.slow, self.calls = cells, slow, 0

    def bench(self, grid, out):
        self.calls += 1
        lines, rows = [], []
        for cell in yaml.safe_load(grid.read_text(encoding="utf-8"))["cells"][:self.cells]:
            lines.append(f"{cell['op']}  uniform  n {cell['n']}  d 1  ties first  float32  2 threads\n")
            lines += [f"  {name} left out: took more than 3 s\n" for name in cell["algorithms"] if name in self.slow]
            rows += [{"op": cell["op"], "type": cell["type"], "dist": cell["distribution"], "n": cell["n"], "d": cell["d"],
                      "k": cell.get("k", ""), "threads": cell["threads"], "algorithm": name, "median_ms": cell["n"] * len(name),
                      "floor_ms": 1, "h2d_ms": 1, "device": "cpu", "correct": "yes", "machine": "a <machine>",
                      "parameters": measure.in_words(cell.get("parameters", {})), "stages": json.dumps(
                          [{"stage": stage, "ms": 1, "rows": 7} for stage in self.stages]),
                      **dict.fromkeys(("bytes_read", "bytes_written", "dominance_tests", "mask_tests"), 320 * len(name))}
                     for name in cell["algorithms"] if name not in self.slow]
        measure.write_csv(out, list(rows[0]), rows)
        return FakeProcess(lines)


class FakeProcess:
    def __init__(self, lines):
        self.stdout = lines

    def wait(self):
        return 0

    def terminate(self):
        pass


class Resuming(Folder):
    def measure(self, program):
        tasks = measure.tasks_of(self.figure(), "paper", "cpu")
        measure.measure(program, tasks, "paper", measure.Store(self.folder), lambda *progress: None)
        return measure.Store(self.folder), tasks

    def test_finished_cells_are_not_measured_again(self):
        self.measure(program := FakeProgram())
        self.assertEqual(program.calls, 1)
        store, tasks = self.measure(program)
        self.assertEqual(program.calls, 1)
        self.assertEqual({task.algorithm for task in tasks}, {"heap", "sort"})
        self.assertTrue(all(store.row(task.cell.key(task.algorithm)) for task in tasks))

    def test_an_interrupted_run_keeps_what_it_measured(self):
        with self.assertRaisesRegex(measure.MeasureError, "ended with status"):
            self.measure(FakeProgram(cells=1))
        self.assertEqual(len(measure.Store(self.folder).rows), 2)
        store, _ = self.measure(program := FakeProgram())
        self.assertEqual((program.calls, len(store.rows)), (1, 4))

    def test_algorithms_left_out_are_noted_and_not_tried_again(self):
        self.measure(program := FakeProgram(slow=("sort",)))
        store, tasks = self.measure(program)
        self.assertEqual(program.calls, 1)
        figure = self.figure()
        self.assertEqual({it.series for it in measure.points_of(figure, "paper", "cpu", store)}, {"heap"})
        self.assertEqual(measure.not_measured(figure, "paper", "cpu", store), {"sort": ["took more than 3 s"]})

    def test_wrong_answers_are_no_points(self):
        store, tasks = self.measure(FakeProgram())
        key = tasks[0].cell.key(tasks[0].algorithm)
        store.add([{**store.rows[key], "correct": "no"}])
        self.assertEqual(len(measure.points_of(self.figure(), "paper", "cpu", store)), len(tasks) - 1)
        self.assertEqual(store.wrong(), [key])

    def test_speed_ups_and_floors(self):
        text = SMALL.replace("label: Heap,", "label: Heap, over: sort,").replace("algorithm: cuda-bitonic", "algorithm: floor")
        program = FakeProgram()
        self.measure(program)
        store = measure.Store(self.folder)
        points = measure.points_of(self.figure("y: speedup\n" + textwrap.dedent(text)), "paper", "cpu", store)
        self.assertEqual([(it.series, it.y) for it in points], [("heap", 1.0)] * 2 + [("fast", 1.0)] * 2)


class Pictures(Folder):
    def test_figures_of_gpus_are_drawn_and_told(self):
        try:
            import page
            import plots
            import run
        except ImportError:
            self.skipTest("there is no matplotlib")
        store, outcomes = measure.Store(self.folder), []
        for figure in figures.load_all():
            if figure.id not in ("skyalign/6", "skyalign/10", "bitonic/18", "dr-topk/6", "dr-topk/17", "dr-topk/18",
                                 "dr-topk/table3"):
                continue
            measure.measure(FakeProgram(), measure.tasks_of(figure, "paper", "cuda"), "paper", store, lambda *progress: None)
            points = measure.points_of(figure, "paper", "cuda", store)
            plots.draw(figure, "paper", "cuda", points, self.folder)
            verdicts = [claims.check(it, points) for it in figure.claims]
            outcomes.append(run.Outcome(figure, points, verdicts, {}))
            picture = (self.folder / f"{plots.name_of(figure)}.svg").read_text(encoding="utf-8")
            for series in figure.measured_series("cuda"):
                if figure.kind == "stack":
                    self.assertIn(series.label, picture)
                    continue
                self.assertEqual(f"({series.algorithm})" in picture, any(it.series == series.id for it in points), series.id)
            self.assertEqual("paper: " in picture or "the paper" in picture, bool(figure.published), figure.id)
        page.write(self.folder, outcomes, [], {"machine": "a <machine>", "scale": "paper", "device": "cuda"})
        text = (self.folder / "index.html").read_text(encoding="utf-8")
        self.assertIn("a &lt;machine&gt;", text)
        for words in ("does not hold", "41.3"):
            self.assertIn(words, text)

    def test_reasons_are_shown_where_a_claim_does_not_hold_on_a_gpu(self):
        try:
            import page
            import run
        except ImportError:
            self.skipTest("there is no matplotlib")
        reason = "Heaps are | slow."
        figure = self.figure(SMALL.replace("rule: heap < sort}", f"rule: heap < sort, why_not: '{reason}'}}"))
        self.assertEqual(figure.claims[0].why_not, reason)
        for holds, device, shown in ((False, "cuda", True), (True, "cuda", False), (None, "cuda", False), (False, "cpu", False)):
            outcome = run.Outcome(figure, [], [claims.Verdict(figure.claims[0], holds, "2 < 1")], {"heap": ["took long"]})
            self.assertEqual(run.reasons_in(outcome), ["took long"])
            page.write(self.folder, [outcome], [], {"machine": "a machine", "scale": "gpu", "device": device})
            html = (self.folder / "index.html").read_text(encoding="utf-8")
            table = (self.folder / "claims.md").read_text(encoding="utf-8")
            self.assertEqual((reason in html, "Heaps are \\| slow." in table), (shown, shown), (holds, device))
            self.assertEqual("| bitonic/1 | The heap is faster | 2 < 1 |" in table, holds is False)


class CommandLine(Folder):
    def run_experiments(self, *arguments):
        return subprocess.run([sys.executable, "-B", str(EXPERIMENTS / "run.py"), *arguments], capture_output=True, text=True)

    def test_list_names_figures_and_what_they_need(self):
        done = self.run_experiments("--list", "--paper", "skyalign")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("skyalign/6 ", done.stdout)
        self.assertRegex(done.stdout, r"skyalign/10 .*\n +needs a GPU")
        self.assertNotIn("bitonic", done.stdout)

    def test_unknown_figures_are_refused(self):
        done = self.run_experiments("--figure", "skyalign/99")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no figure 'skyalign/99'", done.stderr)

    def test_a_program_that_is_not_there(self):
        done = self.run_experiments("--out", str(self.folder), "--skyrank", "/nowhere/skyrank")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nowhere/skyrank: there is no such program", done.stderr)

    def test_a_figure_end_to_end(self):
        if not PROGRAM or not pathlib.Path(PROGRAM).exists():
            self.skipTest("there is no built program")
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("there is no matplotlib")
        command = ("--figure", "randomized/14", "--out", str(self.folder / "out"), "--skyrank", PROGRAM)
        done = self.run_experiments(*command)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        files = {it.name for it in (self.folder / "out").iterdir()}
        self.assertEqual(files, {"cells.csv", "index.html", "run.json", "randomized-14.csv", "randomized-14.svg",
                                 "randomized-14.png", "claims.md"})
        page = (self.folder / "out/index.html").read_text(encoding="utf-8")
        self.assertIn("The time is linear in n", page)
        again = self.run_experiments(*command)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertNotIn("cell 1 of", again.stdout)
        other = self.run_experiments(*command, "--scale", "machine")
        self.assertEqual(other.returncode, 2)
        self.assertIn("choose another --out", other.stderr)


    def test_another_machine_measures(self):
        if not PROGRAM or not pathlib.Path(PROGRAM).exists():
            self.skipTest("there is no built program")
        out, grids, measured = (str(self.folder / name) for name in ("out", "grids", "measured"))
        chosen = ("--figure", "randomized/14", "--out", out, "--skyrank", PROGRAM)
        early = self.run_experiments("--figure", "randomized/14", "--out", out, "--take", measured)
        self.assertEqual(early.returncode, 2)
        self.assertIn("--grids with the same --out comes first", early.stderr)
        done = self.run_experiments(*chosen, "--threads", "1", "--grids", grids)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 grids with 5 measurements", done.stdout)
        script = [str(EXPERIMENTS / "measure.sh"), PROGRAM, grids, measured]
        done = subprocess.run([*script, "500"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        again = subprocess.run(script, capture_output=True, text=True)
        self.assertEqual((again.returncode, again.stdout), (0, ""))
        late = subprocess.run([*script[:3], str(self.folder / "late"), "0"], capture_output=True, text=True)
        self.assertEqual((late.returncode, late.stdout), (3, "out of time before 2-01-randomized-14\n"))
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("there is no matplotlib")
        done = self.run_experiments("--figure", "randomized/14", "--out", out, "--take", measured)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("5 measurements taken", done.stdout)
        self.assertTrue((self.folder / "out/randomized-14.svg").exists())
        done = self.run_experiments(*chosen, "--threads", "1", "--grids", str(self.folder / "rest"))
        self.assertIn("0 grids with 0 measurements", done.stdout)
        # What is kept of a run can be drawn without it.
        kept, other = str(self.folder / "kept"), self.folder / "other"
        done = self.run_experiments("--figure", "randomized/14", "--out", out, "--keep", kept)
        self.assertIn("randomized: 5 measurements kept", done.stdout, done.stderr)
        done = self.run_experiments("--figure", "randomized/14", "--out", str(other), "--take", kept)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((other / "claims.md").read_text(), (self.folder / "out/claims.md").read_text())


class Tweets(unittest.TestCase):
    def run_tweets(self, *arguments):
        return subprocess.run([sys.executable, str(EXPERIMENTS / "tweets.py"), *arguments], capture_output=True, text=True,
                              check=False)

    @unittest.skipUnless(PROGRAM, "there is no program")
    def test_all_methods_answer_all_queries_alike(self):
        with tempfile.TemporaryDirectory() as out:
            done = self.run_tweets("--skyrank", PROGRAM, "--out", out, "--rows", "3000", "--runs", "2")
            self.assertEqual((done.returncode, "WRONG" in done.stdout), (0, False), done.stderr)
            rows = measure.read_csv(pathlib.Path(out) / "tweets.csv")
            drawn = self.run_tweets("--out", out, "--rows", "3000", "--drawn")
            other = self.run_tweets("--out", out, "--device", "cuda", "--drawn")
            self.assertEqual((other.returncode, other.stderr),
                             (2, f"tweets: {out}/tweets.csv: was measured on another device; say --device cpu\n"))
        self.assertEqual({row["correct"] for row in rows}, {"yes"})
        self.assertEqual(collections.Counter(row["panel"] for row in rows), {"16a": 30, "16b": 15, "16c": 15, "Q4": 2})
        self.assertIn("Q4: top-k instead of sorting saves 39 % of the query: here", done.stdout)
        self.assertEqual((drawn.returncode, drawn.stdout.count(": here")), (0, 5), drawn.stderr)

    def test_says_what_is_missing(self):
        with tempfile.TemporaryDirectory() as out:
            done = self.run_tweets("--skyrank", out + "/none", "--out", out)
        self.assertEqual((done.returncode, done.stderr),
                         (2, f"tweets: {out}/none: there is no such program; build it, or name it with --skyrank\n"))
        self.assertEqual(self.run_tweets("--out", "x", "--runs", "1").returncode, 2)
        done = self.run_tweets("--out", "nowhere", "--drawn")
        self.assertEqual((done.returncode, done.stderr),
                         (2, "tweets: nowhere/tweets.csv: there is no such file; measure without --drawn first\n"))


GPUS_CSV = """
    query,distribution,rows,dims,limit,devices,median_ms,least_ms,compute_ms,checked
    top-k,independent,1073741824,1,128,1,8,7,6,yes
    top-k,independent,1073741824,1,128,"0,1",4,4,3,yes
    top-k,independent,1073741824,1,128,2,6,4,3,yes
    top-k,independent,1073741824,1,128,4,4,4,2,yes
    skyline,anticorrelated,32000000,8,128,2,30,20,10,yes
    """
TABLE2_CSV = """
    ranks,rows,k,sub_vectors,algorithm,gather,exchange,repeats,communication_ms,reload_ms,total_ms,correct
    1,3000,128,1,cuda-dr-topk,flat,0,3,0,0,1.2,yes
    2,3000,128,1,cuda-dr-topk,flat,0,3,0,0,0.6,yes
    """


class Scaling(Folder):
    def run_scaling(self, *arguments):
        return subprocess.run([sys.executable, str(EXPERIMENTS / "scaling.py"), *map(str, arguments)], capture_output=True,
                              text=True, check=False)

    def write(self, name, text):
        (self.folder / name).write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
        return self.folder / name

    def test_times_and_speed_ups_are_printed(self):
        done = self.run_scaling(self.write("gpus.csv", GPUS_CSV), self.write("table2.csv", TABLE2_CSV))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split() for line in done.stdout.splitlines()[1:]][:4], [
            "top 128 of 2^30 rows 1 8.000 1.00x 6.000 1.00x".split(),
            "top 128 of 2^30 rows 2 5.000 1.60x 3.000 2.00x".split(),  # the median of both measurements
            "top 128 of 2^30 rows 4 4.000 2.00x 2.000 3.00x".split(),
            "skyline of 32 M rows, 8 columns, anticorrelated 2 30.000 - 10.000 -".split()])
        self.assertRegex(done.stdout, r"cuda-dr-topk, top 128 of 3,000 keys +2 +0\.600 +2\.00x")

    def test_pictures_are_drawn(self):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("there is no matplotlib")
        files = self.write("gpus.csv", GPUS_CSV), self.write("table2.csv", TABLE2_CSV)
        done = self.run_scaling(*files, "--out", self.folder / "out", "--machine", "two cards")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({it.name for it in (self.folder / "out").iterdir()},
                         {"gpus.svg", "gpus.png", "table2.svg", "table2.png"})
        picture = (self.folder / "out/gpus.svg").read_text(encoding="utf-8")
        for words in ("two cards", "top 128 of 2^30 rows, computing", "speed-up over one GPU", "as many times as GPUs"):
            self.assertIn(words, picture)

    def test_wrong_answers_are_told_and_left_out(self):
        file = self.write("gpus.csv", GPUS_CSV.replace("128,4,4,4,2,yes", "128,4,4,4,2,no"))
        done = self.run_scaling(file)
        self.assertEqual((done.returncode, done.stderr), (1, f"WRONG ANSWER: {file}: top 128 of 2^30 rows on 4 GPUs\n"))
        self.assertNotIn(" 4 ", done.stdout)

    def test_says_what_is_wrong(self):
        def message(*files):
            done = self.run_scaling(*files)
            self.assertEqual(done.returncode, 2, done.stdout)
            return done.stderr
        file = self.write("a.csv", "x,y\n1,2\n")
        self.assertEqual(message(file), f"scaling: {file}: has the columns x, y; those of skyrank_gpus_bench are query, "
                         "distribution, rows, dims, limit, devices, median_ms, compute_ms, checked, those of table2.py ranks, "
                         "rows, k, algorithm, total_ms, correct\n")
        file = self.write("b.csv", TABLE2_CSV.replace("0.6", "fast"))
        self.assertEqual(message(file), f"scaling: {file}:3: could not convert string to float: 'fast'\n")
        file = self.write("c.csv", GPUS_CSV.splitlines()[1] + "\n")
        self.assertEqual(message(file), f"scaling: {file}: has no measurements\n")
        self.assertEqual(message("nowhere.csv"), "scaling: nowhere.csv: No such file or directory\n")
        self.assertEqual(message("a/gpus.csv", "b/gpus.csv"),
                         "scaling: several files are named gpus, and so would their pictures be; rename them\n")


if __name__ == "__main__":
    unittest.main()
