#!/usr/bin/env python3
"""Draws the pictures of engine/docs/fronts.md by running its examples.

usage: engine/docs/pictures/draw.py [FOLDER]

FOLDER, this one by default, gets the files. Needs the Python package of SkyRank, pyarrow and matplotlib.
"""

import doctest
import os
import pathlib
import shutil
import sys
import tempfile

import matplotlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def main():
    target = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE).resolve()
    matplotlib.use("svg")
    # Texts stay texts, and equal pictures are equal files.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "skyrank", "savefig.transparent": False})
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "datasets", pathlib.Path(folder, "datasets"))
        os.chdir(folder)
        page = HERE.parent / "fronts.md"
        failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
        os.chdir(ROOT)
        for picture in sorted(pathlib.Path(folder).glob("*.svg")):
            shutil.copyfile(picture, target / picture.name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
