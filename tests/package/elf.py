"""Reads what ELF files say of themselves, through readelf and nm."""

import os
import re
import subprocess
from pathlib import Path

MAGIC = b"\x7fELF"


def output_of(*command):
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def dynamic(file):
    return output_of("readelf", "--wide", "--dynamic", str(file))


def needed(file):
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.*?)\]", dynamic(file))


def run_path(file):
    """Returns the elements of RUNPATH or RPATH; an empty string stands for the current folder."""
    return [element for path in re.findall(r"\((?:RUNPATH|RPATH)\)\s+Library \w+: \[(.*?)\]", dynamic(file))
            for element in path.split(":")]


def is_program(file):
    return "INTERP" in output_of("readelf", "--wide", "--program-headers", str(file))


def is_linked(file):
    """Returns true for programs and shared libraries, false for object files and everything else."""
    with open(file, "rb") as stream:
        head = stream.read(18)
    return head[:4] == MAGIC and head[16] in (2, 3)  # ET_EXEC, ET_DYN


def linked_files(folder, without=()):
    """Lists the programs and shared libraries below a folder, but for sub-folders of the names in `without`."""
    files = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in without]
        paths = (Path(place) / name for name in names)
        files += [path for path in paths if path.is_file() and is_linked(path)]
    return sorted(files)
