"""Tests of what operators read: plans and logs as JSON, by the schemas that the documents publish. The program is $SKYRANK."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["SKYRANK"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "engine/docs/schemas"
EXAMPLES = ROOT / "datasets/examples"
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}
KNOWN = {"$schema", "$defs", "title", "description", "type", "required", "additionalProperties", "properties", "items", "enum", "$ref"}


def mistakes(value, schema, root, place="$"):
    """What is wrong with a value, by the words of JSON Schema that the schemas use."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if "type" in schema and not TYPES[schema["type"]](value):
        return [f"{place} is no {schema['type']}: {value!r}"]
    found = [f"{place} is {value!r}"] if "enum" in schema and value not in schema["enum"] else []
    if isinstance(value, dict):
        found += [f"{place} lacks {name}" for name in schema.get("required", []) if name not in value]
        for name, member in value.items():
            other = schema.get("additionalProperties", True)
            if name in schema.get("properties", {}):
                found += mistakes(member, schema["properties"][name], root, f"{place}.{name}")
            elif other is False:
                found.append(f"{place} has {name}")
            elif isinstance(other, dict):
                found += mistakes(member, other, root, f"{place}.{name}")
    if isinstance(value, list):
        for i, item in enumerate(value):
            found += mistakes(item, schema.get("items", {}), root, f"{place}[{i}]")
    return found


def schema_of(name):
    return json.loads((SCHEMAS / name).read_text())


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


class Operators(unittest.TestCase):
    def check(self, value, schema, part=None):
        root = schema_of(schema)
        self.assertEqual(mistakes(value, root["$defs"][part] if part else root, root), [])

    def test_the_check_finds_mistakes(self):
        root = schema_of("explain.json")
        self.assertTrue(mistakes({"batch": ""}, root, root))
        self.assertTrue(mistakes({"batch": "", "queries": [{"name": "q", "table": 3}]}, root, root))
        self.assertTrue(mistakes({"batch": "", "queries": [{"name": "q", "table": "t", "more": 3}]}, root, root))

    def test_plans_are_as_their_schema_says(self):
        for options in ([], ["--analyze"], ["--candidates"]):
            ended = run("explain", EXAMPLES / "hotels.yaml", "--json", *options)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            document = json.loads(ended.stdout)
            self.check(document, "explain.json")
            plans = [query["plan"] for query in document["queries"]]
            self.assertGreater(len(plans), 3)
            self.assertEqual(all("measured_rows" in plan for plan in plans), options == ["--analyze"])

    def test_plans_of_statements_and_mistakes_in_them(self):
        text = f"SELECT city, count(*) AS n FROM '{EXAMPLES / 'hotels.csv'}' GROUP BY city HAVING n > 16"
        document = json.loads(run("sql", text, "--analyze", "--json").stdout)
        self.check(document, "explain.json")
        operators = []
        plan = document["queries"][0]["plan"]
        while plan:
            operators.append((plan["op"], plan["measured_rows"]))
            plan = plan.get("children", [None])[0]
        self.assertEqual(operators, [("gather", 3), ("filter", 3), ("group", 8), ("scan", 96)])
        ended = run("sql", f"SELECT x FROM '{EXAMPLES / 'hotels.csv'}'", "--explain", "--json")
        self.assertEqual(ended.returncode, 2)
        self.check(json.loads(ended.stdout), "explain.json")

    def log_of(self, ended):
        events = [json.loads(line) for line in ended.stderr.splitlines()]
        for event in events:
            self.check(event, "log.json")
            if "plan" in event:
                self.check(event["plan"], "explain.json", "operator")
            if "error" in event:
                self.check(event["error"], "explain.json", "error")
        self.assertEqual(events[-1]["event"], "end")
        self.assertEqual(events[-1]["status"], ended.returncode)
        return events

    def test_a_log_has_starts_ends_and_errors(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "t.csv"
            path.write_text("a,b\n" + "".join(f"{i},{-i}\n" for i in range(100)))
            parquet = pathlib.Path(folder) / "t.parquet"
            self.assertEqual(run("sql", f"SELECT a, b FROM '{path}'", "--out", parquet).returncode, 0)
            text = f"SELECT a FROM '{parquet}' ORDER BY b LIMIT 3; SELECT nothing FROM '{path}'; SELECT 1 / (a - a) AS x FROM '{path}'"
            ended = run("sql", text, "--log", "json")
        events = self.log_of(ended)
        kinds = ["query-start", "query-end", "query-start", "query-error", "query-start", "query-error", "end"]
        self.assertEqual([event["event"] for event in events], kinds)
        self.assertEqual(ended.returncode, 2)
        answer = events[1]
        self.assertEqual((answer["query"], answer["rows"], answer["input_rows"]), ("answer", 3, 100))
        self.assertEqual((answer["table"], answer["bytes_spilled"]), (str(parquet), 0))
        self.assertGreater(answer["ms"], 0)
        self.assertEqual(answer["plan"]["op"], "gather")
        self.assertEqual([events[3]["error"]["kind"], events[5]["error"]["kind"]], ["bind", "data"])

    def test_a_log_has_what_ends_the_program(self):
        ended = run("sql", "SELECT FROM", "--log", "json")
        events = self.log_of(ended)
        self.assertEqual([event["event"] for event in events], ["error", "end"])
        self.assertIn("expected", events[0]["message"])
        self.assertEqual(run("sql", "SELECT 1 FROM 'x.csv'", "--log", "xml").returncode, 2)

    def test_statuses_tell_what_happened(self):
        hotels = f"FROM '{EXAMPLES / 'hotels.csv'}'"
        with tempfile.TemporaryDirectory() as folder:
            points = pathlib.Path(folder) / "points.parquet"
            run("generate", "--distribution", "anticorrelated", "--rows", "60000", "--dims", "10", "--out", points)
            slow = f"SELECT row FROM '{points}' PREFERRING " + " PLUS ".join(f"LOW c{i}" for i in range(10))
            cases = [
                ([f"SELECT name {hotels} LIMIT 1"], 0, None),
                ([slow, "--timeout", "5ms"], 1, "timeout"),
                ([slow, "--memory-limit", "20kB"], 1, "resource"),
                ([f"SELECT x {hotels}"], 2, "bind"),
                (["SELECT x FROM 'nowhere.csv'"], 2, "data"),
            ]
            for arguments, status, kind in cases:
                ended = run("sql", *arguments, "--log", "json")
                self.assertEqual(ended.returncode, status, ended.stderr)
                errors = [event["error"]["kind"] for event in self.log_of(ended) if "error" in event]
                self.assertEqual(errors, [kind] if kind else [])
            self.assertEqual(run("sql", slow, "--analyze", "--timeout", "5ms").returncode, 1)


if __name__ == "__main__":
    unittest.main()
