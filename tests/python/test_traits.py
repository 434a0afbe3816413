"""What columns have beside their types: orders of categories, zones of times, names of any spelling."""

from __future__ import annotations

import datetime
import zoneinfo

import numpy as np
import pytest
import skyrank
from skyrank import Query, low

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SIZES = ["S", "M", "L", "XL"]


def ordered(indices, texts=SIZES):
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), texts, ordered=True)


def sizes():
    return pa.table({"size": ordered([2, 0, None, 1, 3]), "id": [1, 2, 3, 4, 5]})


def as_file(tmp_path, kind, table):
    path = tmp_path / f"sizes.{kind}"
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=2)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


@pytest.mark.parametrize("kind", ["memory", "parquet", "arrow"])
def test_ordered_categories_rank_by_their_order(tmp_path, kind):
    data = sizes() if kind == "memory" else as_file(tmp_path, kind, sizes())
    best = skyrank.top_k(data, 5, low="size")
    assert best["size"].tolist() == ["S", "M", "L", "XL", None]
    assert best.to_arrow().schema.field("size").type.ordered
    assert skyrank.top_k(data, 2, high="size")["size"].tolist() == ["XL", "L"]
    assert skyrank.query(data, Query().where("size < 'L'").rank_by(low("id"))).to_arrow()["id"].to_pylist() == [2, 4]
    assert skyrank.query(data, Query().where("size between 'M' and 'L'").rank_by(low("id")))["id"].tolist() == [1, 4]
    with pytest.raises(skyrank.BindError, match="'XXL' is no category of 'size'"):
        skyrank.query(data, Query().where("size < 'XXL'").rank_by(low("id")))
    assert len(skyrank.query(data, Query().where("size = 'XXL'").rank_by(low("id")))) == 0


def test_chunks_with_other_dictionaries_have_one_order():
    chunks = [ordered([1, 0], ["S", "L"]), ordered([1, 2], ["S", "M", "L"])]
    best = skyrank.top_k(pa.table({"size": pa.chunked_array(chunks)}), 4, low="size")
    assert best["size"].tolist() == ["S", "M", "L", "L"]
    against = pa.chunked_array([ordered([0, 1], ["S", "L"]), ordered([0, 1], ["L", "S"])])
    with pytest.raises(skyrank.DataError, match="contradict each other"):
        skyrank.top_k(pa.table({"size": against}), 4, low="size")


def test_unordered_categories_rank_by_their_bytes():
    data = pa.table({"size": pa.DictionaryArray.from_arrays(pa.array([2, 0, 1, 3], pa.int8()), SIZES)})
    assert skyrank.top_k(data, 4, low="size")["size"].tolist() == ["L", "M", "S", "XL"]


def test_parts_keep_the_order():
    question = Query().rank_by(low("size")).limit(3)
    data = sizes()
    parts = [skyrank.partial(question, data.slice(0, 2), 0), skyrank.partial(question, data.slice(2), 2)]
    merged = skyrank.merge(question, parts)
    assert merged["size"].tolist() == ["S", "M", "L"]
    assert merged.to_arrow().schema.field("size").type.ordered


def test_categories_of_pandas_and_polars():
    polars = pytest.importorskip("polars")
    pandas = pytest.importorskip("pandas")
    shuffled = ["L", "S", "M", "XL"]
    frame = polars.DataFrame({"size": polars.Series(shuffled, dtype=polars.Enum(SIZES))})
    best = skyrank.top_k(frame, 4, low="size")
    assert best["size"].tolist() == SIZES
    assert best.to_polars().schema["size"] == polars.Enum(SIZES)
    frame = pandas.DataFrame({"size": pandas.Categorical(shuffled, SIZES, ordered=True)})
    assert skyrank.top_k(frame, 4, low="size")["size"].tolist() == SIZES


@pytest.mark.parametrize("kind", ["memory", "parquet", "arrow"])
def test_times_keep_their_zone(tmp_path, kind):
    zoned = pa.timestamp("us", "Europe/Oslo")
    table = pa.table({"t": pa.array([7200_000_000, 0], pa.int64()).cast(zoned), "g": [1, 1]})
    data = table if kind == "memory" else as_file(tmp_path, kind, table)
    answer = skyrank.top_k(data, 1, low="t")
    assert answer.to_arrow().schema.field("t").type == zoned
    oslo = zoneinfo.ZoneInfo("Europe/Oslo")
    assert answer.to_dict()["t"] == [datetime.datetime(1970, 1, 1, 1, tzinfo=oslo)]
    grouped = Query().group_by("t").aggregate(skyrank.max("last", "t")).rank_by(low("t"))
    types = skyrank.query(data, grouped).to_arrow().schema
    assert [types.field(name).type for name in ("t", "last")] == [zoned, zoned]


def test_times_in_lists_keep_their_zone():
    zone = zoneinfo.ZoneInfo("Europe/Oslo")
    times = [datetime.datetime(2024, 7, 1, 12, tzinfo=zone), None]
    assert skyrank.top_k({"t": times}, 2, low="t").to_dict()["t"] == times


def test_nanoseconds_are_times_in_lists():
    times = np.array(["2020-01-01T10:00:00.5"], "M8[ns]")
    assert skyrank.top_k({"t": times}, 1, low="t").to_dict()["t"] == [datetime.datetime(2020, 1, 1, 10, 0, 0, 500000)]
    fine = np.array(["2020-01-01T10:00:00.000000001"], "M8[ns]")
    assert skyrank.top_k({"t": fine}, 1, low="t").to_dict()["t"] == [fine[0]]


def test_times_beyond_microseconds_are_times_in_lists():
    far = np.array([2**62, "NaT"], "M8[s]")
    assert skyrank.top_k({"t": far}, 2, low="t").to_dict()["t"] == [far[0], None]


@pytest.mark.parametrize("name", ["a-b", "Unit Price", "Rating (0-10)", "50%", "2020", "größe", "in"])
def test_a_name_of_a_column_is_that_column(name):
    data = {name: [2, 1, 3], "a": [1, 2, 3], "b": [0, 5, 9]}
    assert skyrank.top_k(data, 3, low=name).rows.tolist() == [1, 0, 2]
    assert skyrank.skyline(data, low=name).rows.tolist() == [1]
    question = Query().rank_by(low(name)).select(name)
    answer = skyrank.query(data, question)
    assert answer.columns == [name]
    assert answer[name].tolist() == [1, 2, 3]
    assert skyrank.query(data, Query().group_by(name).rank_by(low(name)))[name].tolist() == [1, 2, 3]


def test_expressions_stand_where_no_column_has_the_name():
    data = {"a": [1, 2, 3], "b": [0, 5, 9]}
    assert skyrank.top_k(data, 3, low="a-b").rows.tolist() == [2, 1, 0]
    with pytest.raises(skyrank.QueryError, match="nor is there a column 'Unit Price'"):
        skyrank.top_k(data, 3, low="Unit Price")
    with pytest.raises(skyrank.QueryError, match="backquotes"):
        skyrank.top_k(data, 3, low="a", where="Unit Price > 3")


def test_differences_of_unsigned_numbers_have_a_sign():
    data = {"u": np.array([0, 1, 250], "u1"), "v": np.array([5, 5, 5], "u2"), "w": np.array([0, 2**64 - 1, 3], "u8")}
    def values(text):
        return skyrank.sql(f"SELECT {text} AS r FROM t ORDER BY (0)", t=data)["r"].tolist()
    assert values("u - 5") == [-5, -4, 245]
    assert values("u - v") == [-5, -4, 245]
    assert values("-u") == [0, -1, -250]
    with pytest.raises(skyrank.DataError, match="row 1: integer overflow"):
        values("w - 5")


def test_columns_of_nulls_in_memory():
    data = pa.table({"n": pa.nulls(2), "a": [1, 2]})
    assert skyrank.top_k(data, 2, low="n").to_dict() == {"row": [0, 1], "n": [None, None], "a": [1, 2]}


def test_integers_of_numpy_are_indices():
    assert skyrank.skyline(np.eye(3), low=[np.int64(0), np.int64(1)]).rows.tolist() == [2]


@pytest.mark.parametrize("kind", ["S3", "m8[s]", "c16"])
def test_fields_of_other_types_are_left_out(kind):
    data = np.zeros(2, dtype=[("a", "i4"), ("b", "f8"), ("c", kind)])
    data["a"], data["b"] = [1, 2], [2.5, 1.5]
    with pytest.warns(skyrank.SkyRankWarning, match="left out"):
        assert skyrank.skyline(data, low=["a", "b"]).rows.tolist() == [0, 1]
