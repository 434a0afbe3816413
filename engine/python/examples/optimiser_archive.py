"""An archive of all points that NSGA-II in pymoo sees: its last population forgets some of the best."""
# Needs: pymoo

import skyrank
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.optimize import minimize
from pymoo.problems import get_problem

archive = skyrank.Archive()


def remember(algorithm):
    archive.add(algorithm.pop.get("F"))


last = minimize(get_problem("dtlz2"), NSGA2(pop_size=60), ("n_gen", 40), seed=1, callback=remember).F
print(f"of {archive.next_id} points {len(archive)} are kept, and {len(last)} are in the last front")
print(f"hypervolume {archive.hypervolume(1.2):.3f}, of the last front {skyrank.hypervolume(last, 1.2):.3f}")
