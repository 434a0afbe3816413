#!/usr/bin/env python3
"""Checks that no folder holds more than 25 source files of its own. A larger folder gets sub-folders.

The public headers may be more: users include them by name, so that they stay in one folder.

usage: tools/checks/folders.py [ROOT]
"""

import collections
import posixpath
import sys

from repository import finish, listed, root_of

SOURCES = ("*.cpp", "*.hpp", "*.cu", "*.cuh", "*.py")
MAX_FILES = 25
PUBLIC = "engine/include/skyrank"
MAX_PUBLIC_FILES = 40


def findings(paths):
    """Returns a message for each folder that has too many of the `paths`."""
    counts = collections.Counter(posixpath.dirname(path) for path in paths)
    limits = {folder: MAX_PUBLIC_FILES if folder == PUBLIC else MAX_FILES for folder in counts}
    return [f"{folder}/: {count} source files; at most {limits[folder]}: make sub-folders"
            for folder, count in sorted(counts.items()) if count > limits[folder]]


def main():
    files = listed(root_of(sys.argv), *SOURCES)
    return finish("folders", files, findings(files))


if __name__ == "__main__":
    sys.exit(main())
