#!/usr/bin/env python3
"""Answers query batches without SkyRank, so that the expected rows of the golden tests do not come from the program
that they test. Plain Python and PyYAML; slow and simple on purpose.

  reference.py BATCH.yaml...          prints the answers
  reference.py --write BATCH.yaml...  writes them to BATCH.expected, beside the batch or in --answers FOLDER
  reference.py --check BATCH.yaml...  compares them with that file; exit status 1 where they differ

Tables are CSV files; those that are not beside the batch are looked for in $SKYRANK_DATA, else in --data FOLDER, and
batches over files that are in neither place are skipped.
"""

import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "reference"))

from batch import run_batch  # noqa: E402
from tables import write_csv  # noqa: E402


def answer_text(path, data_folder):
    """All answers of a batch in the form of the .expected files."""
    return "".join(f"-- {name}\n{write_csv(names, rows)}" for name, names, rows in run_batch(path, data_folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batches", nargs="+", metavar="BATCH", type=pathlib.Path)
    parser.add_argument("--data", help="used where SKYRANK_DATA is not set")
    parser.add_argument("--answers", type=pathlib.Path, metavar="FOLDER")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--write", action="store_true")
    mode.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    failures = 0
    for path in arguments.batches:
        expected = (arguments.answers or path.parent) / f"{path.stem}.expected"
        try:
            text = answer_text(path, os.environ.get("SKYRANK_DATA", arguments.data))
        except FileNotFoundError as error:
            print(f"{path}: skipped, {error.filename} is not there", file=sys.stderr)
            continue
        if arguments.write:
            expected.write_text(text, encoding="utf-8")
        elif not arguments.check:
            sys.stdout.write(text)
        elif text != expected.read_text(encoding="utf-8"):
            print(f"{path}: the answer differs from {expected}", file=sys.stderr)
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
