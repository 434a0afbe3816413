"""Skylines, rankings and ranks of arrays, against references and other libraries."""

import numpy
import pyarrow
import pytest
import skyrank
from conftest import reference_ranks
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

POINTS = hnp.arrays(
    st.sampled_from([numpy.float64, numpy.float32, numpy.int32, numpy.int64, numpy.uint8]),
    st.tuples(st.integers(1, 40), st.integers(1, 5)),
    elements=st.integers(0, 6),
)


@given(POINTS)
def test_skyline_is_that_of_the_definition(points):
    result = skyrank.skyline(points)
    assert result.rows.tolist() == numpy.flatnonzero(reference_ranks(points) == 0).tolist()
    assert (result.levels == 1).all()


@given(POINTS)
def test_ranks_are_those_of_the_definition(points):
    ranks = skyrank.rank(points)
    assert ranks.dtype == numpy.int32
    assert ranks.tolist() == reference_ranks(points).tolist()


@given(POINTS, st.integers(1, 3))
def test_levels_are_the_first_ranks(points, levels):
    ranks = reference_ranks(points)
    result = skyrank.skyline(points, levels=levels)
    assert result.rows.tolist() == numpy.flatnonzero(ranks < levels).tolist()
    assert result.levels.tolist() == (ranks[result.rows] + 1).tolist()


@given(POINTS)
def test_high_columns_are_low_columns_with_the_other_sign(points):
    points = points.astype(float)
    flipped = points * numpy.where(numpy.arange(points.shape[1]) % 2, -1, 1)
    columns = range(points.shape[1])
    result = skyrank.skyline(flipped, low=[c for c in columns if c % 2 == 0], high=[c for c in columns if c % 2])
    assert result.rows.tolist() == skyrank.skyline(points).rows.tolist()


@given(POINTS)
def test_distinct_keeps_the_first_of_equal_rows(points):
    kept = {}
    for row in skyrank.skyline(points).rows.tolist():
        kept.setdefault(tuple(points[row]), row)
    assert skyrank.skyline(points, distinct=True).rows.tolist() == sorted(kept.values())


@given(POINTS, st.integers(0, 50), st.sampled_from(["first", "last", "all"]))
def test_top_k_is_a_stable_sort(points, k, ties):
    values = points[:, 0]
    order = numpy.lexsort((numpy.arange(len(values)), values))
    expected = order[:k].tolist()
    if 0 < k < len(values):
        bound = values[order[k - 1]]
        better = [row for row in order if values[row] < bound]
        equal = [row for row in order if values[row] == bound]
        if ties == "last":
            expected = better + sorted(equal)[len(equal) - (k - len(better)) :]
        elif ties == "all":
            expected = better + equal
    assert skyrank.top_k(points, k, skyrank.low("c0"), ties=ties).rows.tolist() == expected


@pytest.mark.parametrize("columns", [2, 3, 5])
@pytest.mark.parametrize("distinct_values", [5, 10**9])
def test_other_libraries_agree(columns, distinct_values):
    moocore = pytest.importorskip("moocore")
    paretoset = pytest.importorskip("paretoset")
    sorting = pytest.importorskip("pymoo.util.nds.non_dominated_sorting")
    points = numpy.random.default_rng(columns).integers(0, distinct_values, (600, columns)).astype(float)
    ranks = skyrank.rank(points)
    assert ranks.tolist() == moocore.pareto_rank(points).tolist()
    _, pymoo_ranks = sorting.NonDominatedSorting().do(points, return_rank=True)
    assert ranks.tolist() == pymoo_ranks.tolist()
    skyline = numpy.zeros(len(points), bool)
    skyline[skyrank.skyline(points).rows] = True
    assert (skyline == paretoset.paretoset(points, distinct=False)).all()
    assert (skyline == moocore.is_nondominated(points, keep_weakly=True)).all()


def test_nan_is_worst_and_the_zeros_are_equal():
    assert skyrank.skyline(numpy.array([[numpy.nan, 1.0], [0.0, 1.0], [-0.0, 1.0]])).rows.tolist() == [1, 2]


LAYOUTS = {
    "rows": lambda points: points,
    "columns": numpy.asfortranarray,
    "reversed": lambda points: points[::-1, ::-1],
    "every other": lambda points: points[::2],
    "other bytes": lambda points: points.astype(points.dtype.newbyteorder()),
    "broadcast": lambda points: numpy.broadcast_to(points[:1], (5, points.shape[1])),
    "misaligned": lambda points: (
        numpy.frombuffer(b" " + points.tobytes(), numpy.uint8)[1:].view(points.dtype).reshape(points.shape)
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i4", "i8", "u2", "u4", "u8", "?"])
def test_arrays_of_any_layout_answer_as_their_columns_do(layout, dtype):
    points = LAYOUTS[layout](numpy.random.default_rng(3).integers(0, 6, (40, 4)).astype(dtype))
    points.flags.writeable = False
    columns = {f"c{index}": column.copy() for index, column in enumerate(points.T)}
    of_array, of_columns = skyrank.skyline(points), skyrank.skyline(columns)
    assert of_array.rows.tolist() == of_columns.rows.tolist()
    assert of_array.levels.tolist() == of_columns.levels.tolist()
    assert of_array.to_dict() == of_columns.to_dict()
    assert pyarrow.table(of_array).schema == pyarrow.table(of_columns).schema
    assert "skyline" in of_array.plan
    assert skyrank.rank(points).tolist() == skyrank.rank(columns).tolist()
    assert skyrank.Table(points).types == skyrank.Table(columns).types


def test_an_empty_array_has_an_empty_answer():
    result = skyrank.skyline(numpy.empty((0, 3)))
    assert len(result) == 0 and result.columns == ["row", "c0", "c1", "c2"]
    assert skyrank.rank(numpy.empty((0, 2))).shape == (0,)


def test_terms_conditions_and_partitions(hotels):
    assert skyrank.skyline(hotels, low="price", high="rating", where="rooms >= 10").rows.tolist() == [0, 1, 2]
    around = skyrank.skyline(hotels, by=skyrank.around("rooms", 100))
    assert around.rows.tolist() == [4]
    best = skyrank.top_k(hotels, 1, [skyrank.low("price"), "rooms"], partition_by="open")
    assert best.rows.tolist() == [4, 1, 3]


def test_top_k_takes_columns_of_one_direction(hotels):
    for words, terms in (
        ({"low": "price"}, skyrank.low("price")),
        ({"high": "rating"}, skyrank.high("rating")),
        ({"low": ["rooms", "price / 2"]}, [skyrank.low("rooms"), skyrank.low("price / 2")]),
        ({"high": skyrank.column("rooms")}, skyrank.high("rooms")),
    ):
        assert skyrank.top_k(hotels, 3, **words).rows.tolist() == skyrank.top_k(hotels, 3, terms).rows.tolist()
    points = numpy.array([[1.0, 4.0], [2.0, 2.0], [3.0, 3.0]])
    assert skyrank.top_k(points, 1, low=-1).rows.tolist() == [1]
    assert skyrank.top_k(points, 2, high=[1, 0]).rows.tolist() == [0, 2]
    assert skyrank.top_k(points, 1, low="y", columns=["x", "y"]).rows.tolist() == [1]
    with pytest.raises(skyrank.QueryError, match="there is no column 2"):
        skyrank.top_k(points, 1, low=2)


@pytest.mark.parametrize(
    "words",
    [{}, {"by": "price", "low": "price"}, {"by": "price", "high": "price"}, {"low": "price", "high": "rating"}],
)
def test_top_k_takes_one_ranking(hotels, words):
    with pytest.raises(skyrank.QueryError, match="^a ranking takes one of `by`, `low` and `high`; "):
        skyrank.top_k(hotels, 1, **words)


def test_names_of_columns_of_arrays():
    points = numpy.array([[1.0, 2.0], [2.0, 1.0]])
    assert skyrank.skyline(points, low="x", columns=["x", "y"]).rows.tolist() == [0]
    with pytest.raises(skyrank.DataError, match="2 columns, and `columns` names 1"):
        skyrank.skyline(points, columns=["x"])
    with pytest.raises(skyrank.QueryError, match="there is no column 2"):
        skyrank.skyline(points, low=[2])


def test_feasible_rows_come_first():
    data = {"weight": [5, 12, 11, 9], "price": [9, 1, 2, 8]}
    assert skyrank.skyline(data, low="price", feasible="weight <= 10").rows.tolist() == [3]
    found = skyrank.skyline(data, low="price", feasible="weight <= 10", violation="weight - 10", levels=4)
    assert found.levels.tolist() == [2, 4, 3, 1]
    query = skyrank.Query().prefer(skyrank.feasible("weight <= 10", skyrank.low("price"), "weight - 10"))
    assert skyrank.query(data, query).rows.tolist() == [3]
    assert query == skyrank.Query.parse("SELECT * FROM data PREFERRING LOW price FEASIBLE weight <= 10 VIOLATION weight - 10")
    assert skyrank.Query.parse(query.to_sql()) == query


def test_violations_need_a_condition():
    with pytest.raises(skyrank.QueryError, match="needs `feasible`"):
        skyrank.skyline({"a": [1]}, low="a", violation="a")


def test_steps_make_boxes():
    data = {"Unit Price": [4, 6, 5], "x": [1.0, 1.04, 1.2], "day": numpy.array(["2026-01-01", "2026-01-08", "2026-01-02"], "M8[D]")}
    assert skyrank.skyline(data, by=skyrank.high("Unit Price", step=5)).rows.tolist() == [1, 2]
    assert skyrank.skyline(data, by=skyrank.low("x", step="10%")).rows.tolist() == [0, 1]
    assert skyrank.skyline(data, by=skyrank.high("day", step="1w")).rows.tolist() == [1]
    assert skyrank.low("x", step=0.5) == skyrank.low("bucket(x, 0.5)")


@pytest.mark.parametrize("step", [0, -1, float("nan"), "ten", "0%", True])
def test_steps_that_are_none(step):
    with pytest.raises(skyrank.QueryError, match="boxes"):
        skyrank.low("x", step=step)


def test_a_few_rows_stand_for_a_front():
    front = {"a": [0, 1, 5, 2, 8, 9], "b": [10, 9, 9, 7, 1, 0]}
    query = skyrank.Query().prefer([skyrank.low("a"), skyrank.low("b")])
    assert skyrank.query(front, query.pick(3)).rows.tolist() == [0, 3, 5]
    assert skyrank.query(front, query.pick(1, by="coverage")).rows.tolist() == [1]
    assert skyrank.query(front, query.pick(2, "hypervolume", [10, 10])).rows.tolist() == [3, 4]
    assert skyrank.Query.parse(query.pick(2, "hypervolume", [10, 0.5]).to_sql()) == query.pick(2, "hypervolume", [10, 0.5])
    assert query.pick(2) != query.pick(3) and query.pick(2).fingerprint != query.pick(3).fingerprint
    assert skyrank.why(front, 1, query.pick(3)).stage == "pick"


def test_picked_rows_keep_their_measures():
    front = {"a": [0, 1, 5, 2, 8, 9], "b": [10, 9, 9, 7, 1, 0]}
    query = skyrank.Query().prefer([skyrank.low("a"), skyrank.low("b")]).skyband("all").pick(3)
    found = skyrank.query(front, query.select("row", "dominated_by()", "dominates()"))
    assert found.rows.tolist() == [0, 2, 5]
    assert found["dominated_by()"].tolist() == [0, 2, 0]
    assert found["dominates()"].tolist() == [0, 0, 0]
    assert skyrank.query(front, query.rank_by(skyrank.high("dominated_by()"))).rows.tolist() == [2, 0, 5]


def test_picks_that_are_none():
    query = skyrank.Query().prefer(skyrank.low("a"))
    with pytest.raises(skyrank.QueryError, match="no measure of a pick is called 'size'"):
        query.pick(1, by="size")
    with pytest.raises(skyrank.QueryError, match="at least 1 row"):
        query.pick(0).validate()
    with pytest.raises(skyrank.QueryError, match="needs a 'reference'"):
        query.pick(1, "hypervolume").validate()


def test_weights_of_terms():
    data = {"a": [0, 1, 2, 3, 5, 9, 4], "b": [9, 6, 4, 3, 2, 0, 4]}
    terms = [skyrank.low("a"), skyrank.low("b")]
    query = skyrank.Query().prefer(skyrank.weighted(terms, ["a >= b", "a <= 3 * b"]))
    assert skyrank.query(data, query).rows.tolist() == [1, 2]
    assert query == skyrank.Query.parse("SELECT * FROM data SKYLINE OF a, b WEIGHTED BY a >= b, a <= 3 * b")
    with pytest.raises(skyrank.QueryError, match="no weights"):
        skyrank.weighted(terms, "a >= 2")
