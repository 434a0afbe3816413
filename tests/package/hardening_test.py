"""Checks that programs are built with the hardening flags of a distribution."""

import os
import platform
import re
import unittest
from pathlib import Path

import elf

BUILD = Path(os.environ["SKYRANK_BUILD"])
PROGRAM = BUILD / "skyrank"


class Hardening(unittest.TestCase):
    def test_programs_are_position_independent_with_read_only_relocations(self):
        programs = [file for file in elf.linked_files(BUILD, without=("CMakeFiles", "consumer")) if elf.is_program(file)]
        self.assertIn(PROGRAM, programs)
        for program in programs:
            with self.subTest(program):
                headers = elf.output_of("readelf", "--wide", "--file-header", "--program-headers", str(program))
                self.assertRegex(headers, r"Type:\s+DYN")
                self.assertRegex(headers, r"GNU_RELRO")
                self.assertNotRegex(headers, r"GNU_STACK.* RWE ")
                self.assertRegex(elf.dynamic(program), r"\(FLAGS(_1)?\).*\b(BIND_NOW|NOW)\b")

    def test_calls_and_stacks_are_checked(self):
        symbols = elf.output_of("nm", "--dynamic", "--undefined-only", str(PROGRAM))
        self.assertRegex(symbols, r"\b__stack_chk_fail\b")
        self.assertRegex(symbols, r"\b__\w+_chk\b(?<!__stack_chk_fail)")

    @unittest.skipUnless(platform.machine() == "x86_64", "control-flow protection is for x86")
    def test_branches_are_protected(self):
        objects = list(BUILD.glob("tools/skyrank/CMakeFiles/skyrank_cli.dir/**/*.o"))
        self.assertTrue(objects)
        for file in objects:
            notes = elf.output_of("readelf", "--notes", str(file))
            self.assertTrue(re.search(r"x86 feature: IBT, SHSTK", notes), f"{file}:\n{notes}")


if __name__ == "__main__":
    unittest.main()
