"""The selection of Optuna's NSGAIISampler.

>>> import optuna, skyrank.optuna                                                        # doctest: +SKIP
>>> selection = skyrank.optuna.EliteSelection(population_size=50)                        # doctest: +SKIP
>>> sampler = optuna.samplers.NSGAIISampler(                                             # doctest: +SKIP
...     population_size=50, elite_population_selection_strategy=selection)
"""

from __future__ import annotations

import math
from typing import Any

from ._errors import DataError
from ._arrays.indicators import nsga2_survival


class EliteSelection:
    """Selects the trials that are parents of the next generation, for `elite_population_selection_strategy`."""

    def __init__(self, *, population_size: int) -> None:
        """Makes a selection of as many trials as the sampler's `population_size`."""
        if population_size < 2:
            raise DataError(f"the population has 2 or more trials, not {population_size}")
        self._size = population_size

    def __call__(self, study: Any, population: list[Any]) -> list[Any]:
        """Returns the trials of lower Pareto rank, then of larger crowding distance, then the first ones.

        Trials that break constraints come after all others, by the sum of their violations. Those of unknown constraints come
        last, if others have some.
        """
        if len(population) == 0:
            return []
        violations = [_violation(trial) for trial in population]
        known = [violation for violation in violations if violation is not None]
        constraints = None
        if known:
            constraints = [[math.inf if violation is None else violation] for violation in violations]
        positions = nsga2_survival(
            [trial.values for trial in population],
            min(self._size, len(population)),
            constraints,
            maximise=[direction.name == "MAXIMIZE" for direction in study.directions],
        )
        return [population[position] for position in positions]


def _violation(trial: Any) -> float | None:
    """Returns the sum of a trial's violations, or None where it has no constraints."""
    constraints = getattr(trial, "constraints", None)  # a dict from Optuna 5 on
    if constraints is None:
        constraints = trial.system_attrs.get("constraints") or ()
    values = list(constraints.values() if isinstance(constraints, dict) else constraints)
    if not values:
        return None
    # NaN is passed on, for the error about it.
    return float(sum(value for value in values if not value <= 0))
