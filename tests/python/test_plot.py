"""Pictures: what is drawn, by the values of the artists."""

import decimal

import numpy
import pytest
import skyrank

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
pyplot = pytest.importorskip("matplotlib.pyplot")
POINTS = numpy.random.default_rng(2).random((500, 5))


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    pyplot.close("all")


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_two_columns(tmp_path):
    axes = skyrank.plot(POINTS, low="c0", high="c1")
    front = skyrank.skyline(POINTS, low="c0", high="c1")
    (line,) = axes.lines
    order = numpy.argsort(front["c0"])
    assert numpy.array_equal(line.get_xydata(), numpy.column_stack([front["c0"], front["c1"]])[order])
    assert line.get_drawstyle() == "steps-post"
    assert len(axes.collections[0].get_offsets()) == 500 - len(front)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("c0 (low)", "c1 (high)")
    assert labels(axes) == [f"other rows ({500 - len(front)})", f"skyline ({len(front)} rows)"]
    axes.figure.savefig(tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 1000
    assert skyrank.plot(POINTS, high=["c0", "c1"]).lines[0].get_drawstyle() == "steps-pre"


def test_levels_conditions_and_own_axes():
    own = pyplot.figure().add_subplot()
    axes = skyrank.plot(POINTS, low=[0, 1], where="c2 < 0.5", levels=3, max_rows=10, ax=own)
    assert axes is own and len(axes.lines) == 3
    expected = skyrank.skyline(POINTS, low=[0, 1], where="c2 < 0.5", levels=3)
    assert sorted(len(line.get_xdata()) for line in axes.lines) == sorted(numpy.bincount(expected.levels)[1:])
    assert len(axes.collections[0].get_offsets()) == 10
    assert labels(axes)[0].startswith("other rows (10 of 2")
    assert labels(axes)[-1].startswith("level 1 (")


def test_three_columns():
    axes = skyrank.plot(POINTS[:, :3])
    front = skyrank.skyline(POINTS[:, :3])
    assert axes.get_zlabel() == "c2 (low)"
    x, y, z = axes.collections[1]._offsets3d
    assert numpy.array_equal(numpy.sort(z), numpy.sort(front["c2"]))
    with pytest.raises(skyrank.QueryError, match='projection="3d"'):
        skyrank.plot(POINTS[:, :3], ax=pyplot.figure().add_subplot())


def test_more_columns_are_parallel_coordinates():
    axes = skyrank.plot(POINTS, low=range(4), high=[4])
    front = skyrank.skyline(POINTS, low=range(4), high=[4])
    others, best = axes.collections
    assert (len(others.get_segments()), len(best.get_segments())) == (500 - len(front), len(front))
    heights = numpy.array([segment[:, 1] for segment in [*others.get_segments(), *best.get_segments()]])
    assert (heights.min(0) == 0).all() and (heights.max(0) == 1).all()
    # The best value is on top, in columns of both directions.
    assert POINTS[:, 0].min() in front["c0"] and numpy.array(best.get_segments())[:, 0, 1].max() == 1
    assert POINTS[:, 4].max() in front["c4"] and numpy.array(best.get_segments())[:, 4, 1].max() == 1


def test_types(hotels):
    table = dict(hotels, day=numpy.array(["2024-01-01", "2024-02-01", "NaT", "2024-03-01", "2024-01-05"], "datetime64[D]"))
    axes = skyrank.plot(table, low="price", high="day")
    assert type(axes.yaxis.get_major_formatter()).__name__ == "ConciseDateFormatter"
    axes.figure.canvas.draw()
    assert any("Feb" in label.get_text() for label in axes.get_yticklabels())
    assert len(skyrank.plot(table, low=["price", "rating", "rooms", "day"], high="open").collections) == 2
    assert len(skyrank.plot({"x": [], "y": []}).lines) == 1
    exact = {"x": [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")], "y": [3, 2, 1]}
    pyarrow = pytest.importorskip("pyarrow")
    assert skyrank.plot(pyarrow.table(exact), low=["x", "y"]).lines[0].get_xdata().tolist()[:2] == [1.5, 2.25]
    with pytest.raises(skyrank.BindError, match="a plot has no place for strings, and name is one"):
        skyrank.plot(hotels, low=["name", "price"])
    with pytest.raises(skyrank.QueryError, match="two or more columns in `low` and `high`, not 1"):
        skyrank.plot(hotels, low="price")
    with pytest.raises(skyrank.BindError, match="pric"):
        skyrank.plot(hotels, low=["pric", "rooms"])
    with pytest.raises(ValueError, match="max_rows"):
        skyrank.plot(POINTS, max_rows=-1)
