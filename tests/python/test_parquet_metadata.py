"""Parquet files whose metadata are false: the answer is that without them, or an error."""

import decimal
import math
import random
import struct

import numpy
import pytest
import skyrank
from parquet_footer import BINARY, I32, I64, List, ParquetBytes

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

GROUP_ROWS = 50_000
GROUPS = 3


def int64(value):
    """Returns the bytes of an integer as a bound."""
    return struct.pack("<q", value)


def float64(value):
    """Returns the bytes of a floating-point number as a bound."""
    return struct.pack("<d", value)


def answers(path, queries):
    """Returns the answer of each query with one thread and with two, or the message of its error."""
    found = {}
    for query in queries:
        for threads in (1, 2):
            try:
                result = skyrank.Engine(threads=threads).run(skyrank.Query.parse(query), skyrank.Files(path))
                found[query, threads] = result.to_dict()
            except skyrank.DataError as error:
                found[query, threads] = str(error)
    return found


def expect_rows_or_error(path, queries, expected, may_fail=True):
    """Compares answers with those of the file as it was written. Returns the messages of errors."""
    messages = []
    for key, answer in answers(path, queries).items():
        if isinstance(answer, str):
            assert may_fail, f"{key}: {answer}"
            assert str(path) in answer
            messages.append(answer)
        else:
            assert answer == expected[key], key
    return messages


# ------------------------------------------------------------------------------------------------- bounds of row groups

TYPES = {
    "i": (pyarrow.int64(), list(range(12))),
    "u": (pyarrow.uint32(), [value * 300_000_000 for value in range(12)]),
    "f": (pyarrow.float64(), [value / 2 for value in range(12)]),
    "h": (pyarrow.float16(), [numpy.float16(value / 2) for value in range(12)]),
    "s": (pyarrow.utf8(), [f"k{value:02}" for value in range(12)]),
    "d": (pyarrow.decimal128(24, 2), [decimal.Decimal(value - 6) / 4 for value in range(12)]),
    "t": (pyarrow.timestamp("us"), list(range(12))),
    "b": (pyarrow.bool_(), [value > 5 for value in range(12)]),
    "n": (pyarrow.int32(), [None if value % 4 == 1 else value for value in range(12)]),
}
NAN = {"f": float64(math.nan), "h": struct.pack("<e", math.nan)}
CONDITIONS = {
    "i": ("i >= 5", "i = 7", "i in (0, 11)", "i between 3 and 4"),
    "u": ("u >= 1500000000", "u = 3300000000"),
    "f": ("f >= 2.5", "f = 4.5", "f < 1"),
    "h": ("h >= 2.5", "h = 4.5", "h < 1"),
    "s": ("s = 'k03'", "s > 'k09'", "s <= 'k02'"),
    "d": ("d < 0", "d = 1.25", "d > 1"),
    "t": ("t > timestamp '1970-01-01 00:00:00.000004'",),
    "b": ("b = true", "b = false"),
    "n": ("n is null", "n is not null", "n > 8"),
}
COLUMN_QUERIES = {
    name: [f"SELECT row, {name} FROM data WHERE {condition} ORDER BY (0)" for condition in conditions] +
          [f"SELECT row, {name} FROM data ORDER BY {name} {order} LIMIT 3" for order in ("", "DESC")]
    for name, conditions in CONDITIONS.items()
}


@pytest.fixture
def small(tmp_path):
    """Three row groups of each type, and their answers."""
    path = tmp_path / "small.parquet"
    table = pyarrow.table({name: pyarrow.array(values, kind) for name, (kind, values) in TYPES.items()})
    parquet.write_table(table, path, row_group_size=4, use_dictionary=False)
    return path, path.read_bytes()


def change_bounds(content, column, change):
    """Returns a file with change(least, greatest) as the bounds of a column in each row group."""
    changed = ParquetBytes(content)
    for group in range(len(changed.groups())):
        bounds = changed.statistics(group, column)
        if 5 in bounds:
            changed.set_bounds(group, column, *change(bounds[6][1], bounds[5][1]))
    return changed


LIES = {
    "swapped": lambda least, greatest: (greatest, least),
    "empty": lambda least, greatest: (b"", b""),
    "empty minimum": lambda least, greatest: (b"", greatest),
    "too short": lambda least, greatest: (least[:-1], least[:-1]),
    "too long": lambda least, greatest: (least + b"\0", least + b"\0"),
    "a hundred bytes": lambda least, greatest: (bytes(100), bytes(100)),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("name", TYPES)
def test_bounds_that_cannot_be(small, name, lie):
    path, content = small
    expected = answers(path, COLUMN_QUERIES[name])
    if name == "s" and lie != "swapped":  # texts of any length are bounds
        return
    if name == "b":
        lie = "too long" if lie == "swapped" else lie  # bounds of one value
    path.write_bytes(change_bounds(content, list(TYPES).index(name), LIES[lie]).content())
    expect_rows_or_error(path, COLUMN_QUERIES[name], expected, may_fail=False)


@pytest.mark.parametrize("name", NAN)
@pytest.mark.parametrize("lie", [lambda least, greatest, nan: (nan, nan), lambda least, greatest, nan: (nan, greatest),
                                 lambda least, greatest, nan: (least, nan)])
def test_nan_is_no_bound(small, name, lie):
    path, content = small
    expected = answers(path, COLUMN_QUERIES[name])
    change = lambda least, greatest: lie(least, greatest, NAN[name])  # noqa: E731
    path.write_bytes(change_bounds(content, list(TYPES).index(name), change).content())
    expect_rows_or_error(path, COLUMN_QUERIES[name], expected, may_fail=False)


def test_texts_that_are_no_utf8_are_no_bounds(small):
    path, content = small
    expected = answers(path, COLUMN_QUERIES["s"])
    path.write_bytes(change_bounds(content, list(TYPES).index("s"), lambda *_: (b"\xff", b"\xff\xfe")).content())
    expect_rows_or_error(path, COLUMN_QUERIES["s"], expected, may_fail=False)


def test_decimals_that_do_not_fit_are_no_bounds(small):
    path, content = small
    expected = answers(path, COLUMN_QUERIES["d"])
    wide = (0x7F << 80).to_bytes(11, "big")  # 26 digits
    path.write_bytes(change_bounds(content, list(TYPES).index("d"), lambda *_: (wide, wide)).content())
    expect_rows_or_error(path, COLUMN_QUERIES["d"], expected, may_fail=False)


@pytest.mark.parametrize("nulls", [-1, -2**63, 5, 2**62, 2**63 - 1, 4, None])
def test_numbers_of_nulls_that_cannot_be(small, nulls):
    path, content = small
    expected = answers(path, COLUMN_QUERIES["n"])
    changed = ParquetBytes(content)
    for group in range(3):
        statistics = changed.statistics(group, list(TYPES).index("n"))
        statistics.pop(3)
        if nulls is not None:
            statistics[3] = [I64, nulls]
    path.write_bytes(changed.content())
    expect_rows_or_error(path, COLUMN_QUERIES["n"], expected, may_fail=False)


def test_deprecated_bounds_have_the_order_of_signed_numbers(small):
    """A file without orders has bounds in the deprecated fields, which are those of the signed order."""
    path, content = small
    for name in ("u", "s", "i", "d"):
        expected = answers(path, COLUMN_QUERIES[name])
        changed = ParquetBytes(content)
        del changed.footer[7]  # column_orders
        changed.footer[6] = [BINARY, b"someone version 1.0"]
        for group in range(3):
            statistics = changed.statistics(group, list(TYPES).index(name))
            least, greatest = statistics.pop(6)[1], statistics.pop(5)[1]
            if name in ("u", "s"):
                least = greatest  # as bytes with a sign could be
            statistics[2], statistics[1] = [BINARY, least], [BINARY, greatest]
        path.write_bytes(changed.content())
        expect_rows_or_error(path, COLUMN_QUERIES[name], expected, may_fail=False)
        path.write_bytes(content)


def test_zeros_of_either_sign_are_equal(tmp_path):
    path = tmp_path / "zeros.parquet"
    parquet.write_table(pyarrow.table({"f": [-0.0, 0.0, 1.0, 2.0]}), path, row_group_size=2)
    content = path.read_bytes()
    queries = ["SELECT row FROM data WHERE f = 0 ORDER BY (0)", "SELECT row FROM data WHERE f <= 0.0 ORDER BY (0)",
               "SELECT row FROM data WHERE f >= 0.0 AND f < 1 ORDER BY (0)"]
    for bounds in ((0.0, -0.0), (0.0, 0.0), (-0.0, -0.0)):
        changed = ParquetBytes(content)
        changed.set_bounds(0, 0, *map(float64, bounds))
        path.write_bytes(changed.content())
        for (_, _), answer in answers(path, queries).items():
            assert answer == {"row": [0, 1]}


# Writers that are known for false bounds, with versions that wrote them and versions that did not.
FALSE_WRITERS = [
    (b"Polars", "du"), (b"parquet-cpp version 1.5.1-SNAPSHOT", "d"), (b"parquet-cpp-arrow version 3.0.0", "d"),
    (b"parquet-rs version 12.0.0", "du"), (b"parquet-go version 18.0.0", "u"), (b"parquet-go version latest", "u"),
    (b"parquet-mr version 1.7.0 (build 123)", "ds"), (b"parquet-mr version 1.8.0rc1 (build 9)", ""), (b"", "ds"),
    (b"github.com/segmentio/parquet-go", "ds"), (b"github.com/parquet-go/parquet-go version 0.32.0(build )", "d"),
    (b"github.com/parquet-go/parquet-go version (devel)(build 7)", "ds"), (b"ClickHouse v25.7.1.1-stable", "d"),
    (b"ClickHouse v23.7.4.5-stable", "df"),
]
TRUE_WRITERS = [
    (b"parquet-cpp-arrow version 26.0.1", "iufsd"), (b"parquet-rs version 54.0.0", "iufsd"), (b"Polars", "ifs"),
    (b"ClickHouse v25.8.1.1-stable", "iufsd"), (b"parquet-go version 18.1.0", "iufsd"),
    (b"github.com/parquet-go/parquet-go version 0.33.0(build )", "iufsd"),
    (b"parquet-mr version 1.13.1 (build db4183109d5b734ec5930d870cdae161e408ddba)", "iufsd"),
]


def with_writer(content, name, writer):
    """Returns a file of a writer in which a column has the bounds of its least value in each row group alone."""
    changed = change_bounds(content, list(TYPES).index(name), lambda least, _: (least, least))
    changed.footer[6] = [BINARY, writer]
    return changed.content()


@pytest.mark.parametrize(("writer", "names"), FALSE_WRITERS)
def test_bounds_of_writers_that_are_known_for_false_ones(small, writer, names):
    path, content = small
    for name in names:
        path.write_bytes(content)
        expected = answers(path, COLUMN_QUERIES[name])
        path.write_bytes(with_writer(content, name, writer))
        expect_rows_or_error(path, COLUMN_QUERIES[name], expected, may_fail=False)


@pytest.mark.parametrize(("writer", "names"), TRUE_WRITERS)
def test_bounds_of_other_writers_serve(small, writer, names):
    path, content = small
    for name in names:
        path.write_bytes(with_writer(content, name, writer))
        condition = CONDITIONS[name][-1]
        query = skyrank.Query.parse(f"SELECT row FROM data WHERE {condition} ORDER BY (0)")
        assert f"units skipped by the statistics of {name}" in skyrank.explain(skyrank.Files(path), query)


# ------------------------------------------------------------------------------------------------------ bounds of pages

PAGE_QUERIES = [
    "SELECT row, a, b, v FROM data PREFERRING LOW a PLUS LOW b",
    "SELECT row, a, b, v FROM data WHERE v < 0.5 PREFERRING LOW a PLUS LOW b",
    "SELECT row, a, v FROM data ORDER BY v LIMIT 4",
    "SELECT row, a, n FROM data WHERE a > 10 PREFERRING LOW a PLUS HIGH n",
]


@pytest.fixture(scope="module", params=[True, False], ids=["index", "headers"])
def large(request, tmp_path_factory):
    """A file of which skylines need some pages alone, with bounds in an index or in headers; and its answers."""
    rng = numpy.random.default_rng(1)
    a, b = [], []
    for group in range(GROUPS):
        x = numpy.arange(GROUP_ROWS, dtype=numpy.int64)
        y = (GROUP_ROWS - x) // 100 + rng.integers(0, 50, GROUP_ROWS) + numpy.where(x > 5000, 20000, 0)
        y[-1] = 0
        a.append(x + group)
        b.append(y - group)
    v = rng.random(GROUP_ROWS * GROUPS)
    n = pyarrow.array(rng.integers(0, 9, len(v)), pyarrow.int32(), mask=rng.random(len(v)) < 0.3)
    table = pyarrow.table({"a": numpy.concatenate(a), "b": numpy.concatenate(b), "v": v, "n": n})
    path = tmp_path_factory.mktemp("pages") / "large.parquet"
    parquet.write_table(table, path, row_group_size=GROUP_ROWS, write_page_index=request.param, data_page_size=16384,
                        write_batch_size=1000, use_dictionary=False)
    return path, path.read_bytes(), answers(path, PAGE_QUERIES), request.param


def set_all(index, field, of, value):
    """Sets all members of a list of an index."""
    index[field] = [9, List(of, [value] * len(index[field][1]))]


def set_rows(index, rows_of):
    """Sets the first row of each page of an OffsetIndex to rows_of(page number, row)."""
    for number, page in enumerate(index[1][1]):
        page[3] = [I64, rows_of(number, page[3][1])]


def swap_bounds(index):
    """Swaps minima and maxima of a ColumnIndex, some of which are one value, and raises the former."""
    index[2], index[3] = index[3], index[2]
    index[2][1][0] = int64(10**9)


INDEX_LIES = {
    "swapped": (6, swap_bounds),
    "bounds of no page": (6, lambda i: (set_all(i, 2, BINARY, int64(10**9)), set_all(i, 3, BINARY, int64(10**9)))),
    "all pages are NULL": (6, lambda i: set_all(i, 1, 1, 1)),
    "empty": (6, lambda i: (set_all(i, 2, BINARY, b""), set_all(i, 3, BINARY, b""))),
    "short": (6, lambda i: (set_all(i, 2, BINARY, b"1"), set_all(i, 3, BINARY, b"1"))),
    "fewer pages": (6, lambda i: [i[field][1].pop() for field in (1, 2, 3)]),
    "fewer minima": (6, lambda i: i[2][1].pop()),
    "pages of another order": (6, lambda i: [i[field][1].reverse() for field in (2, 3)]),
    "NULLs 2^62": (6, lambda i: set_all(i, 5, I64, 2**62)),
    "NULLs -1": (6, lambda i: set_all(i, 5, I64, -1)),
    "NULLs of one page": (6, lambda i: i.update({5: [9, List(I64, [0])]})),
    "rows descend": (4, lambda i: set_rows(i, lambda number, row: -10 * number)),
    "rows all 0": (4, lambda i: set_rows(i, lambda number, row: 0)),
    "rows shifted": (4, lambda i: set_rows(i, lambda number, row: row + 7 if number else 0)),
    "rows begin late": (4, lambda i: set_rows(i, lambda number, row: row or 500)),
    "rows wrap": (4, lambda i: set_rows(i, lambda number, row: 2**62 * (number % 2))),
    "rows of 64 bits": (4, lambda i: set_rows(i, lambda number, row: -2**63 if number % 2 else 2**63 - 1)),
    "places elsewhere": (4, lambda i: [page.update({1: [I64, 10**9]}) for page in i[1][1]]),
    "no pages": (4, lambda i: i[1][1].clear()),
    "one page more": (4, lambda i: i[1][1].append(dict(i[1][1][-1]))),
}


@pytest.mark.parametrize("lie", INDEX_LIES)
def test_indexes_of_pages_that_are_false(large, tmp_path, lie):
    _, content, expected, has_index = large
    if not has_index:
        pytest.skip("there is no index")
    which, change = INDEX_LIES[lie]
    changed = ParquetBytes(content)
    for group in range(GROUPS):
        for column in (0, 1):
            if lie != "pages of another order" or column == 0:
                changed.change_index(group, column, which, change)
    path = tmp_path / "lie.parquet"
    path.write_bytes(changed.content())
    found = expect_rows_or_error(path, PAGE_QUERIES, expected, may_fail=False)
    assert not found


def set_header(field, value):
    """Returns a change that sets a field of the struct DataPageHeader of every fifth page to value(old)."""
    def change(header, number):
        if number % 5 == 0:
            header[5][1][field] = [I32, value(header[5][1][field][1])]
    return change


def set_page_bounds(least, greatest):
    """Returns a change that sets the bounds in the header of a page."""
    def change(header, number):
        if 5 in header[5][1]:
            bounds = header[5][1][5][1]
            for field, value in ((1, greatest), (2, least), (5, greatest), (6, least)):
                bounds[field] = [BINARY, value]
    return change


def set_page_nulls(header, number):
    """Sets a number of NULLs that no page has."""
    if 5 in header[5][1]:
        header[5][1][5][1][3] = [I64, 2**62]


HEADER_LIES = {
    "swapped": (set_page_bounds(int64(10**9), int64(-5)), False),
    "bounds of no page": (set_page_bounds(int64(10**9), int64(10**9)), False),
    "short bounds": (set_page_bounds(b"1", b"1"), False),
    "empty bounds": (set_page_bounds(b"", b""), False),
    "NULLs 2^62": (set_page_nulls, False),
    "a value more": (set_header(1, lambda values: values + 1), True),
    "a value less": (set_header(1, lambda values: values - 1), True),
    "no values": (set_header(1, lambda values: 0), True),
    "2^31 - 1 values": (set_header(1, lambda values: 2**31 - 1), True),
    "-1 values": (set_header(1, lambda values: -1), True),
}


@pytest.mark.parametrize("lie", HEADER_LIES)
@pytest.mark.parametrize("column", [0, 2, 3])
def test_headers_of_pages_that_are_false(large, tmp_path, lie, column):
    _, content, expected, _ = large
    change, may_fail = HEADER_LIES[lie]
    changed = ParquetBytes(content)
    for group in range(GROUPS):
        changed.change_pages(group, column, change)
    path = tmp_path / "lie.parquet"
    path.write_bytes(changed.content())
    name = "abvn"[column]
    for message in expect_rows_or_error(path, PAGE_QUERIES, expected, may_fail):
        assert f"column '{name}'" in message


@pytest.mark.parametrize("more", [-1, 1])
def test_rows_and_values_of_a_page_that_differ(tmp_path, more):
    """Pages of the second version tell their rows and their values."""
    path = tmp_path / "two.parquet"
    rows = 10_000
    parquet.write_table(pyarrow.table({"a": numpy.arange(rows), "b": numpy.arange(rows) % 7}), path,
                        data_page_version="2.0", data_page_size=4096, write_batch_size=500, use_dictionary=False)
    queries = ["SELECT a, b FROM data ORDER BY (0)", "SELECT a, b FROM data ORDER BY a LIMIT 2"]
    expected = answers(path, queries)
    changed = ParquetBytes(path.read_bytes())
    # Field 8 is the header of such a page; its fields 1 and 3 are the values and the rows.
    changed.change_pages(0, 1, lambda header, number: header[8][1].update(
        {3: [I32, header[8][1][3][1] + (more if number == 1 else 0)]}))
    path.write_bytes(changed.content())
    messages = expect_rows_or_error(path, queries, expected)
    assert len(messages) == 4
    assert all("column 'b'" in message for message in messages)


def test_chunks_with_bytes_in_common(small):
    """Columns or row groups whose pages are those of another."""
    path, content = small
    query = ["SELECT i, f, t FROM data ORDER BY (0)"]
    expected = answers(path, query)
    names = list(TYPES)
    for (group, name), (other_group, other_name), shift in (
            ((0, "f"), (0, "i"), 0), ((1, "i"), (0, "i"), 0), ((2, "t"), (1, "f"), 0), ((2, "t"), (1, "f"), 20)):
        changed = ParquetBytes(content)
        other = changed.metadata(other_group, names.index(other_name))
        changed.metadata(group, names.index(name))[9] = [I64, other[9][1] + shift]
        path.write_bytes(changed.content())
        (first, second) = expect_rows_or_error(path, query, expected)
        assert first == second
        assert f"column '{name}' of row group {group}" in first
        assert f"column '{other_name}' of row group {other_group}" in first
        assert "have bytes of the file in common" in first


@pytest.mark.parametrize("use_dictionary", [True, False])
def test_chunks_without_values_have_no_bytes_in_common(tmp_path, use_dictionary):
    """Writers leave the place of pages at 0 where there are none."""
    path = tmp_path / "t.parquet"
    table = pyarrow.table({name: pyarrow.array([1, None], pyarrow.int64()) for name in "ab"}
                          | {"none": pyarrow.array([None, None], pyarrow.int64())})
    with parquet.ParquetWriter(path, table.schema, use_dictionary=use_dictionary) as writer:
        for part in (table.slice(0, 0), table, table.slice(0, 0)):
            writer.write_table(part)
    result = skyrank.Engine().run(skyrank.Query.parse("SELECT a, b, none FROM data ORDER BY (0)"), skyrank.Files(path))
    assert result.to_dict() == table.to_pydict()
    parquet.write_table(table.slice(0, 0), path, use_dictionary=use_dictionary)
    result = skyrank.Engine().run(skyrank.Query.parse("SELECT a, b FROM data ORDER BY (0)"), skyrank.Files(path))
    assert result.to_dict() == {"a": [], "b": []}


# ------------------------------------------------------------------------------------------------------- random changes

def random_lie(rng, changed, has_index):
    """Makes a change at random that whoever reads the file can see to be false, or that says less than before."""
    group, column = rng.randrange(GROUPS), rng.randrange(4)
    bounds = changed.statistics(group, column)
    kind = rng.randrange(7)
    if kind == 0 and {5, 6} <= bounds.keys():
        least, greatest = bounds[6][1], bounds[5][1]
        if least != greatest:
            changed.set_bounds(group, column, greatest, least)
    elif kind == 1:
        size = rng.choice([0, 1, 3, 5, 7, 9, 16, 1000])
        changed.set_bounds(group, column, rng.randbytes(size), rng.randbytes(size))
    elif kind == 2:
        bounds[3] = [I64, rng.choice([-1, -2**63, GROUP_ROWS + 1, 2**40, 2**63 - 1])]
    elif kind == 3:
        for field in rng.sample(sorted(bounds), rng.randrange(len(bounds) + 1)):
            del bounds[field]
    elif kind == 4 and has_index and 6 in changed.chunk(group, column):
        which, change = INDEX_LIES[rng.choice(sorted(INDEX_LIES.keys() - {"pages of another order"}))]
        changed.change_index(group, column, which, change)
    elif kind == 5:
        changed.change_pages(group, column, HEADER_LIES[rng.choice(sorted(HEADER_LIES))][0])
    else:
        page = rng.randrange(50)
        more = rng.choice([-1000, -1, 1, 1000])
        changed.change_pages(group, column, lambda header, number: header[5][1].update(
            {1: [I32, header[5][1][1][1] + (more if number == page else 0)]}))


@pytest.mark.parametrize("seed", range(40))
def test_random_changes(large, tmp_path, seed):
    _, content, expected, has_index = large
    rng = random.Random(seed)
    changed = ParquetBytes(content)
    for _ in range(rng.randrange(1, 4)):
        random_lie(rng, changed, has_index)
    path = tmp_path / "lie.parquet"
    path.write_bytes(changed.content())
    expect_rows_or_error(path, PAGE_QUERIES, expected)


# ------------------------------------------------------------------------------------------------------------ checksums

@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "zstd"])
def test_pages_without_their_checksums(tmp_path, codec, version):
    """Flips a bit in pages of each kind, dictionaries among them, and reads them whole, alone and as late columns."""
    rng = random.Random(7)
    rows = 20_000
    table = pyarrow.table({
        "key": pyarrow.array(rng.sample(range(rows), rows)),
        "value": pyarrow.array([rng.random() for _ in range(rows)]),
        "word": [f"word {rng.randrange(50)}" for _ in range(rows)],
        "text": [f"text {rng.randrange(10**6)}" for _ in range(rows)],
        "none": pyarrow.array([None if row % 3 else row for row in range(rows)], pyarrow.int32()),
    })
    path = tmp_path / "sums.parquet"
    parquet.write_table(table, path, row_group_size=10_000, compression=codec, data_page_version=version,
                        use_dictionary=["word"], data_page_size=8192, write_page_checksum=True, write_batch_size=500)
    queries = ["SELECT * FROM data ORDER BY (0)", "SELECT * FROM data ORDER BY key LIMIT 9000",
               "SELECT word, COUNT(*) AS c, MAX(length(text)) AS t FROM data GROUP BY word ORDER BY c",
               "SELECT key FROM data WHERE none IS NULL ORDER BY value LIMIT 3"]
    content = path.read_bytes()
    expected = answers(path, queries)
    assert not any(isinstance(answer, str) for answer in expected.values())
    names = set()
    for column, name in enumerate(table.column_names):
        pages = list(ParquetBytes(content).pages(1, column))
        for at, header, begin in (pages[0], pages[len(pages) // 2], pages[-1]):
            flipped = bytearray(content)
            flipped[begin + rng.randrange(header[3][1])] ^= 1 << rng.randrange(8)
            path.write_bytes(flipped)
            messages = expect_rows_or_error(path, queries, expected)
            assert len(messages) >= 2
            for message in messages:
                assert f"column '{name}' of row group 1: " in message
                assert "does not have its checksum" in message
                names.add("dictionary" if "the dictionary" in message else "data page")
    assert names == {"dictionary", "data page"}


def test_int96_pages_without_their_checksums(tmp_path):
    path = tmp_path / "times.parquet"
    times = pyarrow.array([-1 - 10**15 * row for row in range(1000)], pyarrow.timestamp("ns"))
    parquet.write_table(pyarrow.table({"t": times}), path, use_deprecated_int96_timestamps=True,
                        write_page_checksum=True, use_dictionary=False, compression="none")
    query = ["SELECT t FROM data ORDER BY t LIMIT 3"]
    expected = answers(path, query)
    content = bytearray(path.read_bytes())
    _, _, begin = next(ParquetBytes(bytes(content)).pages(0, 0))
    content[begin + 5000] ^= 1
    path.write_bytes(content)
    messages = expect_rows_or_error(path, query, expected)
    assert len(messages) == 2
    assert "column 't' of row group 0: data page 0 does not have its checksum (CRC-32)" in messages[0]
