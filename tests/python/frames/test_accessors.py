"""Queries as methods of frames: the answers of the functions, as frames of the caller's kind."""

import sys

import numpy
import pytest
import skyrank
from hypothesis import given
from hypothesis import strategies as st
from skyrank import Query, high, low

DATA = {
    "price": [120, 80, 95, 130, 80],
    "rating": [4.5, 3.9, None, 3.5, 3.9],
    "city": ["Oslo", "Bergen", "Oslo", None, "Oslo"],
    "tags": [["a"], [], None, ["b", "c"], ["d"]],
}
LABELS = ["A", "B", "C", "D", "E"]


class Pandas:
    """Frames of pandas, with labels that are no positions."""

    def __init__(self):
        self.library = pytest.importorskip("pandas")
        import skyrank.pandas  # noqa: F401

    def frame(self, data):
        index = LABELS[: len(next(iter(data.values())))] if data is DATA else None
        return self.library.DataFrame(data, index=index)

    def is_frame(self, answer):
        return type(answer) is self.library.DataFrame

    def column(self, answer, name):
        return [None if value is None or value != value else value for value in answer[name].tolist()]

    def columns(self, answer):
        return list(answer.columns)


class Polars:
    """DataFrames of Polars."""

    lazy = False

    def __init__(self):
        self.library = pytest.importorskip("polars")
        if not hasattr(self.library.DataFrame, "__arrow_c_stream__"):
            pytest.importorskip("pyarrow", reason="Polars before 1.3 hands over its columns through pyarrow")
        import skyrank.polars  # noqa: F401

    def frame(self, data):
        frame = self.library.DataFrame(data)
        return frame.lazy() if self.lazy else frame

    def is_frame(self, answer):
        return type(answer) is self.library.DataFrame

    def column(self, answer, name):
        return answer[name].to_list()

    def columns(self, answer):
        return answer.columns


class Lazy(Polars):
    """LazyFrames of Polars, whose answers are DataFrames."""

    lazy = True


@pytest.fixture(params=[Pandas, Polars, Lazy], ids=lambda kind: kind.__name__)
def kind(request):
    return request.param()


def test_skyline(kind):
    best = kind.frame(DATA).skyrank.skyline(low="price", high="rating", where="city is not null")
    assert kind.is_frame(best)
    assert kind.columns(best) == list(DATA)
    assert kind.column(best, "price") == [120, 80, 80]
    assert [list(tags) for tags in kind.column(best, "tags")] == [["a"], [], ["d"]]
    frame = kind.frame(DATA).skyrank
    assert kind.column(frame.skyline(low=0, distinct=True), "price") == [80]
    words = {"by": [low("price"), high("rating")], "levels": 2, "partition_by": "city"}
    expected = skyrank.skyline({name: DATA[name] for name in ("price", "rating", "city")}, **words)
    assert kind.column(frame.skyline(**words), "price") == expected["price"].tolist() and len(expected) == 5
    assert kind.column(frame.skyline(low="price", feasible="rating > 4", violation="4 - rating"), "price") == [120]


def test_top_k(kind):
    frame = kind.frame(DATA).skyrank
    best = frame.top_k(3, low="price")
    assert kind.is_frame(best) and kind.column(best, "price") == [80, 80, 95]
    assert kind.column(frame.top_k(1, [high("rating"), low("price")]), "city") == ["Oslo"]
    assert kind.column(frame.top_k(1, low="price", ties="all"), "city") == ["Bergen", "Oslo"]
    assert kind.column(frame.top_k(1, low="price", where="city = 'Oslo'"), "price") == [80]
    assert kind.column(frame.top_k(1, low="price", partition_by="city"), "price") == [80, 80, 130]
    assert len(frame.top_k(0, low="price")) == 0


def test_rank(kind):
    ranks = kind.frame(DATA).skyrank.rank(low="price", high="rating")
    assert ranks.name == "rank"
    assert list(ranks) == skyrank.rank({name: DATA[name] for name in ("price", "rating")}, low="price", high="rating").tolist()


def test_queries_that_select(kind):
    frame = kind.frame(DATA).skyrank
    answer = frame.query(Query().rank_by([low("price"), low("rating")]).select("city", half="price / 2").limit(3))
    assert kind.is_frame(answer) and kind.columns(answer) == ["city", "half"]
    assert kind.column(answer, "half") == [40, 40, 47]
    levels = frame.query(Query().prefer([low("price"), high("rating")]).levels(9).select("level", "price"))
    assert kind.column(levels, "level") == [1, 1, 2, 2, 1]


def test_queries_that_group(kind):
    frame = kind.frame(DATA).skyrank
    groups = Query().group_by("city").aggregate(skyrank.count("n"), skyrank.min("cheapest", "price")).rank_by([high("n"), low("city")])
    answer = frame.query(groups)
    assert kind.is_frame(answer) and kind.columns(answer) == ["city", "n", "cheapest"]
    assert kind.column(answer, "n") == [3, 1, 1]
    assert kind.columns(frame.query(groups.select("n"))) == ["n"]
    # A text that looks like the clause is none.
    told = Query().where("city <> '\nGROUP BY city'").rank_by(low("price")).limit(1)
    assert kind.columns(frame.query(told)) == list(DATA)


def test_queries_over_partitions(kind):
    frame = kind.frame({name: values for name, values in DATA.items() if name != "tags"}).skyrank
    best = Query().rank_by(low("price")).limit(1)
    assert kind.column(frame.query(best.partition_by("city")), "price") == [80, 80, 130]
    named = frame.query(best.partition_by(cheap="price < 100"))
    assert sorted(kind.columns(named)) == ["cheap", "city", "price", "rating"]
    assert sorted(kind.column(named, "price")) == [80, 120]


def test_sql(kind):
    frame = kind.frame(DATA).skyrank
    best = frame.sql("SELECT * FROM self PREFERRING LOW price PLUS HIGH rating")
    assert kind.is_frame(best) and kind.columns(best) == list(DATA) and kind.column(best, "price") == [120, 80, 80]
    assert kind.column(frame.sql("SELECT price FROM self WHERE rating > 4 ORDER BY price"), "price") == [120]
    with pytest.raises(skyrank.BindError, match="sql:1:15: there is no table 'hotels'; the frame is called self"):
        frame.sql("SELECT * FROM hotels ORDER BY price")
    with pytest.raises(skyrank.QueryError):
        frame.sql("SELECT * FROM")


def test_why(kind):
    frame = kind.frame(DATA).skyrank
    question = Query().where("city is not null").prefer([low("price"), high("rating")])
    data = {name: values for name, values in DATA.items() if name != "tags"}
    assert frame.why(2, question) == skyrank.why(data, 2, question)
    assert frame.why(2, low="price", high="rating", where="city is not null") == skyrank.why(data, 2, question)
    assert frame.why(3, by=[low("price"), high("rating")]).stage == "dominated"
    with pytest.raises(skyrank.QueryError, match="a question, or the words of a skyline, not both"):
        frame.why(2, question, low="price")
    with pytest.raises(skyrank.BindError):
        frame.why(5, question)


def test_errors_are_those_of_the_functions(kind):
    frame = kind.frame(DATA).skyrank
    with pytest.raises(skyrank.BindError, match="did you mean 'price'"):
        frame.skyline(low="prize")
    with pytest.raises(skyrank.QueryError, match="a question is a Query"):
        frame.query("SELECT 1")
    with pytest.raises(skyrank.QueryError, match="`violation` needs `feasible`"):
        frame.skyline(low="price", violation="rating")
    with pytest.raises(ValueError, match="a time limit is above 0 seconds"):
        frame.query(Query().rank_by(low("price")), timeout=0)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.one_of(st.none(), st.integers(0, 4)), st.sampled_from("ab")), max_size=20),
    st.integers(0, 6),
    st.sampled_from([Pandas, Polars, Lazy]),
)
def test_rows_are_those_of_the_functions(rows, k, kind):
    kind = kind()
    data = {"x": [row[0] for row in rows], "y": [row[1] for row in rows], "z": [row[2] for row in rows], "i": list(range(len(rows)))}
    if not rows:
        data = {"x": numpy.array([], "i8"), "y": numpy.array([], "i8"), "z": numpy.array([], "i8"), "i": numpy.array([], "i8")}
    frame = kind.frame(data).skyrank
    expected = skyrank.skyline(data, low="x", high="y", partition_by="z")
    assert kind.column(frame.skyline(low="x", high="y", partition_by="z"), "i") == expected.rows.tolist()
    expected = skyrank.top_k(data, k, [low("y"), high("x")], ties="all")
    assert kind.column(frame.top_k(k, [low("y"), high("x")], ties="all"), "i") == expected.rows.tolist()


# ---------------------------------------------------------------------------------------------- what a library has alone


def test_pandas_keeps_labels_and_types():
    pandas = Pandas().library
    frame = pandas.DataFrame(DATA, index=pandas.MultiIndex.from_arrays([LABELS, [1, 2, 3, 4, 5]], names=["label", None]))
    frame["kind"] = pandas.Categorical(["x", "y", "x", "y", "x"])
    frame["count"] = pandas.array([1, None, 3, 4, 5], dtype="Int64")
    frame["mixed"] = [1, "a", None, b"b", 2.5]
    frame["took"] = pandas.to_timedelta([1, 2, 3, 4, 5], unit="s")
    best = frame.skyrank.top_k(2, low="price", where="count is not null")
    assert best.index.tolist() == [("E", 5), ("C", 3)]
    assert best.index.names == ["label", None]
    assert best.dtypes.tolist() == frame.dtypes.tolist()
    assert best["mixed"].tolist() == [2.5, None]
    assert frame.skyrank.rank(low="price").index.equals(frame.index)
    assert frame.skyrank.query(Query().rank_by(low("price")).select("price").limit(1)).index.tolist() == [("B", 2)]
    named = frame.skyrank.query(Query().where("label > 'C'").rank_by(low("price")).select("label").limit(1))
    assert named["label"].tolist() == ["E"]


def test_pandas_labels_may_repeat_and_columns_be_numbers():
    pandas = Pandas().library
    frame = pandas.DataFrame([[3, 1], [1, 2], [2, 0]], index=["a", "a", "a"])
    assert frame.skyrank.top_k(2, low="0").values.tolist() == [[1, 2], [2, 0]]
    assert frame.skyrank.skyline(low=[0, 1]).values.tolist() == [[1, 2], [2, 0]]
    frame.loc["b"] = [0, 0]  # the accessor is kept by pandas, and sees what changed
    assert frame.skyrank.skyline(low=[0, 1]).index.tolist() == ["b"]


def test_a_lazy_frame_is_collected_after_the_query_was_checked():
    polars = Lazy().library

    def fail(series):
        raise AssertionError("collected")

    lazy = polars.LazyFrame({"x": [1, 2]}).with_columns(y=polars.col("x").map_batches(fail, return_dtype=polars.Int64))
    with pytest.raises(skyrank.BindError, match="did you mean 'x'"):
        lazy.skyrank.top_k(1, low="xs")
    # Nothing but x is collected where the answer shows nothing else.
    assert lazy.skyrank.query(Query().rank_by(high("x")).select("x"))["x"].to_list() == [2, 1]
    assert lazy.skyrank.rank(low="x").to_list() == [0, 1]
    assert lazy.skyrank.why(1, low="x").stage == "dominated"


def test_nothing_is_registered_without_the_import():
    code = (
        "import sys, skyrank\n"
        "for name in ('pandas', 'polars'):\n"
        "    try: library = __import__(name)\n"
        "    except ImportError: continue\n"
        "    assert not hasattr(library.DataFrame({'x': [1]}), 'skyrank')\n"
        "assert 'skyrank.pandas' not in sys.modules and 'skyrank.polars' not in sys.modules\n"
    )
    import os
    import pathlib
    import subprocess

    environment = dict(os.environ, PYTHONPATH=str(pathlib.Path(skyrank.__file__).parents[1]))
    done = subprocess.run([sys.executable, "-B", "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_named(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"skyrank.{library}", raising=False)
    with pytest.raises(skyrank.ResourceError, match=rf"skyrank.{library} needs {library}: pip install 'skyrank\[{library}\]'"):
        __import__(f"skyrank.{library}")
