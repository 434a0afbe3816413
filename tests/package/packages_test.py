"""Checks the Debian package and the tarball: unpacked into an empty root, they answer a query and serve a build."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["SKYRANK_BUILD"])
SOURCE = Path(os.environ["SKYRANK_SOURCE"])
CMAKE = os.environ["SKYRANK_CMAKE"]
COMPILER = os.environ["SKYRANK_COMPILER"]
QUERY = "SELECT name FROM 'hotels.csv' ORDER BY price LIMIT 1"
CONSUMER = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(skyrank REQUIRED)
add_executable(spans "{source}/engine/examples/spans.cpp")
target_link_libraries(spans PRIVATE skyrank::skyrank)
"""


def checked(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise AssertionError(f"{command}:\n{result.stdout}{result.stderr}")
    return result.stdout


def pack(generator, folder):
    """Makes a package in `folder` and returns its file."""
    cpack = Path(CMAKE).with_name("cpack")
    checked(cpack, "-G", generator, "-B", folder, "--config", BUILD / "CPackConfig.cmake")
    files = [file for file in folder.iterdir() if file.suffix in (".deb", ".gz")]
    assert len(files) == 1, files
    return files[0]


class Package(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.root = self.folder / "root"
        self.root.mkdir()

    def answer_a_query(self, prefix):
        (self.folder / "hotels.csv").write_text("name,price\nAurora,120\nBristol,80\n")
        out = checked(prefix / "bin/skyrank", "sql", QUERY, "--format", "csv", cwd=self.folder, env={})
        self.assertEqual(out, "name\nBristol\n")

    def has_the_manual(self, prefix):
        self.assertIn("skyrank completion", checked(prefix / "bin/skyrank", "completion", "bash", env={}))
        self.assertTrue((prefix / "share/man/man1/skyrank.1").exists())

    def test_tarball(self):
        tarball = pack("TGZ", self.folder / "packages")
        self.assertRegex(tarball.name, r"^skyrank-\d+\.\d+\.\d+-linux-\w+\.tar\.gz$")
        checked("tar", "-xzf", tarball, "-C", self.root)
        prefix = self.root / tarball.name.removesuffix(".tar.gz")
        self.answer_a_query(prefix)
        self.has_the_manual(prefix)
        consumer = self.folder / "consumer"
        consumer.mkdir()
        (consumer / "CMakeLists.txt").write_text(CONSUMER.format(source=SOURCE))
        checked(CMAKE, "-S", consumer, "-B", consumer / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
                f"-DCMAKE_CXX_COMPILER={COMPILER}")
        checked(CMAKE, "--build", consumer / "build")
        self.assertRegex(checked(consumer / "build/spans"), r"^Aurora: 120, rating 4\.5\n")

    @unittest.skipUnless(shutil.which("dpkg-shlibdeps"), "there is no dpkg-shlibdeps")
    def test_debian_package(self):
        package = pack("DEB", self.folder / "packages")
        self.assertRegex(package.name, r"^skyrank_\d+\.\d+\.\d+_\w+\.deb$")
        fields = dict(re.findall(r"^([\w-]+): (.*)$", checked("dpkg-deb", "--field", package), re.M))
        self.assertEqual(fields["Package"], "skyrank")
        self.assertRegex(fields["Maintainer"], r".+ <.+>")
        for library in ("libc6", "libtbb12", "libyaml-cpp", "libhwy"):
            self.assertIn(library, fields["Depends"])
        self.assertIn("libeigen3-dev", fields["Recommends"])
        checked("dpkg-deb", "--extract", package, self.root)
        self.assertEqual([entry.name for entry in self.root.iterdir()], ["usr"])
        self.answer_a_query(self.root / "usr")
        self.has_the_manual(self.root / "usr")


if __name__ == "__main__":
    unittest.main()
