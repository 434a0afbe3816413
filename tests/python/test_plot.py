"""Pictures: what is drawn, by the values of the artists."""

import datetime
import decimal
import sys

import numpy
import pytest
import skyrank
from skyrank import Query, around, between, high, low

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


def drawn(axes):
    """Returns the points of each collection of a plane, by its label."""
    return {part.get_label(): numpy.asarray(part.get_offsets()) for part in axes.collections}


def sorted_rows(points):
    return points[numpy.lexsort(points.T)]


def test_two_columns(tmp_path):
    axes = skyrank.plot.front(POINTS, low="c0", high="c1")
    front = skyrank.skyline(POINTS, low="c0", high="c1")
    found = drawn(axes)
    count = len(front)
    assert labels(axes) == [f"front ({count} rows)", f"others ({500 - count} rows)", "dominated by the front"]
    expected = numpy.column_stack([front["c0"], front["c1"]])
    assert numpy.array_equal(sorted_rows(found[f"front ({count} rows)"]), sorted_rows(expected))
    others = numpy.delete(POINTS[:, :2], front.rows, axis=0)
    assert numpy.array_equal(sorted_rows(found[f"others ({500 - count} rows)"]), sorted_rows(others))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("c0 (← better)", "c1 (better →)")
    axes.figure.savefig(tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 1000


@pytest.mark.parametrize(("x_low", "y_low"), [(True, True), (True, False), (False, True), (False, False)])
def test_the_region_below_the_stairs_is_what_the_front_dominates(x_low, y_low):
    lows = [column for column, is_low in (("c0", x_low), ("c1", y_low)) if is_low]
    highs = [column for column, is_low in (("c0", x_low), ("c1", y_low)) if not is_low]
    axes = skyrank.plot.front(POINTS[:60], low=lows or None, high=highs or None)
    (region,) = axes.patches
    (stairs,) = axes.lines
    names = [label.split()[0] for label in (axes.get_xlabel(), axes.get_ylabel())]
    front = skyrank.skyline(POINTS[:60], low=lows or None, high=highs or None)
    signs = numpy.array([1 if name in lows else -1 for name in names])
    points = numpy.column_stack([front[name] for name in names]) * signs
    random = numpy.random.default_rng(1)
    borders = numpy.array([axes.get_xlim(), axes.get_ylim()])
    probes = random.uniform(borders.min(1), borders.max(1), (400, 2))
    expected = [bool((points <= probe * signs).all(axis=1).any()) for probe in probes]
    inside = region.get_path().contains_points(probes)
    assert inside.tolist() == expected
    assert 50 < sum(expected) < 400
    # The stairs end at the borders.
    ends = stairs.get_xydata()[[0, -1]]
    assert ends[0, 1] in borders[1] and ends[1, 0] in borders[0]


def test_levels_conditions_and_own_axes():
    own = pyplot.figure().add_subplot()
    axes = skyrank.plot.front(POINTS, low=[0, 1], where="c2 < 0.5", levels=3, max_rows=10, ax=own)
    assert axes is own and len(axes.lines) == 3
    expected = numpy.bincount(skyrank.skyline(POINTS, low=[0, 1], where="c2 < 0.5", levels=3).levels)[1:]
    names = [f"level {level} ({count} rows)" for level, count in enumerate(expected, 1)]
    assert labels(axes)[:3] == names
    assert labels(axes)[3].startswith("others (10 of 2")
    assert [len(drawn(axes)[name]) for name in names] == expected.tolist()
    many = skyrank.plot.front(POINTS, low=[0, 1], levels=9)
    assert not any("level" in label for label in labels(many))
    (bar,) = [ax for ax in many.figure.axes if ax is not many]
    assert bar.get_ylabel() == "level, 1 to 9"
    front_color, last_color = (many.lines[place].get_color() for place in (-1, 0))
    assert front_color != last_color


def test_picked_rows():
    front = skyrank.skyline(POINTS, low=[0, 1])
    chosen = front.rows[1::2]
    axes = skyrank.plot.front(POINTS, low=[0, 1], picked=chosen)
    rings = drawn(axes)[f"picked ({len(chosen)} rows)"]
    assert numpy.array_equal(sorted_rows(rings), sorted_rows(POINTS[chosen, :2]))
    mask = numpy.isin(numpy.arange(500), chosen)
    assert numpy.array_equal(drawn(skyrank.plot.front(POINTS, low=[0, 1], picked=mask))[f"picked ({len(chosen)} rows)"], rings)
    best = skyrank.top_k(POINTS, 1, low="c2")
    assert drawn(skyrank.plot.front(POINTS, low=[0, 1], picked=best))["picked (1 row)"].tolist() == [
        POINTS[POINTS[:, 2].argmin(), :2].tolist()
    ]
    assert not any("picked" in label for label in labels(skyrank.plot.front(POINTS, low=[0, 1], picked=[])))
    with pytest.raises(skyrank.BindError, match="row 500 is to be drawn, and is not among the 500 rows of the picture"):
        skyrank.plot.front(POINTS, low=[0, 1], picked=[3, 500])
    with pytest.raises(skyrank.DataError, match="`picked` is a Result, a list of positions of rows, or a mask"):
        skyrank.plot.front(POINTS, low=[0, 1], picked=[0.5])


def test_results_are_drawn_as_they_are():
    result = skyrank.skyline(POINTS, low=[0, 1], levels=2)
    counts = numpy.bincount(result.levels)[1:]
    alone = skyrank.plot.front(result, low=[0, 1], picked=result.rows[:2])
    assert labels(alone)[:3] == [f"level 1 ({counts[0]} rows)", f"level 2 ({counts[1]} rows)", "picked (2 rows)"]
    assert labels(alone)[3:] == ["dominated by the front"]
    assert numpy.array_equal(drawn(alone)["picked (2 rows)"], POINTS[result.rows[:2], :2])
    among = skyrank.plot.front(result, low=["c0", "c1"], background=POINTS)
    assert f"others ({500 - len(result)} rows)" in labels(among)
    assert numpy.array_equal(
        sorted_rows(drawn(among)[f"level 2 ({counts[1]} rows)"]), sorted_rows(POINTS[result.rows[result.levels == 2], :2])
    )
    # Without columns all but `row` are drawn, as skyline(POINTS) compares them.
    assert len(skyrank.plot.front(skyrank.skyline(POINTS[:, :4])).get_xticks()) == 4
    # A ranking has no levels: it is rows like others.
    ranked = skyrank.top_k(POINTS, 50, low="c3")
    front = skyrank.skyline(POINTS[ranked.rows], low=[0, 1])
    assert f"front ({len(front)} rows)" in labels(skyrank.plot.front(ranked, low=["c0", "c1"]))
    assert "others" not in str(labels(skyrank.plot.front(POINTS, low=[0, 1], background=False)))
    with pytest.raises(skyrank.QueryError, match="a Result with levels is drawn as it is"):
        skyrank.plot.front(result, low=[0, 1], levels=1)
    with pytest.raises(skyrank.QueryError, match="`background` gives the other rows of a Result"):
        skyrank.plot.front(POINTS, low=[0, 1], background=POINTS)
    with pytest.raises(skyrank.BindError, match="is not among the 3 rows"):
        skyrank.plot.front(result, low=[0, 1], background=POINTS[:3])


def test_queries():
    hotels = {"price": POINTS[:, 0] * 100, "rating": POINTS[:, 1], "far": POINTS[:, 2], "city": POINTS[:, 3] < 0.5}
    question = Query().where("city").prefer([low("price"), high("rating")]).rank_by(low("far")).limit(1).select("far")
    axes = skyrank.plot.front(hotels, question=question)
    answer = skyrank.query(hotels, question)
    expected = numpy.column_stack([hotels["price"], hotels["rating"]])[answer.rows]
    assert numpy.array_equal(sorted_rows(drawn(axes)["answer (1 row)"]), sorted_rows(expected))
    front = skyrank.skyline(hotels, low="price", high="rating", where="city")
    assert f"front ({len(front)} rows)" in labels(axes)
    assert f"others ({hotels['city'].sum() - len(front)} rows)" in labels(axes)
    assert "answer" not in str(labels(skyrank.plot.front(hotels, question=Query().prefer([low("price"), high("rating")]))))

    terms = [around("price", 50), between("far", 0.2, 0.4), skyrank.where("city"), skyrank.inverse(low("rating"))]
    near = skyrank.plot.matrix(hotels, question=Query().prefer(terms))
    names = [ax.get_xlabel() for ax in near.axes if ax.get_xlabel()] + [near.axes[6].get_ylabel()]
    assert names == ["distance of price from 50\n(← better)", "distance of far from 0.2\nto 0.4 (← better)", "city (better →)", "rating (better →)"]
    heights = numpy.concatenate([part.get_offsets() for part in near.axes[0].collections])
    outside = numpy.maximum(numpy.maximum(0.2 - hotels["far"], hotels["far"] - 0.4), 0)
    expected = numpy.column_stack([abs(hotels["price"] - 50), outside])
    numpy.testing.assert_allclose(sorted_rows(numpy.asarray(heights)), sorted_rows(expected), rtol=1e-12)

    groups = Query().group_by("city").aggregate(skyrank.min("cheapest", "price"), skyrank.max("best", "rating"))
    grouped = skyrank.plot.front(hotels, question=groups.prefer([low("cheapest"), high("best")]))
    assert sum(map(len, drawn(grouped).values())) == 2

    band = skyrank.plot.front(hotels, question=Query().prefer([low("price"), high("rating")]).skyband(3))
    counts = numpy.bincount(skyrank.query(hotels, Query().prefer([low("price"), high("rating")]).skyband(3)).levels)[1:]
    assert labels(band)[: len(counts)] == [
        f"level {level} ({count} {'row' if count == 1 else 'rows'})" for level, count in enumerate(counts, 1)
    ]
    every = Query().prefer([low("price"), high("rating")]).skyband("all")
    assert skyrank.query(hotels, every).levels is None  # not asked for
    assert sum(map(len, drawn(skyrank.plot.front(hotels, question=every)).values())) == len(hotels["price"])

    # A condition that comes first: levels are those of the rows that meet it, then of the others.
    ordered = Query().prefer(skyrank.prior([skyrank.where("city"), skyrank.pareto([low("price"), high("rating")])]))
    first = skyrank.plot.front(hotels, question=ordered)
    assert f"front ({len(front)} rows)" in labels(first) and f"others ({500 - len(front)} rows)" in labels(first)
    assert first.get_xlabel() == "price (← better)"

    prior = Query().prefer([skyrank.prior([low("price"), low("far")]), high("rating")])
    for wrong, message in [
        (Query().rank_by("price"), "the query has no `prefer`"),
        (Query().prefer([low("price"), low("far")]).partition_by("city"), "the query has partitions"),
        (Query().prefer(low("price")), "two or more columns"),
        (prior, r"no axis for prior\(\[low\('price'\), low\('far'\)\]\)"),
        (Query().prefer([low("price"), skyrank.in_sets("city", [[True]])]), "no axis for in_sets"),
    ]:
        with pytest.raises(skyrank.QueryError, match=message):
            skyrank.plot.front(hotels, question=wrong)
    with pytest.raises(skyrank.QueryError, match="`question` stands in place of"):
        skyrank.plot.front(hotels, low="price", question=question)


def test_three_columns():
    axes = skyrank.plot.front(POINTS[:, :3])
    front = skyrank.skyline(POINTS[:, :3])
    assert axes.get_zlabel() == "c2 (← better)"
    x, y, z = axes.collections[1]._offsets3d
    assert numpy.array_equal(numpy.sort(z), numpy.sort(front["c2"]))
    with pytest.raises(skyrank.QueryError, match='projection="3d"'):
        skyrank.plot.front(POINTS[:, :3], ax=pyplot.figure().add_subplot())


def test_more_columns_are_parallel_coordinates():
    axes = skyrank.plot.front(POINTS, low=range(4), high=[4], picked=[7])
    front = skyrank.skyline(POINTS, low=range(4), high=[4])
    others, best, picked = (part for part in axes.collections if len(part.get_segments()[0]) == 5)
    assert (len(others.get_segments()), len(best.get_segments())) == (500 - len(front), len(front))
    heights = numpy.array([segment[:, 1] for segment in [*others.get_segments(), *best.get_segments()]])
    assert (heights.min(0) == 0).all() and (heights.max(0) == 1).all()
    # The best value is on top, in columns of both directions.
    assert POINTS[:, 0].min() in front["c0"] and numpy.array(best.get_segments())[:, 0, 1].max() == 1
    assert POINTS[:, 4].max() in front["c4"] and numpy.array(best.get_segments())[:, 4, 1].max() == 1
    assert [label.get_text() for label in axes.get_xticklabels()] == ["c0 ↓", "c1 ↓", "c2 ↓", "c3 ↓", "c4 ↑"]
    scaled = (POINTS[7] - POINTS.min(0)) / numpy.ptp(POINTS, axis=0)
    numpy.testing.assert_allclose(picked.get_segments()[0][:, 1], [*(1 - scaled[:4]), scaled[4]], rtol=1e-12)
    assert len(skyrank.plot.parallel(POINTS, low=[0, 1]).get_xticks()) == 2


def test_scatter_matrix():
    figure = skyrank.plot.matrix(POINTS, low=[0, 1], high=[2, 3], picked=[5])
    panels = [ax for ax in figure.axes if ax.get_visible()]
    assert len(panels) == 6
    assert [panel.get_ylabel() for panel in panels] == ["c1 (← better)", "c2 (better →)", "", "c3 (better →)", "", ""]
    assert [panel.get_xlabel() for panel in panels[3:]] == ["c0 (← better)", "c1 (← better)", "c2 (better →)"]
    assert drawn(panels[4])["picked (1 row)"].tolist() == [POINTS[5, [1, 3]].tolist()]
    (legend,) = figure.legends
    assert [text.get_text().split()[0] for text in legend.get_texts()] == ["front", "picked", "others"]
    own = matplotlib.figure.Figure()
    assert skyrank.plot.matrix(POINTS, low=[0, 1], figure=own) is own
    with pytest.raises(skyrank.QueryError, match="a scatter matrix has at most 12 columns, not 13; `parallel` draws more"):
        skyrank.plot.matrix(numpy.zeros((2, 13)))


def test_types(hotels):
    table = dict(hotels, day=numpy.array(["2024-01-01", "2024-02-01", "NaT", "2024-03-01", "2024-01-05"], "datetime64[D]"))
    axes = skyrank.plot.front(table, low="price", high="day")
    assert type(axes.yaxis.get_major_formatter()).__name__ == "ConciseDateFormatter"
    axes.figure.canvas.draw()
    assert any("Feb" in label.get_text() for label in axes.get_yticklabels())
    assert len(skyrank.plot.front(table, low=["price", "rating", "rooms", "day"], high="open").get_xticks()) == 5
    assert skyrank.plot.front({"x": [], "y": []}).get_xlabel() == "x (← better)"
    assert skyrank.plot.front({"Unit Price": [1, 2], "a-b": [2, 1]}).get_xlabel() == "Unit Price (← better)"
    infinite = skyrank.plot.front({"x": [1.0, 2.0, float("inf")], "y": [2.0, float("-inf"), 5.0]})
    assert numpy.isfinite(infinite.lines[0].get_xydata()).all()
    broken = skyrank.plot.parallel({"x": [1.0, 2.0, float("inf")], "y": [2.0, float("-inf"), 5.0]})
    assert numpy.isfinite(broken.get_ylim()).all()
    with pytest.raises(skyrank.BindError, match="a plot has no place for strings, and name is one"):
        skyrank.plot.front(hotels, low=["name", "price"])
    with pytest.raises(skyrank.QueryError, match="two or more columns in `low` and `high`, not 1"):
        skyrank.plot.front(hotels, low="price")
    with pytest.raises(skyrank.BindError, match="pric"):
        skyrank.plot.front(hotels, low=["pric", "rooms"])
    with pytest.raises(ValueError, match="max_rows"):
        skyrank.plot.front(POINTS, max_rows=-1)
    near = skyrank.plot.front(table, question=Query().prefer([low("price"), around("day", datetime.date(2024, 1, 2))]))
    assert near.get_ylabel() == "distance of day from 2024-01-02, days (← better)"
    written = skyrank.plot.front(table, question=Query().prefer([low("price"), around("day", "2024-01-02")]))
    assert written.get_ylabel() == near.get_ylabel()
    points = numpy.concatenate(list(drawn(near).values()))
    assert sorted(points[numpy.isfinite(points).all(axis=1)].tolist()) == [[80, 3], [80, 30], [120, 1], [150, 59]]
    with pytest.raises(skyrank.QueryError, match="no axis for around.*: 'soon' is neither a number nor a time"):
        skyrank.plot.front(table, question=Query().prefer([low("price"), around("day", "soon")]))


def test_what_the_rest_of_the_package_takes():
    expected = labels(skyrank.plot.front(POINTS[:, :2]))
    columns = {"x": POINTS[:, 0], "y": POINTS[:, 1]}
    frames = [skyrank.Table(columns)]
    for library, make in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
        frames.append(getattr(pytest.importorskip(library), make)(columns))
    for frame in frames:
        assert labels(skyrank.plot.front(frame, low=["x", "y"])) == expected
    pyarrow = pytest.importorskip("pyarrow")
    exact = {"x": [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")], "y": [3, 2, 1]}
    rows = drawn(skyrank.plot.front(pyarrow.table(exact), low=["x", "y"]))["front (2 rows)"]
    assert rows.tolist() == [[1.5, 3], [2.25, 1]]


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(skyrank.ResourceError, match=r"a plot needs matplotlib: pip install 'skyrank\[plot\]'"):
        skyrank.plot.front(POINTS)
