"""Adapters for pymoo, DEAP and Optuna, against what these libraries do themselves."""

import math
import warnings

import numpy
import pytest
import skyrank
import skyrank.deap
import skyrank.optuna
import skyrank.pymoo


def places(values, positions):
    """Returns the ranks and crowding distances of points, sorted: those that tie for the last place may differ."""
    ranks, crowding = skyrank.rank(values), skyrank.crowding(values)
    return sorted((int(ranks[position]), round(float(crowding[position]), 9)) for position in positions)


def points(seed, rows=60, columns=3):
    return numpy.random.default_rng(seed).random((rows, columns))


class TestPymoo:
    @pytest.fixture(autouse=True)
    def _installed(self):
        pytest.importorskip("pymoo")

    @pytest.mark.parametrize("seed", range(8))
    def test_sorting(self, seed):
        from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

        values = numpy.round(points(seed, columns=1 + seed % 4) * (3 + seed))
        for words in [{}, {"n_stop_if_ranked": 20}, {"n_fronts": 2}, {"n_stop_if_ranked": 60}, {"n_stop_if_ranked": 0}]:
            ours, ranks = skyrank.pymoo.NonDominatedSorting().do(values, return_rank=True, **words)
            theirs, expected = NonDominatedSorting().do(values, return_rank=True, **words)
            assert [front.tolist() for front in ours] == [front.tolist() for front in theirs]
            assert ranks.tolist() == expected.tolist()
        first = skyrank.pymoo.NonDominatedSorting().do(values, only_non_dominated_front=True)
        assert first.tolist() == NonDominatedSorting().do(values, only_non_dominated_front=True).tolist()

    def test_sorting_of_no_points(self):
        none = numpy.empty((0, 2))
        assert skyrank.pymoo.NonDominatedSorting().do(none) == []
        assert skyrank.pymoo.NonDominatedSorting().do(none, only_non_dominated_front=True).tolist() == []

    @staticmethod
    def population(values, violations=None):
        from pymoo.core.population import Population

        pop = Population.new("F", values)
        pop.set("index", numpy.arange(len(values)))
        if violations is not None:
            # pymoo derives CV and feas from G.
            pop.set("G", violations[:, None])
            pop.set("H", numpy.zeros((len(values), 0)))
            for individual in pop:
                individual.evaluated = {"F", "G", "H"}
        return pop

    @pytest.mark.parametrize("constrained", [False, True])
    @pytest.mark.parametrize("seed", range(6))
    def test_survival(self, seed, constrained):
        from pymoo.core.problem import Problem
        from pymoo.operators.survival.rank_and_crowding import RankAndCrowding

        values = points(seed, columns=2 + seed % 2)
        violations = numpy.random.default_rng(seed).normal(size=60) if constrained else None
        problem = Problem(n_var=1, n_obj=values.shape[1], n_ieq_constr=int(constrained))
        ours = skyrank.pymoo.RankAndCrowding().do(problem, self.population(values, violations), n_survive=35)
        theirs = RankAndCrowding().do(problem, self.population(values, violations), n_survive=35)
        if constrained:
            feasible = {position for position in range(60) if violations[position] <= 0}
            assert set(ours.get("index")) - feasible == set(theirs.get("index")) - feasible
            assert feasible <= set(ours.get("index")) or len(feasible) > 35
        else:
            assert places(values, ours.get("index")) == places(values, theirs.get("index"))
        rank_of = dict(zip(theirs.get("index"), theirs.get("rank")))
        crowding_of = dict(zip(theirs.get("index"), theirs.get("crowding")))
        for individual in ours:
            expected = rank_of.get(individual.get("index"))
            if expected is None:  # pymoo gives none to infeasible individuals
                continue
            assert individual.get("rank") == expected
            crowding = crowding_of[individual.get("index")]
            if math.isfinite(crowding) and math.isfinite(individual.get("crowding")):
                numpy.testing.assert_allclose(individual.get("crowding") / values.shape[1], crowding, rtol=1e-9)
        positions = skyrank.pymoo.RankAndCrowding().do(
            problem, self.population(values, violations), n_survive=35, return_indices=True
        )
        assert positions == ours.get("index").tolist()

    @pytest.mark.parametrize("name", ["zdt1", "bnh"])
    def test_nsga2(self, name):
        from pymoo.algorithms.moo.nsga2 import NSGA2, RankAndCrowding
        from pymoo.optimize import minimize
        from pymoo.problems import get_problem

        def front(survival):
            return minimize(get_problem(name), NSGA2(pop_size=40, survival=survival), ("n_gen", 200), seed=1).F

        theirs, ours = front(RankAndCrowding()), front(skyrank.pymoo.RankAndCrowding())
        sorting = front(RankAndCrowding(nds=skyrank.pymoo.NonDominatedSorting()))
        assert sorting.tolist() == theirs.tolist()
        reference = {"zdt1": [2, 3], "bnh": [200, 60]}[name]
        volumes = [skyrank.hypervolume(found, reference) for found in (ours, theirs)]
        assert volumes[0] > 0.99 * volumes[1]


class TestDeap:
    @pytest.fixture(autouse=True)
    def _installed(self):
        pytest.importorskip("deap")

    @staticmethod
    def individuals(values, weights):
        from deap import base

        fitness = type("Fitness", (base.Fitness,), {"weights": weights})

        class Individual(list):
            pass

        made = []
        for position, row in enumerate(values):
            individual = Individual([position])
            individual.fitness = fitness(tuple(row))
            made.append(individual)
        return made

    @pytest.mark.parametrize("seed", range(8))
    def test_selection(self, seed):
        from deap import tools

        weights = tuple(numpy.random.default_rng(seed).choice([-1.0, 1.0, 2.0], 3))
        values = points(seed)
        ours = skyrank.deap.selNSGA2(self.individuals(values, weights), 33)
        theirs = tools.selNSGA2(self.individuals(values, weights), 33)
        minimised = -values * weights
        assert places(minimised, [one[0] for one in ours]) == places(minimised, [one[0] for one in theirs])
        distances = {individual[0]: individual.fitness.crowding_dist for individual in theirs}
        shared = [individual for individual in ours if individual[0] in distances]
        assert len(shared) > 25
        found = [individual.fitness.crowding_dist for individual in shared]
        numpy.testing.assert_allclose(found, [distances[individual[0]] for individual in shared], rtol=1e-9)
        tools.selTournamentDCD(ours[:32], 16)

    @pytest.mark.parametrize("seed", range(4))
    def test_sorting(self, seed):
        from deap import tools

        values = numpy.round(points(seed) * (2 + seed))
        for k, first_only in [(60, False), (20, False), (60, True), (0, False)]:
            ours = skyrank.deap.sortNondominated(self.individuals(values, (-1.0, 1.0, -1.0)), k, first_only)
            theirs = tools.sortNondominated(self.individuals(values, (-1.0, 1.0, -1.0)), k, first_only)
            assert [sorted(front) for front in ours] == [sorted(front) for front in theirs]

    def test_few_and_none(self):
        assert skyrank.deap.selNSGA2([], 3) == []
        made = self.individuals(points(1, rows=4), (-1.0, -1.0, -1.0))
        assert skyrank.deap.selNSGA2(made, 0) == []
        assert len(skyrank.deap.selNSGA2(made, 9)) == 4
        del made[2].fitness.values
        with pytest.raises(skyrank.DataError, match="an individual has no fitness"):
            skyrank.deap.selNSGA2(made, 2)


class TestOptuna:
    @pytest.fixture(autouse=True)
    def _installed(self):
        self.optuna = pytest.importorskip("optuna")
        self.optuna.logging.set_verbosity(self.optuna.logging.WARNING)

    def strategy(self, size):
        from optuna.samplers.nsgaii._elite_population_selection_strategy import NSGAIIElitePopulationSelectionStrategy

        return NSGAIIElitePopulationSelectionStrategy(population_size=size)

    @pytest.mark.parametrize("constrained", [False, True])
    @pytest.mark.parametrize("seed", range(5))
    def test_selection(self, seed, constrained):
        random = numpy.random.default_rng(seed)
        values = points(seed, columns=2)
        if seed == 4:
            values[:5, 0] = math.inf
        study = self.optuna.create_study(directions=["minimize", "maximize"])
        for row in values:
            attributes = {"constraints": random.normal(size=2).tolist()} if constrained else {}
            study.add_trial(self.optuna.trial.create_trial(values=row.tolist(), system_attrs=attributes))
        trials = study.trials
        ours = skyrank.optuna.EliteSelection(population_size=25)(study, list(trials))
        theirs = self.strategy(25)(study, list(trials))
        assert sorted(trial.number for trial in ours) == sorted(trial.number for trial in theirs)

    def test_sampler(self):
        def objective(trial):
            x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(3)]
            return x[0], 1 + sum(x[1:]) - math.sqrt(x[0])

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sampler = self.optuna.samplers.NSGAIISampler(
                population_size=20,
                seed=1,
                elite_population_selection_strategy=skyrank.optuna.EliteSelection(population_size=20),
            )
        study = self.optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
        study.optimize(objective, n_trials=200)
        front = numpy.array([trial.values for trial in study.best_trials])
        first = numpy.array([trial.values for trial in study.trials[:20]])
        assert skyrank.hypervolume(front, 3) > skyrank.hypervolume(first, 3)

    def test_errors(self):
        with pytest.raises(skyrank.DataError, match="the population has 2 or more trials, not 1"):
            skyrank.optuna.EliteSelection(population_size=1)
        assert skyrank.optuna.EliteSelection(population_size=2)(None, []) == []
