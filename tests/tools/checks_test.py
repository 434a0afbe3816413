#!/usr/bin/env python3
"""Tests of tools/checks: each check passes on good samples and fails on bad ones."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
CHECKS = ROOT / "tools/checks"
sys.path[:0] = [str(CHECKS), str(ROOT / "tools/bench")]

import comments  # noqa: E402
import documents  # noqa: E402
import folders  # noqa: E402
import layering  # noqa: E402
import sizes  # noqa: E402
import tables  # noqa: E402


def messages(found):
    return [message for _, message in found]


class Layering(unittest.TestCase):
    def circles(self, **includes):
        """Returns what is found where each folder below datasets/ includes from another one."""
        with tempfile.TemporaryDirectory() as folder:
            for name, other in includes.items():
                file = pathlib.Path(folder, f"datasets/{name}/{name}.hpp")
                file.parent.mkdir(parents=True)
                file.write_text(f'#include "datasets/{other}/{other}.hpp"\n')
            files = [f"datasets/{name}/{name}.hpp" for name in includes]
            return layering.circles(pathlib.Path(folder), files, "datasets")

    def test_folders_that_include_each_other_are_found(self):
        self.assertEqual(self.circles(a="b", b="c"), [])
        [found] = self.circles(a="b", b="c", c="a")
        self.assertIn("datasets/: folders include each other in a circle: ", found)
        self.assertEqual(len(self.circles(a="b", b="a")), 1)


class Comments(unittest.TestCase):
    def assert_clean(self, text):
        self.assertEqual(comments.findings(text), [])

    def assert_found(self, text, *expected):
        found = comments.findings(text)
        self.assertEqual([(line, message.split(";")[0]) for line, message in found], list(expected))

    def test_sentences_and_imperative_verbs_pass(self):
        self.assert_clean("/// Returns the number of rows.\nint rows();\n")
        self.assert_clean("/// A team of threads.\nstruct Team {\n  int lanes = 0;  ///< threads in all\n};\n")

    def test_fragments_are_found_in_doc_comments(self):
        for word in ("Of", "What", "Whether", "Where", "Which", "Whose", "Those", "That", "As", "So"):
            self.assert_found(f"\n/// {word} a load.\nint load();\n", (2, f"the comment begins with '{word}'"))

    def test_fragments_are_found_behind_members(self):
        self.assert_found("int rows = 0;  ///< of the table\n", (1, "the comment begins with 'of'"))

    def test_words_that_only_begin_alike_pass(self):
        self.assert_clean("/// Software of the device.\n/// Offsets of the rows.\n/// Assigns ids.\n/// Sorts rows.\n")

    def test_only_the_first_line_of_a_doc_comment_counts(self):
        self.assert_clean("/// Returns the rows\n/// of a table.\nint rows();\n")
        self.assert_found("int a;\n/// Sorts.\n\n/// of a table.\n", (4, "the comment begins with 'of'"))

    def test_fragments_are_found_in_header_comments(self):
        self.assert_found("#pragma once\n\n// What all kernels share.\nnamespace a {\n",
                          (3, "the comment begins with 'What'"))

    def test_fragments_are_found_inside_the_code_but_not_behind_it(self):
        self.assert_found("// Sorts rows.\nnamespace a {\n// As above.\nint b;  // as c\n",
                          (3, "the comment begins with 'As'"))

    def test_long_header_comments_are_found(self):
        self.assert_clean("// One line.\n" * 25 + "namespace a {\n")
        self.assert_found("// One line.\n" * 26 + "namespace a {\n", (1, "the header comment has 26 lines"))

    def test_public_headers_without_a_header_comment_are_found(self):
        self.assertEqual(len(comments.findings("#pragma once\n\nnamespace a {\n", is_public=True)), 1)
        self.assertEqual(comments.findings("// Declares a.\nnamespace a {\n", is_public=True), [])

    def test_long_lines_are_found(self):
        self.assert_clean("é" * 120 + "\n")
        self.assert_found("x" * 121 + "\n", (1, "the line has 121 characters"))


class Documents(unittest.TestCase):
    def findings(self, path, text, files=()):
        pages = {path: text}
        return messages(documents.findings(path, pages, documents.with_folders([path, *files])))

    def test_a_readme_within_its_length_passes(self):
        self.assertEqual(self.findings("README.md", "line\n" * 130), [])
        self.assertEqual(self.findings("planner/README.md", "line\n" * 150), [])
        self.assertEqual(self.findings("engine/docs/api.md", "line\n" * 500), [])

    def test_long_readmes_are_found(self):
        self.assertEqual(self.findings("README.md", "line\n" * 131), ["the page has 131 lines; at most 130"])
        self.assertEqual(self.findings("planner/README.md", "line\n" * 151), ["the page has 151 lines; at most 150"])

    def test_dates_and_commits_are_found_in_pages_of_folders(self):
        for text in ("Measured on 2026-11-25.", "Since 3 November 2026", "as of November 2026", "faster since da33bcd."):
            self.assertEqual(len(self.findings("kernels/README.md", text)), 1, text)
            self.assertEqual(self.findings("CHANGELOG.md", text), [])
        self.assertEqual(self.findings("kernels/README.md", "VLDB 2015, 65,536 rows, 1000000 keys, a defaced facade"), [])

    def test_links_to_files_folders_and_headings_pass(self):
        text = "# First steps\n[a](docs/a.md) [b](docs) [c](#first-steps) [d](https://example.org/x) [e](.)\n"
        self.assertEqual(self.findings("README.md", text, ["docs/a.md"]), [])
        self.assertEqual(self.findings("docs/b.md", "[a](a.md) [up](../README.md)", ["docs/a.md", "README.md"]), [])

    def test_dead_links_are_found(self):
        self.assertEqual(self.findings("docs/b.md", "[a](a.md)", ["a.md"]),
                         ["the link a.md leads to no file of the repository"])
        self.assertEqual(self.findings("README.md", "# One\n[c](#two)\n"), ["the link #two leads to no heading"])

    def test_code_is_not_read_as_prose(self):
        self.assertEqual(self.findings("docs/README.md", "```cpp\nv[i](x) = 2026-11-25\n```\n"), [])


class Folders(unittest.TestCase):
    @staticmethod
    def files(folder, count):
        return [f"{folder}/{i}.cpp" for i in range(count)]

    def test_small_folders_pass(self):
        self.assertEqual(folders.findings(self.files("a", 25) + self.files("a/b", 25)), [])

    def test_large_folders_are_found(self):
        self.assertEqual(folders.findings(self.files("a", 26)), ["a/: 26 source files; at most 25: make sub-folders"])

    def test_public_headers_may_be_more(self):
        public = "engine/include/skyrank"
        self.assertEqual(folders.findings(self.files(public, 40)), [])
        self.assertEqual(len(folders.findings(self.files(public, 41))), 1)


class Sizes(unittest.TestCase):
    def findings(self, code, allowed=()):
        found, _ = sizes.findings("datasets/a.cpp", code, allowed)
        return [(line, message.split(":")[0]) for line, message in found]

    def test_stated_counts_are_checked_before_they_become_sizes(self):
        stated = "a stated count becomes a size without checked_count()"
        self.assertEqual(self.findings("\nauto n = static_cast<std::size_t>(metadata->num_rows());\n"), [(2, stated)])
        self.assertEqual(self.findings("take(static_cast<int64_t>(\n    header.uncompressed_page_size - 1));"), [(1, stated)])
        self.assertEqual(self.findings("static_cast<std::size_t>(array->length)"), [(1, stated)])
        self.assertEqual(self.findings("static_cast<std::int64_t>(checked_count(m.num_rows(), most, what))"), [])
        self.assertEqual(self.findings("// static_cast<std::size_t>(m.num_rows())\nf(\"m.num_rows()\");"), [])

    def test_allocations_are_of_checked_products(self):
        product = "an allocation of a product without checked_multiply()"
        for code in ("buffer.resize(rows * sizeof(T));", "std::vector<char> text(2 + width * rows);",
                     "std::make_unique_for_overwrite<T[]>(static_cast<size_t>(a * b));", "AllocateBuffer(rows * 4, pool)",
                     "p->reserve(\n  n * size());"):
            self.assertEqual(self.findings(code), [(1, product)], code)
        for code in ("buffer.resize(checked_multiply(rows, sizeof(T), what));", "buffer.resize(2 * sizeof(T));",
                     "std::vector<int> all(kMany * 4);", "buffer.resize(*size);", "buffer.assign(n, a[i]);",
                     "out << rows * 4;"):
            self.assertEqual(self.findings(code), [], code)

    def test_floating_point_numbers_become_no_sizes(self):
        floating = "a floating-point number becomes an integer"
        self.assertEqual(self.findings("double row = bytes(f);\nuse(static_cast<std::size_t>(row * rows));"), [(2, floating)])
        self.assertEqual(self.findings("static_cast<std::uint64_t>(static_cast<double>(bytes) / 2)"), [(1, floating)])
        self.assertEqual(self.findings("static_cast<std::size_t>(1.5 * n)"), [(1, floating)])
        other = "void f() {\n  double rows = 1;\n}\nvoid g(int rows) {\n  use(static_cast<std::size_t>(rows));\n}\n"
        self.assertEqual(self.findings(other), [])

    def test_exceptions_are_of_one_file_and_are_used(self):
        code = "static_cast<std::size_t>(\n  m.num_rows())"
        entry = ("datasets/a.cpp", "static_cast<std::size_t>( m.num_rows())")
        self.assertEqual(sizes.findings("datasets/a.cpp", code, {entry: "why"}), ([], {entry}))
        self.assertNotEqual(self.findings(code, {("datasets/b.cpp", entry[1]): "why"}), [])


class Figures(unittest.TestCase):
    def test_pages_have_the_figures_of_the_results(self):
        for page in tables.PAGES:
            text = (ROOT / page).read_text(encoding="utf-8")
            self.assertEqual(tables.with_tables(text), text, page)

    def test_other_figures_are_found(self):
        text = (ROOT / "engine/docs/performance.md").read_text(encoding="utf-8")
        for figure in ("3,646", "266", "0.486", "34.8"):
            self.assertIn(figure, text)
            self.assertEqual(tables.with_tables(text.replace(figure, "1.23")), text)


class Programs(unittest.TestCase):
    """The checks as programs, over a repository of one bad file each."""

    def run_check(self, name, path, text):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "init", "-q", folder], check=True)
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            return subprocess.run([sys.executable, "-B", CHECKS / name, folder], capture_output=True, text=True)

    def test_findings_come_with_their_place_and_status_1(self):
        result = self.run_check("comments.py", "a/b.hpp", "/// Of a load.\nint a();\n")
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stdout.startswith("a/b.hpp:1: the comment begins with 'Of'"), result.stdout)
        self.assertEqual(self.run_check("documents.py", "README.md", "[a](b)\n").returncode, 1)
        size = "static_cast<std::size_t>(file.num_rows())"
        self.assertEqual(self.run_check("sizes.py", "datasets/csv/a.cpp", f"auto a = {size};\n").returncode, 1)
        self.assertEqual(self.run_check("layering.py", "kernels/a.hpp", '#include "engine/b.hpp"\n').returncode, 1)

    def test_good_repositories_pass(self):
        self.assertEqual(self.run_check("comments.py", "a/b.hpp", "/// Loads a.\nint a();\n").returncode, 0)
        self.assertEqual(self.run_check("documents.py", "README.md", "[a](README.md)\n").returncode, 0)
        self.assertEqual(self.run_check("folders.py", "a/b.hpp", "int a();\n").returncode, 0)
        self.assertEqual(self.run_check("sizes.py", "datasets/generate/a.cpp", "auto a = 1;\n" * 2).returncode, 1)
        self.assertEqual(self.run_check("sizes.py", "datasets/csv/a.cpp", "auto a = 1;\n").returncode, 0)

    def test_a_folder_without_sources_is_no_success(self):
        self.assertEqual(self.run_check("comments.py", "README.md", "").returncode, 1)

    @unittest.skipUnless(shutil.which("doxygen"), "doxygen is not installed")
    def test_the_reference_needs_a_comment_for_each_public_name(self):
        documented = "#pragma once\n/// Names.\nnamespace skyrank {\n/// Returns a.\nint a();\n}\n"
        for header, passes in ((documented, True), (documented.replace("/// Returns a.", ""), False)):
            with tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "a.hpp").write_text("/** @file */\n" + header, encoding="utf-8")
                configuration = (ROOT / "engine/docs/Doxyfile").read_text(encoding="utf-8")
                configuration += f"INPUT = {folder}\nOUTPUT_DIRECTORY = {folder}/out\n"
                result = subprocess.run(["doxygen", "-"], input=configuration, capture_output=True, text=True)
            self.assertEqual(result.returncode == 0, passes, result.stderr)


if __name__ == "__main__":
    unittest.main()
