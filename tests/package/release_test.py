"""Checks what tools/release.sh refuses, in a small clone."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["SKYRANK_SOURCE"])
FILES = ("tools/release.sh", "tools/packages/vcpkg/skyrank/vcpkg.json", "engine/examples/CMakeLists.txt",
         "engine/include/skyrank/version.hpp")
CHANGES = "# Changelog\n\n## [Unreleased]\n\n## [{version}] - 2026-01-31\n\n### Added\n\n- All.\n"


class Release(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.clone = Path(temporary.name)
        for file in FILES:
            (self.clone / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / file, self.clone / file)
        lines = (self.clone / FILES[3]).read_text().splitlines()
        numbers = [line.split()[2] for line in lines if line.startswith("#define SKYRANK_VERSION_M")
                   or line.startswith("#define SKYRANK_VERSION_P")]
        self.version = ".".join(numbers[:3])
        (self.clone / "CHANGELOG.md").write_text(CHANGES.format(version=self.version))
        self.git("init", "-q")
        self.commit()

    def git(self, *arguments):
        identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=self.clone, check=True, capture_output=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "all")

    def change(self, file, old, new):
        path = self.clone / file
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new))
        self.commit()

    def check(self):
        return subprocess.run([self.clone / "tools/release.sh", "--check"], capture_output=True, text=True)

    def assert_refused(self, message):
        result = self.check()
        self.assertEqual((result.returncode, result.stderr), (1, f"release: {message}\n"))

    def test_a_clone_that_is_ready_passes(self):
        result = self.check()
        self.assertEqual((result.returncode, result.stdout), (0, f"release: {self.version} is ready\n"), result.stderr)
        self.assertFalse((self.clone / "build").exists())

    def test_changes_in_the_tree(self):
        (self.clone / "new.txt").write_text("")
        self.assert_refused("the working tree has changes; commit or remove them:\n?? new.txt")

    def test_a_tag_that_is_there(self):
        self.git("tag", f"v{self.version}")
        self.assert_refused(f"there is a tag v{self.version}; raise the version in engine/include/skyrank/version.hpp")

    def test_another_version_in_the_port(self):
        self.change("tools/packages/vcpkg/skyrank/vcpkg.json", f'"{self.version}"', '"0.0.9"')
        self.assert_refused("tools/packages/vcpkg/skyrank/vcpkg.json: '\"version-semver\": \"0.0.9\",' should have "
                            f'"{self.version}", the version of version.hpp')

    def test_no_section_of_the_version(self):
        self.change("CHANGELOG.md", " - 2026-01-31", "")
        self.assert_refused(f"CHANGELOG.md: no section '## [{self.version}] - YYYY-MM-DD'")

    def test_a_section_without_entries(self):
        self.change("CHANGELOG.md", "- All.\n", "")
        self.assert_refused(f"CHANGELOG.md: the section of {self.version} has no entry")

    def test_entries_for_a_later_release(self):
        self.change("CHANGELOG.md", "## [Unreleased]\n", "## [Unreleased]\n\n- More.\n")
        self.assert_refused("CHANGELOG.md: [Unreleased] has entries; name that section after the release, and raise the "
                            "version")

    def test_unknown_options(self):
        result = subprocess.run([self.clone / "tools/release.sh", "--publish"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("usage: tools/release.sh", result.stderr)


if __name__ == "__main__":
    unittest.main()
