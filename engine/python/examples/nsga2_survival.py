"""NSGA-II in pymoo with SkyRank's sorting, which changes no answer, and with its survival."""
# Needs: pymoo

import numpy
import skyrank
import skyrank.pymoo
from pymoo.algorithms.moo.nsga2 import NSGA2, RankAndCrowding
from pymoo.optimize import minimize
from pymoo.problems import get_problem


def optimize(survival):
    algorithm = NSGA2(pop_size=60, survival=survival)
    return minimize(get_problem("zdt1"), algorithm, ("n_gen", 20), seed=1).F


theirs = optimize(RankAndCrowding())
ours = optimize(RankAndCrowding(nds=skyrank.pymoo.NonDominatedSorting()))
print(f"{len(ours)} points, the same as with pymoo's own sorting:", numpy.allclose(numpy.sort(ours, 0), numpy.sort(theirs, 0)))
both = optimize(skyrank.pymoo.RankAndCrowding())
print(f"hypervolume {skyrank.hypervolume(both, [2, 6]):.2f}, with pymoo's survival {skyrank.hypervolume(theirs, [2, 6]):.2f}")
