"""Standing queries."""

import datetime
import os
import sys
import threading

import numpy
import pytest
import skyrank
from skyrank import Query, StandingQuery, high, low

OFFERS = Query().prefer([low("price"), high("rating")])
SCHEMA = {"price": [0.0], "rating": [0.0]}


def offers(price, rating):
    return {"price": numpy.array(price, "float64"), "rating": numpy.array(rating, "float64")}


def test_answers_follow_rows():
    best = StandingQuery(OFFERS, SCHEMA)
    assert len(best) == best.next_id == len(best.answer()) == 0
    assert best.insert(offers([3, 2, 1], [1, 2, 0])) == ([1, 2], [])
    assert best.erase(numpy.array([1])) == ([0], [1])
    before = best.answer()
    changes = best.update([2], offers([3], [0]))
    assert (changes.entered, changes.left) == ([], [2])
    assert list(before.rows) == [0, 2]
    assert list(best.answer().rows) == [0]
    assert list(best.answer()["price"]) == [3]
    assert (len(best), best.next_id) == (2, 3)
    assert repr(best) == "StandingQuery(2 rows; 1 in the answer)"
    assert best.explain().startswith("standing  incremental: the skyline")


def test_random_histories_agree_with_the_engine():
    random = numpy.random.default_rng(5)
    queries = [OFFERS, Query().rank_by(high("rating")).limit(4).ties("all"), OFFERS.levels(2).where("price < 6")]
    for query in queries:
        best, there = StandingQuery(query, SCHEMA, engine=skyrank.Engine(threads=1)), {}
        for _ in range(40):
            rows = random.integers(0, 9, (int(random.integers(0, 6)), 2)).astype("float64")
            there |= {best.next_id + i: row for i, row in enumerate(rows)}
            best.insert({"price": rows[:, 0], "rating": rows[:, 1]})
            gone = [id for id in there if random.random() < 0.1]
            best.erase(gone)
            for id in gone:
                del there[id]
            if not there:
                continue
            values = numpy.array(list(there.values()))
            expected = skyrank.query({"price": values[:, 0], "rating": values[:, 1]}, query)
            assert list(best.answer().rows) == [list(there)[row] for row in expected.rows]


def test_saved_queries_go_on(tmp_path):
    file = tmp_path / "best.standing"
    for window, append_only in [(None, False), ({"rows": 4}, False), (None, True)]:
        options = {"window": window, "append_only": append_only}
        best = StandingQuery(OFFERS, SCHEMA, **options)
        best.insert(offers([3, 2, 1, 5], [1, 2, 0, 9]))
        best.save(file)
        again = StandingQuery.load(file, OFFERS, SCHEMA, **options)
        assert type(again) is StandingQuery
        assert (len(again), again.next_id) == (len(best), 4)
        assert list(again.answer().rows) == list(best.answer().rows)
        more = offers([2, 0], [2, 1])
        assert again.insert(more) == best.insert(more)
        assert repr(again) == repr(best)
    with pytest.raises(skyrank.DataError, match="was saved by another query"):
        StandingQuery.load(os.fspath(file), OFFERS.limit(3), SCHEMA, append_only=True)
    with pytest.raises(skyrank.DataError, match="that is append-only"):
        StandingQuery.load(file, OFFERS, SCHEMA)
    with pytest.raises(skyrank.DataError, match="is damaged or cut off"):
        file.write_bytes(file.read_bytes()[:-1])
        StandingQuery.load(file, OFFERS, SCHEMA, append_only=True)
    with pytest.raises(skyrank.ResourceError, match="none"):
        StandingQuery.load(tmp_path / "none", OFFERS, SCHEMA)
    with pytest.raises(skyrank.ResourceError):
        best.save(tmp_path / "none" / "best.standing")


def test_rows_that_lie_far_apart():
    random = numpy.random.default_rng(2)
    for query in (OFFERS, Query().rank_by(low("price")).limit(3)):
        best, there = StandingQuery(query, SCHEMA), numpy.empty((0, 2))
        for _ in range(30):
            rows = random.integers(0, 100, (3, 5)).astype("float64")
            best.insert({"price": rows[:, 1], "rating": rows[:, 3]})  # columns of a matrix that is row by row
            there = numpy.concatenate([there, rows[:, [1, 3]]])
        gone = []
        for _ in range(5):
            gone += best.answer().rows.tolist()
            best.erase(best.answer().rows)
        left = numpy.setdiff1d(numpy.arange(len(there)), gone)
        expected = skyrank.query({"price": there[left, 0].copy(), "rating": there[left, 1].copy()}, query)
        assert best.answer().rows.tolist() == left[expected.rows].tolist()
        assert best.answer()["price"].tolist() == expected["price"].tolist()


def test_windows():
    last = StandingQuery(OFFERS, SCHEMA, window={"rows": 2})
    assert last.insert(offers([0, 1, 2], [9, 8, 7])) == ([1], [])
    noon = datetime.datetime(2026, 5, 1, 12)
    times = {"time": [noon, noon + datetime.timedelta(minutes=30), noon + datetime.timedelta(hours=1)], "x": [1, 2, 3]}
    for length in ("1h", datetime.timedelta(hours=1), "3600s"):
        recent = StandingQuery(Query().rank_by(low("x")).limit(1), times, window={"by": "time", "last": length})
        assert recent.insert(times) == ([1], [])


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ({"rows": 0}, "1 or more rows, not 0"),
        ({"rows": 1.5}, "'rows' is a whole number, not a float"),
        ({"by": "price"}, "a window is {'rows': n}"),
        ("1h", "a window is {'rows': n}"),
        ({"by": "price", "last": "soon"}, "such as 90s, 5min, 1h or 7d, not 'soon'"),
        ({"by": "price", "last": "1000000w"}, "not '1000000w'"),
        ({"by": "price", "last": 5}, "'last' of a window is a text, not an int"),
    ],
)
def test_windows_that_are_none(window, message):
    with pytest.raises(skyrank.QueryError) as error:
        StandingQuery(OFFERS, SCHEMA, window=window)
    assert message in str(error.value)


def test_calls_that_fail_change_nothing():
    best = StandingQuery(OFFERS, SCHEMA)
    best.insert(offers([1, 2], [1, 2]))
    with pytest.raises(skyrank.DataError, match="no row has the id 7"):
        best.erase([0, 7])
    with pytest.raises(TypeError):
        best.erase(["0"])
    with pytest.raises(skyrank.BindError, match="the schema says float64"):
        best.insert({"price": [1], "rating": [2.0]})
    with pytest.raises(skyrank.DataError, match="2 ids and 1 rows"):
        best.update([0, 1], offers([1], [1]))
    with pytest.raises(skyrank.BindError, match="date"):
        StandingQuery(OFFERS, SCHEMA, window={"by": "price", "last": "1h"})
    assert (len(best), best.next_id, list(best.answer().rows)) == (2, 2, [0, 1])
    appended = StandingQuery(OFFERS, SCHEMA, append_only=True)
    appended.insert(offers([1, 2], [2, 1]))
    assert len(appended) == 1
    with pytest.raises(skyrank.QueryError, match="append_only"):
        appended.erase([0])


def test_several_threads():
    best = StandingQuery(OFFERS, SCHEMA)

    def add(base):
        for i in range(20):
            best.insert(offers([base + i], [base + i]))

    threads = [threading.Thread(target=add, args=(100 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        answer = best.answer()
        assert len(answer) == len(answer["price"])
    for thread in threads:
        thread.join()
    assert len(best.answer()) == best.next_id == 80


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="there is no fork")
def test_forks_are_refused():
    best = StandingQuery(OFFERS, SCHEMA)
    child = os.fork()
    if child == 0:
        try:
            best.insert(offers([1], [1]))
        except skyrank.ResourceError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert best.insert(offers([1], [1])) == ([0], [])
