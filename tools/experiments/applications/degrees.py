"""Degree centrality: the most linked of a million pages, with in-degrees like the web's (Gaihre et al., SC 2021, table 1).

ClueWeb09 is not public. The degrees here are drawn from the power law with exponent 2.1 that web graphs follow.
"""

import numpy

PAGES = 1_000_000
EXPONENT = 2.1
WANTED = 100


def degrees(pages=PAGES, seed=1):
    """Returns an in-degree, 1 or more, for each page."""
    uniform = 1 - numpy.random.default_rng(seed).random(pages)
    return numpy.minimum(uniform ** (-1 / (EXPONENT - 1)), 2**32 - 1).astype(numpy.uint32)


def most_linked(values, wanted=WANTED):
    import skyrank  # the data can be had without

    return skyrank.top_k({"degree": values}, wanted, skyrank.high("degree")).rows


def draw(picture):
    values = degrees()
    best = most_linked(values)
    ranked = numpy.sort(values)[::-1]
    panel = picture.subplots()
    places = numpy.unique(numpy.geomspace(1, PAGES, 300).astype(int)) - 1
    panel.loglog(places + 1, ranked[places], color="#1b6ca8", label="all pages")
    panel.loglog(numpy.arange(1, WANTED + 1), values[best], "o", color="#d1495b", markersize=3, label=f"top {WANTED}")
    panel.set(xlabel="rank", ylabel="in-degree")
    panel.legend(frameon=False)
    return f"degree centrality: top {WANTED} of {PAGES:,} pages, from degree {values[best[0]]:,} to {values[best[-1]]:,}"
