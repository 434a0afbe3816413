"""The package as a whole: its types, its examples, its documentation, and that it can be installed."""

import ast
import doctest
import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys

import pytest
import skyrank

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "engine/python/examples").glob("*.py"))
PACKAGE = pathlib.Path(skyrank.__file__).parent


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def installed(requirement):
    try:
        importlib.metadata.version(requirement)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples(example, tmp_path):
    needs = next(line for line in example.read_text().splitlines() if line.startswith("# Needs: "))
    missing = [name for name in needs.removeprefix("# Needs: ").split(", ") if not installed(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE.parent))
    assert run(sys.executable, example, cwd=tmp_path, env=environment).strip()


def test_the_benchmark_finds_equal_answers():
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE.parent))
    output = run(sys.executable, "-B", ROOT / "tools/bench/peers/python.py", "--rows=1000", "--rounds=1", env=environment)
    assert "ranks 100 x 3" in output and "top 50" in output


# Optuna breaks ties for the last place in another way, and they come once.
@pytest.mark.parametrize(
    ("library", "found"),
    [("pymoo", "last fronts the same\n"), ("deap", " 9 of 9 selections the same; "), ("optuna", " 6 of 7 selections the same; ")],
)
def test_the_benchmark_of_optimisers_finds_equal_survivors(library, found):
    pytest.importorskip(library)
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE.parent))
    words = ["--generations=8", "--rounds=1", f"--only={library}"]
    assert found in run(sys.executable, "-B", ROOT / "tools/bench/peers/optimisers.py", *words, env=environment)


def test_there_are_examples():
    assert len(EXAMPLES) == 9


def test_types():
    pytest.importorskip("mypy")
    cache = PACKAGE.parent / ".mypy_cache"
    run(sys.executable, "-m", "mypy", "--cache-dir", cache, "engine/python/skyrank", cwd=ROOT)


def test_sources_are_for_python_3_9():
    """Type checkers know it no more. Of what they knew, unions that are evaluated come up."""
    unions = []
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(), feature_version=(3, 9))
        values = [node.value for node in tree.body if isinstance(node, ast.Assign)]
        unions += [path for value in values for part in ast.walk(value) if isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr)]
    assert unions == []


def test_the_stub_of_the_extension_names_what_it_has():
    stub = (ROOT / "engine/python/skyrank/_core.pyi").read_text()
    names = [name for name in dir(skyrank._core) if not name.startswith("_")]
    assert [name for name in names if f" {name}(" not in stub and f"class {name}" not in stub] == []


def test_everything_public_has_a_docstring():
    missing = []
    for name in skyrank.__all__:
        thing = getattr(skyrank, name)
        if getattr(thing, "__module__", "") == "skyrank._core":
            continue
        missing += [] if thing.__doc__ else [name]
        if isinstance(thing, type):
            words = [word for word in vars(thing) if not word.startswith("_")]
            missing += [f"{name}.{word}" for word in words if not getattr(thing, word).__doc__]
    # Slots and attributes of exceptions have none.
    assert [name for name in missing if not name.endswith(("_core", "_core_data"))] == []


def test_code_in_docstrings_and_on_the_pages(tmp_path, monkeypatch):
    import numpy

    # Pages read the examples of a clone, and write pictures.
    (tmp_path / "datasets").symlink_to(ROOT / "datasets")
    monkeypatch.chdir(tmp_path)

    names = {name: getattr(skyrank, name) for name in skyrank.__all__} | {"numpy": numpy, "skyrank": skyrank}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == "skyrank"]
    finder = doctest.DocTestFinder(recurse=True)
    tests = [test for module in modules for test in finder.find(module, extraglobs=names) if test.examples]
    pages = ("fronts.md", "indicators.md", "python.md", "select.md", "sql.md", "standing.md", "users/analyst.md", "users/optimiser.md", "../../README.md")
    for name in pages:
        page = ROOT / "engine/docs" / name
        tests.append(doctest.DocTestParser().get_doctest(page.read_text(), names, name, str(page), 0))
    for test in tests:
        test.globs = dict(names)
        runner.run(test)
    result = runner.summarize(verbose=False)
    assert result.failed == 0
    assert result.attempted >= 20


def test_pictures_on_the_pages_are_those_of_their_code(tmp_path):
    """Compares their texts, as coordinates may differ between machines in the last digit."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("pyarrow", reason="files need pyarrow")
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE.parent))
    run(sys.executable, "-B", ROOT / "engine/docs/pictures/draw.py", tmp_path, env=environment)

    def texts(folder):
        return {path.name: re.findall(r"<text[^>]*>([^<]*)", path.read_text()) for path in folder.glob("*.svg")}

    drawn = texts(tmp_path)
    assert len(drawn) == 4 and all(len(words) > 10 for words in drawn.values())
    assert texts(ROOT / "engine/docs/pictures") == drawn


def test_released_sources_are_built_with_the_same_pyarrow():
    pinned = re.search(r"^pyarrow==\S+", (ROOT / "tools/requirements/arrow.txt").read_text(), re.MULTILINE)
    text = (ROOT / "pyproject.toml").read_text()
    assert f'build.requires = ["{pinned[0]};' in text
    assert f'files = ["{pinned[0].rpartition(".")[0]}.*;' in text


@pytest.mark.skipif("SKYRANK_PIP_TEST" not in os.environ, reason="SKYRANK_PIP_TEST is not set")
def test_pip_install(tmp_path):
    """Builds and installs the wheel, as the build tree compiles so that ccache serves again, and uses it."""
    target = tmp_path / "site"
    pip = [*os.environ["SKYRANK_PIP_TEST"].split(), "-m", "pip", "--python", sys.executable, "install", "-q"]
    run(
        *pip,
        "--no-build-isolation",
        "--no-deps",
        "--disable-pip-version-check",
        f"--config-settings=cmake.define.SKYRANK_WERROR={os.environ['SKYRANK_WERROR']}",
        f"--config-settings=build-dir={ROOT / 'build/wheel'}",
        "--target",
        target,
        ROOT,
    )
    code = "import numpy, skyrank; print(skyrank.skyline(numpy.eye(3)).rows.tolist(), skyrank.__file__)"
    output = run(sys.executable, "-c", code, env=dict(os.environ, PYTHONPATH=str(target)))
    assert output.startswith("[0, 1, 2]") and str(target) in output
    assert sum(path.stat().st_size for path in target.rglob("*.so")) < 25 << 20
    picture = tmp_path / "deals.svg"
    words = ["plot", ROOT / "datasets/examples/hotels.yaml", "good-deals", "--out", picture]
    if installed("matplotlib") and installed("pyarrow"):
        run(sys.executable, target / "bin/skyrank", *words, env=dict(os.environ, PYTHONPATH=str(target)))
        assert "</svg>" in picture.read_text()
    names = {path.name for path in (target / "skyrank").iterdir()}
    assert {"py.typed", "_core.pyi", "__init__.py"} <= names
    assert not [path for path in target.rglob("*") if "stage" in path.parts or path.suffix == ".a"]
