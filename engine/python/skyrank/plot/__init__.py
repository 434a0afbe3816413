"""Pictures of fronts, with matplotlib: pip install 'skyrank[plot]'.

>>> offers = {"price": [3, 1, 2], "rating": [5, 3, 3]}
>>> axes = front(offers, low="price", high="rating")     # doctest: +SKIP
>>> axes.figure.savefig("front.png")                     # doctest: +SKIP

`front` draws two columns as a plane, three as a space and more as parallel coordinates; `parallel` and `matrix` draw any
number of columns in one way. Nothing is shown on a screen: what they return can be saved, and notebooks show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _preferences
from .._errors import QueryError, required
from .._functions import Column, Taken
from .._preferences import Text
from .._query import Query
from .._result import Result
from ._draw import draw_matrix, draw_parallel, draw_plane, draw_space
from ._picture import Picture, picture_of, preference_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["front", "matrix", "parallel"]

_MOST_PANELS = 12  # in a row


def front(
    data: Any,
    low: Column | Iterable[Column] | None = None,
    high: Column | Iterable[Column] | None = None,
    *,
    where: Text | None = None,
    levels: int | None = None,
    question: Query | None = None,
    picked: Any = None,
    background: Any = None,
    columns: Sequence[str] | None = None,
    max_rows: int = 2000,
    ax: Any = None,
) -> Axes:
    """Draws a front among the other rows: the skyline of two or more columns, or its first Pareto levels.

    Two columns make a plane with the border of what the front dominates, three a space, and more parallel coordinates
    (see `parallel`). An arrow beside the name of a column points to better values.

    Args:
        data: What `query` takes; the front is found in it. A Result with levels, such as that of `skyline`, is drawn as
            it is, by its columns.
        low, high, where, levels, columns: As for `skyline`. Values are numbers, booleans, dates or times. The columns
            of a Result are those but `row`.
        question: A query with one Pareto preference, instead of `low`, `high`, `where` and `levels`. Rows of its answer
            are marked unless they are the whole front.
        picked: Rows to mark: a Result, positions of rows in the data, or a mask of them, such as that of `is_nondominated`.
        background: Data whose rows are drawn behind a Result: those that it is the answer over. False leaves out the
            rows of no level.
        max_rows: The most of these rows to draw, evenly spread; in parallel coordinates also the most lines of a level.
        ax: The axes to draw into, for three columns with ``projection="3d"``; new ones unless given.

    Returns:
        The matplotlib axes, whose `figure` can be saved: ``front(points).figure.savefig("front.png")``.

    Raises:
        QueryError: There are fewer than two columns, or the query has no front to draw.
        BindError: A column or a row does not exist, or a column is text.
        ResourceError: There is no matplotlib.
        DataError.
    """
    picture = _picture(data, low, high, where, levels, question, picked, background, columns, max_rows)
    draw = _draw_by_columns(picture)
    if ax is None:
        ax = new_axes(_pyplot().figure(layout="constrained"), picture, draw)
    draw(picture, ax)
    axes: Axes = ax
    return axes


def parallel(
    data: Any,
    low: Column | Iterable[Column] | None = None,
    high: Column | Iterable[Column] | None = None,
    *,
    where: Text | None = None,
    levels: int | None = None,
    question: Query | None = None,
    picked: Any = None,
    background: Any = None,
    columns: Sequence[str] | None = None,
    max_rows: int = 2000,
    ax: Any = None,
) -> Axes:
    """Draws a front of any number of columns as parallel coordinates.

    Each row is a line, and the best value of each column is on top, whether that is the lowest (↓) or the highest (↑).
    Arguments, result and errors are those of `front`.
    """
    picture = _picture(data, low, high, where, levels, question, picked, background, columns, max_rows)
    if ax is None:
        ax = new_axes(_pyplot().figure(layout="constrained"), picture, draw_parallel)
    draw_parallel(picture, ax)
    axes: Axes = ax
    return axes


def matrix(
    data: Any,
    low: Column | Iterable[Column] | None = None,
    high: Column | Iterable[Column] | None = None,
    *,
    where: Text | None = None,
    levels: int | None = None,
    question: Query | None = None,
    picked: Any = None,
    background: Any = None,
    columns: Sequence[str] | None = None,
    max_rows: int = 2000,
    figure: Any = None,
) -> Figure:
    """Draws a front of 2 to 12 columns as a scatter matrix: a panel for each pair of columns.

    Arguments and errors are those of `front`, but for `figure`, the figure to draw into; a new one unless given.

    Returns:
        The matplotlib figure.
    """
    picture = _picture(data, low, high, where, levels, question, picked, background, columns, max_rows)
    if figure is None:
        figure = _pyplot().figure(layout="constrained")
        figure.set_size_inches(matrix_inches(picture))
    draw_matrix(picture, figure)
    drawn: Figure = figure
    return drawn


def _picture(
    data: Any,
    low: Any,
    high: Any,
    where: Text | None,
    levels: int | None,
    question: Query | None,
    picked: Any,
    background: Any,
    columns: Sequence[str] | None,
    max_rows: int,
) -> Picture:
    required("matplotlib", "plot", "a plot")
    if question is not None and any(word is not None for word in (low, high, where, levels)):
        raise QueryError("`question` stands in place of `low`, `high`, `where` and `levels`")
    if isinstance(data, Result) and data.levels is not None and question is None and (where, levels) != (None, None):
        raise QueryError("a Result with levels is drawn as it is; `where` and `levels` belong to the query that made it")

    def terms(taken: Taken) -> Query:
        every = low is None and high is None
        lows = taken.terms(range(len(taken.names())) if every else low, _preferences.low)
        return preference_of(lows, taken.terms(high, _preferences.high), where, levels)

    return picture_of(data, terms, question, picked, background, columns, max_rows)


def draw_into(figure: Any, kind: str, data: Any, question: Query, max_rows: int) -> None:
    """Draws the front of a query into a figure, which gets its size: as `front`, `parallel` or `matrix` do."""
    picture = _picture(data, None, None, None, None, question, None, None, None, max_rows)
    if kind == "matrix":
        figure.set_size_inches(matrix_inches(picture))
        draw_matrix(picture, figure)
        return
    draw = draw_parallel if kind == "parallel" else _draw_by_columns(picture)
    draw(picture, new_axes(figure, picture, draw))


def _draw_by_columns(picture: Picture) -> Any:
    return {2: draw_plane, 3: draw_space}.get(len(picture.axes), draw_parallel)


def _pyplot() -> Any:
    return required("matplotlib.pyplot", "plot", "a plot")


def new_axes(figure: Any, picture: Picture, draw: Any) -> Any:
    """Returns axes for a picture in a figure, which gets its size."""
    wide = draw is draw_parallel
    figure.set_size_inches((1.7 * max(4, len(picture.axes)) if wide else 6.4, 4.8))
    return figure.add_subplot(projection="3d" if draw is draw_space else None)


def matrix_inches(picture: Picture) -> tuple[float, float]:
    """Returns width and height of a scatter matrix; QueryError for too many columns."""
    count = len(picture.axes)
    if count > _MOST_PANELS:
        raise QueryError(f"a scatter matrix has at most {_MOST_PANELS} columns, not {count}; `parallel` draws more")
    side = max(5.5, 1.9 * (count - 1) + 0.6)
    return side, side
