#!/usr/bin/env python3
"""Tests of tools/bench/decisions.py over a few rows. Exits with 77 without NumPy, pyarrow or the Python package."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/bench"))

try:
    import numpy
    import pyarrow  # noqa: F401
    import skyrank
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import decisions  # noqa: E402
import random_queries  # noqa: E402


def run(*arguments):
    """Returns the exit status and the output."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = decisions.main(decisions.parse_arguments([*map(str, arguments)]))
    return status, output.getvalue()


class Plans(unittest.TestCase):
    engine = skyrank.Engine(threads=1, device="cpu")
    table = skyrank.Table({"a": numpy.arange(40_000) % 997 / 997, "b": numpy.arange(40_000) % 1009})

    def test_operators_rules_and_costs_are_read(self):
        query = skyrank.Query.parse("SELECT row FROM t WHERE b < 500 PREFERRING LOW a PLUS LOW b")
        before = decisions.Plan(self.engine.explain(query, self.table))
        after = decisions.Plan(self.engine.run(query, self.table).plan)
        self.assertEqual([node.op for node in after.nodes], ["gather", "skyline", "keys", "filter", "scan"])
        self.assertEqual(after.nodes[-1].cost[2], 40_000)
        self.assertTrue(after.nodes[1].algorithm)
        self.assertIn("statistics", after.rules)
        self.assertGreater(before.predicted_ms(), 0)
        self.assertIsNone(before.nodes[0].cost[2])
        self.assertEqual(before.shape(), after.shape())

    def test_plans_with_and_without_a_rule_differ(self):
        query = skyrank.Query.parse("SELECT row FROM t WHERE b < 500 ORDER BY a LIMIT 3")
        fused, apart = (decisions.Plan(self.engine.run(it, self.table).plan) for it in (query, query.using(without=["fusion"])))
        self.assertIn("fusion", fused.rules)
        self.assertNotIn("fusion", apart.rules)
        self.assertTrue(any(node.priced for node in apart.nodes))
        self.assertNotEqual(fused.shape(), apart.shape())

    def test_what_is_below_parts_counts_once(self):
        plan = decisions.Plan("top-k  low a\n│   predicted 3 rows in 1.00 ms\n"
                              "└─ scan  t: a\n   │   predicted 1,000 rows (10 to 2,000) in 0.500 ms\n"
                              "   └─ parts  4 units\n      │   predicted 12 rows in 8.00 ms\n"
                              "      └─ scan  t: a\n             predicted 250 rows in 2.00 ms\nrules\n    by-units  why\n")
        self.assertEqual((plan.predicted_ms(), plan.rules), (9.5, {"by-units"}))
        self.assertEqual(plan.nodes[1].cost[0], 1000)


class Draws(unittest.TestCase):
    def test_a_case_depends_on_its_seed_and_number_alone(self):
        for number in range(8):
            one, same = (random_queries.draw(7, number, 1000, 2000) for _ in range(2))
            self.assertEqual((one.sql, one.data, one.storage), (same.sql, same.data, same.storage))
            self.assertEqual([*map(str, one.columns.values())], [*map(str, same.columns.values())])
            self.assertTrue(1000 <= one.rows <= 2000)
        self.assertNotEqual(one.sql, random_queries.draw(8, 7, 1000, 2000).sql)


class Runs(unittest.TestCase):
    def test_all_ways_answer_alike_and_a_run_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "out.csv")
            options = ("--rows", "500-3000", "--rounds", 2, "--seconds-of-case", 0.1, "--threads", 1, "--out", out)
            status, output = run("--queries", 10, *options)
            self.assertEqual(status, 0, output)
            first = decisions.read_lines([out])
            self.assertEqual([line["case"] for line in first], [*map(str, range(10))])
            self.assertTrue(all(float(line["regret"]) >= 1 for line in first))
            self.assertIn("seeds that were tuned on: 10 queries", output)
            status, output = run("--queries", 12, *options)
            self.assertEqual((status, len(output.splitlines()[:2])), (0, 2), output)
            self.assertEqual(decisions.read_lines([out])[:10], first)
            self.assertEqual(len(decisions.read_lines([out])), 12)
            status, output = run("--queries", 1, "--seed", 1000, *options)
            self.assertIn("fresh seeds: 1 queries", output)
            first[0]["different"] = "by heap"
            line = dict(first[0], planned_ms="9", best_ms="3", regret="3.000", predicted_ms="0.9")
            summary = decisions.report([line], 1)
            self.assertIn("median 3.00, 95 % 3.00, most 3.00", summary)
            self.assertIn("0.100: case 0 of seed 0", summary)

    def test_each_device_is_a_way(self):
        asked = []

        class Engine:
            def __init__(self, device):
                self.device = device

            def run(self, query, table, timeout=None):
                asked.append((self.device, table))
                return Plans.engine.run(query, table)

        tables = iter(range(100))
        case = random_queries.Case("ranking", "", {}, None, "SELECT row FROM t ORDER BY a LIMIT 3")
        engines = {device: Engine(device) for device in ("", "cpu", "cuda")}
        trial = decisions.Trial(skyrank, engines, case, lambda: (next(tables), Plans.table)[1], lambda: 0)
        trial.explore()
        self.assertEqual([device for device, _ in asked[:3]], ["", "cpu", "cuda"])
        self.assertEqual(next(tables), len(asked))
        self.assertEqual(str(decisions.Way(device="cuda")), "on cuda")

    def test_another_answer_is_told(self):
        class Engine:
            def run(self, query, table, timeout=None):
                return real.run(skyrank.Query.parse("SELECT row FROM t ORDER BY a LIMIT 4") if query.without else query.asked, table)

        class Asked:
            def __init__(self, asked, without=()):
                self.asked, self.without = asked, without

            def using(self, *algorithms, without=()):
                return Asked(self.asked, without)

        real = Plans.engine
        case = random_queries.Case("ranking", "", {}, None, "SELECT row FROM t WHERE b > 5 ORDER BY a LIMIT 3")
        trial = decisions.Trial(skyrank, {"": Engine()}, case, lambda: Plans.table, None)
        trial.query, trial.clock = Asked(trial.query), lambda: 0
        trial.explore()
        self.assertTrue(trial.different)


if __name__ == "__main__":
    unittest.main()
