"""Archives of optimisers."""

import math

import numpy
import pytest
import skyrank
from skyrank import Archive


def test_points_come_and_go():
    archive = Archive(low=0, high=[1])
    assert repr(archive) == "Archive(0 points of 0 objectives)"
    assert archive.points.shape == (0, 0) and archive.hypervolume(5) == 0
    assert archive.add((2.0, 1.0)) is True
    assert archive.add([3, 1]) is False
    assert archive.add(numpy.array([1.0, 1.0])) is True
    mask = archive.add(numpy.array([[0.0, 0.0], [5.0, 9.0], [6.0, 9.0]]))
    assert mask.dtype == bool and mask.tolist() == [True, True, False]
    assert archive.points.tolist() == [[1, 1], [0, 0], [5, 9]]
    assert archive.ids.dtype == "int64" and archive.ids.tolist() == [2, 3, 4]
    assert (len(archive), archive.next_id) == (3, 6)
    assert archive.hypervolume([6, -1]) == skyrank.hypervolume(archive.points, [6, -1], maximise=[False, True])


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: rows,
        lambda rows: rows.tolist(),
        lambda rows: [tuple(row) for row in rows.tolist()],
        lambda rows: numpy.asfortranarray(rows),
        lambda rows: rows.astype("float32"),
        lambda rows: rows.astype("int64"),
        lambda rows: rows.astype("int8"),
        lambda rows: rows.astype(">f8"),
        lambda rows: numpy.repeat(rows, 2, axis=0)[::2],
    ],
)
def test_many_points_in_any_form(make):
    rows = numpy.random.default_rng(1).integers(0, 50, (200, 3)).astype("float64")
    expected = skyrank.is_nondominated(rows)
    archive = Archive()
    assert archive.add(make(rows)).tolist() == expected.tolist()
    assert archive.points.tolist() == rows[expected].tolist()


@pytest.mark.parametrize(
    "make",
    [
        tuple,
        list,
        numpy.array,
        lambda row: numpy.array(row, "float32"),
        lambda row: numpy.array(row, "int16"),
        lambda row: numpy.repeat(numpy.array(row, "float64"), 3)[::3],
        lambda row: tuple(numpy.array(row, "float64")),
        lambda row: tuple(numpy.array(row, "float32")),
    ],
)
def test_one_point_in_any_form(make):
    archive = Archive()
    for row, kept in [((1, 4), True), ((1, 4), False), ((0, 5), True), ((2, 5), False)]:
        assert archive.add(make(row)) is kept
    assert archive.points.tolist() == [[1, 4], [0, 5]]


def test_random_points_agree_with_a_filter():
    random = numpy.random.default_rng(3)
    for seed in range(20):
        dims = 1 + seed % 5
        high = [i for i in range(dims) if random.random() < 0.5]
        low = [i for i in range(dims) if i not in high]
        archive, seen = Archive(low, high), numpy.empty((0, dims))
        flags = [i in high for i in range(dims)]
        for _ in range(12):
            rows = random.integers(0, 8, (int(random.integers(1, 9)), dims)).astype("float64")
            rows[random.random(rows.shape) < 0.05] = random.choice([math.inf, -math.inf, math.nan])
            before = len(seen)
            seen = numpy.concatenate([seen, rows])
            values = numpy.where(numpy.isnan(seen), numpy.where(flags, -math.inf, math.inf), seen)
            # NaN is worse than infinity, which a second column for each objective says.
            both = numpy.concatenate([numpy.where(flags, -values, values), numpy.isnan(seen)], axis=1)
            expected = numpy.flatnonzero(skyrank.is_nondominated(both))
            mask = archive.add(rows)
            assert archive.ids.tolist() == expected.tolist()
            assert mask.tolist() == numpy.isin(numpy.arange(before, len(seen)), expected).tolist()


def test_capacity():
    rows = [[0, 4.9], [4, 0], [1, 2], [2, 1]]
    assert Archive(capacity=3).add(rows).tolist() == [True, True, True, False]
    by_volume = Archive(capacity=3, by="contribution", reference=[5, 5])
    assert by_volume.add(rows).tolist() == [False, True, True, True]


def test_steps():
    archive = Archive(step=[10, None])
    assert [archive.add(row) for row in [(12, 15), (15, 15), (11, 14), (19, 13)]] == [True, False, True, True]
    assert Archive(step="10%").add([[1.0, 8.0], [1.05, 8.0], [8.0, 1.0]]).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"low": [0, 1], "high": 1}, "objective 1 is `low` and `high`"),
        ({"low": [0, 2]}, "without a gap, not \\[0, 2\\]"),
        ({"low": "price"}, "by its index, a whole number, not by a str"),
        ({"capacity": 0}, "1 or more points, not 0"),
        ({"capacity": "many"}, "'capacity' is a whole number, not a str"),
        ({"capacity": 1, "by": "volume"}, "'crowding' or 'contribution', not 'volume'"),
        ({"capacity": 1, "by": "contribution"}, "needs a reference"),
        ({"capacity": 1, "reference": 1}, "needs a reference, and a reference needs it"),
        ({"by": "contribution", "reference": 1}, "with a capacity alone"),
        ({"step": 0}, "above 0"),
        ({"step": "7d"}, "no times"),
    ],
)
def test_archives_that_are_none(words, message):
    with pytest.raises(skyrank.QueryError, match=message):
        Archive(**words)


def test_points_that_are_none():
    archive = Archive(low=[0, 1])
    for points in [(1, 2, 3), [[1, 2, 3]], numpy.ones(3), numpy.ones((1, 2, 2)), ("a", "b"), 5, (), tuple(range(70))]:
        with pytest.raises(skyrank.DataError):
            archive.add(points)
    with pytest.raises(skyrank.DataError, match="contributions are of finite values, not nan"):
        Archive(capacity=1, by="contribution", reference=1).add((1, math.nan))
    assert (len(archive), archive.next_id) == (0, 0)
    assert archive.add(numpy.empty((0, 2))).tolist() == []


def test_callback_of_pymoo():
    pytest.importorskip("pymoo")
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.optimize import minimize
    from pymoo.problems import get_problem

    archive, seen = Archive(), []

    def remember(algorithm):
        archive.add(algorithm.pop.get("F"))
        seen.append(algorithm.pop.get("F"))

    minimize(get_problem("zdt1"), NSGA2(pop_size=20), ("n_gen", 10), seed=1, callback=remember)
    values = numpy.concatenate(seen)
    assert archive.next_id == len(values) == 200
    assert archive.points.tolist() == values[skyrank.is_nondominated(values)].tolist()


def test_callback_of_optuna():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=1))
    archive = Archive(low=0, high=1)

    def objectives(trial):
        x = trial.suggest_float("x", 0, 4)
        return x * x, -((x - 2) ** 2)

    study.optimize(objectives, n_trials=40, callbacks=[lambda study, trial: archive.add(trial.values)])
    assert archive.ids.tolist() == sorted(trial.number for trial in study.best_trials)
