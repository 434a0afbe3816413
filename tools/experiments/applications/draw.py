#!/usr/bin/env python3
"""Draws the applications of the papers: CLEAN of a radio image, nearest neighbours, degree centrality, scores of texts.

Needs the Python package, NumPy and matplotlib; the nearest neighbours also scikit-image and opencv-python-headless. Every
module says what its data are.
"""

import argparse
import importlib
import pathlib
import sys

APPLICATIONS = ("clean", "degrees", "scores", "neighbours")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="DIR", help="where the pictures go")
    parser.add_argument("names", nargs="*", choices=[*APPLICATIONS, []], help="only these (default: all)")
    options = parser.parse_args()
    try:
        import matplotlib
        matplotlib.use("agg")
        from matplotlib import pyplot
    except ImportError as error:
        print(f"applications: {error}; pip install matplotlib", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    status = 0
    for name in options.names or APPLICATIONS:
        picture = pyplot.figure(figsize=(8, 4), layout="constrained")
        try:
            print(importlib.import_module(name).draw(picture))
            picture.savefig(options.out / f"{name}.png", dpi=100)
        except ImportError as error:
            print(f"applications: {name} is not drawn: {error}", file=sys.stderr)
            status = 2
        pyplot.close(picture)
    return status


if __name__ == "__main__":
    sys.exit(main())
