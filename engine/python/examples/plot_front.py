"""A picture of the hotels that are cheap, near the sea and well rated; more columns make parallel coordinates."""
# Needs: matplotlib

import matplotlib
import numpy
import skyrank

matplotlib.use("agg")  # draws into files, without a window

generator = numpy.random.default_rng(7)
hotels = {"distance": generator.random(800) * 5, "rating": generator.random(800) * 2 + 3}
hotels["price"] = 120 + 40 * hotels["rating"] - 25 * hotels["distance"] + generator.normal(0, 30, 800)

axes = skyrank.plot.front(hotels, low="price", high="rating", levels=3)
axes.set_title("Hotels by price and rating")
axes.figure.savefig("hotels.png")
skyrank.plot.front(hotels, low=["price", "distance"], high="rating").figure.savefig("hotels-3d.png")
cheapest = skyrank.top_k(hotels, 5, low="price")
skyrank.plot.matrix(hotels, low=["price", "distance"], high="rating", picked=cheapest).savefig("hotels-matrix.png")
print("hotels.png shows", len(axes.lines), "Pareto levels")
