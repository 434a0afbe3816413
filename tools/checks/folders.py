#!/usr/bin/env python3
"""Checks that no folder holds more than 25 source files of its own. A larger folder gets sub-folders.

usage: tools/checks/folders.py [ROOT]
"""

import collections
import posixpath
import sys

from repository import finish, listed, root_of

SOURCES = ("*.cpp", "*.hpp", "*.cu", "*.cuh", "*.py")
MAX_FILES = 25


def findings(paths):
    """Returns a message for each folder that has too many of the `paths`."""
    counts = collections.Counter(posixpath.dirname(path) for path in paths)
    return [f"{folder}/: {count} source files; at most {MAX_FILES}: make sub-folders"
            for folder, count in sorted(counts.items()) if count > MAX_FILES]


def main():
    files = listed(root_of(sys.argv), *SOURCES)
    return finish("folders", files, findings(files))


if __name__ == "__main__":
    sys.exit(main())
