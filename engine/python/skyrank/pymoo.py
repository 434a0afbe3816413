"""Sorting and survival for pymoo's algorithms.

>>> from pymoo.algorithms.moo.nsga2 import NSGA2             # doctest: +SKIP
>>> import skyrank.pymoo                                     # doctest: +SKIP
>>> NSGA2(survival=skyrank.pymoo.RankAndCrowding())          # doctest: +SKIP
"""

from __future__ import annotations

import sys
from typing import Any

from ._functions import rank
from ._arrays.indicators import crowding, nsga2_survival


class NonDominatedSorting:
    """Sorts by Pareto ranks, with the interface of `pymoo.util.nds.non_dominated_sorting.NonDominatedSorting`."""

    def do(
        self,
        F: Any,  # noqa: N803  pymoo's name
        return_rank: bool = False,
        only_non_dominated_front: bool = False,
        n_stop_if_ranked: int | None = None,
        n_fronts: int | None = None,
        **options: Any,
    ) -> Any:
        """Returns the fronts of points as arrays of positions, the best first.

        Args:
            F: Values of the objectives, of shape (points, objectives).
            return_rank: Returns the fronts and the rank of each point; points of no front returned have a large one.
            only_non_dominated_front: Returns the first front alone.
            n_stop_if_ranked: Leaves out the fronts after the one with which so many points have a front.
            n_fronts: Returns so many fronts at most.
            options: Other arguments of pymoo, which change nothing.
        """
        import numpy

        values = numpy.asarray(F, dtype="float64")
        ranks = rank(values) if len(values) else numpy.empty(0, "int32")
        order = numpy.argsort(ranks, kind="stable")
        ends = numpy.cumsum(numpy.bincount(ranks)) if len(values) else numpy.empty(0, "int64")
        count = len(ends)
        if n_stop_if_ranked is not None:
            count = min(count, int(numpy.searchsorted(ends, n_stop_if_ranked)) + 1)
        if n_fronts is not None:
            count = min(count, n_fronts)
        if only_non_dominated_front:
            return order[: ends[0]] if len(ends) else order
        fronts = numpy.split(order, ends[:count])[:count]
        if not return_rank:
            return fronts
        return fronts, numpy.where(ranks < count, ranks.astype("int64"), sys.maxsize)


class RankAndCrowding:
    """Survival of NSGA-II, with the interface of `pymoo.operators.survival.rank_and_crowding.RankAndCrowding`.

    Points that tie for the last place survive in the order of the population; pymoo draws them.
    """

    def do(
        self,
        problem: Any,
        pop: Any,
        *args: Any,
        n_survive: int | None = None,
        return_indices: bool = False,
        **options: Any,
    ) -> Any:
        """Returns the individuals that survive, the best first, with their rank and crowding distance.

        Args:
            problem: The problem of pymoo. If it has constraints, individuals compete by constraint domination.
            pop: The population.
            args, options: Other arguments of pymoo, which change nothing.
            n_survive: Number of survivors; all, in their order, without it.
            return_indices: Returns their positions instead.
        """
        import numpy

        if len(pop) == 0:
            return [] if return_indices else pop
        count = len(pop) if n_survive is None else min(n_survive, len(pop))
        objectives = numpy.asarray(pop.get("F"), dtype="float64")
        violations = numpy.zeros(len(pop))
        if problem is not None and problem.has_constraints():
            violations = numpy.maximum(numpy.asarray(pop.get("CV"), dtype="float64").reshape(len(pop), -1).sum(axis=1), 0)
        survivors = nsga2_survival(objectives, count, violations[:, None])
        ranks, distances = _ranks_and_distances(objectives, violations)
        for position in survivors:
            pop[position].set("rank", int(ranks[position]))
            pop[position].set("crowding", float(distances[position]))
        return survivors.tolist() if return_indices else pop[survivors]


def _ranks_and_distances(objectives: Any, violations: Any) -> tuple[Any, Any]:
    """Returns the rank of each point by constraint domination, and the crowding distance of those without violation."""
    import numpy

    feasible = violations == 0
    ranks = numpy.zeros(len(objectives), "int64")
    distances = numpy.zeros(len(objectives))
    if feasible.any():
        ranks[feasible] = rank(objectives[feasible])
        distances[feasible] = crowding(objectives[feasible])
    after = ranks.max() + 1 if feasible.any() else 0
    ranks[~feasible] = after + numpy.unique(violations[~feasible], return_inverse=True)[1].reshape(-1)
    return ranks, distances
