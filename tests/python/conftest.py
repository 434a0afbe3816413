"""References and data that the tests of the Python package share."""

import numpy
import pytest
from hypothesis import settings

settings.register_profile("suite", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("suite")


def dominated_by(a, b):
    """Returns whether row b is better or equal in all columns and better in one; smaller is better."""
    return bool((b <= a).all() and (b < a).any())


def reference_ranks(points):
    """Returns the Pareto rank of each row by its definition, smaller values being better."""
    ranks = numpy.full(len(points), -1)
    for rank in range(len(points)):
        left = numpy.flatnonzero(ranks < 0)
        if len(left) == 0:
            break
        ranks[[i for i in left if not any(dominated_by(points[i], points[j]) for j in left)]] = rank
    return ranks


@pytest.fixture(scope="session")
def hotels():
    """A table of every kind of column, as a dict of lists with None for NULL."""
    return {
        "name": ["Aurora", "Bristol", None, "Dronning", "Eidsvoll"],
        "price": [120.0, 80.0, 95.0, 150.0, 80.0],
        "rating": [4.5, 3.9, 4.2, 4.4, None],
        "rooms": [10, 250, 31, 4, 99],
        "open": [True, False, True, None, True],
    }
