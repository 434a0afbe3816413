"""What data may be, and that it is viewed where it lies."""

import datetime
import decimal
import gc
import warnings
import weakref

import numpy
import pytest
import skyrank
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp


def column(data, name, **options):
    """Returns a column as it comes back from a query that selects it, in the order of the input."""
    return skyrank.query(data, skyrank.Query().rank_by(skyrank.low("0")).select(name), **options)[name]


@pytest.mark.parametrize(
    "dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "?", ">i4", ">f8"]
)
def test_numbers_of_every_type(dtype):
    values = numpy.array([0, 1, 1, 0, 1]).astype(dtype)
    back = column({"x": values}, "x")
    assert back.dtype == values.dtype.newbyteorder("=")
    assert back.tolist() == values.tolist()


@given(
    hnp.arrays(numpy.float64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12)),
    st.sampled_from([slice(None), slice(None, None, 2), slice(None, None, -1), slice(None, None, -3)]),
    st.booleans(),
)
def test_strides(array, step, transposed):
    array = (array.T if transposed else array)[step]
    table = skyrank.Table(array)
    result = skyrank.query(table, skyrank.Query().rank_by(skyrank.low("0")))
    for index in range(array.shape[1]):
        assert numpy.array_equal(result[f"c{index}"], array[:, index], equal_nan=True)


def test_structured_arrays_with_odd_alignment():
    array = numpy.zeros(5, dtype=[("flag", "i1"), ("price", "f8"), ("name", "U8")])
    array["price"] = [5, 4, 3, 2, 1]
    array["name"] = list("abcde")
    assert skyrank.top_k(array, 2, skyrank.low("price"))["name"].tolist() == ["e", "d"]


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns", "h", "M"])
def test_dates_and_times(unit):
    values = numpy.array(["1969-07-01", "NaT", "2024-02-29"], dtype=f"datetime64[{unit}]")
    back = column({"x": values, "y": numpy.arange(3)}, "x")
    assert numpy.isnat(back).tolist() == [False, True, False]
    assert (back[[0, 2]] == values[[0, 2]]).all()


def test_masked_arrays_have_nulls():
    values = numpy.ma.MaskedArray([3.0, 1.0, 2.0], [False, True, False])
    assert skyrank.top_k({"x": values}, 3, skyrank.low("x")).rows.tolist() == [2, 0, 1]
    assert column({"x": values}, "x").tolist() == [3.0, None, 2.0]


def test_python_objects():
    day = datetime.date(2024, 5, 17)
    noon = datetime.datetime(2024, 5, 17, 12)
    data = {
        "text": ["b", None, "å"],
        "flag": [True, None, False],
        "count": [1, None, 3],
        "wide": [2**63, 1, None],
        "ratio": [0.5, 2, None],
        "day": [day, None, day],
        "time": [noon, noon, None],
        "missing": numpy.array(["x", numpy.nan, None], dtype=object),
        "nothing": [None, None, None],
    }
    assert column(data, "text").tolist() == ["b", None, "å"]
    assert column(data, "flag").tolist() == [True, None, False]
    assert column(data, "count").tolist() == [1, None, 3]
    assert column(data, "wide").tolist() == [2**63, 1, None]
    assert column(data, "ratio").tolist() == [0.5, 2.0, None]
    assert column(data, "day").tolist() == [day, None, day]
    assert column(data, "time").tolist() == [noon, noon, None]
    assert column(data, "missing").tolist() == ["x", None, None]
    assert column(data, "nothing").tolist() == [None, None, None]


@pytest.mark.parametrize(
    ("values", "expected", "kind"),
    [
        # As many units of 25 seconds as the integers say, not as many seconds.
        (numpy.array([4, 1], "i8").view("datetime64[25s]"), numpy.array([100, 25], "i8").view("datetime64[s]"), "timestamp[s]"),
        (numpy.array([2000, 1000], "i8").view("datetime64[ps]"), numpy.array([2, 1], "i8").view("datetime64[ns]"), "timestamp[ns]"),
        (numpy.array(["NaT", "NaT"], "datetime64"), numpy.array(["NaT", "NaT"], "datetime64[s]"), "timestamp[s]"),
        (numpy.array(["2024", "1999"], "datetime64[Y]"), numpy.array(["2024-01-01", "1999-01-01"], "datetime64[D]"), "date"),
    ],
)
def test_units_of_times_that_columns_lack(values, expected, kind):
    assert skyrank.Table({"x": values}).types == {"x": kind}
    back = column({"x": values}, "x")
    assert numpy.array_equal(back.astype(expected.dtype).view("i8"), expected.view("i8"))


@pytest.mark.parametrize(
    "values",
    [
        numpy.array([3, 1], "i8").view("datetime64[ps]"),
        numpy.array([10**10], "i8").view("datetime64[Y]"),
        numpy.array([-(10**12)], "i8").view("datetime64[D]"),
        numpy.array([10**18], "i8").view("datetime64[m]"),
        [numpy.datetime64("3000-01-01", "D"), numpy.datetime64(1, "ns")],
        [numpy.datetime64(2**62, "s")],
    ],
)
def test_times_that_columns_cannot_hold(values):
    with pytest.raises(skyrank.DataError, match="cannot hold"):
        skyrank.Table({"x": values})


def test_times_among_objects_keep_every_digit():
    day, noon = datetime.date(2024, 5, 17), datetime.datetime(2024, 5, 17, 12)
    assert skyrank.top_k({"x": [noon, day]}, 1, low="x")["x"].tolist() == [datetime.datetime(2024, 5, 17)]
    nanoseconds = [numpy.datetime64("2024-05-17T00:00:00.000000002"), None, numpy.datetime64("2024-05-17T00:00:00.000000001")]
    assert skyrank.top_k({"x": nanoseconds}, 3, low="x").rows.tolist() == [2, 0, 1]
    aware = noon.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert column({"x": [aware]}, "x").tolist() == [datetime.datetime(2024, 5, 17, 10)]


def test_missing_values_and_times_of_pandas_among_objects():
    pandas = pytest.importorskip("pandas")
    times = [pandas.Timestamp("2024-05-17 00:00:00.000000002"), pandas.NaT, pandas.Timestamp("2024-05-17 00:00:00.000000001")]
    assert skyrank.top_k({"x": times}, 3, low="x").rows.tolist() == [2, 0, 1]
    assert column({"x": ["b", pandas.NA, "a"]}, "x").tolist() == ["b", None, "a"]
    assert column({"x": [1, pandas.NA]}, "x").tolist() == [1, None]
    late = skyrank.around("x", pandas.Timestamp("2024-05-17 00:00:00.000000002"))
    assert skyrank.skyline({"x": times}, by=late).rows.tolist() == [0]
    with pytest.raises(skyrank.DataError, match="(?s)the DataFrame cannot be read through pyarrow: .*column x|column 'x' has values of the types"):
        skyrank.Table(pandas.DataFrame({"x": [1, "a"]}))


def test_lists_of_rows_keep_the_types_of_their_columns():
    assert skyrank.top_k([[10, "a"], [9, "b"]], 1, low="c0").rows.tolist() == [1]
    assert skyrank.top_k([[2**53 + 1, 0.5], [2**53, 1.5]], 1, low="c0").rows.tolist() == [1]
    assert skyrank.Table([[2**63, -1], [1, 2]]).types == {"c0": "uint64", "c1": "int64"}
    assert skyrank.Table([[1, 2.5], [3, 4.5]]).types == {"c0": "float64", "c1": "float64"}


def test_a_matrix_is_an_array():
    assert skyrank.skyline(numpy.ones((3, 2)).view(numpy.matrix)).rows.tolist() == [0, 1, 2]


def test_texts_that_are_no_unicode():
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(skyrank.DataError, match="column 'x' has in row 1 a text that is no Unicode"):
        skyrank.Table({"x": ["a", "\ud800"]})
    with pytest.raises(skyrank.DataError, match="the name of a column is no Unicode"):
        skyrank.Table({"\ud800": [1]})
    for ask in (
        lambda: skyrank.high("\ud800"),
        lambda: skyrank.in_sets("x", [["\ud800"]]),
        lambda: skyrank.sql("SELECT * FROM t WHERE x = '\ud800' ORDER BY x", t={"x": ["a"]}),
    ):
        with pytest.raises(skyrank.QueryError, match="is no Unicode"):
            ask()
    offsets = pyarrow.array([0, 1, 2], pyarrow.int32()).buffers()[1]
    broken = pyarrow.StringArray.from_buffers(2, offsets, pyarrow.py_buffer(b"a\xff"))
    answer = skyrank.top_k(pyarrow.table({"x": broken}), 2, low="x")
    with pytest.raises(skyrank.DataError, match="column 'x' has in row 1 bytes that are no UTF-8"):
        answer.to_dict()


def test_decimals():
    values = [decimal.Decimal("1.5"), None, decimal.Decimal("-2.25"), decimal.Decimal("1E+3")]
    result = skyrank.top_k({"price": values}, 4, skyrank.low("price"))
    assert result["price"].tolist() == [decimal.Decimal("-2.25"), decimal.Decimal("1.50"), decimal.Decimal(1000), None]
    assert skyrank.Table({"price": values}).types == {"price": "decimal(6,2)"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"x": [decimal.Decimal("NaN")]}, "column 'x' has the decimal NaN; decimals are finite, and a column of floats has others"),
        ({"x": [decimal.Decimal("Infinity"), None]}, "column 'x' has the decimal Infinity; decimals are finite"),
        ({"x": [decimal.Decimal("1E+38")]}, "column 'x' has decimals of more than 38 digits"),
        ({"x": [decimal.Decimal(1), 2]}, "column 'x' has values of the types Decimal, int; a column has texts, numbers, decimals"),
        ({"x": [1, "a"]}, "column 'x' has values of the types int, str"),
        ({"x": [1, 2], "y": [1]}, "y"),
        ({"x": 5}, "column 'x' is a int"),
        ({"x": "abc"}, "column 'x' is a str"),
        ({"x": {1, 2}}, "column 'x' is a set"),
        ({"x": [0.5, 2**53 + 1]}, "column 'x' has floats and the integer 9007199254740993, of which"),
        ({"x": [0.5, numpy.longdouble(1)]}, "column 'x' has values of the types float, longdouble"),
        ([[1, 2], [3]], "lists of one length"),
        ({"x": numpy.zeros((2, 2))}, "column 'x' has 2 dimensions"),
        ({"x": numpy.zeros(2, complex)}, "column 'x' has the type complex128"),
        ({"x": [2**64]}, "beyond 64 bits"),
        ({1: [1]}, "the name of a column is a text"),
        (numpy.zeros((2, 2, 2)), "2 dimensions, not 3"),
        (5, "a int is no table"),
        ("hotels.csv", r"a Table is over data in memory; Files\('hotels.csv'\) is one over files"),
    ],
)
def test_what_is_no_table(data, message):
    with pytest.raises(skyrank.DataError, match=message):
        skyrank.Table(data)


def test_contiguous_input_is_not_copied():
    for array in (numpy.random.default_rng(1).random((1000, 3)), numpy.asfortranarray(numpy.ones((50, 2)))):
        core = skyrank.Table(array)._core_data
        for index in range(array.shape[1]):
            assert core.column(index).memory()[1] == array[:, index].__array_interface__["data"][0]


def test_a_table_keeps_its_arrays_alive_and_a_failed_query_nothing():
    class Array(numpy.ndarray):
        pass

    array = numpy.random.default_rng(2).random((100, 2)).view(Array)
    expected = skyrank.skyline(numpy.array(array)).rows.tolist()
    alive = weakref.ref(array)
    table = skyrank.Table({"a": array[:, 0], "b": array[:, 1]})
    del array
    gc.collect()
    assert alive() is not None
    assert skyrank.skyline(table, low=["a", "b"]).rows.tolist() == expected
    with pytest.raises(skyrank.BindError):
        skyrank.skyline(table, low="c")
    del table
    gc.collect()
    assert alive() is None


def test_dlpack_without_a_copy():
    class Tensor:
        """A tensor of another library, which speaks nothing but DLPack."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    array = numpy.random.default_rng(3).random((200, 3)).astype("float32")
    assert skyrank.skyline(Tensor(array)).rows.tolist() == skyrank.skyline(array).rows.tolist()
    table = skyrank.Table(Tensor(array))._core_data
    assert table.column(0).memory()[1] == array.__array_interface__["data"][0]
    assert skyrank.skyline({"a": Tensor(array[:, 0].copy())}, low="a").rows.tolist() == [int(array[:, 0].argmin())]


def test_values_of_every_kind_in_queries():
    data = {
        "day": numpy.array(["2024-05-01", "2024-05-09"], "datetime64[D]"),
        "time": numpy.array(["2024-05-01T12", "2024-05-09T12"], "datetime64[us]"),
        "x": [1.0, 2.0],
    }
    aware = datetime.datetime(2024, 5, 9, 14, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    for term in [
        skyrank.around("day", datetime.date(2024, 5, 8)),
        skyrank.around("time", aware),
        skyrank.around("time", numpy.datetime64("2024-05-09T12:00", "s")),
        skyrank.around("x", decimal.Decimal("1.9")),
        skyrank.around("x", numpy.float32(2)),
        skyrank.between("x", 1.5, None),
        skyrank.in_sets("x", [[2.0], [1.0]]),
    ]:
        assert skyrank.skyline(data, by=term).rows.tolist() == [1], term
    with pytest.raises(skyrank.QueryError, match="a value of the type list"):
        skyrank.around("x", [1])
    with pytest.raises(skyrank.QueryError, match="does not fit into 64 bits"):
        skyrank.around("x", 2**70)
    for value, message in [
        (numpy.timedelta64(5, "ns"), "a value of the type timedelta64"),
        (numpy.longdouble(1), "a value of the type longdouble"),
        (numpy.datetime64("NaT"), "NaT is no time"),
        (numpy.datetime64(5, "ps"), "64 bits in the unit ns cannot hold"),
        (numpy.datetime64(2**62, "m"), "64 bits in the unit s cannot hold"),
        (numpy.datetime64(10**12, "D"), "32 bits of days cannot hold"),
    ]:
        with pytest.raises(skyrank.QueryError, match=message):
            skyrank.around("x", value)


def test_numbers_that_queries_cannot_hold():
    query = skyrank.Query().rank_by("x")
    for limit in (2**63, -(2**64)):
        with pytest.raises(skyrank.QueryError, match="'limit' is at most"):
            query.limit(limit)
    for timeout in (float("inf"), 1e300, 9.3e9, 10**400):
        with pytest.raises(skyrank.QueryError, match="a time limit is above 0 and below"):
            skyrank.query({"x": [1]}, query, timeout=timeout)
        with pytest.raises(skyrank.QueryError, match="a time limit is above 0 and below"):
            query.timeout(timeout)
    for timeout in (numpy.float32(60), numpy.int64(60), datetime.timedelta(minutes=1)):
        assert len(skyrank.query({"x": [1]}, query, timeout=timeout)) == 1
