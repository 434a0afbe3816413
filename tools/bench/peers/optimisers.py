#!/usr/bin/env python3
"""NSGA-II of pymoo, DEAP and Optuna with their own parts and with SkyRank's: seconds of the CPU, and the fronts that come.

A run is a whole optimisation of ZDT1 (30 variables, two objectives) from the same seed. Runs with and without SkyRank take
turns, and the median of each counts. SkyRank's sorting in pymoo changes no answer, so the fronts of the last generations are
compared. The other parts give survivors in another order, which makes the next children other ones: for them a further run with
the library's own part asks both at each generation, and counts how often the survivors have the same values; the hypervolumes of
the last fronts up to (2, 6) are shown too.

  PYTHONPATH=build/release/python .deps/python/bin/python tools/bench/peers/optimisers.py
"""

import argparse
import functools
import gc
import random
import statistics
import time
import warnings

import numpy
import skyrank

VARIABLES = 30


def objectives(x):
    """Returns the values of ZDT1 for rows of variables in [0, 1]."""
    first = x[:, 0]
    g = 1 + 9 * x[:, 1:].sum(axis=1) / (VARIABLES - 1)
    return numpy.column_stack([first, g * (1 - numpy.sqrt(first / g))])


def pymoo_run(generations, size, survival):
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem
    from pymoo.optimize import minimize

    class Zdt1(Problem):
        def __init__(self):
            super().__init__(n_var=VARIABLES, n_obj=2, xl=0.0, xu=1.0)

        def _evaluate(self, x, out, *args, **kwargs):
            out["F"] = objectives(x)

    return minimize(Zdt1(), NSGA2(pop_size=size, survival=survival), ("n_gen", generations), seed=1).F


def pymoo_parts(agreement):
    import skyrank.pymoo
    from pymoo.algorithms.moo.nsga2 import RankAndCrowding

    class Both(RankAndCrowding):
        def do(self, problem, pop, *args, n_survive=None, **options):
            ours = skyrank.pymoo.RankAndCrowding().do(problem, pop, n_survive=n_survive, return_indices=True)
            values = pop.get("F")[ours]
            theirs = super().do(problem, pop, *args, n_survive=n_survive, **options)
            agreement.count(values, theirs.get("F"))
            return theirs

    yield "sorting", RankAndCrowding, lambda: RankAndCrowding(nds=skyrank.pymoo.NonDominatedSorting()), None
    yield "survival", RankAndCrowding, skyrank.pymoo.RankAndCrowding, Both


def deap_run(generations, size, select):
    from deap import base, tools

    class Fitness(base.Fitness):
        weights = (-1.0, -1.0)

    class Individual(list):
        def __init__(self, values):
            super().__init__(values)
            self.fitness = Fitness()

    def evaluate(individuals):
        for individual, values in zip(individuals, objectives(numpy.array(individuals))):
            individual.fitness.values = tuple(values)

    random.seed(1)
    population = [Individual(random.random() for _ in range(VARIABLES)) for _ in range(size)]
    evaluate(population)
    population = select(population, size)
    bounds = {"low": 0.0, "up": 1.0, "eta": 20.0}
    for _ in range(generations):
        children = []
        parents = tools.selTournamentDCD(population, size)
        for one, other in zip(parents[::2], parents[1::2]):
            one, other = Individual(one), Individual(other)
            if random.random() <= 0.9:
                tools.cxSimulatedBinaryBounded(one, other, **bounds)
            children += [child for pair in (one, other) for child in tools.mutPolynomialBounded(pair, indpb=1 / VARIABLES, **bounds)]
        evaluate(children)
        population = select(population + children, size)
    return numpy.array([individual.fitness.values for individual in population])


def deap_parts(agreement):
    import skyrank.deap
    from deap import tools

    def both(individuals, k):
        ours = skyrank.deap.selNSGA2(individuals, k)
        theirs = tools.selNSGA2(individuals, k)
        agreement.count([one.fitness.values for one in ours], [one.fitness.values for one in theirs])
        return theirs

    yield "selection", lambda: tools.selNSGA2, lambda: skyrank.deap.selNSGA2, lambda: both


def optuna_run(generations, size, strategy):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.NSGAIISampler(population_size=size, seed=1, elite_population_selection_strategy=strategy)
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)

    def objective(trial):
        x = numpy.array([[trial.suggest_float(f"x{index}", 0, 1) for index in range(VARIABLES)]])
        return tuple(objectives(x)[0])

    study.optimize(objective, n_trials=generations * size)
    return numpy.array([trial.values for trial in study.best_trials])


def optuna_parts(agreement, size):
    import skyrank.optuna
    from optuna.samplers.nsgaii._elite_population_selection_strategy import NSGAIIElitePopulationSelectionStrategy

    def both(study, population):
        ours = skyrank.optuna.EliteSelection(population_size=size)(study, list(population))
        theirs = NSGAIIElitePopulationSelectionStrategy(population_size=size)(study, list(population))
        agreement.count([trial.values for trial in ours], [trial.values for trial in theirs])
        return theirs

    yield "selection", lambda: None, lambda: skyrank.optuna.EliteSelection(population_size=size), lambda: both


class Agreement:
    """Counts selections, and those in which two parts have survivors of the same values."""

    def __init__(self):
        self.all = self.same = 0

    def count(self, ours, theirs):
        self.all += 1
        self.same += sorted(map(tuple, ours)) == sorted(map(tuple, theirs))


def measure(run, makes, rounds):
    """Returns the seconds of the CPU and the front of each way to run; `makes` make the parts that each takes."""
    seconds = [[] for _ in makes]
    fronts = [None] * len(makes)
    order = list(enumerate(makes))
    for _ in range(rounds):
        for place, make in order:
            gc.collect()
            start = time.process_time()
            fronts[place] = run(make())
            seconds[place].append(time.process_time() - start)
        order.reverse()
    return [statistics.median(times) for times in seconds], fronts


def sorted_rows(front):
    front = numpy.unique(front, axis=0)
    return front[skyrank.is_nondominated(front)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--generations", type=int, default=500)
    parser.add_argument("--population", type=int, default=100, help="a multiple of 4")
    parser.add_argument("--optuna-population", type=int, default=20, help="whose trials are kept, and looked at again and again")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--only", choices=["pymoo", "deap", "optuna"])
    options = parser.parse_args()
    libraries = {
        "pymoo": (pymoo_run, pymoo_parts, options.population),
        "deap": (deap_run, deap_parts, options.population),
        "optuna": (optuna_run, lambda agreement: optuna_parts(agreement, size), options.optuna_population),
    }
    print(f"{'library':8} {'part':10} {'size':>4} {'theirs':>9} {'ours':>9} {'ratio':>6}  answers")
    for name, (run, parts, size) in libraries.items():
        if options.only not in (None, name):
            continue
        agreement = Agreement()
        for part, theirs, ours, both in parts(agreement):
            runs = functools.partial(run, options.generations, size)
            seconds, fronts = measure(runs, (theirs, ours), options.rounds)
            fronts = [sorted_rows(front) for front in fronts]
            if both is None:
                found = "last fronts " + ("the same" if numpy.array_equal(*fronts) else "DIFFER")
            else:
                runs(both())
                volumes = [f"{skyrank.hypervolume(front, [2, 6]):.4f}" for front in fronts]
                found = f"{agreement.same} of {agreement.all} selections the same; hypervolumes {' and '.join(volumes)}"
            ratio = seconds[0] / seconds[1]
            print(f"{name:8} {part:10} {size:4} {seconds[0]:7.2f} s {seconds[1]:7.2f} s {ratio:6.2f}  {found}", flush=True)


if __name__ == "__main__":
    main()
