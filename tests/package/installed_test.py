"""Checks an install tree: programs start anywhere, nothing refers to the build, licences are there."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import elf

PREFIX = Path(os.environ["SKYRANK_PREFIX"])
BUILD = Path(os.environ["SKYRANK_BUILD"])
SOURCE = Path(os.environ["SKYRANK_SOURCE"])
BATCH = """
version: 1
tables: {hotels: {file: hotels.csv}}
queries: [{name: cheapest, from: hotels, rank_by: [{low: price}], limit: 1, select: [name]}]
"""


def run(program, *arguments, folder="/"):
    return subprocess.run([program, *arguments], cwd=folder, env={}, capture_output=True, text=True)


class Programs(unittest.TestCase):
    def test_start_from_another_folder_with_a_clean_environment(self):
        programs = list((PREFIX / "bin").iterdir())
        self.assertIn(PREFIX / "bin/skyrank", programs)
        for program in programs:
            result = run(program, "--version")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stdout, rf"^{program.name} \d+\.\d+\.\d+")

    def test_the_tree_may_be_moved(self):
        with tempfile.TemporaryDirectory() as folder:
            moved = Path(folder) / "moved"
            subprocess.run(["cp", "-a", PREFIX, moved], check=True)
            self.assertEqual(run(moved / "bin/skyrank", "--version").returncode, 0)

    def test_read_csv_and_write_parquet(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "hotels.csv").write_text("name,price\nAurora,120\nBristol,80\n")
            Path(folder, "batch.yaml").write_text(BATCH)
            result = run(PREFIX / "bin/skyrank", "run", "batch.yaml", "--format", "parquet", "--out", ".", folder=folder)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(Path(folder, "cheapest.parquet").read_bytes()[:4], b"PAR1")

    def test_every_library_is_found(self):
        for file in elf.linked_files(PREFIX):
            self.assertNotIn("not found", elf.output_of("ldd", str(file)), file)


class Files(unittest.TestCase):
    def test_licences(self):
        documents = PREFIX / "share/doc/skyrank"
        self.assertIn("Apache License", (documents / "LICENSE").read_text())
        self.assertIn("PEGTL", (documents / "THIRD-PARTY.txt").read_text())
        if list(PREFIX.rglob("libarrow.so.*")):
            self.assertIn("Apache Thrift", (documents / "arrow/LICENSE.txt").read_text())
            self.assertIn("Apache Arrow", (documents / "arrow/NOTICE.txt").read_text())

    def test_manual_page_and_completions(self):
        share = PREFIX / "share"
        self.assertTrue((share / "man/man1/skyrank.1").read_text().startswith(".TH SKYRANK 1"))
        for file in ("bash-completion/completions/skyrank", "zsh/site-functions/_skyrank",
                     "fish/vendor_completions.d/skyrank.fish"):
            self.assertIn("memory-limit", (share / file).read_text(), file)

    def test_no_text_names_the_source_or_the_build_folder(self):
        texts = [file for file in PREFIX.rglob("*") if file.suffix in (".cmake", ".pc", ".hpp")]
        self.assertTrue(any(file.name == "skyrank.pc" for file in texts))
        places = re.compile("|".join(rf"{re.escape(str(place))}(?!/\.deps)\b" for place in (SOURCE, BUILD)))
        for file in texts:
            self.assertNotRegex(file.read_text(), places, file)


if __name__ == "__main__":
    unittest.main()
