"""Tables of other libraries as data: each gives the answer that a dict of lists gives, and no more is taken than a query reads."""

import datetime
import decimal
import functools
import sys

import numpy
import pytest
import skyrank
from hypothesis import given
from hypothesis import strategies as st
from skyrank import Query, high, low

OSLO = "Europe/Oslo"
NOON = datetime.datetime(2024, 5, 1, 12, 30, 0, 250)


def plain_data():
    """Columns that all libraries have, with NULL in most of them."""
    return {
        "name": ["Aurora", None, "", "Dronning ✓", "Eidsvoll", "Aurora"],
        "price": [120.5, 80.0, None, 150.0, 80.0, 99.0],
        "rooms": [10, 250, 31, 4, 99, 2**53 + 1],
        "open": [True, False, None, True, None, False],
        "day": [datetime.date(2024, 5, 1), None, datetime.date(1969, 12, 31), datetime.date(2024, 5, 2), None, datetime.date(2024, 5, 1)],
        "at": [NOON, None, NOON + datetime.timedelta(days=1), NOON, datetime.datetime(1950, 1, 1), None],
    }


# -------------------------------------------------------------------------------------------------------- the kinds


def as_pandas(data):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({name: pandas.Series(list(values), dtype=object) for name, values in data.items()})
    for name, values in data.items():
        kinds = {type(value) for value in values if value is not None}
        if kinds == {datetime.datetime}:
            frame[name] = pandas.to_datetime(pandas.Series(values)).astype("datetime64[us]")
        elif kinds == {int} and None not in values:
            frame[name] = pandas.Series(values, dtype="int64")
        elif kinds <= {float}:
            frame[name] = pandas.Series(values, dtype="float64")
    return frame


def polars_that_speaks():
    polars = pytest.importorskip("polars")
    if not hasattr(polars.DataFrame, "__arrow_c_stream__"):
        pytest.importorskip("pyarrow", reason="Polars before 1.3 hands over its columns through pyarrow")
    return polars


def as_polars(data):
    return polars_that_speaks().DataFrame(data)


def as_arrow(data):
    return pytest.importorskip("pyarrow").table(data)


def as_dataset(data):
    return pytest.importorskip("pyarrow.dataset").dataset(as_arrow(data))


def as_duckdb(data):
    return _connection().from_arrow(as_arrow(data))


@functools.cache
def _connection():
    """Returns a connection that stays, as relations of older versions do not keep theirs."""
    return pytest.importorskip("duckdb").connect()


def as_interchange(data):
    """Data that have nothing but the interchange protocol, which has no type for dates."""

    class Protocol:
        def __init__(self, frame):
            self.frame = frame

        def __dataframe__(self, nan_as_null=False, allow_copy=True):
            return self.frame.__dataframe__(nan_as_null=nan_as_null, allow_copy=allow_copy)

    return Protocol(as_arrow({name: values for name, values in data.items() if name != "day"}))


KINDS = {
    "records": lambda data: [dict(zip(data, row)) for row in zip(*data.values())],
    "sparse records": lambda data: [{k: v for k, v in zip(data, row) if v is not None} for row in zip(*data.values())],
    "pandas": as_pandas,
    "pandas with an index": lambda data: as_pandas(data).set_axis(list("fedcba")[: len(next(iter(data.values())))], axis=0),
    "polars": as_polars,
    "polars in chunks": lambda data: pytest.importorskip("polars").concat([as_polars(data)[:2], as_polars(data)[2:]], rechunk=False),
    "lazy": lambda data: as_polars(data).lazy(),
    "pyarrow": as_arrow,
    "batch": lambda data: as_arrow(data).to_batches()[0],
    "reader": lambda data: as_arrow(data).to_reader(max_chunksize=2),
    "dataset": as_dataset,
    "scanner": lambda data: as_dataset(data).scanner(),
    "duckdb": as_duckdb,
    "interchange": as_interchange,
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request):
    return request.param


# ---------------------------------------------------------------------------------------------------------- the tests


QUERIES = [
    Query().rank_by(low("price")).select("row()", "name", "price"),
    Query().where("price > 80").prefer([low("price"), high("rooms")]).levels(2).select("row()", "rooms", "open"),
    Query().where("open or open is null").rank_by([low("rooms")]).limit(3).select("name", "at"),
    Query().where("at >= timestamp '2024-01-01'").rank_by([high("at"), low("rooms")]).select("row()", "at"),
    Query().group_by("name").aggregate(skyrank.count("n"), skyrank.sum("all", "rooms")).rank_by([high("n"), low("all")]),
    Query().rank_by(low("0")),
]


@pytest.mark.parametrize("question", QUERIES, ids=lambda question: question.to_sql().replace("\n", " ")[:60])
def test_every_kind_gives_the_answer_of_the_dict(kind, question):
    data = plain_data()
    if kind is as_interchange:
        del data["day"]
    answer = skyrank.query(kind(data), question)
    expected = skyrank.query(data, question)
    assert answer.to_dict() == expected.to_dict()
    assert answer.columns == expected.columns
    assert answer.rows.tolist() == expected.rows.tolist()


def test_dates(kind):
    if kind is as_interchange:
        with pytest.raises(skyrank.DataError, match="the Protocol cannot be read through __dataframe__: .*date32"):
            protocol = as_interchange({"x": [1]})
            protocol.frame = as_arrow(plain_data())
            skyrank.top_k(protocol, 1, low="day")
        return
    question = Query().where("day is not null").rank_by([low("day"), high("rooms")]).select("row()", "day")
    assert skyrank.query(kind(plain_data()), question).to_dict() == skyrank.query(plain_data(), question).to_dict()


def test_every_function_takes_every_kind(kind):
    data = {name: plain_data()[name] for name in ("name", "price", "rooms")}
    question = Query().prefer([low("price"), high("rooms")])
    assert skyrank.skyline(kind(data), low="price", high="rooms").to_dict() == skyrank.skyline(data, low="price", high="rooms").to_dict()
    assert skyrank.top_k(kind(data), 2, low="rooms").rows.tolist() == [3, 0]
    assert skyrank.top_k(kind(data), 2, low=-1 if kind is not KINDS["sparse records"] else "rooms").rows.tolist() == [3, 0]
    assert skyrank.rank(kind(data), low="price", high="rooms").tolist() == skyrank.rank(data, low="price", high="rooms").tolist()
    assert skyrank.why(kind(data), 3, question).text == skyrank.why(data, 3, question).text
    assert "skyline" in skyrank.explain(kind(data), question)
    assert skyrank.sql("SELECT name FROM t WHERE rooms < 50 ORDER BY rooms", t=kind(data))["name"].tolist() == ["Dronning ✓", "Aurora", ""]
    table = skyrank.Table(kind(data))
    assert len(table) == 6 and set(table.columns) == set(data)
    parts = [skyrank.partial(question, kind(data), 0), skyrank.partial(question, kind(data), 6)]
    doubled = {name: values * 2 for name, values in data.items()}
    assert skyrank.merge(question, parts).rows.tolist() == skyrank.query(doubled, question).rows.tolist()
    standing = skyrank.StandingQuery(question, schema=kind(data))
    assert standing.insert(kind(data)).entered == skyrank.query(data, question).rows.tolist()


def test_all_columns_where_none_is_named(kind):
    data = {"a": [3, 1, 2], "b": [1.5, 2.5, 3.5]}
    assert skyrank.skyline(kind(data)).rows.tolist() == [0, 1]
    assert skyrank.rank(kind(data)).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    "name", ["a b", "select", "^.*$", "*", 'say "hi"', "back`tick", "naïve ✓", "a.b", "row", "0", "x\ny", "{0}", "'", "c0"]
)
def test_odd_names_of_columns(kind, name):
    data = {name: [3, 1, 2], "other": ["x", None, "z"]}
    question = Query().rank_by(low(skyrank.column(name))).select(skyrank.column(name), "other").limit(2)
    assert skyrank.query(kind(data), question).to_dict() == {name: [1, 2], "other": [None, "z"]}
    assert skyrank.top_k(kind(data), 1, low=name).rows.tolist() == [1]


@pytest.mark.parametrize("kind", [name for name in KINDS if "records" not in name and name != "batch"])
def test_no_rows(kind):
    """Records without rows have no columns, and tables without rows no batch."""
    kind = KINDS[kind]
    data = {"x": numpy.array([], "int64"), "y": numpy.array([], "float64")}
    assert skyrank.skyline(kind(data), low=["x", "y"]).to_dict() == {"row": [], "x": [], "y": []}
    assert len(skyrank.rank(kind(data), low="x")) == 0


def test_nan_and_null_rank_as_in_the_dict(kind):
    values = [1.0, float("nan"), None, -1.0, float("inf")]
    answer = skyrank.top_k(kind({"x": values, "y": [1, 2, 3, 4, 5]}), 5, low="x").rows.tolist()
    assert answer == skyrank.top_k({"x": values, "y": [1, 2, 3, 4, 5]}, 5, low="x").rows.tolist() == [3, 0, 4, 1, 2]


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "pyarrow", "reader", "dataset", "duckdb", "records"])
def test_decimals(kind):
    pytest.importorskip("pyarrow", reason="a column of decimals needs pyarrow")
    values = [decimal.Decimal("1.50"), None, decimal.Decimal("-2.25"), decimal.Decimal("1000.00")]
    answer = skyrank.top_k(KINDS[kind]({"x": values}), 4, low="x")
    assert answer.to_dict() == {"row": [2, 0, 3, 1], "x": [decimal.Decimal("-2.25"), values[0], values[3], None]}


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "pyarrow", "reader", "dataset", "duckdb", "records"])
def test_times_in_a_zone(kind):
    import zoneinfo

    zone = zoneinfo.ZoneInfo(OSLO)
    times = [datetime.datetime(2024, 7, 1, 12, tzinfo=zone), None, datetime.datetime(2024, 1, 1, 12, tzinfo=zone)]
    if kind == "pandas":
        pandas = pytest.importorskip("pandas")
        data = pandas.DataFrame({"x": pandas.Series(pandas.to_datetime([t and t.isoformat() for t in times], utc=True)).dt.tz_convert(OSLO)})
    elif kind in ("polars", "lazy"):
        polars = polars_that_speaks()
        data = polars.DataFrame({"x": polars.Series([t and t.replace(tzinfo=None) for t in times]).dt.replace_time_zone(OSLO)})
        data = data.lazy() if kind == "lazy" else data
    else:
        data = KINDS[kind]({"x": times})
    answer = skyrank.top_k(data, 3, low="x")
    assert answer.rows.tolist() == [2, 0, 1]
    assert answer.to_dict()["x"] == [times[2], times[0], None]


def test_categories_keep_their_texts_and_ordered_ones_their_order():
    pandas = pytest.importorskip("pandas")
    values = ["low", None, "high", "middle"]
    frame = pandas.DataFrame({"x": pandas.Categorical(values, categories=["low", "middle", "high"])})
    assert skyrank.top_k(frame, 4, low="x")["x"].tolist() == ["high", "low", "middle", None]
    ordered = pandas.DataFrame({"x": pandas.Categorical(values, categories=["low", "middle", "high"], ordered=True), "y": [1, 2, 3, 4]})
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        with pytest.raises(skyrank.ResourceError, match="column 'x' has ordered categories, which need pyarrow"):
            skyrank.top_k(ordered, 4, low="x")
        assert skyrank.query(ordered, Query().rank_by(high("y")).select("y"))["y"].tolist() == [4, 3, 2, 1]
    else:
        assert skyrank.top_k(ordered, 4, low="x")["x"].tolist() == ["low", "middle", "high", None]


def test_enums_of_polars_keep_their_order():
    polars = pytest.importorskip("polars")
    series = polars.Series("x", ["low", None, "high", "middle"], dtype=polars.Enum(["low", "middle", "high"]))
    if int(polars.__version__.split(".")[0]) < 2 and skyrank.Table(as_polars({"x": series}))._core_data.column("x").categories is None:
        pytest.skip("this version of Polars hands over an Enum without its order")
    for data in (polars.DataFrame({"x": series}), polars.DataFrame({"x": series}).lazy()):
        assert skyrank.top_k(data, 4, low="x")["x"].tolist() == ["low", "middle", "high", None]


# ------------------------------------------------------------------------------------------------- what is not taken


@pytest.mark.parametrize("kind", [name for name in KINDS if "records" not in name and name not in ("batch", "interchange")])
def test_columns_that_a_query_does_not_read_are_not_taken(kind):
    """Records and batches are taken as a whole. A list that is taken is left out with a warning, which is an error here."""
    data = KINDS[kind]({"x": [3, 1, 2], "list": [[1], [2], None]})
    assert skyrank.query(data, Query().rank_by(low("x")).select("x"))["x"].tolist() == [1, 2, 3]


def test_pictures_take_every_kind(kind):
    pytest.importorskip("matplotlib").use("agg")
    axes = skyrank.plot.front(kind({"x": [3, 1, 2], "y": [1, 2, 3], "z": ["a", "b", None]}), low=["x", "y"])
    assert axes.get_xlabel() == "x (← better)"


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.none() | st.floats(-2, 2), st.none() | st.sampled_from(["", "a", "b"])), min_size=1, max_size=12),
    st.sampled_from(sorted(KINDS)),
)
def test_any_rows(rows, name):
    data = {"x": [row[0] for row in rows], "y": [row[1] for row in rows], "t": [row[2] for row in rows]}
    if "sparse" in name:
        data = {"x": data["x"]}
    data = {column: values for column, values in data.items() if any(value is not None for value in values)}
    terms = [low("x"), *([high("y")] if "y" in data else []), *([low("t")] if "t" in data else [])]
    for question in (Query().prefer(terms).levels(2), Query().rank_by(terms).limit(5)):
        assert skyrank.query(KINDS[name](data), question).to_dict() == skyrank.query(data, question).to_dict()


def test_queries_that_read_no_column(kind):
    data = {"x": [3, 1, 2], "y": [1, 2, 3]}
    number = Query().group_by({"all": "0"}).aggregate(skyrank.count("n")).select("n")
    assert skyrank.query(kind(data), number)["n"].tolist() == [3]
    assert skyrank.query(kind(data), Query().rank_by(low("0")).limit(2).select("row()")).rows.tolist() == [0, 1]


def test_a_column_of_mixed_objects_disturbs_only_who_names_it():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"mixed": [1, "a", b"b"], "x": [3, 1, 2], "number": pandas.Series([numpy.int8(1), None, 2], dtype=object)})
    assert skyrank.query(frame, Query().rank_by(low("x")).select("x", "number")).to_dict() == {"x": [1, 2, 3], "number": [None, 2, 1]}
    assert skyrank.query(frame, Query().rank_by(low("0")).select("row()")).rows.tolist() == [0, 1, 2]
    with pytest.raises(skyrank.DataError, match="mixed"):
        skyrank.top_k(frame, 1, low="x")


@pytest.mark.filterwarnings("ignore::skyrank.SkyRankWarning")
def test_frames_without_a_column_that_is_read():
    pandas = pytest.importorskip("pandas")
    for frame in (pandas.DataFrame({"list": [[1], [2]]}), pandas.DataFrame(index=[1, 2])):
        with pytest.raises(skyrank.Error):
            skyrank.top_k(frame, 1, low="list")


def test_a_lazy_frame_collects_only_what_is_read():
    polars = polars_that_speaks()
    seen = []

    def taken(series):
        seen.append(series.name)
        return series

    lazy = polars.LazyFrame({"x": [3, 1, 2], "y": [1, 2, 3]}).with_columns(
        polars.col("y").map_batches(taken, return_dtype=polars.Int64), z=polars.col("x").map_batches(taken, return_dtype=polars.Int64)
    )
    assert skyrank.query(lazy, Query().rank_by(low("x")).select("x"))["x"].tolist() == [1, 2, 3]
    assert seen == []
    with pytest.raises(skyrank.BindError, match="did you mean 'x'"):
        skyrank.top_k(lazy.rename({"x": "xx"}).rename({"xx": "x"}), 2, low="xs")
    assert seen == []
    assert skyrank.top_k(lazy, 1, low="z").rows.tolist() == [1]
    assert "x" in seen


def test_a_dataset_reads_only_the_columns_of_the_query(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    parquet = pytest.importorskip("pyarrow.parquet")
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        parquet.write_table(pyarrow.table({"x": [year - 2020, 9], "y": ["a", "b"]}), tmp_path / f"year={year}/part.parquet")
    data = dataset.dataset(tmp_path, partitioning="hive")
    answer = skyrank.query(data, Query().where("year = 2024").rank_by(low("x")).select("x", "year"))
    assert answer.to_dict() == {"x": [4, 9], "year": [2024, 2024]}
    with pytest.raises(skyrank.BindError, match="did you mean 'year'"):
        skyrank.query(data, Query().where("years = 2024").rank_by(low("x")).select("x"))
    assert skyrank.skyline(dataset.dataset(tmp_path, partitioning="hive").scanner(columns=["x"])).columns == ["row", "x"]


def test_the_error_of_an_unknown_name_is_that_of_the_dict(kind):
    data = {"price": [1, 2], "rating": [3, 4]}
    question = Query().rank_by(low("pric")).select("rating")
    with pytest.raises(skyrank.BindError) as expected:
        skyrank.query(data, question)
    with pytest.raises(skyrank.BindError) as raised:
        skyrank.query(kind(data), question)
    assert str(raised.value) == str(expected.value)


# ------------------------------------------------------------------------------------------------------------- pandas


def test_pandas_names_that_are_no_texts_and_its_indices():
    pandas = pytest.importorskip("pandas")
    assert skyrank.top_k(pandas.DataFrame({0: [2, 1], 7: [3, 4]}), 1, low="0").to_dict() == {"row": [1], "0": [1], "7": [4]}
    two = pandas.DataFrame([[1, 2], [0, 3]], columns=pandas.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))
    assert skyrank.top_k(two, 1, low=0).columns == ["row", "('a', 'x')", "('a', 'y')"]
    odd = pandas.DataFrame({("a", 1): [2, 1], None: [3, 4], 2.5: [5, 6]})
    assert skyrank.top_k(odd, 1, low=0).to_dict() == {"row": [1], "('a', 1)": [1], str(odd.columns[1]): [4], "2.5": [6]}
    frame = pandas.DataFrame({"x": [2, 1, 3]}, index=pandas.Index(["p", "q", "r"], name="key"))
    assert skyrank.top_k(frame, 1, low="x").to_dict() == {"row": [1], "x": [1], "key": ["q"]}
    assert skyrank.query(frame, Query().where("key > 'p'").rank_by(high("x")).select("x"))["x"].tolist() == [3, 1]
    levels = frame.set_index(pandas.MultiIndex.from_arrays([[1, 2, 3], [4, 5, 6]], names=["i", None]))
    assert skyrank.top_k(levels, 1, low="x").columns == ["row", "x", "i"]
    with pytest.raises(skyrank.DataError, match="several columns of the name 'x'"):
        skyrank.top_k(pandas.DataFrame([[1, 2]], columns=["x", "x"]), 1, low="x")


def test_series_of_pandas():
    pandas = pytest.importorskip("pandas")
    index = pandas.date_range("2024-05-01", periods=3, tz=OSLO)
    x = pandas.Series([2, None, 1], dtype="Int64", index=index, name="x")
    data = {"x": x, "f": pandas.Series([1.5, float("nan"), 2.5]), "t": index, "a": pandas.array(["b", None, "c"], dtype="string")}
    answer = skyrank.top_k(data, 3, low="x")
    assert answer.rows.tolist() == [2, 0, 1]
    columns = answer.to_dict()
    assert columns["x"] == [1, 2, None] and columns["f"] == [2.5, 1.5, None] and columns["a"] == ["c", "b", None]
    assert columns["t"] == [index[2].to_pydatetime(), index[0].to_pydatetime(), index[1].to_pydatetime()]
    assert skyrank.top_k(x, 3, low="x").rows.tolist() == [2, 0, 1]
    assert skyrank.top_k(x.rename(None), 3, low="c0").rows.tolist() == [2, 0, 1]
    assert skyrank.top_k(pandas.Index([2, 1]), 1, low="c0").rows.tolist() == [1]
    with pytest.raises(skyrank.DataError, match="'x'"):
        skyrank.Table({"x": pandas.Series(pandas.to_timedelta([1, 2], unit="s"))})


@pytest.mark.parametrize("name", ["Int64", "UInt8", "Float64", "boolean", "string", "float32", "datetime64[ns]"])
def test_types_of_pandas(name):
    pandas = pytest.importorskip("pandas")
    values = {"boolean": [True, None, False], "string": ["b", None, "a"]}.get(name, [2, None, 1])
    if name.startswith("datetime"):
        values = [pandas.Timestamp(2024, 5, 2), pandas.NaT, pandas.Timestamp(2024, 5, 1)]
    answer = skyrank.top_k(pandas.DataFrame({"x": pandas.Series(values, dtype=name), "y": [1, 2, 3]}), 3, low="x")
    assert answer.rows.tolist() == [2, 0, 1]
    assert answer.to_dict()["x"] == [*(value for value in values[::-2]), None]


def test_types_of_pandas_that_are_left_out():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [2, 1], "took": pandas.to_timedelta([1, 2], unit="s")})
    with pytest.warns(skyrank.SkyRankWarning, match="took"):
        assert skyrank.top_k(frame, 1, low="x").columns == ["row", "x"]
    assert skyrank.query(frame, Query().rank_by(low("x")).select("x"))["x"].tolist() == [1, 2]


def test_columns_of_polars_with_nothing_but_null():
    frame = as_polars({"x": [2, 1], "none": [None, None]})
    for data in (frame, frame.lazy()):
        assert skyrank.top_k(data, 2, [low("none"), low("x")]).to_dict() == {"row": [1, 0], "x": [1, 2], "none": [None, None]}
        assert skyrank.Table(data).types == skyrank.Table({"x": [2, 1], "none": [None, None]}).types


# ------------------------------------------------------------------------------------------------------------- errors


def test_what_needs_pyarrow_says_so(monkeypatch):
    polars = pytest.importorskip("polars")

    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] == "pyarrow":
                raise ModuleNotFoundError("No module named 'pyarrow'")

    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)

    class Protocol:
        def __dataframe__(self, **options):
            return self

    with pytest.raises(skyrank.ResourceError, match="a Protocol, which has __dataframe__ alone, needs pyarrow: pip install"):
        skyrank.Table(Protocol())
    if hasattr(polars.DataFrame, "__arrow_c_stream__"):
        monkeypatch.delattr(polars.DataFrame, "__arrow_c_stream__")
    with pytest.raises(skyrank.ResourceError, match="a DataFrame of Polars before 1.3 needs pyarrow: pip install"):
        skyrank.Table(polars.DataFrame({"x": [1]}))


def test_what_is_no_frame():
    with pytest.raises(skyrank.DataError, match="record 1 is a list; where one is a dict, all are"):
        skyrank.Table([{"x": 1}, [2]])
    with pytest.raises(skyrank.DataError, match="the name of a column is a text, not an int"):
        skyrank.Table([{1: 1}])
    with pytest.raises(skyrank.DataError, match="`columns` names the columns of an array; a list"):
        skyrank.Table([{"x": 1}], columns=["a"])
    assert skyrank.Table([[1, 2]], columns=["a", "b"]).columns == ["a", "b"]
    with pytest.raises(skyrank.DataError, match="lists of dicts"):
        skyrank.Table(object())
    for table in (as_pandas({"x": [1]}), as_polars({"x": [1]}), skyrank.Table({"x": [1]})):
        with pytest.raises(skyrank.DataError, match="is no row of a table; several tables are joined first"):
            skyrank.Table([table, table])


def test_frames_of_clusters_are_sent_to_their_modules():
    dask = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    frame = dask.from_pandas(pandas.DataFrame({"x": [1, 2]}), npartitions=1)
    with pytest.raises(skyrank.DataError, match=r"answered by skyrank.dask.query, and its compute\(\) by this function"):
        skyrank.top_k(frame, 1, low="x")


def test_duckdb_relations_of_queries():
    relation = _connection().sql("select i as id, 'a' || i as \"na\"\"me\", (i * 7) % 5 as x, [i] as list from range(20) t(i)")
    answer = skyrank.query(relation, Query().rank_by([low("x"), high("id")]).limit(2).select("id", skyrank.column('na"me')))
    assert answer.to_dict() == {"id": [15, 10], 'na"me': ["a15", "a10"]}
    plain = _connection().sql("select i as x from range(3) t(i)")
    assert skyrank.top_k(plain, 1, low="x").rows.tolist() == [0]
    assert plain.fetchall() == [(0,), (1,), (2,)]  # the relation is still the caller's


def test_ctrl_c_in_a_relation_is_a_keyboard_interrupt():
    """DuckDB makes this error of Ctrl-C; that it ends its query is its own affair."""

    class Relation:
        def __arrow_c_stream__(self):
            raise RuntimeError("Query interrupted")

    with pytest.raises(KeyboardInterrupt):
        skyrank.top_k(Relation(), 1, low="x")


# -------------------------------------------------------------------------------------------------------------- lakes


def test_tables_of_deltalake(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    pyarrow = pytest.importorskip("pyarrow")
    for year in (2023, 2024):
        part = pyarrow.table({"x": [year - 2020, 9], "name": ["a", None], "year": [year, year]})
        deltalake.write_deltalake(str(tmp_path), part, mode="append", partition_by=["year"])
    deltalake.DeltaTable(str(tmp_path)).delete("x = 9 and year = 2023")
    table = deltalake.DeltaTable(str(tmp_path))
    answer = skyrank.query(table, Query().rank_by([low("x")]).select("x", "name", "year"))
    assert answer.to_dict() == {"x": [3, 4, 9], "name": ["a", "a", None], "year": [2023, 2024, 2024]}
    assert len(skyrank.Table(deltalake.DeltaTable(str(tmp_path), version=1))) == 4
    with pytest.raises(skyrank.BindError, match="did you mean 'year'"):
        skyrank.top_k(table, 1, low="yaer")


def test_tables_and_scans_of_pyiceberg(tmp_path):
    pytest.importorskip("pyiceberg.table")
    catalogs = pytest.importorskip("pyiceberg.catalog.sql")
    pyarrow = pytest.importorskip("pyarrow")
    catalog = catalogs.SqlCatalog("test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("shop")
    rows = pyarrow.table({"x": [3, 1, 2], "name": ["a", None, "c"], "a b": [1.5, 2.5, None]})
    table = catalog.create_table("shop.offers", schema=rows.schema)
    table.append(rows)
    assert skyrank.top_k(table, 2, low="x").to_dict() == {"row": [1, 2], "x": [1, 2], "name": [None, "c"], "a b": [2.5, None]}
    assert skyrank.query(table.scan(row_filter="x > 1"), Query().rank_by(low("a b")).select("x"))["x"].tolist() == [3, 2]
    assert skyrank.skyline(table.scan(selected_fields=("x",))).to_dict() == {"row": [1], "x": [1]}
    with pytest.raises(skyrank.BindError, match="did you mean 'name'"):
        skyrank.top_k(table, 1, low="nmae")
