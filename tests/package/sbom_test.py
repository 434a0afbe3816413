"""Checks the bill of materials of the built program, and that the notices name everything in it."""

import hashlib
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import elf

BUILD = Path(os.environ["SKYRANK_BUILD"])
SOURCE = Path(os.environ["SKYRANK_SOURCE"])
PROGRAM = BUILD / "skyrank"
SBOM = SOURCE / "tools/sbom.py"
sys.path.insert(0, str(SBOM.parent))
sys.dont_write_bytecode = True
import sbom  # noqa: E402


def run(*arguments):
    return subprocess.run([sys.executable, "-B", SBOM, *arguments], capture_output=True, text=True)


class Bill(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        result = run(PROGRAM, "--build", BUILD)
        assert result.returncode == 0, result.stderr
        cls.text = result.stdout
        cls.bill = json.loads(cls.text)
        cls.components = {entry["name"]: entry for entry in cls.bill["components"]}

    def test_is_cyclonedx(self):
        self.assertEqual((self.bill["bomFormat"], self.bill["specVersion"]), ("CycloneDX", "1.5"))
        self.assertRegex(self.bill["serialNumber"], r"^urn:uuid:[0-9a-f-]{36}$")
        references = [entry["bom-ref"] for entry in self.bill["components"]]
        self.assertEqual(len(references), len(set(references)))
        self.assertEqual(self.bill["dependencies"], [{"ref": "skyrank", "dependsOn": references}])

    def test_has_every_linked_library(self):
        needed = elf.needed(PROGRAM)
        self.assertTrue(any(name.startswith("libparquet") for name in needed))
        self.assertEqual(set(needed) - set(self.components), set())

    def test_has_what_is_only_compiled_in(self):
        self.assertLessEqual({"Eigen", "CLI11", "nlohmann-json", "PEGTL"}, set(self.components))

    def test_versions_and_licences(self):
        for name, entry in self.components.items():
            self.assertRegex(entry.get("version", ""), r"^\d+\.\d+", name)
            self.assertTrue(entry["licenses"][0]["expression"], name)

    def test_bundled_files_have_their_hash(self):
        for file in (BUILD / "stage").rglob("libparquet.so.*"):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            self.assertEqual(self.components[file.name]["hashes"], [{"alg": "SHA-256", "content": content}])
            self.assertEqual(self.components[file.name]["version"], sbom.arrow_version())

    def test_is_reproducible(self):
        self.assertEqual(run(PROGRAM, "--build", BUILD).stdout, self.text)

    def test_notices_name_every_library(self):
        notices = (SOURCE / "tools/THIRD-PARTY.txt").read_text()
        for library in sbom.LIBRARIES + sbom.CUDA_LIBRARIES:
            self.assertIn(library.name, notices)
            self.assertIn(library.url, notices)

    def test_mistakes(self):
        result = run(BUILD / "no-program")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("there is no program", result.stderr)
        with self.assertRaisesRegex(sbom.Mistake, "libnew.so.1 is linked, but LIBRARIES"):
            sbom.library_of("libnew.so.1")


class Requirements(unittest.TestCase):
    def test_every_wheel_has_a_version_and_the_hashes_of_two_machines(self):
        """Wheels of the Python tests come for three versions of Python too, or for any machine, as PySpark and sources do."""
        for file in (SOURCE / "tools/requirements").glob("*.txt"):
            lines = [line for line in file.read_text().replace("\\\n", " ").splitlines() if not line.startswith("#")]
            self.assertTrue(lines)
            hashes = "{1,6}" if file.name in ("arrow-source.txt", "python.txt", "site.txt", "spark.txt") else "{2}"
            for line in lines:
                self.assertRegex(line, rf"^[a-z0-9-]+==\d+(\.\d+)+(?:[ab.]+\w+)?(\s+--hash=sha256:[0-9a-f]{{64}}){hashes}$", file)


if __name__ == "__main__":
    unittest.main()
