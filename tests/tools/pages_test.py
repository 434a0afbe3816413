#!/usr/bin/env python3
"""Tests that what no other test runs of the pages could run: commands name files and options that there are, and Python parses.

Other tests run the blocks of SQL, YAML, C++ and Python sessions, and the commands of `skyrank`.
"""

import ast
import os
import pathlib
import re
import shlex
import sys
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools/checks")]

from repository import listed  # noqa: E402

BLOCK = re.compile(r"^```(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Programs of build/release and the folders of their sources.
PROGRAMS = {
    "skyrank": "tools/skyrank",
    "skyrank_bench": "tools/skyrank",
    "skyrank_gpus_bench": "tools/bench",
    "skyrank_mpi": "tools/mpi",
    "skyrank_planner_bench": "tools/bench",
}
KNOWN = ("c++", "cmake", "console", "cpp", "pycon", "python", "sql", "text", "yaml", "{doxygenfile}", "{eval-rst}", "{toctree}")


def blocks(*languages):
    """Yields (place, text) of the blocks in some languages."""
    for path in listed(ROOT, "*.md"):
        text = (ROOT / path).read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            if match[1] in languages:
                yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}", match[2]


def commands():
    """Yields (place, words) of each command in a block of console."""
    for place, text in blocks("console"):
        for line in text.splitlines():
            if line.startswith("$ "):
                for command in re.split(r" && | \| ", re.sub(r"\s#.*", "", line[2:])):
                    yield place, [word.strip("[]") for word in shlex.split(command)]


def sources_of(word):
    """Returns the text of the program that a word of a command names; None for a program that is not ours."""
    if word == "tools/run.sh":  # hands its options to `skyrank run`
        word = "skyrank"
    if word.startswith(("tools/", "tests/", "engine/", "planner/")) and word.endswith((".py", ".sh")):
        return (ROOT / word).read_text(encoding="utf-8")
    folder = PROGRAMS.get(word.removeprefix("build/release/"))
    if folder is None:
        return None
    return "".join(path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob("*.cpp"))


class Pages(unittest.TestCase):
    def test_commands_name_files_and_options_that_there_are(self):
        seen = 0
        for place, words in commands():
            with self.subTest(place=place, command=" ".join(words)):
                for word in words:
                    if re.fullmatch(r"(tools|tests|engine|datasets)/[\w./-]+", word):
                        self.assertTrue((ROOT / word).exists(), word)
                programs = [i for i, word in enumerate(words) if sources_of(word) is not None]
                if not programs:
                    continue
                text = sources_of(words[programs[0]])
                for word in words[programs[0] + 1:]:
                    if word.startswith("--"):
                        name = word.partition("=")[0]
                        self.assertRegex(text, rf"(?<![\w-]){re.escape(name)}(?![\w-])", word)
                        seen += 1
        self.assertGreater(seen, 50)

    def test_programs_of_the_build_are_known(self):
        for place, words in commands():
            for word in words:
                if word.startswith("build/release/") and "/" not in word.removeprefix("build/release/") and word != "build/release/python":
                    self.assertIn(word.removeprefix("build/release/"), PROGRAMS, place)

    def test_python_is_read(self):
        found = list(blocks("python"))
        for place, text in found:
            with self.subTest(place=place):
                ast.parse(text)
        self.assertGreater(len(found), 4)

    def test_a_block_of_another_language_needs_a_test_that_runs_it(self):
        for path in listed(ROOT, "*.md"):
            for match in BLOCK.finditer((ROOT / path).read_text(encoding="utf-8")):
                self.assertIn(match[1], KNOWN, path)

    def test_sessions_and_sql_are_on_pages_whose_blocks_are_run(self):
        """Sessions run in tests/python/test_package.py, C++ in tests/engine, SQL in documents_test.cpp."""
        tests = (ROOT / "tests/python/test_package.py").read_text(encoding="utf-8")
        for place, _ in blocks("pycon"):
            page = os.path.relpath(place.partition(":")[0], "engine/docs")
            self.assertIn(f'"{page}"', tests, place)
        for place, _ in blocks("sql"):
            self.assertTrue(place.startswith(("README.md", "engine/docs/")), place)
        guides = (ROOT / "tests/engine/CMakeLists.txt").read_text(encoding="utf-8")
        for place, _ in blocks("cpp"):
            page = place.partition(":")[0]
            if page.startswith("engine/docs/"):
                name = page.removeprefix("engine/docs/").removesuffix(".md")
                self.assertRegex(guides, rf"foreach\(page .*\b{name}\b.*\)", place)


if __name__ == "__main__":
    unittest.main()
