#!/usr/bin/env python3
"""Uses an installed wheel as people do, with whatever libraries of frames are there. Run by tools/wheel/matrix.sh.

usage: try.py [MODULE...]: these modules are imported before the package
"""

import importlib
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

for name in sys.argv[1:]:
    importlib.import_module(name)

import numpy  # noqa: E402

import skyrank  # noqa: E402

ROWS = {"name": ["a", "b", "c", "d"], "price": [3.0, 2.0, 1.0, 3.0], "rating": [9, 7, 5, 4]}
CSV = "name,price,rating\n" + "".join(f"{n},{p},{r}\n" for n, p, r in zip(*ROWS.values()))
SQL = "SELECT name FROM {} SKYLINE OF price MIN, rating MAX"
BATCH = """version: 1
tables:
  t: {file: t.csv}
queries:
  - {name: front, from: t, prefer: [{low: price}, {high: rating}], select: [name]}
"""


def optional(name):
    """Returns a module, or nothing where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"try: {what}: {found!r}, not {wanted!r}")


def front(table):
    """Returns the names of the rows of a table's front."""
    return list(skyrank.skyline(table, low=["price"], high=["rating"]).to_dict()["name"])


def tool(folder, *words, text=None):
    """Runs the command-line tool and returns what it prints."""
    program = os.path.join(sysconfig.get_path("scripts"), "skyrank")
    done = subprocess.run([program, *words], cwd=folder, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"try: skyrank {' '.join(words)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def processor():
    """Returns where queries run, with the reason where that is not a GPU."""
    try:
        skyrank.Engine(device="cuda")
    except skyrank.DeviceError as error:
        return f"on the CPU ({error})"
    return "on a GPU"


def main():
    used = [f"Python {sys.version.split()[0]}", f"numpy {numpy.__version__}"]
    expect("NumPy", skyrank.skyline(numpy.eye(3)).rows.tolist(), [0, 1, 2])
    for name, make in (
        ("pyarrow", lambda module: module.table(ROWS)),
        ("pandas", lambda module: module.DataFrame(ROWS)),
        ("polars", lambda module: module.DataFrame(ROWS)),
    ):
        if (module := optional(name)) is not None:
            used.append(f"{name} {module.__version__}")
            expect(name, front(make(module)), ["a", "b", "c"])
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "t.csv").write_text(CSV)
        (Path(folder) / "t.yaml").write_text(BATCH)
        expect("a file", front(skyrank.Files(str(Path(folder) / "t.csv"))), ["a", "b", "c"])
        # Parquet with each codec that writers commonly use, where there is one who writes.
        if optional("pyarrow") is not None:
            import pyarrow
            import pyarrow.parquet

            for codec in ("none", "snappy", "gzip", "zstd", "lz4", "brotli"):
                file = Path(folder) / f"{codec}.parquet"
                pyarrow.parquet.write_table(pyarrow.table(ROWS), file, compression=codec)
                expect(codec, front(skyrank.Files(str(file))), ["a", "b", "c"])
            expect("its own answers", pyarrow.table(skyrank.skyline(pyarrow.table(ROWS), low=["price"])).num_rows, 1)
        version = tool(folder, "--version")
        expect("skyrank --version", version.split()[1], skyrank.__version__)
        used.append("CUDA " + version.strip().rsplit("CUDA ", 1)[1])
        for words in (("sql", SQL.format("'t.csv'")), ("run", "t.yaml")):
            printed = tool(folder, *words)
            expect(f"skyrank {words[0]}", [line[0] for line in printed.splitlines() if line[:2].strip() in set("abcd")], ["a", "b", "c"])
        expect("skyrank algorithms", "blocked-bitmap" in tool(folder, "algorithms"), True)
    used.append(processor())
    print("passed:", ", ".join(used), "after " + " ".join(sys.argv[1:]) if sys.argv[1:] else "")


main()
