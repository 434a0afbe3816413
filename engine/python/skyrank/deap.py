"""The selection of NSGA-II for DEAP.

>>> import skyrank.deap                                      # doctest: +SKIP
>>> toolbox.register("select", skyrank.deap.selNSGA2)        # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from ._errors import DataError
from ._functions import rank
from ._arrays.indicators import crowding, nsga2_survival


def selNSGA2(individuals: Any, k: int, nd: str = "standard") -> list[Any]:  # noqa: N802  DEAP's name
    """Selects k individuals as `deap.tools.selNSGA2` does: by Pareto rank, then by crowding distance.

    Each individual gets its crowding distance as `fitness.crowding_dist`, which `selTournamentDCD` reads. Those that tie for
    the last place are taken in their order. DEAP selects the same individuals but for such ties, in another order.

    Args:
        individuals: Individuals with a fitness.
        k: Number of individuals to select; all if there are fewer.
        nd: Algorithm of DEAP's sorting, which changes nothing.

    Returns:
        The selected individuals, the best first.

    Raises:
        DataError: An individual has no fitness yet.
    """
    import numpy

    if len(individuals) == 0 or k <= 0:
        return []
    if not all(individual.fitness.valid for individual in individuals):
        raise DataError("an individual has no fitness; evaluate all of them before the selection")
    # Weighted values are maximised, whatever the direction of an objective.
    values = -numpy.array([individual.fitness.wvalues for individual in individuals], dtype="float64")
    for individual, distance in zip(individuals, crowding(values) / values.shape[1]):
        individual.fitness.crowding_dist = float(distance)
    return [individuals[position] for position in nsga2_survival(values, min(k, len(individuals)))]


def sortNondominated(individuals: Any, k: int, first_front_only: bool = False) -> list[list[Any]]:  # noqa: N802
    """Returns the fronts of individuals as `deap.tools.sortNondominated` does, until k of them have a front.

    Args:
        individuals: Individuals with a fitness.
        k: Number of individuals that need a front.
        first_front_only: Returns the first front alone.
    """
    import numpy

    if k == 0 or len(individuals) == 0:
        return []
    values = -numpy.array([individual.fitness.wvalues for individual in individuals], dtype="float64")
    fronts: list[list[Any]] = []
    sorted_individuals = 0
    ranks = rank(values)
    for front in range(int(ranks.max()) + 1):
        fronts.append([individuals[position] for position in numpy.flatnonzero(ranks == front)])
        sorted_individuals += len(fronts[-1])
        if first_front_only or sorted_individuals >= k:
            break
    return fronts
