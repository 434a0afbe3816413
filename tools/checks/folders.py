#!/usr/bin/env python3
"""Checks that no folder holds more than 25 source files of its own.

usage: tools/checks/folders.py [ROOT]

A larger folder gets sub-folders. KNOWN lists the folders that are too large today, with the number of files that they may
have. The numbers only shrink: lower them when files move out, and remove a folder that is small enough.
"""

import collections
import posixpath
import sys

from repository import finish, listed, root_of

SOURCES = ("*.cpp", "*.hpp", "*.cu", "*.cuh", "*.py")
MAX_FILES = 25
KNOWN = {
    "engine/query": 30,
    "kernels/cuda/device": 28,
    "tests/kernels": 30,
    "tools/skyrank": 28,
}


def findings(paths, known):
    """Returns a message for each folder that has too many of the `paths`."""
    counts = collections.Counter(posixpath.dirname(path) for path in paths)
    return [f"{folder}/: {count} source files; at most {known.get(folder, MAX_FILES)}: make sub-folders"
            for folder, count in sorted(counts.items()) if count > known.get(folder, MAX_FILES)]


def stale(paths, known):
    """Returns a message for each folder that has fewer files than `known` allows it."""
    counts = collections.Counter(posixpath.dirname(path) for path in paths)
    return [f"{folder}/: {counts[folder]} source files; lower its number in KNOWN from {allowed}"
            for folder, allowed in known.items() if counts[folder] < allowed]


def main():
    files = listed(root_of(sys.argv), *SOURCES)
    for message in stale(files, KNOWN):
        print(f"note: {message}")
    return finish("folders", files, findings(files, KNOWN))


if __name__ == "__main__":
    sys.exit(main())
