"""Pictures of skylines: scatter plots of two and three columns, parallel coordinates of more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._engine import default_engine
from ._errors import BindError, QueryError
from ._extras import required
from ._functions import Column, _Data
from ._preferences import Text, high, low, pareto
from ._query import Query
from ._values import expression, term

if TYPE_CHECKING:
    import numpy
    from matplotlib.axes import Axes

    Values = numpy.ndarray[Any, Any]

_FRONT = "#0b6fa4"
_OTHERS = "#b9bec3"


class _Axis:
    """A column of the picture: its values at the rows of the skyline and at some of the other rows."""

    def __init__(self, term: _core.Preference, text: str, is_low: bool) -> None:
        self.term = term
        self.text = text
        self.is_low = is_low
        self.is_time = False
        self.front: Values
        self.others: Values

    @property
    def label(self) -> str:
        return f"{self.text} ({'low' if self.is_low else 'high'})"

    def take(self, front: Values, others: Values) -> None:
        self.is_time = front.dtype.kind == "M"
        self.front, self.others = self._numbers(front), self._numbers(others)

    def _numbers(self, values: Values) -> Values:
        """Returns float64 values with NaN for NULL; times as matplotlib counts them."""
        import numpy

        if values.dtype.kind == "M":
            dates = required("matplotlib.dates", "plot", "a plot")
            try:
                numbers: Values = dates.date2num(values.astype("datetime64[us]"))
            except OverflowError as error:
                raise BindError(f"{self.text} has times that 64 bits of microseconds, and so a plot, cannot hold") from error
            return numbers
        if values.dtype.kind == "O":  # decimals
            if any(isinstance(value, str) for value in values):
                raise BindError(f"a plot has no place for strings, and {self.text} is one")
            values = numpy.array([numpy.nan if value is None else float(value) for value in values])
        return numpy.ma.filled(numpy.ma.asarray(values).astype("float64"), numpy.nan)

    def format_times(self, axis: Any) -> None:
        if self.is_time:
            dates = required("matplotlib.dates", "plot", "a plot")
            locator = dates.AutoDateLocator()
            axis.set_major_locator(locator)
            axis.set_major_formatter(dates.ConciseDateFormatter(locator))


class _Picture:
    """What is drawn: the axes, the Pareto levels of the skyline's rows, and how many rows there are."""

    def __init__(self, axes: list[_Axis], levels: Values, num_others: int) -> None:
        self.axes = axes
        self.levels = levels
        self.num_others = num_others

    def front_label(self, level: int) -> str:
        rows = int((self.levels == level).sum())
        name = "skyline" if self.levels.max(initial=1) == 1 else f"level {level}"
        return f"{name} ({rows:,} {'row' if rows == 1 else 'rows'})"

    def others_label(self) -> str:
        shown = len(self.axes[0].others)
        count = f"{self.num_others:,}" if shown == self.num_others else f"{shown:,} of {self.num_others:,}"
        return f"other rows ({count})"

    def colors(self) -> list[tuple[int, Any]]:
        """Returns each level and its color, the last level first, so that the skyline is drawn on top."""
        last = int(self.levels.max(initial=1))
        if last == 1:
            return [(1, _FRONT)]
        scale = required("matplotlib", "plot", "a plot").colormaps["viridis"]
        return [(level, scale(0.85 * (level - 1) / (last - 1))) for level in range(last, 0, -1)]


def plot(
    data: Any,
    low: Column | Iterable[Column] | None = None,
    high: Column | Iterable[Column] | None = None,
    *,
    where: Text | None = None,
    levels: int | None = None,
    columns: Sequence[str] | None = None,
    max_rows: int = 2000,
    ax: Any = None,
) -> Axes:
    """Draws the skyline of two or more columns among the other rows. Needs the extra `plot` (matplotlib).

    Two columns make a scatter plot with the border of what the skyline dominates, three a scatter plot in space. More
    make parallel coordinates: each row is a line, and the best value of each column is on top.

    Args:
        data, low, high, where, levels, columns: As for `skyline`. Values are numbers, dates or times.
        max_rows: The most other rows to draw, evenly spread over the table; also the most lines of a level.
        ax: The axes to draw into, for three columns with ``projection="3d"``; new ones unless given.

    Returns:
        The matplotlib axes, whose `figure` can be saved: ``plot(points).figure.savefig("front.png")``.

    Raises:
        QueryError: There are fewer than two columns.
        BindError: A column does not exist, or is text.
        ResourceError: There is no matplotlib.
        DataError.
    """
    pyplot = required("matplotlib.pyplot", "plot", "a plot")
    if max_rows < 0:
        raise ValueError("max_rows is 0 or more")
    picture = _picture(_Data(data, columns), low, high, where, levels, max_rows)
    draw = {2: _draw_plane, 3: _draw_space}.get(len(picture.axes), _draw_parallel)
    if ax is None:
        wide = draw is _draw_parallel
        figure = pyplot.figure(figsize=(1.6 * max(4, len(picture.axes)) if wide else 6.4, 4.8), layout="constrained")
        ax = figure.add_subplot(projection="3d" if draw is _draw_space else None)
    draw(picture, ax, max_rows)
    axes: Axes = ax
    return axes


def _picture(
    data: _Data,
    low_columns: Column | Iterable[Column] | None,
    high_columns: Column | Iterable[Column] | None,
    where: Text | None,
    levels: int | None,
    max_rows: int,
) -> _Picture:
    if low_columns is None and high_columns is None:
        low_columns = range(len(data.names()))
    axes = [
        _Axis(make(text), term(text).text, make is low)
        for make, chosen in ((low, low_columns), (high, high_columns))
        for text in data.expressions(chosen)
    ]
    if len(axes) < 2:
        raise QueryError(f"a plot needs two or more columns in `low` and `high`, not {len(axes)}")
    shown = {f"axis{index}": axis.text for index, axis in enumerate(axes)}
    asked = Query().where(where).select("row()", **shown)
    front = default_engine().run(asked.prefer(pareto(axis.term for axis in axes)).levels(levels), data)
    every = default_engine().run(asked.rank_by(_core.low(expression("0"))), data)
    others = _evenly(_without(every.rows, front.rows), max_rows)
    for name, axis in zip(shown, axes):
        axis.take(front[name], every[name][others])
    assert front.levels is not None
    return _Picture(axes, front.levels, len(every) - len(front))


def _without(rows: Values, left_out: Values) -> Values:
    """Returns the places of the rows that are not among `left_out`."""
    import numpy

    return numpy.flatnonzero(~numpy.isin(rows, left_out))


def _evenly(places: Values, count: int) -> Values:
    import numpy

    if len(places) <= count:
        return places
    return places[numpy.linspace(0, len(places) - 1, count).astype(int)] if count else places[:0]


def _draw_plane(picture: _Picture, ax: Any, max_rows: int) -> None:
    import numpy

    x, y = picture.axes
    ax.scatter(x.others, y.others, s=8, color=_OTHERS, linewidths=0, label=picture.others_label())
    for level, color in picture.colors():
        rows = numpy.flatnonzero(picture.levels == level)
        rows = rows[numpy.argsort(x.front[rows], kind="stable")]
        ax.plot(
            x.front[rows],
            y.front[rows],
            color=color,
            marker="o",
            markersize=4,
            linewidth=1.2,
            drawstyle="steps-post" if x.is_low else "steps-pre",
            label=picture.front_label(level),
        )
    ax.set_xlabel(x.label)
    ax.set_ylabel(y.label)
    x.format_times(ax.xaxis)
    y.format_times(ax.yaxis)
    ax.legend()


def _draw_space(picture: _Picture, ax: Any, max_rows: int) -> None:
    if not hasattr(ax, "set_zlabel"):
        raise QueryError('three columns need axes in space: figure.add_subplot(projection="3d")')
    x, y, z = picture.axes
    ax.scatter(x.others, y.others, z.others, s=8, color=_OTHERS, alpha=0.7, linewidths=0, label=picture.others_label())
    for level, color in picture.colors():
        rows = picture.levels == level
        label = picture.front_label(level)
        ax.scatter(x.front[rows], y.front[rows], z.front[rows], s=18, color=color, depthshade=False, label=label)
    for axis, ticks, set_label in ((x, ax.xaxis, ax.set_xlabel), (y, ax.yaxis, ax.set_ylabel), (z, ax.zaxis, ax.set_zlabel)):
        set_label(axis.label)
        axis.format_times(ticks)
    ax.legend()


def _draw_parallel(picture: _Picture, ax: Any, max_rows: int) -> None:
    import numpy

    collections = required("matplotlib.collections", "plot", "a plot")
    lines = required("matplotlib.lines", "plot", "a plot")
    scales = [_Scale(axis) for axis in picture.axes]
    places = numpy.arange(len(scales))

    def draw(rows_of: Any, color: Any, alpha: float, label: str) -> Any:
        heights = numpy.column_stack([scale.heights(rows_of(scale.axis)) for scale in scales])
        segments = numpy.stack([numpy.broadcast_to(places, heights.shape), heights], axis=2)
        ax.add_collection(collections.LineCollection(segments, colors=color, alpha=alpha, linewidths=0.8))
        return lines.Line2D([], [], color=color, label=label)

    handles = [draw(lambda axis: axis.others, _OTHERS, _alpha(len(picture.axes[0].others)), picture.others_label())]
    for level, color in picture.colors():
        rows = _evenly(numpy.flatnonzero(picture.levels == level), max_rows)
        label = picture.front_label(level)
        handles.append(draw(lambda axis, rows=rows: axis.front[rows], color, 2 * _alpha(len(rows)), label))
    ax.set_xlim(-0.3, len(scales) - 0.7)
    ax.set_ylim(-0.08, 1.08)
    ax.set_xticks(places, [axis.label for axis in picture.axes])
    ax.set_yticks([])
    for place, scale in zip(places, scales):
        ax.axvline(place, color="#555", linewidth=0.8)
        for height, text in ((1.02, scale.text(scale.best)), (-0.02, scale.text(scale.worst))):
            ax.text(place, height, text, ha="center", va="bottom" if height > 0 else "top", fontsize="small")
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=len(handles), frameon=False)


def _alpha(count: int) -> float:
    """Returns an opacity at which so many lines can still be told apart."""
    return max(0.06, min(0.45, 25 / max(1, count)))


class _Scale:
    """Places the values of a column on an axis from 0, the worst of the drawn values, to 1, the best."""

    def __init__(self, axis: _Axis) -> None:
        import numpy

        self.axis = axis
        values = numpy.concatenate([axis.front, axis.others])
        finite = values[numpy.isfinite(values)]
        least, most = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
        self.best, self.worst = (least, most) if axis.is_low else (most, least)

    def heights(self, values: Values) -> Values:
        import numpy

        span = self.best - self.worst
        heights: Values = (values - self.worst) / span if span else numpy.full(len(values), 0.5)
        return heights

    def text(self, value: float) -> str:
        if not self.axis.is_time:
            return f"{value:.4g}"
        dates = required("matplotlib.dates", "plot", "a plot")
        return f"{dates.num2date(value):%Y-%m-%d}"
