"""Checks that the shared library exports the public API, all of it and nothing else."""

import os
import re
import unittest
from pathlib import Path

import elf

BUILD = Path(os.environ["SKYRANK_BUILD"])
LIBRARY = os.environ["SKYRANK_SHARED_LIBRARY"]
HEADERS = "\n".join(file.read_text() for file in Path(os.environ["SKYRANK_HEADERS"]).glob("*.hpp"))
# The API is in an inline namespace named by its version. Namespaces of the inside are written in lower case.
NAME = re.compile(r"(?:(?:typeinfo|typeinfo name|vtable) for )?skyrank::v\d+::(?![a-z_]+::)(\w+)")


def symbols(*arguments):
    """Returns the demangled names that nm lists, without addresses and types."""
    lines = elf.output_of("nm", "--demangle", *arguments).splitlines()
    return {match[1] for match in (re.match(r"[0-9a-f ]{16} \w (.*)", line) for line in lines) if match}


class Exports(unittest.TestCase):
    exported = symbols("--dynamic", "--defined-only", LIBRARY)

    def test_only_what_public_headers_name(self):
        self.assertTrue(self.exported)
        for symbol in self.exported:
            match = NAME.match(symbol)
            self.assertTrue(match, symbol)
            self.assertRegex(HEADERS, rf"SKYRANK_EXPORT[^;{{]*\b{match[1]}\b", symbol)

    def test_every_marked_function_and_class(self):
        functions = set(re.findall(r"^SKYRANK_EXPORT [^;(]*?\b(\w+)\(", HEADERS, re.M))
        classes = set(re.findall(r"^(?:class|struct) SKYRANK_EXPORT (\w+)", HEADERS, re.M))
        self.assertTrue({"low", "algorithms", "version"} <= functions, functions)
        self.assertTrue({"Engine", "Error", "Table"} <= classes, classes)
        names = {NAME.match(symbol)[1] for symbol in self.exported}
        self.assertEqual((functions | classes) - names, set())

    def test_whatever_the_tools_and_tests_call_of_the_public_headers(self):
        archives = [str(file) for file in BUILD.rglob("libskyrank_*.a") if "consumer" not in file.parts]
        self.assertTrue(archives)
        called = {symbol for symbol in symbols("--undefined-only", *archives)
                  if (match := NAME.match(symbol)) and re.search(rf"\b{match[1]}\b", HEADERS)}
        self.assertTrue(called)
        defined_there = symbols("--defined-only", *archives)
        self.assertEqual(called - defined_there - self.exported, set())


if __name__ == "__main__":
    unittest.main()
