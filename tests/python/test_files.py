"""Files as tables."""

import gzip
import os
import pickle
import socket
import subprocess
import sys
import time

import numpy
import pytest
import skyrank

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")
QUERY = skyrank.Query().prefer([skyrank.low("price"), skyrank.high("rating")])


@pytest.fixture
def table():
    generator = numpy.random.default_rng(8)
    return pyarrow.table({"price": generator.random(3000), "rating": generator.integers(0, 9, 3000)})


@pytest.mark.parametrize("name", ["hotels.parquet", "hotels.arrow", "hotels.feather", "hotels.csv"])
def test_formats(table, tmp_path, name):
    path = tmp_path / name
    if name.endswith("parquet"):
        parquet.write_table(table, path, row_group_size=500)
    elif name.endswith("csv"):
        lines = zip(*(table.column(column).to_pylist() for column in ("price", "rating")))
        path.write_text("price,rating\n" + "".join(f"{price!r},{rating}\n" for price, rating in lines))
    else:
        feather.write_feather(table, path, compression="uncompressed")
    expected = skyrank.query(table, QUERY).rows.tolist()
    for data in (path, str(path), [path], skyrank.Files(path), skyrank.Files([str(path)])):
        assert skyrank.query(data, QUERY).rows.tolist() == expected
    assert skyrank.skyline(path, low="price", high="rating").rows.tolist() == expected
    assert len(skyrank.Files(path)) == 3000
    assert skyrank.Files(path).columns == ["price", "rating"]


def test_globs_and_options(table, tmp_path):
    for index in range(3):
        parquet.write_table(table.slice(1000 * index, 1000), tmp_path / f"part{index}.parquet")
    files = skyrank.Files(tmp_path / "part*.parquet")
    assert skyrank.query(files, QUERY).rows.tolist() == skyrank.query(table, QUERY).rows.tolist()
    assert "skyline" in skyrank.explain(files, QUERY)
    skyrank.default_engine().check(QUERY, files)
    (tmp_path / "plain.csv").write_text("1,-\n2,3\n")
    plain = skyrank.Files(tmp_path / "plain.csv", header=False, null_spellings=["-"])
    assert skyrank.query(plain, skyrank.Query().rank_by(skyrank.low("0")))["c1"].tolist() == [None, 3]


def test_text_of_other_kinds(tmp_path):
    best = skyrank.Query().rank_by(skyrank.low("a"))
    (tmp_path / "rows.jsonl").write_text('{"a": 2, "b": "x"}\n{"a": 1}\n')
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"a,b\n2,x\n1,\n"))
    (tmp_path / "rows.txt").write_text("a;b\n2;x\n1;\n")
    for files in (
        tmp_path / "rows.jsonl",
        tmp_path / "rows.csv.gz",
        f"file://{tmp_path}/rows.jsonl",
        skyrank.Files(tmp_path / "rows.txt", delimiter=";", format="csv"),
    ):
        answer = skyrank.query(files, best)
        assert answer["a"].tolist() == [1, 2]
        assert answer["b"].tolist() == [None, "x"]
    (tmp_path / "zips.csv").write_text("zip,day\n94107,2020-01-01\n12,2020-01-02\n")
    zips = skyrank.Files(tmp_path / "zips.csv", types={"zip": "string", "day": "timestamp"})
    assert pickle.loads(pickle.dumps(zips)).columns == ["zip", "day"]
    assert skyrank.query(zips, skyrank.Query().rank_by(skyrank.low("zip")))["zip"].tolist() == ["12", "94107"]
    with pytest.raises(skyrank.DataError, match="unknown type 'strng'; did you mean 'string'"):
        skyrank.Files(tmp_path / "zips.csv", types={"zip": "strng"})
    with pytest.raises(skyrank.DataError, match="there is no column 'zap'.* did you mean 'zip'"):
        skyrank.Files(tmp_path / "zips.csv", types={"zap": "string"})
    with pytest.raises(skyrank.DataError, match="types are a dict"):
        skyrank.Files(tmp_path / "zips.csv", types=["zip"])
    with pytest.raises(skyrank.DataError, match="a delimiter is one character"):
        skyrank.Files(tmp_path / "rows.txt", delimiter="")
    with pytest.raises(skyrank.DataError, match="unknown format 'cvs'"):
        skyrank.Files(tmp_path / "rows.txt", format="cvs")


def test_errors(tmp_path):
    with pytest.raises(skyrank.DataError, match="^the path of a file is a text or a Path, not an int$"):
        skyrank.Files(7)
    with pytest.raises(skyrank.DataError, match="no-such"):
        skyrank.Files(tmp_path / "no-such-*.parquet")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(skyrank.DataError, match="damaged.parquet"):
        skyrank.Files(tmp_path / "damaged.parquet")
    (tmp_path / "text.xyz").write_text("")
    with pytest.raises(skyrank.DataError, match="xyz"):
        skyrank.query(os.fspath(tmp_path / "text.xyz"), QUERY)


def test_a_time_limit_counts_opening_and_reading_files(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n" + "123456,0.25\n" * 2_000_000)
    query = skyrank.Query().rank_by("a").limit(1)
    with pytest.raises(skyrank.TimeoutError, match="took longer than its time limit"):
        skyrank.query(str(file), query, timeout=0.001)
    assert len(skyrank.query(str(file), query, timeout=3600)) == 1


def test_damaged_footers_and_names_are_errors_that_name_the_file(tmp_path):
    sound = tmp_path / "sound.parquet"
    parquet.write_table(pyarrow.table({"a": [1, 2, 3], "name": ["x", "y", "z"]}), sound)
    content = sound.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little")
    file = tmp_path / "t.parquet"
    for place in range(len(content) - 8 - footer, len(content)):
        file.write_bytes(content[:place] + bytes([content[place] ^ 0x15]) + content[place + 1:])
        try:
            skyrank.sql("SELECT * FROM t ORDER BY a LIMIT 1", t=str(file))
        except skyrank.Error as error:
            assert "t.parquet" in str(error) or "column" in str(error)
    file.write_bytes(content.replace(b"name", b"\xffame"))
    with pytest.raises(skyrank.DataError, match=r"t.parquet: .*\\xffame"):
        skyrank.sql("SELECT * FROM t ORDER BY a LIMIT 1", t=str(file))


def test_the_form_of_text_is_recognised_or_stated(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1,5;x\n2,5;y\n")
    files = skyrank.Files(tmp_path / "t.csv")
    assert len(files.notes) == 1 and "delimiter ';', decimal comma" in files.notes[0]
    assert files.part(0, 1).notes == files.notes
    best = skyrank.Query().rank_by(skyrank.low("a"))
    assert skyrank.query(files, best)["a"].tolist() == [1.5, 2.5]
    (tmp_path / "u.csv").write_bytes("Bericht\n# x\na,b\n1,é\n".encode("latin-1"))
    stated = skyrank.Files(tmp_path / "u.csv", skip=1, comment="#", decimal=".", encoding="latin1")
    for same in (stated, pickle.loads(pickle.dumps(stated))):
        assert skyrank.query(same, best)["b"].tolist() == ["é"]
    (tmp_path / "t.json").write_text('{"data": [{"a": 1, "at": {"city": "Oslo"}}]}')
    nested = skyrank.Files(tmp_path / "t.json", records="data", flatten=True)
    assert nested.notes == []
    for same in (nested, pickle.loads(pickle.dumps(nested))):
        assert same.columns == ["a", "at.city"]
    with pytest.raises(skyrank.DataError, match="skip is a number of lines, not -1"):
        skyrank.Files(tmp_path / "u.csv", skip=-1)
    with pytest.raises(skyrank.DataError, match="comment is a text, not ''"):
        skyrank.Files(tmp_path / "u.csv", comment="")
    with pytest.raises(skyrank.DataError, match="unknown encoding 'x-y'"):
        skyrank.Files(tmp_path / "u.csv", encoding="x-y")


def test_a_machine_that_does_not_answer_can_be_left(monkeypatch):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"s3://k:s@bucket/t.csv?scheme=http&region=r&endpoint_override=127.0.0.1%3A{silent.getsockname()[1]}"
        script = f"import signal, skyrank\nsignal.alarm(1)\nsignal.signal(signal.SIGALRM, signal.default_int_handler)\nskyrank.Files({uri!r})"
        started = time.monotonic()
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
        assert "KeyboardInterrupt" in ended.stderr, ended.stderr
        with pytest.raises(skyrank.TimeoutError):
            skyrank.default_engine().run(skyrank.Query().rank_by(skyrank.low("a")), uri, timeout=0.2)
        assert time.monotonic() - started < 20
