"""Queries on a local Dask cluster of two workers, one of which is lost, and without a cluster."""

import os
import pathlib
import signal
import sys
import threading
import time

import numpy
import pytest
import skyrank
import skyrank.dask
from skyrank import Query, high, low

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = 6000
QUERIES = {
    "skyline": Query().prefer([low("price"), high("rating")]),
    "top k": Query().rank_by(low("price")).limit(9).select("name", "row()", cost="price * 2"),
    "levels": Query().where("rating > 0.2").prefer([low("price"), high("rating")]).levels(3).select("row()", "level()", "name"),
    "at least": Query().prefer([low("price"), high("rating")]).at_least(40).rank_by("price"),
    "partitions": Query().partition_by("city").prefer([low("price"), high("rating")]),
    "groups": Query()
    .where("price < 0.5")
    .group_by("city")
    .aggregate(skyrank.count("n"), skyrank.sum("s", "price"), skyrank.max("m", "rating"))
    .rank_by("n"),
}


def table(rows=ROWS):
    generator = numpy.random.default_rng(3)
    cities = ["Oslo", "Bergen", None, "Aarhus"]
    return pyarrow.table(
        {
            "price": generator.random(rows).round(3),
            "rating": pyarrow.array(generator.random(rows).round(3), mask=generator.random(rows) < 0.1),
            "city": [cities[index] for index in generator.integers(0, 4, rows)],
            "name": [f"hotel {index}" for index in range(rows)],
        }
    )


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.scheduler.worker-saturation": 1.0}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hotels")
    for index in range(4):
        part = table().slice(1500 * index, 1500)
        parquet.write_table(part, folder / f"part{index}.parquet", row_group_size=400)
    return folder


def same(result, expected):
    assert result.rows.tolist() == expected.rows.tolist()
    assert result.columns == expected.columns
    assert [result[name].tolist() for name in result.columns] == [expected[name].tolist() for name in expected.columns]
    assert (result.levels is None) == (expected.levels is None) and (result.levels is None or (result.levels == expected.levels).all())


@pytest.mark.parametrize("name", QUERIES)
def test_files_equal_one_run(client, folder, name, monkeypatch):
    monkeypatch.setattr(skyrank.dask, "_ROWS_OF_A_TASK", 700)
    expected = skyrank.query(table(), QUERIES[name])
    same(skyrank.dask.query(folder / "*.parquet", QUERIES[name], split_every=3), expected)
    same(skyrank.dask.query(skyrank.Files(str(folder)), QUERIES[name]), expected)


@pytest.mark.parametrize("name", QUERIES)
def test_lists_of_parts_equal_one_run(client, name):
    whole = table()
    cuts = [0, 1, 1, 2500, 2600, ROWS]
    parts = [dask.delayed(whole.slice)(begin, end - begin) for begin, end in zip(cuts, cuts[1:])]
    same(skyrank.dask.query(parts, QUERIES[name], split_every=2), skyrank.query(whole, QUERIES[name]))


def test_data_frames_and_arrays(folder):
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.read_parquet(folder, split_row_groups=True)
    assert frame.npartitions > 4
    with dask.config.set(scheduler="threads"):  # workers would take seconds to import pandas
        for name in ("skyline", "groups"):
            same(skyrank.dask.query(frame, QUERIES[name]), skyrank.query(table(), QUERIES[name]))


def test_arrays(client):
    arrays = pytest.importorskip("dask.array")
    points = numpy.random.default_rng(1).random((ROWS, 3))
    chunked = arrays.from_array(points, chunks=(1700, 2))
    query = Query().prefer([low("c0"), low("c1"), high("c2")])
    same(skyrank.dask.query(chunked, query), skyrank.query(points, query))
    named = skyrank.dask.query(chunked, Query().rank_by("z").limit(3), columns=["x", "y", "z"])
    assert named.rows.tolist() == numpy.argsort(-points[:, 2])[:3].tolist() and named.columns == ["row", "x", "y", "z"]


def slow_part(folder, index, rows):
    """Returns a part after a while, and notes each time that it was made."""
    (pathlib.Path(folder) / f"{index}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(0.1)
    return table().slice(index * rows, rows)


def test_a_worker_that_is_lost_in_the_middle(client, tmp_path):
    client.wait_for_workers(2)
    workers = set(client.run(os.getpid).values())
    victim = min(workers)
    parts = [dask.delayed(slow_part)(str(tmp_path), index, ROWS // 30) for index in range(30)]

    def kill():
        while sum(f"-{victim}-" in path.name for path in tmp_path.iterdir()) < 5:
            time.sleep(0.01)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    result = skyrank.dask.query(parts, QUERIES["levels"], split_every=4)
    killer.join(10)
    same(result, skyrank.query(table(), QUERIES["levels"]))
    made = [path.name.split("-")[0] for path in tmp_path.iterdir()]
    assert len(made) > len(set(made)) == 30, "parts of the lost worker are made again"
    client.wait_for_workers(2, timeout=30)
    assert victim not in client.run(os.getpid).values()


def test_without_a_cluster(folder):
    with dask.config.set(scheduler="threads"):
        same(skyrank.dask.query(str(folder / "*.parquet"), QUERIES["skyline"]), skyrank.query(table(), QUERIES["skyline"]))
        delayed = skyrank.dask.partial(str(folder / "*.parquet"), QUERIES["skyline"])
        assert delayed.compute().covers == [(0, ROWS)]
        empty = [{"x": numpy.empty(0)}, {"x": numpy.empty(0)}]
        assert len(skyrank.dask.query(empty, Query().rank_by("x").limit(2))) == 0


def test_errors(client, folder, tmp_path, monkeypatch):
    query = QUERIES["skyline"]
    with pytest.raises(skyrank.BindError, match="there is no column 'pric'"):
        skyrank.dask.query(folder, Query().prefer(low("pric")))
    with pytest.raises(skyrank.QueryError, match="a question is a Query, not a str"):
        skyrank.dask.query("offers.parquet", "SELECT 1")
    with pytest.raises(skyrank.DataError, match="a int is no Dask collection"):
        skyrank.dask.query(3, query)
    with pytest.raises(skyrank.DataError, match="has 2 dimensions, not 1"):
        skyrank.dask.query(pytest.importorskip("dask.array").ones(5), query)
    with pytest.raises(ValueError, match="split_every"):
        skyrank.dask.query(folder, query, split_every=1)
    with pytest.raises(skyrank.DataError, match="no-such"):
        skyrank.dask.query(tmp_path / "no-such-*.parquet", query)
    overflow = Query().where("rating + 9223372036854775807 > 0").rank_by("rating").limit(1)
    ints = [{"rating": [0, 0]}, {"rating": [0, 1]}]
    with pytest.raises(skyrank.DataError, match="row 1"):
        skyrank.dask.query(ints, overflow)
    parquet.write_table(table(1000), tmp_path / "one.parquet")
    delayed = skyrank.dask.partial(tmp_path / "*.parquet", query)
    parquet.write_table(table(10), tmp_path / "two.parquet")
    parquet.write_table(table(900), tmp_path / "one.parquet")
    with pytest.raises(skyrank.DataError, match=r"\*.parquet: the files have changed, or a worker sees others"):
        delayed.compute()
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(skyrank.ResourceError, match=r"a query over Dask needs dask: pip install 'skyrank\[dask\]'"):
        skyrank.dask.query(folder, query)


@pytest.mark.parametrize("name", QUERIES)
def test_running_answers_follow_parts(name):
    question, whole = QUERIES[name], table(900)
    running = skyrank.dask.RunningAnswer(question)
    with pytest.raises(skyrank.DataError):
        running.answer()
    for begin in range(0, 900, 300):
        part = [whole.slice(begin, 120), whole.slice(begin + 120, 180)]
        running.add(skyrank.dask.partial(part, question).compute(scheduler="synchronous"))
        expected = skyrank.query(whole.slice(0, begin + 300), question)
        assert running.answer().rows.tolist() == expected.rows.tolist()
        assert running.answer().to_dict() == expected.to_dict()
    kept = skyrank.Partial.from_bytes(running.partial.to_bytes())
    again = skyrank.dask.RunningAnswer(question, kept)
    assert again.answer().rows.tolist() == running.answer().rows.tolist()
    with pytest.raises(skyrank.DataError, match="belongs to the query"):
        running.add(skyrank.partial(Query().rank_by("rating").limit(7), whole, 0))
