#!/usr/bin/env python3
"""Tests of tools/experiments/applications against NumPy. Exits with 77 without NumPy or the Python package."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/experiments/applications"))

try:
    import numpy
    import skyrank  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import clean  # noqa: E402
import degrees  # noqa: E402
import neighbours  # noqa: E402
import scores  # noqa: E402
import tables  # noqa: E402


class Applications(unittest.TestCase):
    def test_clean_removes_what_it_explains(self):
        sky, dirty, point_spread = clean.simulate(size=128)
        self.assertAlmostEqual(point_spread[0, 0], 1)
        self.assertGreaterEqual(1 + 1e-9, point_spread.max())
        model, residual = clean.clean(dirty, point_spread, pixels=20, iterations=40)
        self.assertLess(residual.std(), 0.5 * dirty.std())
        brightest = numpy.unravel_index(sky.argmax(), sky.shape)
        around = model[brightest[0] - 1:brightest[0] + 2, brightest[1] - 1:brightest[1] + 2].sum()
        self.assertGreater(around, 0.5 * sky.max())

    def test_the_most_linked_pages(self):
        values = degrees.degrees(pages=20_000)
        self.assertEqual(values[degrees.most_linked(values, 50)].tolist(), sorted(values.tolist(), reverse=True)[:50])
        # Twice the degree is 2^1.1 times as rare.
        self.assertAlmostEqual((values >= 4).mean() / (values >= 2).mean(), 2**-1.1, delta=0.05)

    def test_the_most_fearful_texts_with_ties(self):
        self.assertEqual(scores.score("A fatal Error, they say: error!"), 0.5)
        values = numpy.array([scores.score(text) for _, text in scores.docstrings()])
        best = scores.most_fearful(values, 20)
        expected = numpy.flatnonzero(values >= numpy.sort(values)[-20])
        self.assertEqual(sorted(best.tolist()), expected.tolist())

    def test_the_nearest_descriptors(self):
        values = numpy.random.default_rng(3).integers(0, 256, (500, 128), dtype=numpy.uint8)
        found = neighbours.nearest(values, values[77], 9)
        exact = ((values.astype(float) - values[77].astype(float)) ** 2).sum(axis=1)
        self.assertEqual(found.tolist(), numpy.argsort(exact, kind="stable")[:9].tolist())
        self.assertEqual(found[0], 77)


class Tables(unittest.TestCase):
    def test_values_are_integers_of_32_bits(self):
        degrees_of_pages = tables.VALUES["degrees"]()
        self.assertEqual((len(degrees_of_pages), degrees_of_pages.dtype), (tables.ROWS, numpy.uint32))
        shares = tables.VALUES["scores"]()
        self.assertLessEqual(shares.max(), 1_000_000)
        self.assertLess(len(numpy.unique(shares)), len(shares) / 10)

    def test_files_are_written_once(self):
        try:
            from pyarrow import parquet
        except ImportError:
            self.skipTest("there is no pyarrow")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "new/scores.parquet")
            tables.write("scores", file)
            self.assertEqual(parquet.read_table(file)["value"].to_numpy().tolist(), tables.VALUES["scores"]().tolist())
            written = file.stat().st_mtime_ns
            tables.write("scores", file)
            self.assertEqual(file.stat().st_mtime_ns, written)
            self.assertEqual([it.name for it in file.parent.iterdir()], ["scores.parquet"])


if __name__ == "__main__":
    unittest.main()
