"""Checks that programs search only folders that lie relative to themselves, and never the current folder."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import elf

BUILD = Path(os.environ["SKYRANK_BUILD"])
PREFIX = Path(os.environ["SKYRANK_PREFIX"]) if "SKYRANK_PREFIX" in os.environ else None
# Compilers' probes, and builds of projects that use this one as any project would.
NOT_OURS = ("CMakeFiles", "consumer")
PLANTED = """
#include <unistd.h>
__attribute__((constructor)) static void run(void) { write(2, "planted\\n", 8); _exit(42); }
"""


class RunPath(unittest.TestCase):
    def check(self, files):
        self.assertTrue(files)
        for file in files:
            for element in elf.run_path(file):
                self.assertTrue(element == "$ORIGIN" or element.startswith("$ORIGIN/"), f"{file}: '{element}'")

    def test_build_tree(self):
        self.check(elf.linked_files(BUILD, without=NOT_OURS))

    @unittest.skipUnless(PREFIX, "nothing is installed from this build")
    def test_install_tree(self):
        self.check(elf.linked_files(PREFIX))


class PlantedLibrary(unittest.TestCase):
    """A library in the current folder must not be loaded, under the name of any library that a program needs."""

    def check(self, program, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "planted.c"
            source.write_text(PLANTED)
            first, *others = [Path(folder) / name for name in elf.needed(program) if not name.startswith("ld-linux")]
            subprocess.run(["cc", "-shared", "-fPIC", source, "-o", first], check=True)
            for other in others:
                os.link(first, other)
            # A program of MPI is to start alone, without the daemon that would look for other machines.
            alone = {"OMPI_MCA_ess_singleton_isolated": "1", "HOME": folder}
            result = subprocess.run([program, *arguments], cwd=folder, env=alone, capture_output=True, text=True)
        self.assertNotIn("planted", result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_built_programs(self):
        for program in elf.linked_files(BUILD, without=NOT_OURS):
            if program.parent == BUILD and elf.is_program(program):
                with self.subTest(program.name):
                    self.check(program, "--help")

    @unittest.skipUnless(PREFIX, "nothing is installed from this build")
    def test_installed_programs(self):
        for program in (PREFIX / "bin").iterdir():
            with self.subTest(program.name):
                self.check(program, "--help")


if __name__ == "__main__":
    unittest.main()
