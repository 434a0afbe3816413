"""Engines, queries, results and errors: threads, signals, forks, limits, parts."""

import datetime
import multiprocessing
import os
import pickle
import re
import signal
import struct
import subprocess
import sys
import threading
import time

import numpy
import pytest
import skyrank
from skyrank import Query, count, high, low

POINTS = numpy.random.default_rng(5).random((20000, 4))


def slow_query():
    """Returns a query that takes many seconds on one thread, and its data."""
    data = numpy.random.default_rng(1).random((40000, 16))
    terms = [low(f"c{index}") for index in range(16)]
    return Query().prefer(terms).at_least(len(data)).using("bnl", device="cpu"), data


def test_the_builder_says_what_the_functions_say(hotels):
    asked = (
        Query.from_("hotels")
        .name("deals")
        .where("price <= 130")
        .prefer([low("price"), high("rating")])
        .rank_by([high("rating"), low("price")])
        .offset(1)
        .limit(2)
        .select("name", "price", stars="rating", position="row()")
    )
    result = skyrank.query(hotels, asked)
    assert result.columns == ["name", "price", "stars", "position"]
    assert result.to_dict() == {"name": [None, "Bristol"], "price": [95.0, 80.0], "stars": [4.2, 3.9], "position": [2, 1]}


def test_queries_are_values():
    query = Query().rank_by(low("x")).limit(3)
    assert query.limit(5) != query and query.limit(5).limit(3) == query
    assert query == Query().rank_by([low(" x ")]).limit(3)
    assert hash(query) == hash(query.name("other"))
    assert Query().prefer(low("x")) == Query().prefer(low("x")).ties("first")
    assert repr(skyrank.prior([low("x"), skyrank.in_sets("c", [["a"], [1, True]])])) == (
        "prior([low('x'), in_sets('c', [['a'], [1, True]])])"
    )


def test_a_query_shows_its_statement():
    query = Query("hotels").where("price < 9").rank_by(low("price")).limit(3)
    assert repr(query) == "Query.parse('SELECT * FROM hotels WHERE price < 9 ORDER BY price LIMIT 3')"
    assert eval(repr(query)) == query
    text = Query().where("name = 'a\nb'").prefer(low("x"))
    assert eval(repr(text)) == text
    assert repr(Query()) == "<Query over 'data': the query asks for nothing: it needs 'prefer', 'rank_by', 'group_by' or 'aggregate'>"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: skyrank.query(t, "SELECT * FROM t"), "a question is a Query, not a str; skyrank.sql answers a statement, and Query.parse reads one"),
        (lambda t: skyrank.Engine().run(t, Query()), "a question is a Query, not a dict; skyrank.sql answers a statement, and Query.parse reads one"),
        (lambda t: skyrank.skyline(t, by="price"), "a term is a preference, such as low('price') or high('rating'), not a str"),
        (lambda t: skyrank.skyline(t, low=low("price")), "an expression is a text, such as 'price + 2', not a Preference"),
        (lambda t: Query().prefer(["price"]), "a term is a preference, such as low('price') or high('rating'), not a str"),
        (lambda t: skyrank.prior(5), "a term is a preference, such as low('price') or high('rating'), not an int"),
        (lambda t: Query().rank_by(5), "an expression is a text, such as 'price + 2', not an int"),
        (lambda t: Query().aggregate("n"), "an aggregate is one of count, sum, min, max and avg, such as count('n'), not a str"),
        (lambda t: skyrank.top_k(t, 2.5, "price"), "'limit' is a whole number, not a float"),
        (lambda t: skyrank.skyline(t, low="price", levels="2"), "'levels' is a whole number, not a str"),
        (lambda t: skyrank.in_sets("name", ["Oslo", "Bergen"]), "in_sets takes a list of sets, each a list of values, such as [['Oslo', 'Bergen'], ['Aarhus']]"),
        (lambda t: skyrank.in_sets("price", [1, 2]), "in_sets takes a list of sets, each a list of values, such as [['Oslo', 'Bergen'], ['Aarhus']]"),
        (lambda t: Query().timeout("1s"), "a time limit is a number of seconds or a timedelta, not a str"),
        (lambda t: Query().offset(1.0), "'offset' is a whole number, not a float"),
        (lambda t: Query().skyband("some"), "'skyband' is a whole number, not a str"),
        (lambda t: Query().at_least([1]), "'at_least' is a whole number, not a list"),
    ],
)
def test_mistakes_in_a_call(hotels, ask, message):
    with pytest.raises(skyrank.QueryError) as raised:
        ask(hotels)
    assert str(raised.value) == message


def test_errors_are_named_as_users_find_them():
    assert [kind.__module__ for kind in (skyrank.Error, skyrank.BindError, skyrank.TimeoutError)] == ["skyrank"] * 3
    error = pickle.loads(pickle.dumps(skyrank.BindError("there is no x", "sql", 1, 2)))
    assert type(error) is skyrank.BindError and str(error) == "sql:1:2: there is no x"


def test_groups(hotels):
    query = Query().group_by("open").aggregate(skyrank.count("n"), skyrank.max("dearest", "price")).rank_by("n")
    assert skyrank.query(hotels, query)["n"].tolist() == [3, 1, 1]


def test_keys_with_names(hotels):
    unnamed = Query().group_by("price < 100").aggregate(skyrank.count("n")).rank_by("n")
    expected = skyrank.query(hotels, unnamed).to_dict()
    for query in (
        Query().group_by(cheap="price < 100").aggregate(skyrank.count("n")).rank_by("n"),
        Query().group_by({"cheap": "price < 100"}).aggregate(skyrank.count("n")).rank_by("n"),
        Query().group_by([{"cheap": skyrank.Expression("price < 100")}]).aggregate(skyrank.count("n")).rank_by("n"),
    ):
        answer = skyrank.query(hotels, query).to_dict()
        assert answer == {"cheap" if name == "price < 100" else name: values for name, values in expected.items()}
    best = skyrank.top_k(hotels, 1, low("price"), partition_by=["open", {"cheap": "price < 100"}])
    assert best.to_dict()["cheap"] == [price < 100 for price in best.to_dict()["price"]]
    with pytest.raises(skyrank.BindError, match="the table has a column 'open' already; name the key price < 100 otherwise"):
        skyrank.query(hotels, Query().group_by(open="price < 100").aggregate(skyrank.count("n")))


def test_nulls_first(hotels):
    assert skyrank.query(hotels, Query().rank_by(high("rating")).nulls("best").limit(1)).rows.tolist() == [4]
    assert skyrank.query(hotels, Query().prefer(low("rating")).nulls("best")).rows.tolist() == [4]
    first = skyrank.sql("SELECT row FROM hotels ORDER BY rating NULLS FIRST LIMIT 1", hotels=hotels)
    assert first["row"].tolist() == [4]


def test_nan_first():
    data = {"x": numpy.array([2, numpy.nan, 1, numpy.nan])}
    assert skyrank.query(data, Query().rank_by(high("x")).nan("best").limit(3)).rows.tolist() == [1, 3, 0]
    assert skyrank.query(data, Query().prefer(low("x")).nan("best")).rows.tolist() == [1, 3]
    first = skyrank.sql("SELECT row FROM data ORDER BY x LIMIT 1 OPTIONS (nan = best)", data=data)
    assert first["row"].tolist() == [1]


@pytest.mark.parametrize(
    ("error", "message", "line", "column", "ask"),
    [
        (skyrank.QueryError, "expression:1:8: expected a value", 1, 8, lambda data: Query().where("price <")),
        (skyrank.QueryError, "expression:2:", 2, None, lambda data: Query().where("price <\n)")),
        (skyrank.BindError, "pric", 1, 1, lambda data: skyrank.skyline(data, low="pric")),
        (skyrank.QueryError, "no rule for ties is called 'some'", None, None, lambda data: Query().ties("some")),
        (skyrank.QueryError, "'first'; it is one of worst, exclude, error, best", None, None, lambda data: Query().nulls("first")),
        (skyrank.QueryError, "no rule for NaN is called 'first'", None, None, lambda data: Query().nan("first")),
        (skyrank.QueryError, "prefer", None, None, lambda data: skyrank.query(data, Query())),
        (skyrank.QueryError, "limit", None, None, lambda data: skyrank.top_k(data, -1, "price")),
        (skyrank.DataError, "NULL in row 4", 1, 1, lambda data: skyrank.query(data, Query().prefer(low("rating")).nulls("error"))),
        (skyrank.QueryError, "there is no preference", None, None, lambda data: skyrank.skyline(data, low=[])),
        (skyrank.BindError, "no-such-rule", None, None, lambda data: skyrank.Engine(without=["no-such-rule"])),
    ],
)
def test_errors_say_where(hotels, error, message, line, column, ask):
    with pytest.raises(error, match=message) as caught:
        ask(hotels)
    assert isinstance(caught.value, skyrank.Error)
    assert caught.value.line == line
    assert column is None or caught.value.column == column
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is error and str(again) == str(caught.value)


def test_wrong_arguments():
    for bad in (-1, 2.5):
        with pytest.raises((ValueError, TypeError)):
            skyrank.Engine(threads=bad)
    with pytest.raises(ValueError, match="no device is called 'gpu'"):
        skyrank.Engine(device="gpu")
    with pytest.raises(TypeError, match="^memory_limit is a whole number of bytes, not a str$"):
        skyrank.Engine(memory_limit="2GB")
    with pytest.raises(ValueError, match="^key_cache is 0 or more, not -1$"):
        skyrank.Engine(key_cache=-1)
    with pytest.raises(ValueError, match=f"^memory_limit is at most {sys.maxsize}, not {2**70}$"):
        skyrank.Engine(memory_limit=2**70)
    with pytest.raises(ValueError, match="^threads is at most 2147483647, not 2147483648$"):
        skyrank.Engine(threads=2**31)
    with pytest.raises(ValueError, match="above 0"):
        skyrank.query(POINTS, Query().rank_by("c0"), timeout=0)
    with pytest.raises(skyrank.QueryError, match="^a time limit is a number of seconds or a timedelta, not a str$"):
        skyrank.query(POINTS, Query().rank_by("c0"), timeout="5")
    assert len(skyrank.query(POINTS, Query().rank_by("c0"), timeout=datetime.timedelta(minutes=1))) == len(POINTS)


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (skyrank.ResourceError, "GPUs are numbered from 0; there is no GPU -1", {"devices": [0, -1]}),
        (skyrank.ResourceError, "GPU 1 is named twice", {"devices": [1, 0, 1]}),
        (TypeError, "devices are the numbers of GPUs, such as [0, 1], not a str", {"devices": "0,1"}),
        (TypeError, "devices are the numbers of GPUs, such as [0, 1], not a float", {"devices": [0, 1.0]}),
        (ValueError, "there is no GPU 2147483648", {"devices": [2**31]}),
        (TypeError, "gpu_memory_limit is a whole number of bytes, not a str", {"gpu_memory_limit": "2GB"}),
        (ValueError, "gpu_memory_limit is 0 or more, not -1", {"gpu_memory_limit": -1}),
        (ValueError, f"gpu_memory_limit is at most {sys.maxsize}, not {2**70}", {"gpu_memory_limit": 2**70}),
    ],
)
def test_wrong_options_of_gpus(error, message, options):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        skyrank.Engine(**options)


def test_options_of_gpus_leave_answers_alone():
    query = Query().prefer([low("c0"), low("c1")])
    expected = skyrank.query(POINTS, query).rows.tolist()
    for options in ({"devices": [0]}, {"devices": 0}, {"devices": (), "gpu_memory_limit": 1 << 28}):
        assert skyrank.Engine(**options).run(query, POINTS).rows.tolist() == expected
    # Numbers of GPUs are looked up when one is asked for: the CPU needs none.
    engine = skyrank.Engine(device="cpu", devices=[numpy.int64(1000)], gpu_memory_limit=1 << 28)
    assert engine.run(query, POINTS).rows.tolist() == expected
    with pytest.raises(skyrank.DeviceError, match="^(device cuda was asked for, but there is none|GPU 1000 was asked for)"):
        skyrank.Engine(device="cuda", devices=[1000])


def test_a_result_is_not_iterated(hotels):
    with pytest.raises(TypeError, match="not iterable"):
        list(skyrank.skyline(hotels, low="price"))


def test_results(hotels):
    result = skyrank.skyline(hotels, low="price", high="rating")
    assert result.rows.dtype == numpy.int64 and not result.rows.flags.owndata and not result.rows.flags.writeable
    assert len(result) == len(result.rows) == 3
    rows = result.rows
    copied = rows.tolist()
    del result
    assert rows.tolist() == copied
    text = repr(skyrank.skyline(POINTS))
    assert text.startswith("Result(") and "c3" in text and "more" in text
    assert repr(skyrank.top_k(hotels, 0, "price")) == "Result(0 rows x 6 columns: row, name, price, rating, rooms, open)"
    assert "Aurora" in repr(skyrank.Table(hotels)) or "price: float64" in repr(skyrank.Table(hotels))
    assert skyrank.top_k(hotels, 1, "price").levels is None
    assert skyrank.skyline(POINTS).timing["total_ms"] > 0
    assert "skyline" in skyrank.explain(POINTS, Query().prefer([low("c0"), low("c1")]))
    assert "candidates\n" not in skyrank.explain(POINTS, Query().rank_by("c0").limit(3))
    assert "candidates\n" in skyrank.explain(POINTS, Query().rank_by("c0").limit(3), candidates=True)
    counted = skyrank.Engine().run(Query().prefer([low("c0"), low("c1")]), POINTS, count_work=True)
    assert counted.work["bytes_read"] > 0 and "skyline" in counted.plan


def test_many_threads_share_an_engine_and_a_table():
    table = skyrank.Table(POINTS)
    engine = skyrank.Engine(threads=2)
    queries = [Query().prefer([low("c0"), high("c1")]), Query().rank_by(low("c2")).limit(7), Query().rank_by("c3").limit(3)]
    expected = [engine.run(query, table).rows.tolist() for query in queries]
    failures = []

    def work(seed):
        for turn in range(15):
            index = (seed + turn) % len(queries)
            if engine.run(queries[index], table).rows.tolist() != expected[index]:
                failures.append(index)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_other_threads_run_while_a_query_does():
    query, data = slow_query()
    ticks = []
    done = threading.Event()

    def tick():
        while not done.wait(0.01):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    with pytest.raises(skyrank.TimeoutError) as caught:
        skyrank.Engine(threads=1).run(query, data, timeout=0.5)
    done.set()
    thread.join()
    assert isinstance(caught.value, TimeoutError)
    assert len(ticks) > 5


def test_ctrl_c_stops_a_query():
    query, data = slow_query()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        skyrank.Engine(threads=1).run(query, data, timeout=60)
    assert time.monotonic() - begin < 20
    assert len(skyrank.skyline(POINTS)) > 0


def test_memory_limit():
    engine = skyrank.Engine(threads=1, memory_limit=1000)
    with pytest.raises(skyrank.ResourceError):
        engine.run(Query().prefer([low("c0"), low("c1")]), POINTS)
    assert len(skyrank.Engine(threads=1, memory_limit=1 << 28).run(Query().rank_by("c0").limit(3), POINTS)) == 3


def _in_child(connection, engine):
    connection.send([engine.run(Query().rank_by("c0").limit(5), POINTS).rows.tolist(), skyrank.skyline(POINTS).rows.tolist()])


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_queries_after_fork():
    engine = skyrank.Engine()
    expected = [engine.run(Query().rank_by("c0").limit(5), POINTS).rows.tolist(), skyrank.skyline(POINTS).rows.tolist()]
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_in_child, args=(theirs, engine))
    child.start()
    assert ours.poll(60), "the child hangs"
    assert ours.recv() == expected
    child.join(60)
    assert child.exitcode == 0


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_an_engine_may_end_in_a_forked_child():
    engines = [skyrank.Engine()]
    assert len(engines[0].run(Query().rank_by("c0").limit(5), POINTS)) == 5
    child = multiprocessing.get_context("fork").Process(target=engines.clear)
    child.start()
    child.join(60)
    assert child.exitcode == 0


@pytest.mark.parametrize(
    "query",
    [
        Query().prefer([low("c0"), low("c1"), high("c2")]),
        Query().rank_by([low("c0")]).limit(20),
        Query().prefer([low("c0"), low("c1")]).levels(3).select("row()", "level()", "c3"),
    ],
)
def test_parts_equal_the_whole(query):
    expected = skyrank.query(POINTS, query)
    bounds = [0, 7000, 7001, 15000, len(POINTS)]
    partials = [skyrank.partial(query, POINTS[a:b], a) for a, b in zip(bounds, bounds[1:])]
    merged = skyrank.merge(query, partials[::-1])
    assert merged.rows.tolist() == expected.rows.tolist()
    assert all(numpy.array_equal(merged[name], expected[name]) for name in expected.columns)
    pytest.importorskip("pyarrow")
    engine = skyrank.default_engine()
    half = engine.merge_partials(query, pickle.loads(pickle.dumps(partials[:2])))
    assert half.covers == [(0, 7001)] and half.fingerprint == query.fingerprint
    assert skyrank.merge(query, [half, *partials[2:]]).rows.tolist() == expected.rows.tolist()
    with pytest.raises(skyrank.DataError):
        skyrank.merge(query, [half, partials[0]])
    with pytest.raises(skyrank.DataError):
        skyrank.Partial.from_arrow(__import__("pyarrow").record_batch({"x": [1]}))


def _stream_without_batches(pyarrow, schema):
    sink = pyarrow.BufferOutputStream()
    pyarrow.ipc.new_stream(sink, schema).close()
    return sink.getvalue().to_pybytes()


def _merged_or_refused(query, content):
    """Merges a partial answer of bytes; every refusal is a DataError."""
    try:
        result = skyrank.merge(query, [skyrank.Partial.from_bytes(content)])
    except skyrank.DataError:
        return
    try:
        result.to_dict()
    except skyrank.DataError as error:
        pytest.fail(f"the answer has values that no table has: {error}")


@pytest.mark.parametrize(
    "query",
    [
        Query().rank_by(low("a")).limit(3),
        Query().group_by("s").aggregate(count("n"), skyrank.sum("total", "a"), skyrank.max("best", "d")),
    ],
)
def test_partial_answers_of_strangers_are_validated(query):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(
        {
            "a": [1, 2, 3],
            "s": ["x", None, "zzz"],
            "d": [datetime.datetime(2020, 1, 1), None, datetime.datetime(2021, 1, 1)],
        }
    )
    genuine = skyrank.partial(query, table, 0).to_bytes()
    assert len(skyrank.merge(query, [skyrank.Partial.from_bytes(genuine)])) == 3
    for place in range(len(genuine)):
        for byte in {genuine[place] ^ 1, genuine[place] ^ 0x80, 0, 255}:
            _merged_or_refused(query, genuine[:place] + bytes([byte]) + genuine[place + 1 :])
    for place in range(0, len(genuine) - 8, 4):
        for number in (0, 1, 2**31, 2**32, 2**61, 2**63, 2**64 - 1):
            _merged_or_refused(query, genuine[:place] + number.to_bytes(8, "little") + genuine[place + 8 :])
    for size in range(len(genuine)):
        _merged_or_refused(query, genuine[:size])
    with pytest.raises(skyrank.DataError, match="they have 0 record batches"):
        skyrank.Partial.from_bytes(_stream_without_batches(pyarrow, table.schema))


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
@pytest.mark.parametrize("texts", [["x" * 1000] * 3, "dictionary"])
def test_a_compressed_partial_answer_is_refused_before_it_is_decompressed(codec, texts):
    pyarrow = pytest.importorskip("pyarrow")
    if texts == "dictionary":
        texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, 0]), ["S", "M" * 1000], ordered=True)
    query = Query().rank_by(low("a")).limit(3).select("a", "s")
    batch = pyarrow.record_batch(skyrank.partial(query, pyarrow.table({"a": [1, 2, 3], "s": texts}), 0))
    for options in (pyarrow.ipc.IpcWriteOptions(), pyarrow.ipc.IpcWriteOptions(compression=codec)):
        sink = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, batch.schema, options=options) as writer:
            writer.write_batch(batch)
        content = sink.getvalue().to_pybytes()
        if options.compression is None:
            assert len(skyrank.Partial.from_bytes(content)) == 3
            continue
        with pytest.raises(skyrank.DataError, match="their values are compressed"):
            skyrank.Partial.from_bytes(content)


@pytest.mark.parametrize("last", [600, 0x7FFFFFFF, 2, -1])
def test_string_offsets_of_a_partial_answer_lie_inside(last):
    pyarrow = pytest.importorskip("pyarrow")
    query = Query().rank_by(low("a")).limit(3).select("a", "s")
    content = bytearray(skyrank.partial(query, pyarrow.table({"a": [1, 2, 3], "s": ["x", "yy", "zzz"]}), 0).to_bytes())
    place = content.rindex(struct.pack("<4i", 0, 1, 3, 6))
    content[place + 12 : place + 16] = struct.pack("<i", last)
    with pytest.raises(skyrank.DataError):
        skyrank.Partial.from_bytes(bytes(content))
    batch = pyarrow.ipc.open_stream(bytes(content)).read_next_batch()
    with pytest.raises(skyrank.DataError):
        skyrank.Partial.from_arrow(batch)


def test_nesting_is_limited():
    for compose in (skyrank.inverse, lambda inner: skyrank.prior([inner]), lambda inner: skyrank.pareto([low("b"), inner])):
        preference = low("a")
        with pytest.raises(skyrank.QueryError, match="nested more than 100 levels deep"):
            for _ in range(100_000):
                preference = compose(preference)
    for levels in (101, 100_000):
        with pytest.raises(skyrank.QueryError, match="nested more than 100 levels deep"):
            skyrank.top_k({"a": [1]}, 1, low("(" * levels + "a" + ")" * levels))
    values = [1]
    for _ in range(100_000):
        values = [values]
    for data in (values, {"a": values}):
        with pytest.raises(skyrank.DataError):
            skyrank.skyline(data, low=[0])


def test_memory_does_not_grow():
    resource = pytest.importorskip("resource")
    points = POINTS[:2000]

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def work(times):
        for _ in range(times):
            skyrank.skyline({"a": points[:, 0], "b": points[:, 1].copy()}, low=["a", "b"])
            with pytest.raises(skyrank.BindError):
                skyrank.skyline({"a": points[:, 0].copy()}, low="b")

    work(50)
    before = peak()
    work(1500)
    assert peak() - before < 8 << 10, "kilobytes"


def test_import_loads_no_other_library():
    code = (
        "import sys, skyrank; "
        "print([m for m in ('numpy', 'pyarrow', 'pandas', 'polars', 'skyrank._files') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_queries_are_reported(hotels, tmp_path):
    reports = []
    engine = skyrank.Engine(on_query=reports.append)
    best = Query().prefer([low("price"), high("rating")])
    assert len(engine.run(best, hotels)) == reports[0].rows > 0
    answered = reports.pop()
    assert (answered.error, answered.message, answered.input_rows) == ("", "", 5)
    assert answered.ms > 0 and answered.timing["total_ms"] > 0
    assert (answered.bytes_read, answered.bytes_spilled) == (0, 0)
    failing = [
        (Query().rank_by(low("prize")), hotels, {}, skyrank.BindError, "bind"),
        (Query(), hotels, {}, skyrank.QueryError, "query"),
        (Query().rank_by(low("rooms / (rooms - rooms)")), hotels, {}, skyrank.DataError, "data"),
        (best, "no-such.parquet", {}, skyrank.DataError, "data"),
        (best, hotels, {"timeout": -1}, Exception, "internal"),
    ]
    for query, data, options, error, code in failing:
        with pytest.raises(error) as caught:
            engine.run(query, data, **options)
        report = reports.pop()
        assert (report.error, report.rows, report.timing) == (code, 0, {})
        assert report.message and report.message in str(caught.value)
    assert reports == []


def test_reports_tell_bytes_of_files(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table({"a": list(range(10_000)), "b": [str(i) for i in range(10_000)]}), path)
    reports = []
    skyrank.Engine(on_query=reports.append).run(Query().rank_by(low("a")).limit(1).select("a"), skyrank.Files(path))
    assert 10_000 < reports[0].bytes_read < path.stat().st_size
    assert reports[0].input_rows == 10_000


def test_what_a_report_raises_is_raised(hotels):
    def refuse(report):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        skyrank.Engine(on_query=refuse).run(Query().rank_by(low("price")), hotels)
