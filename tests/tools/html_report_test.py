#!/usr/bin/env python3
"""Tests of the page that `skyrank run` and `skyrank sql` write with `--report`.

usage: html_report_test.py SKYRANK
"""

import base64
import csv
import hashlib
import html.parser
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""
ATTACKS = (
    "</script><script>alert(1)</script>", "<!--<script>", "<img src=x onerror=alert(1)>", "\"'&<>`", "]]>", "{{7*7}}",
    "\u2028\u2029", "=1+1",
)


class Page(html.parser.HTMLParser):
    """Elements with their attributes, and the texts of those that have no elements in them."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.texts = {}
        self.inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.inside = True

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.texts[len(self.elements) - 1] = self.texts.get(len(self.elements) - 1, "") + data

    def named(self, tag):
        return [(attributes, self.texts.get(i, "")) for i, (name, attributes) in enumerate(self.elements) if name == tag]

    def data(self):
        return next(json.loads(text) for attributes, text in self.named("script") if attributes.get("type") == "application/json")


def hash_of(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_skyrank(self, *arguments, status=0):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def report(self, *arguments, status=0):
        done = self.run_skyrank(*arguments, "--report", "report.html", status=status)
        return Page((self.folder / "report.html").read_text(encoding="utf-8")), done

    def write(self, name, columns):
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))
        (self.folder / name).write_text(text.getvalue(), encoding="utf-8")

    def test_answers_are_those_of_the_program(self):
        self.write("t.csv", {"name": ["a", "b", "c", ""], "x": [3, 1, 2, 9], "y": [1.5, 2.5, "", 9]})
        statement = "SELECT name, x, y FROM 't.csv' WHERE x < 100 PREFERRING LOW x PLUS LOW y; SELECT x FROM 't.csv' ORDER BY x LIMIT 2"
        page, done = self.report("sql", statement)
        self.assertEqual(self.run_skyrank("sql", statement).stdout.splitlines()[0], done.stdout.splitlines()[0])
        first, second = page.data()["queries"]
        self.assertEqual([column["name"] for column in first["columns"]], ["name", "x", "y"])
        self.assertEqual([column["numeric"] for column in first["columns"]], [False, True, True])
        answer = json.loads(self.run_skyrank("sql", statement, "--json").stdout)["queries"]
        for shown, expected in zip((first, second), answer):
            names = [column["name"] for column in shown["columns"]]
            self.assertEqual([dict(zip(names, row)) for row in zip(*shown["cells"])], expected["rows"])
            self.assertIn("scan", shown["plan"])
            self.assertGreaterEqual(shown["timing"]["total_ms"], 0)
        self.assertEqual(first["axes"], [1, 2])
        self.assertEqual(second["axes"], [])
        self.assertEqual(second["ids"], [1, 2])
        self.assertIn("PREFERRING", first["sql"])

    def test_numbers_that_scripts_do_not_have_stay_texts(self):
        self.write("t.csv", {"big": [2**53 + 1, 2**53], "x": ["nan", "inf"]})
        page, _ = self.report("sql", "SELECT big, x FROM 't.csv'")
        self.assertEqual(page.data()["queries"][0]["cells"], [[str(2**53 + 1), 2**53], ["nan", "inf"]])

    def test_names_and_values_are_texts(self):
        self.write("t.csv", {ATTACKS[0]: ATTACKS, "x": range(len(ATTACKS))})
        batch = {
            "version": 1,
            "tables": {"t": {"file": "t.csv"}},
            "queries": [{"name": "q", "from": "t", "where": "x >= 0 or 'a' = '<img src=x onerror=alert(1)>'", "rank_by": {"low": "x"}}],
        }
        (self.folder / "batch.yaml").write_text(json.dumps(batch))
        page, _ = self.report("run", "batch.yaml")
        query = page.data()["queries"][0]
        self.assertIn("<img src=x onerror=alert(1)>", query["sql"])
        place = [column["name"] for column in query["columns"]].index(ATTACKS[0])
        self.assertEqual(query["cells"][place], list(ATTACKS))
        self.assertEqual(len(page.named("script")), 2)
        self.assertEqual(page.named("img"), [])

    def test_policy_allows_this_script_and_no_other(self):
        self.write("t.csv", {"x": [1]})
        page, _ = self.report("sql", "SELECT x FROM 't.csv'")
        policy = next(attributes["content"] for attributes, _ in page.named("meta")
                      if attributes.get("http-equiv") == "Content-Security-Policy")
        directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
        script = page.named("script")[1][1]
        self.assertEqual(directives["default-src"], "'none'")
        self.assertEqual(directives["script-src"], hash_of(script), "put this hash into engine/python/skyrank/_output/report.html")
        self.assertEqual(directives["style-src"], hash_of(page.named("style")[0][1]), "put this hash into engine/python/skyrank/_output/report.html")
        self.assertNotRegex(script, r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|fetch\(|import\(")
        for tag, attributes in page.elements:
            for name in attributes:
                self.assertFalse(name.startswith("on") or name in ("src", "href", "style"), (tag, name))

    def test_colours_are_told_apart(self):
        self.write("t.csv", {"x": [1]})
        page, _ = self.report("sql", "SELECT x FROM 't.csv'")
        style = page.named("style")[0][1]
        texts = set(re.findall(r"(?<![-\w])color: (#\w+)", style))
        grounds = set(re.findall(r"background: (#\w+)", style))
        self.assertGreater(len(texts) * len(grounds), 3)
        for text in texts:
            for ground in grounds:
                self.assertGreaterEqual(contrast(text, ground), 4.5, (text, ground))

    def test_many_rows(self):
        self.run_skyrank("generate", "--distribution", "independent", "--rows", "100000", "--dims", "3", "--out", "t.csv")
        page, _ = self.report("sql", "SELECT c0, c1, c2 FROM 't.csv' ORDER BY c0", "--quiet", "--out", "answer.csv")
        query = page.data()["queries"][0]
        self.assertEqual([len(cells) for cells in query["cells"]], [100000] * 3)
        self.assertEqual(query["cells"][0], sorted(query["cells"][0]))
        self.assertLess((self.folder / "report.html").stat().st_size, 16 << 20)

    def test_an_error_has_its_place(self):
        self.write("t.csv", {"x": [1]})
        page, _ = self.report("sql", "SELECT x FROM 't.csv'; SELECT x FROM 'none<b>.csv'", status=2)
        first, second = page.data()["queries"]
        self.assertEqual(first["cells"], [[1]])
        self.assertIn("none<b>.csv", second["error"])

    def test_reasons_why_rows_are_not_in_the_answer(self):
        self.write("t.csv", {"x": [1, 2], "y": [1, 2]})
        statement = "SELECT x FROM 't.csv' PREFERRING LOW x PLUS LOW y"
        page, _ = self.report("sql", statement, "--report-why", "1,0,7")
        outside, inside, beyond = page.data()["queries"][0]["why"]
        self.assertIn("Row 1 is not in the answer", outside)
        self.assertIn("is in the answer", inside)
        self.assertIn("row 7", beyond)
        self.assertIn("--report-why needs --report", self.run_skyrank("sql", statement, "--report-why", "1", status=2).stderr)

    def test_a_report_that_cannot_be_written(self):
        self.write("t.csv", {"x": [1]})
        done = self.run_skyrank("sql", "SELECT x FROM 't.csv'", "--report", "missing/report.html", status=1)
        self.assertIn("missing/report.html", done.stderr)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
