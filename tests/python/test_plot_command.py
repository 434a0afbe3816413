"""`skyrank plot`: pictures of the queries of a batch, and what it says where there can be none."""

import os
import pathlib
import resource
import signal
import stat
import subprocess
import sys

import pytest
import skyrank
from skyrank.__main__ import main

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow", reason="files need pyarrow")

EXAMPLES = pathlib.Path(__file__).parents[2] / "datasets/examples"
HOTELS = str(EXAMPLES / "hotels.yaml")
PACKAGE = pathlib.Path(skyrank.__file__).parents[1]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty current folder, and no other program on the PATH; signals as they were before."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    yield place
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_the_picture_has_the_name_of_the_query(folder, capsys):
    assert main(["plot", HOTELS, "good-deals"]) == 0
    assert capsys.readouterr().out == "good-deals.png\n"
    assert [path.name for path in folder.iterdir()] == ["good-deals.png"]
    assert (folder / "good-deals.png").read_bytes().startswith(b"\x89PNG")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((folder / "good-deals.png").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize(
    ("query", "kind", "words"),
    [
        ("second-choices", "front", ["level 1 (7 rows)", "level 3 (4 rows)", "others (2 rows)", "price (← better)"]),
        ("good-deals", "front", ["front (13 rows)", "answer (10 rows)", "others (46 rows)", "distance_km (← better)"]),
        ("good-deals", "parallel", ["answer (10 rows)", "rating ↑"]),
        ("good-deals", "matrix", ["answer (10 rows)", "rating (better →)"]),
        ("cities", "front", ["front (4 rows)"]),
    ],
)
def test_what_it_draws(folder, query, kind, words, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")
    assert main(["plot", HOTELS, query, "--kind", kind, "--out", "picture.svg"]) == 0
    text = (folder / "picture.svg").read_text()
    assert [word for word in words if word not in text] == []


def test_generated_tables_and_formats(folder):
    batch = str(EXAMPLES / "generated.yaml")
    assert main(["plot", batch, "skyline", "--max-rows", "50", "--out", "sky.PDF"]) == 0
    assert (folder / "sky.PDF").read_bytes().startswith(b"%PDF")


def program(*words, **options):
    """Starts the program in a process of its own."""
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE))
    return subprocess.Popen([sys.executable, *words], env=environment, stdout=subprocess.PIPE, text=True, **options)


def test_a_file_is_written_whole_or_not_at_all(folder):
    out = folder / "deals.png"
    out.write_text("before")
    out.chmod(0o640)
    link = folder / "link.png"
    link.symlink_to("deals.png")
    small = (resource.RLIMIT_FSIZE, (1000, 1000))
    words = ("-m", "skyrank", "plot", HOTELS, "good-deals", "--out", "link.png")
    with program(*words, stderr=subprocess.PIPE, preexec_fn=lambda: resource.setrlimit(*small)) as failing:
        assert "File too large" in failing.stderr.read()
    assert failing.returncode == 1
    assert out.read_text() == "before"
    assert sorted(path.name for path in folder.iterdir()) == ["deals.png", "link.png"]
    assert main(["plot", HOTELS, "good-deals", "--out", "link.png"]) == 0
    assert link.is_symlink() and out.read_bytes().startswith(b"\x89PNG")
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


def test_a_pipe_is_written_to_and_stays(folder):
    pipe = folder / "pipe.png"
    os.mkfifo(pipe)
    with program("-m", "skyrank", "plot", HOTELS, "cities", "--out", str(pipe)) as writer:
        assert pipe.read_bytes().startswith(b"\x89PNG")
        assert writer.stdout.read() == f"{pipe}\n"
    assert writer.returncode == 0
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_signal_leaves_no_temporary_file(folder):
    code = """
import os, signal, sys
from skyrank.__main__ import main
def wait(*paths):
    print("about to rename", flush=True)
    signal.pause()
os.replace = wait
sys.exit(main(["plot", sys.argv[1], "cities"]))
"""
    with program("-c", code, HOTELS) as writer:
        assert writer.stdout.readline() == "about to rename\n"
        assert len(list(folder.iterdir())) == 1
        writer.terminate()
    assert writer.returncode == 128 + signal.SIGTERM
    assert list(folder.iterdir()) == []


MISTAKES = [
    (["good-deal"], f"{HOTELS}: there is no query 'good-deal' in the batch; did you mean 'good-deals'?"),
    (["top-rated"], f"{HOTELS}: query 'top-rated': the query has no `prefer`"),
    (["best-in-town"], f"{HOTELS}: query 'best-in-town': the query has partitions"),
    (["old-and-affordable"], f"{HOTELS}: query 'old-and-affordable': a picture has no axis for in_sets("),
    (["good-deals", "--out", "a.doc"], "--out a.doc: '.doc' is no format of pictures; matplotlib writes "),
    (["good-deals", "--out", "deals"], "--out deals: there is no suffix that tells the format; matplotlib writes "),
    (["good-deals", "--out", "none/a.png"], "--out none/a.png: there is no folder 'none'"),
    (["good-deals", "--max-rows", "-1"], "--max-rows is 0 or more, not -1"),
]


@pytest.mark.parametrize(("words", "message"), MISTAKES)
def test_mistakes_are_told_with_their_place(folder, words, message, capsys):
    assert main(["plot", HOTELS, *words]) == 2
    assert capsys.readouterr().err.startswith(f"skyrank: {message}")
    assert list(folder.iterdir()) == []


def test_mistakes_in_files(folder, capsys):
    def error_of(batch, query="q"):
        status = main(["plot", str(batch), query])
        assert status == 2
        return capsys.readouterr().err

    assert error_of("none.yaml") == "skyrank: none.yaml: no such file\n"
    assert error_of(folder).endswith("is a folder; a batch is a YAML file\n")
    batch = folder / "batch.yaml"
    text = "version: 1\ntables: {t: {file: t.csv}}\nqueries:\n  - {name: q, from: t, prefer: [{low: a}, {lo: b}]}\n"
    batch.write_text(text)
    assert error_of("batch.yaml").startswith("skyrank: batch.yaml:4:")
    batch.write_text(text.replace("lo:", "low:"))
    assert "t.csv" in error_of("batch.yaml")
    (folder / "t.csv").write_text("a,c\n1,2\n2,1\n")
    assert error_of("batch.yaml").startswith("skyrank: batch.yaml:4:49: there is no column 'b'")
    (folder / "t.csv").write_text("a,b\n1,x\n2,y\n")
    assert error_of("batch.yaml") == "skyrank: batch.yaml: query 'q': a plot has no place for strings, and b is one\n"
    batch.write_text(text.replace("lo:", "low:").replace("name: q", "name: a/b"))
    assert "a query named 'a/b' needs --out FILE" in error_of("batch.yaml", "a/b")


def test_without_matplotlib(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["plot", HOTELS, "good-deals"]) == 1
    assert capsys.readouterr().err.startswith("skyrank: skyrank plot needs matplotlib: pip install 'skyrank[plot]'")


def tool(place, name):
    place.mkdir(parents=True, exist_ok=True)
    path = place / "skyrank"
    path.write_text(f'#!/bin/sh\necho {name} "$@"\n')
    path.chmod(0o755)
    return path


def test_other_commands_go_to_the_next_program_on_the_path(tmp_path, capsys):
    assert main(["run", "batch.yaml"]) == 2
    assert "'run' is one of the command-line tool" in capsys.readouterr().err
    own, other = tmp_path / "own", tool(tmp_path / "other", "tool")
    own.mkdir()
    script = own / "skyrank"
    script.write_text("import sys\nfrom skyrank.__main__ import main\nsys.exit(main())\n")
    script.chmod(0o755)

    def run(*words, path=(own, other.parent)):
        folders = os.pathsep.join(map(str, path))
        environment = dict(os.environ, PYTHONPATH=str(PACKAGE), PATH=f"{folders}:/usr/bin:/bin")
        command = [sys.executable, str(script), *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    assert run("run", "a b").stdout == "tool run a b\n"
    assert run("--help").stdout == "tool --help\n"
    assert run("plot", "--help").stdout.startswith("usage: skyrank plot")
    # A folder that comes twice, and one that comes before, lead to no endless chain.
    assert run("run", path=(other.parent, own)).returncode == 2
    assert run("run", path=(own, own, other.parent, own)).returncode == 2
    assert run("--version", path=(own,)).stdout == f"skyrank {skyrank.__version__}\n"
