"""Indicators and survival: against moocore where it is installed, stored values, and definitions."""

import importlib.util
import itertools
import math
import os
import signal
import subprocess
import sys
import threading
import time

import capsules
import numpy
import pytest
import skyrank

# A front, another one, and what moocore 0.3.2 says of them.
FRONT = [[3.5, 5.5], [3.6, 4.1], [4.1, 3.2], [5.5, 1.5]]
LINE = [[1, 6], [2, 5], [3, 4], [4, 3], [5, 2], [6, 1]]


def sphere(rows, columns, seed=1):
    points = numpy.abs(numpy.random.default_rng(seed).normal(size=(rows, columns)))
    return points / numpy.linalg.norm(points, axis=1)[:, None]


def few_values(rows, columns, seed=1, values=4):
    return numpy.random.default_rng(seed).integers(0, values, (rows, columns)).astype(float)


def dominates(a, b):
    return (a <= b).all() and (a < b).any()


def test_values_that_moocore_gives():
    numpy.testing.assert_allclose(skyrank.hypervolume(FRONT, [6, 7]), 9.67, rtol=1e-14)
    numpy.testing.assert_allclose(skyrank.hypervolume(FRONT, 0, maximise=True), 23.36, rtol=1e-14)
    four = numpy.array([[1, 4, 2, 3], [2, 2, 3, 2], [3, 1, 1, 4], [4, 3, 4, 1], [2, 3, 1, 3], [3, 3, 3, 3]])
    assert skyrank.hypervolume(four, 5) == 98
    assert skyrank.hypervolume_contributions(four, 5).tolist() == [6, 24, 12, 2, 12, 0]
    assert skyrank.hypervolume(four[:, :3], 5) == 45
    assert skyrank.hypervolume_contributions(four[:, :3], 5).tolist() == [3, 2, 12, 0, 3, 0]
    assert skyrank.hypervolume(FRONT, [6, 0], maximise=[False, True]) == 13.75
    contributions = skyrank.hypervolume_contributions(FRONT, [6, 7])
    numpy.testing.assert_allclose(contributions, [0.15, 0.7, 1.26, 0.85], rtol=1e-14)
    assert skyrank.igd(FRONT, LINE) == 1.0627908666722465
    assert skyrank.igd_plus(FRONT, LINE) == 0.9855036468106652
    assert skyrank.epsilon_additive(FRONT, LINE) == 2.5
    assert skyrank.epsilon_multiplicative(FRONT, LINE) == 3.5
    assert skyrank.is_nondominated([[1, 1], [0, 1], [1, 0], [1, 0]]).tolist() == [False, True, True, False]


@pytest.mark.parametrize("maximise", [False, True, "each"])
@pytest.mark.parametrize("columns", range(2, 9))
def test_like_moocore(columns, maximise):
    moocore = pytest.importorskip("moocore")
    rows = {2: 300, 3: 300, 4: 80, 5: 40, 6: 25, 7: 15, 8: 12}[columns]
    maximise = [j % 2 == 0 for j in range(columns)] if maximise == "each" else maximise
    for points in [sphere(rows, columns), few_values(rows, columns) / 4, few_values(rows, columns, values=20) / 20]:
        others = sphere(50, columns, seed=2) + 0.25
        reference = numpy.full(columns, 0.9)
        close = {"rtol": 1e-9, "atol": 1e-14}
        numpy.testing.assert_allclose(
            skyrank.hypervolume(points, reference, maximise=maximise),
            moocore.hypervolume(points, ref=reference, maximise=maximise),
            **close,
        )
        for ignored in (True, False):
            numpy.testing.assert_allclose(
                skyrank.hypervolume_contributions(points, reference, maximise=maximise, ignore_dominated=ignored),
                moocore.hv_contributions(points, ref=reference, maximise=maximise, ignore_dominated=ignored),
                rtol=1e-9,
                atol=1e-12,
            )
        for ours, theirs in [("igd", "igd"), ("igd_plus", "igd_plus"), ("epsilon_additive", "epsilon_additive")]:
            found = getattr(skyrank, ours)(points, others, maximise=maximise)
            numpy.testing.assert_allclose(found, getattr(moocore, theirs)(points, ref=others, maximise=maximise), **close)
        numpy.testing.assert_allclose(
            skyrank.epsilon_multiplicative(points + 0.1, others, maximise=maximise),
            moocore.epsilon_mult(points + 0.1, ref=others, maximise=maximise),
            **close,
        )
        for weakly in (True, False):
            assert (
                skyrank.is_nondominated(points, maximise=maximise, keep_weakly=weakly)
                == moocore.is_nondominated(points, maximise=maximise, keep_weakly=weakly)
            ).all()
        for words in [{}, {"to_range": [1, 3]}, {"lower": -1, "upper": [2] * columns}, {"to_range": (2, 1), "lower": 0}]:
            numpy.testing.assert_allclose(
                skyrank.normalise(points, maximise=maximise, **words),
                moocore.normalise(points, maximise=maximise, **words),
                **close,
            )


def test_many_points_like_moocore():
    moocore = pytest.importorskip("moocore")
    points = sphere(30_000, 3)
    numpy.testing.assert_allclose(skyrank.hypervolume(points, 1.1), moocore.hypervolume(points, ref=1.1), rtol=1e-9)
    for weakly in (True, False):
        few = few_values(30_000, 3, values=400)
        found = skyrank.is_nondominated(few, keep_weakly=weakly)
        assert (found == moocore.is_nondominated(few, keep_weakly=weakly)).all()
    points = sphere(300, 4)
    numpy.testing.assert_allclose(
        skyrank.hypervolume_contributions(points, 1.1), moocore.hv_contributions(points, ref=1.1), rtol=1e-9, atol=1e-13
    )


def test_what_points_may_be():
    expected = skyrank.hypervolume(FRONT, 7)
    array = numpy.array(FRONT)
    lists = [FRONT, tuple(map(tuple, FRONT)), numpy.asfortranarray(array), array[::-1], array.astype(">f8")]
    assert [skyrank.hypervolume(points, 7) for points in lists] == [expected] * len(lists)
    whole = numpy.array([[5, 5], [4, 6], [2, 7], [7, 4]])
    for dtype in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", ">i4"]:
        assert skyrank.hypervolume(whole.astype(dtype), 10) == 38, dtype
        mask = skyrank.is_nondominated(whole.astype(dtype), maximise=[True, False])
        assert mask.tolist() == [False, False, False, True], dtype
    assert skyrank.hypervolume(numpy.repeat(whole, 2, axis=0)[::2], 10) == 38
    pandas = pytest.importorskip("pandas")
    assert skyrank.hypervolume(pandas.DataFrame(FRONT), 7) == expected
    assert skyrank.hypervolume(pandas.DataFrame(FRONT), pandas.Series([7, 7])) == expected


def test_maximised_integers_do_not_overflow():
    least = numpy.iinfo("int64").min
    points = numpy.array([[least, 0], [least, 1], [0, 0]])
    assert skyrank.is_nondominated(points, maximise=True).tolist() == [False, True, True]
    unsigned = numpy.array([[0, 3], [2**64 - 1, 2]], "uint64")
    assert skyrank.is_nondominated(unsigned, maximise=True).tolist() == [True, True]


def test_no_points():
    none = numpy.empty((0, 2))
    assert skyrank.hypervolume(none, 1) == 0
    assert skyrank.hypervolume_contributions(none, 1).tolist() == []
    for indicator in (skyrank.igd, skyrank.igd_plus, skyrank.epsilon_additive, skyrank.epsilon_multiplicative):
        assert indicator(none, LINE) == math.inf
        with pytest.raises(skyrank.DataError, match="the reference set has no points"):
            indicator(LINE, none)
    assert skyrank.is_nondominated(none).tolist() == []
    assert skyrank.crowding(none).tolist() == []
    assert skyrank.nsga2_survival(none, 0).tolist() == []
    assert skyrank.normalise(none, lower=0, upper=1).shape == (0, 2)
    with pytest.raises(skyrank.DataError, match="`lower` is given where there are no points"):
        skyrank.normalise(none)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: skyrank.hypervolume([1, 2], 3), "points are a matrix of shape .points, objectives., not of 1 dimensions"),
        (lambda: skyrank.hypervolume([], 3), "there are neither points nor objectives"),
        (lambda: skyrank.hypervolume([["a", "b"]], 3), "points cannot be read as an array of numbers"),
        (lambda: skyrank.hypervolume([[1, 2], [3]], 3), "points cannot be read as an array of numbers"),
        (lambda: skyrank.hypervolume(numpy.ones((2, 2), complex), 3), "points are numbers of at most 64 bits"),
        (lambda: skyrank.hypervolume(numpy.ma.masked_array([[1.0, 2.0]], [[True, False]]), 3), "a masked array"),
        (lambda: skyrank.hypervolume([[1, math.nan]], 3), "points have finite values; row 0, column 1 is nan"),
        (lambda: skyrank.hypervolume(numpy.ones((2, 0)), 3), "points have 1 to 64 columns, not 0"),
        (lambda: skyrank.is_nondominated(numpy.ones((3, 0))), "points have 1 to 64 columns, not 0"),
        (lambda: skyrank.is_nondominated(numpy.ones((300, 65))), "points have 1 to 64 columns, not 65"),
        (lambda: skyrank.hypervolume(LINE, [1, 2, 3]), "the reference has one value for all objectives or 2"),
        (lambda: skyrank.hypervolume(LINE, [[1, 2]]), "the reference is one point, not an array of 2 dimensions"),
        (lambda: skyrank.hypervolume(LINE, math.inf), "the reference has finite values, not inf"),
        (lambda: skyrank.hypervolume(LINE, 3, maximise=[True] * 3), "`maximise` has one value for all objectives or 2"),
        (lambda: skyrank.hypervolume(LINE, 3, maximise=[0, 2]), "`maximise` is True or False"),
        (lambda: skyrank.hypervolume(LINE, 3, maximise=[]), "`maximise` has no values"),
        (lambda: skyrank.is_nondominated(LINE, maximise=[True] * 3), "`maximise` has one value for all objectives or 2"),
        (lambda: skyrank.igd(LINE, [[1, 2, 3]]), "the points have 2 columns, and the reference set has 3"),
        (lambda: skyrank.epsilon_multiplicative([[0, 1]], LINE), "have values above 0"),
        (lambda: skyrank.crowding([[1, math.nan]]), "points have no NaN"),
        (lambda: skyrank.nsga2_survival(LINE, 7), "0 to 6 rows can survive, not 7"),
        (lambda: skyrank.nsga2_survival(LINE, 1, [[1]]), "there are constraints of 1 points, and objectives of 6"),
        (lambda: skyrank.nsga2_survival([[1, 2]], 1, [[math.nan]]), "the violation of row 0 is NaN"),
        (lambda: skyrank.normalise(LINE, to_range=[1, 2, 3]), "the range is two values, not 3"),
        (lambda: skyrank.normalise(LINE, lower=[1, 2, 3]), "`lower` is one value for all objectives or 2"),
    ],
)
def test_errors(call, message):
    with pytest.raises(skyrank.DataError, match=message):
        call()


def test_n_is_a_whole_number():
    with pytest.raises(skyrank.QueryError, match="`n` is a whole number, not 1.5"):
        skyrank.nsga2_survival(LINE, 1.5)
    assert len(skyrank.nsga2_survival(LINE, numpy.int64(2))) == 2


def test_normalise_of_equal_values():
    assert skyrank.normalise([[1, 1], [1, 2]], (2, 4)).tolist() == [[2, 2], [2, 4]]
    array = numpy.array(FRONT)
    skyrank.normalise(array)
    assert array.tolist() == FRONT


def expected_crowding(points, ranks):
    crowding = numpy.zeros(len(points))
    for rank, column in itertools.product(set(ranks.tolist()), range(points.shape[1])):
        rows = sorted(numpy.flatnonzero(ranks == rank), key=lambda row: (points[row, column], row))
        values = points[rows, column]
        if values[-1] > values[0]:
            crowding[rows[0]] = crowding[rows[-1]] = math.inf
            for before, row, after in zip(rows, rows[1:], rows[2:]):
                crowding[row] += (points[after, column] - points[before, column]) / (values[-1] - values[0])
    return crowding


def test_crowding():
    for seed in range(60):
        points = few_values(seed, 1 + seed % 4, seed, values=2 + seed % 7)
        expected = expected_crowding(points, skyrank.rank(points)) if len(points) else numpy.empty(0)
        numpy.testing.assert_allclose(skyrank.crowding(points), expected, rtol=1e-14)
        numpy.testing.assert_allclose(skyrank.crowding(-points, maximise=True), expected, rtol=1e-14)


def test_survival():
    """Compares survivors with levels of constraint domination, of which each is what no other row left dominates."""
    for seed in range(120):
        random = numpy.random.default_rng(seed)
        size = 1 + seed % 25
        points = few_values(size, 1 + seed % 3, seed, values=2 + seed % 6)
        constraints = random.integers(-2, 3, (size, 2)).astype(float) if seed % 2 else None
        violations = numpy.zeros(size) if constraints is None else numpy.maximum(constraints, 0).sum(axis=1)

        def better(a, b, violations=violations, points=points):
            if violations[a] > 0 or violations[b] > 0:
                return violations[a] < violations[b]
            return dominates(points[a], points[b])

        ranks = numpy.full(size, -1)
        for rank in range(size):
            left = numpy.flatnonzero(ranks < 0)
            ranks[[row for row in left if not any(better(other, row) for other in left)]] = rank
        crowding = expected_crowding(points, ranks)
        order = sorted(range(size), key=lambda row: (ranks[row], -round(crowding[row], 9), row))
        for n in {0, 1, size // 2, size}:
            assert skyrank.nsga2_survival(points, n, constraints).tolist() == order[:n]


def test_survival_is_the_query():
    points = sphere(150, 3) + few_values(150, 3) / 50
    ranks, crowding = skyrank.rank(points), skyrank.crowding(points)
    order = numpy.lexsort([numpy.arange(150), -crowding, ranks])
    assert skyrank.nsga2_survival(points, 70).tolist() == order[:70].tolist()


def test_from_many_threads():
    points = sphere(150, 5)
    expected = skyrank.hypervolume(points, 1.1)
    found = []
    threads = [threading.Thread(target=lambda: found.append(skyrank.hypervolume(points, 1.1))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 6


def test_after_a_fork():
    code = """if True:
        import os, numpy, skyrank
        points = numpy.abs(numpy.random.default_rng(1).normal(size=(400, 5)))
        volume = skyrank.hypervolume(points, 2)
        child = os.fork()
        if child == 0:
            # The second call is the first of its kind in any of the processes.
            equal = skyrank.hypervolume(points, 2) == volume
            more = skyrank.hypervolume_contributions(points, 2).sum() < volume
            os._exit(0 if equal and more and skyrank.igd(numpy.repeat(points, 40, 0), points) == 0 else 1)
        assert os.waitpid(child, 0)[1] == 0
    """
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_ctrl_c_stops_a_hypervolume():
    points = 1 - sphere(3_000, 9)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        skyrank.hypervolume(points, 1.1)
    assert time.monotonic() - begin < 20


def test_functions_of_a_row_are_those_of_arrays():
    points = numpy.random.default_rng(7).integers(0, 30, (200, 2)).astype(float)
    terms = [skyrank.low("c0"), skyrank.low("c1")]
    every = skyrank.Query().prefer(terms).skyband("all")
    found = skyrank.query(points, every.select("level()", "crowding()", "dominated_by()", "dominates()"))
    assert (found["level()"] == skyrank.rank(points) + 1).all()
    assert (found["crowding()"] == skyrank.crowding(points)).all()
    better = (points[:, None] <= points[None]).all(2) & (points[:, None] < points[None]).any(2)
    assert (found["dominated_by()"] == better.sum(0)).all()
    assert (found["dominates()"] == better.sum(1)).all()

    survivors = skyrank.Query().prefer(terms).at_least(50).rank_by([skyrank.low("level()"), skyrank.high("crowding()")])
    assert (skyrank.query(points, survivors.limit(50)).rows == skyrank.nsga2_survival(points, 50)).all()

    front = skyrank.query(points, skyrank.Query().prefer(terms).select("row", "contribution(31, 31)"))
    volumes = skyrank.hypervolume_contributions(points, [31, 31])
    assert (front["contribution(31, 31)"] == volumes[front.rows]).all()
    assert skyrank.query(points, skyrank.Query().prefer(terms).skyband(3)).rows.tolist() == numpy.flatnonzero(better.sum(0) < 3).tolist()


# ------------------------------------------------------------------------------------------------------------- on GPUs


@pytest.fixture(params=["torch", "cupy", "jax"])
def on_gpu(request):
    """What copies an array to a GPU, and an answer from there. Skips where a library or a GPU is missing."""
    library = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    try:
        skyrank.Engine(device="cuda")
    except skyrank.DeviceError as error:
        pytest.skip(f"no GPU: {error}")
    if request.param == "torch":
        if not library.cuda.is_available():
            pytest.skip("torch has no GPU here")
        return lambda array: library.from_numpy(array).to("cuda"), lambda answer: answer.cpu().numpy()
    if request.param == "cupy":
        return library.asarray, library.asnumpy
    if not any(device.platform == "gpu" for device in library.devices()):
        pytest.skip("jax has no GPU here")
    library.config.update("jax_enable_x64", True)
    return library.numpy.asarray, numpy.asarray


def test_arrays_on_a_gpu(on_gpu):
    to_gpu, to_host = on_gpu
    for columns in range(1, 9):
        for points in (sphere(40, columns), few_values(30, columns)):
            reference = points.max() + 0.1
            there = to_gpu(points)
            assert isinstance(skyrank.hypervolume(there, reference), float)
            for maximise in (False, True):
                own_reference = 0 if maximise else reference
                volume = skyrank.hypervolume(points, own_reference, maximise=maximise)
                found = skyrank.hypervolume(there, own_reference, maximise=maximise)
                numpy.testing.assert_allclose(found, volume, rtol=1e-9)
            for ignore in (True, False):
                expected = skyrank.hypervolume_contributions(points, reference, ignore_dominated=ignore)
                found = skyrank.hypervolume_contributions(there, reference, ignore_dominated=ignore)
                assert type(found) is type(there) and found.device == there.device
                numpy.testing.assert_allclose(to_host(found), expected, rtol=0, atol=1e-9 * volume)


def test_types_and_strides_on_a_gpu(on_gpu):
    to_gpu, to_host = on_gpu
    for dtype in ("float16", "float32", "float64", "int8", "int32", "int64"):
        points = few_values(30, 6, values=9).astype(dtype)
        expected = skyrank.hypervolume(points, 9)
        there = to_gpu(points)
        assert skyrank.hypervolume(there, 9) == expected
        assert skyrank.hypervolume(to_gpu(numpy.ascontiguousarray(points.T)).T, 9) == expected
        assert skyrank.hypervolume(there[::2, 1:], 9) == skyrank.hypervolume(points[::2, 1:], 9)
        assert skyrank.hypervolume(there[:0], 9) == 0
        assert to_host(skyrank.hypervolume_contributions(there[:1], 9)).tolist() == [skyrank.hypervolume(points[:1], 9)]


def test_two_sets_on_a_gpu(on_gpu):
    to_gpu, _ = on_gpu
    for size in (20, 2500):
        points, others = sphere(size, 3) + 0.1, 1.2 - sphere(size, 3, 2)
        for name in ("igd", "igd_plus", "epsilon_additive", "epsilon_multiplicative"):
            indicator = getattr(skyrank, name)
            expected = indicator(points, others)
            assert indicator(to_gpu(points), to_gpu(others)) == expected
            assert indicator(points, to_gpu(others)) == expected
            assert indicator(to_gpu(points), others.tolist()) == expected


def test_refusals_on_a_gpu(on_gpu):
    to_gpu, _ = on_gpu
    for wrong in (math.inf, math.nan):
        points = few_values(9, 5)
        points[2, 3] = wrong
        with pytest.raises(skyrank.DataError, match="^points have finite values; row 2, column 3 is"):
            skyrank.hypervolume(to_gpu(points), 9)
    with pytest.raises(skyrank.DataError, match="not of 3 dimensions$"):
        skyrank.hypervolume(to_gpu(numpy.zeros((2, 2, 2))), 9)
    with pytest.raises(skyrank.DataError, match="^the reference has one value for all objectives or 5"):
        skyrank.hypervolume(to_gpu(few_values(9, 5)), [1, 2])


def test_other_libraries_on_a_gpu_need_torch():
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("torch is installed, and would read the memory of no GPU")
    tensor = capsules.Tensor(numpy.zeros((3, 2), "float32"))
    message = r"^an indicator of a Tensor on a GPU needs torch: pip install 'skyrank\[torch\]'"
    with pytest.raises(skyrank.ResourceError, match=message):
        skyrank.hypervolume(tensor, 1)
    with pytest.raises(skyrank.ResourceError, match=message):
        skyrank.igd([[1, 2]], tensor)
    assert tensor.asked == []
