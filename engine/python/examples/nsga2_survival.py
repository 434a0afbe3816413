"""NSGA-II in pymoo with SkyRank's Pareto ranks: only the sorting of its survival changes."""
# Needs: pymoo

import numpy
import skyrank
from pymoo.algorithms.moo.nsga2 import NSGA2, RankAndCrowding
from pymoo.optimize import minimize
from pymoo.problems import get_problem


class SkyRankSorting:
    """Non-dominated sorting, with the interface of pymoo's own."""

    def do(self, F, n_stop_if_ranked=None, **options):  # noqa: N803  pymoo's name
        """Returns the fronts as arrays of row ids, best first, until `n_stop_if_ranked` rows are in one."""
        ranks = skyrank.rank(F)
        fronts = []
        ranked = 0
        for rank in range(int(ranks.max()) + 1):
            fronts.append(numpy.flatnonzero(ranks == rank))
            ranked += len(fronts[-1])
            if n_stop_if_ranked is not None and ranked >= n_stop_if_ranked:
                break
        return fronts


def optimize(survival):
    algorithm = NSGA2(pop_size=60, survival=survival)
    return minimize(get_problem("zdt1"), algorithm, ("n_gen", 20), seed=1).F


theirs = optimize(RankAndCrowding())
ours = optimize(RankAndCrowding(nds=SkyRankSorting()))
print(f"{len(ours)} points, the same as with pymoo's own sorting:", numpy.allclose(numpy.sort(ours, 0), numpy.sort(theirs, 0)))
