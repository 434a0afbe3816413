"""The smallest program: the points of a NumPy array that no other point beats."""
# Needs: numpy

import numpy
import skyrank

# Price and distance of 1,000 hotels; less is better in both.
hotels = numpy.random.default_rng(1).random((1000, 2)) * [300.0, 5.0]

answer = skyrank.skyline(hotels)
print(answer)
print("cheapest of them:", hotels[answer.rows][:, 0].min())
