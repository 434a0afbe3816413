"""Data of other libraries, in and out, through the Arrow C interface."""

import ctypes
import datetime
import decimal
import struct

import numpy
import pytest
import skyrank

pyarrow = pytest.importorskip("pyarrow")


def same(data):
    """Returns all rows of the data as they come back, as a pyarrow.Table without the row ids."""
    return skyrank.query(data, skyrank.Query().rank_by(skyrank.low("0"))).to_arrow().drop_columns(["row"])


def arrow_table():
    day = datetime.date(2024, 2, 29)
    noon = datetime.datetime(2024, 2, 29, 12)
    columns = {name: [1, None, 3] for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")}
    table = {name: pyarrow.array(values, name) for name, values in columns.items()}
    table |= {name: pyarrow.array([1.5, None, -2.0], name) for name in ("float32", "float64")}
    table["half"] = pyarrow.array([numpy.float16(0.5), None, numpy.float16(2)], pyarrow.float16())
    table["bool"] = pyarrow.array([True, None, False])
    table["day"] = pyarrow.array([day, None, day])
    table |= {unit: pyarrow.array([noon, None, noon], pyarrow.timestamp(unit)) for unit in ("s", "ms", "us", "ns")}
    table["small"] = pyarrow.array([decimal.Decimal("1.50"), None, decimal.Decimal("-2.25")], pyarrow.decimal128(9, 2))
    table["wide"] = pyarrow.array([decimal.Decimal("1" * 30), None, decimal.Decimal(2)], pyarrow.decimal128(38, 0))
    table["text"] = pyarrow.array(["a", None, "a text of more than twelve characters"])
    return pyarrow.table(table)


def test_every_type_comes_back():
    table = arrow_table()
    back = same(table)
    assert back.column_names == table.column_names
    assert back.to_pylist() == table.to_pylist()


@pytest.mark.parametrize("pieces", [[0], [0, 1], [0, 0], [1, 2, 3], [2, 1, 0]])
def test_chunks_are_rows_one_after_the_other(pieces):
    table = arrow_table()
    chunked = pyarrow.concat_tables([table.slice(0, rows) for rows in pieces])
    assert same(chunked).to_pylist() == chunked.to_pylist()


@pytest.mark.parametrize("start", [0, 1, 2])
def test_slices_with_offsets(start):
    table = arrow_table().slice(start)
    assert same(table).to_pylist() == table.to_pylist()
    batch = arrow_table().to_batches()[0].slice(start)
    assert same(batch).to_pylist() == batch.to_pylist()


TEXTS = ["Oslo", None, "", "a text of more than twelve characters", "Aarhus", "Oslo"]


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array(TEXTS, pyarrow.large_string()),
        pyarrow.array(TEXTS, pyarrow.string_view()),
        pyarrow.array(TEXTS).dictionary_encode(),
        pyarrow.array(TEXTS, pyarrow.large_string()).dictionary_encode(),
        pyarrow.DictionaryArray.from_arrays([0, None, 2, 3, 4, 0], pyarrow.array(TEXTS, pyarrow.string_view())),
        pyarrow.DictionaryArray.from_arrays([0, 1, 2, 3, 4, 5], pyarrow.array(TEXTS)),
        pyarrow.chunked_array([pyarrow.array(TEXTS[:2]).dictionary_encode(), pyarrow.array(TEXTS[2:]).dictionary_encode()]),
        pyarrow.chunked_array([TEXTS[:3], TEXTS[3:]], pyarrow.string_view()),
    ],
    ids=str,
)
def test_layouts_of_texts(column):
    for data in ({"x": column}, pyarrow.table({"x": column}), pyarrow.table({"x": column}).slice(1)):
        expected = (TEXTS if isinstance(data, dict) or len(data) == len(TEXTS) else TEXTS[1:])
        result = skyrank.query(data, skyrank.Query().where("x is null or x = x").rank_by(skyrank.low("0")))
        assert result["x"].tolist() == expected
    assert skyrank.top_k({"x": column}, 9, "0", where="x = 'Oslo'").rows.tolist() == [0, 5]


@pytest.mark.parametrize("values", [[10, None, 7], [1.5, None, -1.0], [True, None, False]])
def test_dictionaries_of_other_values(values):
    column = pyarrow.DictionaryArray.from_arrays([2, 0, None, 1, 0], pyarrow.array(values))
    expected = [values[2], values[0], None, values[1], values[0]]
    assert same({"x": column}).column("x").to_pylist() == expected
    empty = pyarrow.DictionaryArray.from_arrays(pyarrow.array([None, None], "int8"), pyarrow.array([], "int64"))
    assert same({"x": empty}).column("x").to_pylist() == [None, None]


def test_unsupported_columns_are_left_out_with_a_warning():
    table = pyarrow.table({"x": [2, 1], "list": [[1], [2]]})
    with pytest.warns(skyrank.SkyRankWarning, match="left out of data: list"):
        assert skyrank.top_k(table, 1, skyrank.low("x")).columns == ["row", "x"]
    with pytest.raises(skyrank.BindError, match="list"):
        skyrank.query(table, skyrank.Query().rank_by("list").select("x"))
    with pytest.raises(skyrank.DataError, match="column 'y'"):
        skyrank.Table({"y": pyarrow.array([[1], [2]])})


def _batch_with_offsets(offsets):
    """Returns a batch as a damaged file has it: pyarrow takes the offsets of its texts as they come."""
    right = pyarrow.record_batch({"s": ["x", "yy", "zzz"], "a": [1, 2, 3]})
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, right.schema) as writer:
        writer.write_batch(right)
    content = sink.getvalue().to_pybytes().replace(struct.pack("<4i", 0, 1, 3, 6), struct.pack("<4i", *offsets))
    return pyarrow.ipc.open_stream(content).read_next_batch()


@pytest.mark.parametrize("offsets", [[0, 1, 3, 600], [0, 1, 3, 2**31 - 1], [0, 3, 1, 6], [-8, 1, 3, 6]])
@pytest.mark.parametrize("form", ["array", "batch", "table", "reader"])
def test_offsets_outside_of_their_buffers_are_refused(offsets, form):
    batch = _batch_with_offsets(offsets)
    data = {
        "array": {"s": batch.column(0), "a": [1, 2, 3]},
        "batch": batch,
        "table": pyarrow.Table.from_batches([batch]),
        "reader": pyarrow.RecordBatchReader.from_batches(batch.schema, [batch]),
    }[form]
    with pytest.raises(skyrank.DataError):
        skyrank.top_k(data, 3, low="a").to_dict()


class ArrowArray(ctypes.Structure):
    _fields_ = [
        *[(name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")],
        *[(name, ctypes.c_void_p) for name in ("buffers", "children", "dictionary", "release", "private_data")],
    ]


def _words(capsule, name):
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ArrowArray.from_address(pointer_of(capsule, name))


class Altered:
    """Arrow data of which one number was changed: of the batch, or of its only column."""

    def __init__(self, column, field, value, of_column):
        self.batch = pyarrow.record_batch({"x": column})
        self.change = (field, value, of_column)

    def __arrow_c_array__(self, requested_schema=None):
        schema, array = self.batch.__arrow_c_array__()
        field, value, of_column = self.change
        words = _words(array, b"arrow_array")
        if of_column:
            words = ArrowArray.from_address(ctypes.c_void_p.from_address(words.children).value)
        setattr(words, field, value)
        return schema, array


@pytest.mark.parametrize("of_column", [False, True])
@pytest.mark.parametrize("value", [-1, 2**48 + 1, 2**61, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("field", ["length", "offset"])
@pytest.mark.parametrize("kind", ["int64", "string", "bool_", "string_view"])
def test_lengths_that_no_memory_has_are_refused(kind, field, value, of_column):
    column = pyarrow.array([], getattr(pyarrow, kind)())
    with pytest.raises(skyrank.DataError, match="Arrow"):
        skyrank.Table(Altered(column, field, value, of_column))


def test_indices_of_decoded_dictionaries_lie_inside():
    words = pyarrow.array(["a", "b"], pyarrow.string_view())
    for indices in ([0, 2, 1], [0, -1, 1]):
        column = pyarrow.DictionaryArray.from_arrays(pyarrow.array(indices, pyarrow.int32()), words, safe=False)
        with pytest.raises(skyrank.DataError, match="into a dictionary of 2 entries"):
            skyrank.Table({"x": column})
    unsigned = pyarrow.DictionaryArray.from_arrays(pyarrow.array([1, 0], pyarrow.uint64()), words)
    assert skyrank.top_k({"x": unsigned, "a": [1, 2]}, 2, low="a").to_dict()["x"] == ["b", "a"]


def test_names_are_utf8():
    schema = pyarrow.schema([pyarrow.field(b"\xff", pyarrow.int64())])
    with pytest.raises(skyrank.DataError, match="(?i)utf-8"):
        skyrank.Table(pyarrow.RecordBatch.from_arrays([pyarrow.array([1])], schema=schema))


def test_a_stream_that_fails_and_one_that_was_read():
    schema = pyarrow.schema({"x": pyarrow.int64()})

    def batches():
        yield pyarrow.record_batch({"x": [1]})
        raise RuntimeError("the disk is on fire")

    with pytest.raises(skyrank.DataError, match="the disk is on fire"):
        skyrank.Table(pyarrow.RecordBatchReader.from_batches(schema, batches()))
    capsule = pyarrow.table({"x": [1]}).__arrow_c_stream__()

    class Taken:
        def __arrow_c_stream__(self):
            return capsule

    assert len(skyrank.Table(Taken())) == 1
    with pytest.raises(ValueError, match="taken by another consumer"):
        skyrank.Table(Taken())


def test_a_stream_whose_schema_has_to_be_named():
    class Frame:  # as of Polars 1.3
        def __arrow_c_stream__(self, requested_schema):
            assert requested_schema is None
            return pyarrow.table({"x": [1, 2]}).__arrow_c_stream__()

    assert len(skyrank.Table(Frame())) == 2


def test_contiguous_arrow_data_is_not_copied():
    table = pyarrow.table({"x": numpy.arange(1000.0)})
    address = table.column("x").chunk(0).buffers()[1].address
    assert skyrank.Table(table)._core_data.column("x").memory()[1] == address


def test_results_in_other_libraries():
    result = skyrank.top_k(arrow_table(), 2, skyrank.low("int8"))
    expected = [row for row in (arrow_table().to_pylist()[index] for index in (0, 2))]
    assert pyarrow.table(result).drop_columns(["row"]).to_pylist() == expected
    assert pyarrow.schema(result).names == result.columns
    again = skyrank.top_k(result, 1, "int8")
    assert again["int8"].tolist() == [3]


def test_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "city": polars.Series(["Oslo", "Bergen", None], dtype=polars.Categorical),
            "kind": polars.Series(["a", "b", "a"], dtype=polars.Enum(["a", "b"])),
            "name": ["Aurora", None, "a text of more than twelve characters"],
            "price": polars.Series(["120.50", "80.25", None], dtype=polars.Decimal(10, 2)),
            "day": [datetime.date(2024, 5, 1), None, datetime.date(2024, 5, 2)],
            "at": [datetime.datetime(2024, 5, 1, 12), None, datetime.datetime(2024, 5, 2)],
            "x": [1, 2, 3],
        }
    )
    for data in (frame, polars.concat([frame, frame], rechunk=False)):
        back = skyrank.query(data, skyrank.Query().rank_by(skyrank.low("0"))).to_polars().drop("row")
        assert back.rows() == data.rows()
    assert skyrank.skyline(frame, low="price", where="city = 'Bergen'").rows.tolist() == [1]
    assert skyrank.skyline({"x": frame["x"]}, high="x").rows.tolist() == [2]


def test_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"name": ["Aurora", None, "Comfort"], "price": [120.0, 80.0, None]}, index=[7, 8, 9])
    frame["day"] = pandas.to_datetime(["2024-05-01", "2024-05-02", None])
    frame["kind"] = pandas.Categorical(["x", "y", "x"])
    result = skyrank.skyline(frame, low="price")
    assert result.columns == ["row", "name", "price", "day", "kind"]
    assert result.rows.tolist() == [1]
    assert frame.iloc[result.rows].index.tolist() == [8]
    back = result.to_pandas()
    assert back["price"].tolist() == [80.0] and back["kind"].tolist() == ["y"]


def test_duckdb():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select i as id, (i * 7919) % 1000 as price, i % 13 as stars from range(10000) t(i)")
    result = skyrank.skyline(relation, low="price", high="stars")
    rows = relation.fetchall()
    best = [
        row[0]
        for row in rows
        if not any(o[1] <= row[1] and o[2] >= row[2] and (o[1] < row[1] or o[2] > row[2]) for o in rows)
    ]
    assert sorted(result["id"].tolist()) == sorted(best)
    assert duckdb.sql("select count(*) from result").fetchall() == [(len(best),)]
