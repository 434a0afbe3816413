"""Writes the data of the applications as files for `skyrank bench`: Parquet, one column `value` of 32-bit integers.

A figure names them as it names distributions. Files are small, and a cell with more rows has them over and over, as the paper
has its scores (Gaihre et al., SC 2021, section 6.1).
"""

import numpy

import clean
import degrees
import neighbours
import scores

ROWS = 2**20
ORDERS = {"neighbours": "low", "degrees": "high", "scores": "high", "radio": "high"}  # which values are the best


def distances():
    """Returns distances of all descriptors to some of them, one query after the other."""
    values = numpy.concatenate([neighbours.descriptors(it)[1] for it in neighbours.photographs().values()])
    queries = -(-ROWS // len(values))
    chosen = values[numpy.linspace(0, len(values) - 1, queries).astype(int)]
    return numpy.concatenate([neighbours.distances(values, it) for it in chosen])[:ROWS]


def shares():
    """Returns the scores of all texts, in millionths."""
    return numpy.array([round(scores.score(text) * 1e6) for _, text in scores.docstrings()], numpy.uint32)


def pixels():
    """Returns the dirty image of CLEAN, its pixels in 32 bits from the darkest to the brightest."""
    _, dirty, _ = clean.simulate()
    lowest, highest = dirty.min(), dirty.max()
    return numpy.rint((dirty.ravel() - lowest) / (highest - lowest) * (2**32 - 1)).astype(numpy.uint32)


VALUES = {"neighbours": distances, "degrees": lambda: degrees.degrees(ROWS), "scores": shares, "radio": pixels}


def write(name, file):
    """Writes a table, whole or not at all, unless it is there. ImportError if a package that it needs is missing."""
    if file.exists():
        return
    import pyarrow
    from pyarrow import parquet

    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".unfinished")
    parquet.write_table(pyarrow.table({"value": VALUES[name]().astype(numpy.uint32)}), unfinished)
    unfinished.replace(file)
