"""Draws pictures with matplotlib."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from .._errors import QueryError, required
from ._picture import Axis, Picture, evenly

if TYPE_CHECKING:
    import numpy

    Values = numpy.ndarray[Any, Any]

# Colours that people who see fewer of them tell apart (Okabe and Ito), and a scale of that kind for levels.
_FRONT = "#0072b2"
_PICKED = "#d55e00"
_OTHERS = "#a3a9ae"
_SCALE = "viridis"
# Levels that the legend names; a scale of colours beside the picture names more.
_MOST_NAMED = 6


def draw_plane(picture: Picture, ax: Any) -> None:
    """Draws two columns: all rows, each level with its staircase, and the region that the front dominates."""
    x, y = picture.axes
    _scatter(ax, picture, x, y)
    ax.autoscale_view()
    # Stairs end at the borders of the picture, which stay where they are.
    borders = ax.get_xlim(), ax.get_ylim()
    worst = tuple(max(border) if axis.is_low else min(border) for axis, border in zip((x, y), borders))
    for level, color in _colors(picture):
        corners = _staircase(picture, level, worst)
        ax.plot(corners[:, 0], corners[:, 1], color=color, linewidth=1.2, zorder=2.5)
        if level == 1:
            region = [*corners, worst] if len(corners) else corners
            ax.fill(*zip(*region), color=_FRONT, alpha=0.08, linewidth=0, zorder=0.5, label="dominated by the front")
    ax.set_xlim(borders[0])
    ax.set_ylim(borders[1])
    ax.set_xlabel(_wrapped(x.label, 60))
    ax.set_ylabel(_wrapped(y.label, 50))
    x.format_ticks(ax.xaxis)
    y.format_ticks(ax.yaxis)
    _explain(picture, ax.figure, ax, _named(ax), lambda **options: ax.legend(loc="best", **options))


def draw_space(picture: Picture, ax: Any) -> None:
    """Draws three columns."""
    if not hasattr(ax, "set_zlabel"):
        raise QueryError('three columns need axes in space: figure.add_subplot(projection="3d")')
    _scatter(ax, picture, *picture.axes)
    labels = (ax.set_xlabel, ax.set_ylabel, ax.set_zlabel)
    ax.locator_params(nbins=5)
    ax.tick_params(labelsize="small")
    for axis, ticks, set_label in zip(picture.axes, (ax.xaxis, ax.yaxis, ax.zaxis), labels):
        label = _wrapped(axis.label, 26)
        set_label(label, labelpad=8 * len(label.splitlines()))
        axis.format_ticks(ticks)
    ax.set_box_aspect(None, zoom=0.84)  # leaves room for the labels
    _explain(picture, ax.figure, ax, _named(ax), lambda **options: ax.legend(loc="upper left", **options))


def draw_parallel(picture: Picture, ax: Any) -> None:
    """Draws any number of columns as parallel coordinates: a row is a line, and the best value of a column is on top."""
    import numpy

    scales = [_Scale(axis, picture.drawn()) for axis in picture.axes]
    places = numpy.arange(len(scales))
    handles = []

    def draw(rows: Values, color: Any, opacity: float, label: str, width: float = 0.8) -> None:
        heights = numpy.column_stack([scale.heights(scale.axis.values[rows]) for scale in scales])
        segments = numpy.stack([numpy.broadcast_to(places, heights.shape), heights], axis=2)
        collections = required("matplotlib.collections", "plot", "a plot")
        ax.add_collection(collections.LineCollection(segments, colors=color, alpha=opacity, linewidths=width))
        lines = required("matplotlib.lines", "plot", "a plot")
        handles.append(lines.Line2D([], [], color=color, linewidth=1.8, label=label))

    if picture.num_others:
        draw(picture.others, _OTHERS, 2 * _opacity(len(picture.others)), picture.others_label())
    for level, color in _colors(picture):
        rows = evenly(picture.rows_of(level), picture.max_rows)
        draw(rows, color, 2 * _opacity(len(rows)), picture.level_label(level))
    if len(picture.picked):
        draw(picture.picked, _PICKED, 1.0, picture.picked_label(), width=1.8)
    ax.set_xlim(-0.4, len(scales) - 0.6)
    ax.set_ylim(-0.1, 1.1)
    ax.set_xticks(places, [_wrapped(axis.upright_label, 18) for axis in picture.axes])
    ax.tick_params(axis="x", length=0)
    ax.set_yticks([])
    ax.set_ylabel("better →")
    for side in ("top", "right", "bottom", "left"):
        ax.spines[side].set_visible(False)
    for place, scale in zip(places, scales):
        ax.vlines(place, 0, 1, color="#555", linewidth=0.8, zorder=1.5)
        for height, text in ((1.02, scale.text(scale.best)), (-0.02, scale.text(scale.worst))):
            ax.text(place, height, text, ha="center", va="bottom" if height > 0 else "top", fontsize="small")
    if picture.last_level > _MOST_NAMED:
        handles = [handle for handle in handles if not handle.get_label().startswith("level ")]

    def show(**options: Any) -> None:
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(len(handles), 4), **options)

    _explain(picture, ax.figure, ax, _in_order(handles), show)


def draw_matrix(picture: Picture, figure: Any) -> None:
    """Draws each pair of columns in a panel of its own, below the diagonal."""
    count = len(picture.axes)
    panels = figure.subplots(count - 1, count - 1, sharex="col", sharey="row", squeeze=False)
    for row, y in enumerate(picture.axes[1:]):
        for column, x in enumerate(picture.axes[:-1]):
            ax = panels[row, column]
            if column > row:
                ax.set_visible(False)
                continue
            _scatter(ax, picture, x, y, size=0.6)
            if row == count - 2:
                ax.set_xlabel(_wrapped(x.label, 26))
                x.format_ticks(ax.xaxis)
            if column == 0:
                ax.set_ylabel(_wrapped(y.label, 26))
                y.format_ticks(ax.yaxis)
    figure.align_labels()
    shown = [ax for ax in panels.flat if ax.get_visible()]

    def show(**options: Any) -> None:
        figure.legend(loc="upper right" if count > 2 else "outside upper right", **options)

    _explain(picture, figure, shown, _named(shown[0]), show)


def _scatter(ax: Any, picture: Picture, *axes: Axis, size: float = 1.0) -> None:
    """Draws the rows as points, those of the front last, and rings around the picked ones."""
    in_space = {"depthshade": False} if len(axes) == 3 else {}

    def draw(rows: Values, **options: Any) -> None:
        ax.scatter(*(axis.values[rows] for axis in axes), **options, **in_space)

    if picture.num_others:
        draw(picture.others, s=9 * size, color=_OTHERS, alpha=0.7, linewidths=0, zorder=1.5, label=picture.others_label())
    for level, color in _colors(picture):
        named = {"label": picture.level_label(level)} if picture.last_level <= _MOST_NAMED else {}
        draw(picture.rows_of(level), s=20 * size, color=color, linewidths=0, zorder=3, **named)
    if len(picture.picked):
        ring = {"s": 70 * size, "facecolors": "none", "edgecolors": _PICKED, "linewidths": 1.6, "zorder": 4}
        draw(picture.picked, label=picture.picked_label(), **ring)


def _staircase(picture: Picture, level: int, worst: tuple[float, ...]) -> Values:
    """Returns the corners of the border of what the rows of a level dominate, from one end of the picture to the other."""
    import numpy

    x, y = picture.axes
    points: Values = numpy.column_stack([x.values, y.values])[picture.rows_of(level)]
    points = points[numpy.isfinite(points).all(axis=1)]
    if len(points) == 0:
        return points
    points = points[numpy.argsort(points[:, 0] if x.is_low else -points[:, 0], kind="stable")]
    across = numpy.append(numpy.repeat(points[:, 0], 2), worst[0])
    along = numpy.insert(numpy.repeat(points[:, 1], 2), 0, worst[1])
    return numpy.column_stack([across, along])


def _wrapped(label: str, width: int) -> str:
    """Breaks a long label into lines, but not between an arrow and its word."""
    arrows = (("← better", "←\u00a0better"), ("better →", "better\u00a0→"), (" ↓", "\u00a0↓"), (" ↑", "\u00a0↑"))
    for with_space, kept in arrows:
        label = label.replace(with_space, kept)
    label = textwrap.fill(label, width)
    for with_space, kept in arrows:
        label = label.replace(kept, with_space)
    return label


def _colors(picture: Picture) -> list[tuple[int, Any]]:
    """Returns each level and its colour, the last level first, so that the front is drawn on top."""
    last = picture.last_level
    if last == 1:
        return [(1, _FRONT)]
    scale = required("matplotlib", "plot", "a plot").colormaps[_SCALE]
    return [(level, scale(_share(level, last))) for level in range(last, 0, -1)]


def _share(level: int, last: int) -> float:
    """Returns the place of a level on the scale of colours, whose light end is hard to see on white."""
    return 0.88 * (level - 1) / (last - 1)


def _named(ax: Any) -> list[Any]:
    """Returns what the legend of these axes names."""
    handles, _ = ax.get_legend_handles_labels()
    return _in_order(handles)


def _in_order(handles: list[Any]) -> list[Any]:
    """Returns the handles of a legend: the levels, then what is picked, then the rest."""

    def place(handle: Any) -> tuple[int, int]:
        words = handle.get_label().split()
        if words[0] == "level":
            return 0, int(words[1])
        return {"front": 0, "picked": 1, "answer": 1, "others": 2}.get(words[0], 3), 0

    return sorted(handles, key=place)


def _explain(picture: Picture, figure: Any, axes: Any, named: list[Any], show_legend: Any) -> None:
    """Adds a legend, and a scale of colours where there are more levels than it can name."""
    if named:
        show_legend(handles=named, fontsize="small", framealpha=0.9)
    if picture.last_level <= _MOST_NAMED:
        return
    colors = required("matplotlib.colors", "plot", "a plot")
    mappable = required("matplotlib.cm", "plot", "a plot").ScalarMappable
    last = picture.last_level
    steps = colors.ListedColormap([color for _, color in reversed(_colors(picture))])
    ticks = required("matplotlib.ticker", "plot", "a plot").MaxNLocator(8, integer=True, min_n_ticks=1)
    norm = colors.Normalize(0.5, last + 0.5)
    bar = figure.colorbar(mappable(norm, steps), ax=axes, ticks=ticks, label=f"level, 1 to {last}", pad=0.02)
    bar.ax.invert_yaxis()


def _opacity(count: int) -> float:
    """Returns an opacity at which so many lines can still be told apart."""
    return max(0.06, min(0.45, 25 / max(1, count)))


class _Scale:
    """Places the values of a column on a line from 0, the worst of the drawn values, to 1, the best."""

    def __init__(self, axis: Axis, drawn: Values) -> None:
        import numpy

        self.axis = axis
        values = axis.values[drawn]
        finite = values[numpy.isfinite(values)]
        least, most = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
        self.best, self.worst = (least, most) if axis.is_low else (most, least)

    def heights(self, values: Values) -> Values:
        """Returns heights of values; NaN, where a line is broken, of those that are not finite."""
        import numpy

        span = self.best - self.worst
        if not span:
            return numpy.full(len(values), 0.5)
        heights: Values = numpy.where(numpy.isfinite(values), (values - self.worst) / span, numpy.nan)
        return heights

    def text(self, value: float) -> str:
        if not self.axis.is_time:
            return f"{value:.4g}"
        dates = required("matplotlib.dates", "plot", "a plot")
        return f"{dates.num2date(value):%Y-%m-%d}"
