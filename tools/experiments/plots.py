"""Draws figures with matplotlib, as SVG and PNG."""

import math

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib import ticker  # noqa: E402

import figures  # noqa: E402
import measure  # noqa: E402

COLOURS = ("#1b6ca8", "#d1495b", "#3a8f5c", "#e09f3e", "#7b4fa3", "#4f4f4f", "#2aa5a0", "#a85c2c", "#c17ba0")
MARKERS = "osD^vPX*"
DASHES = ("-", "--", ":", "-.")
PREDICTED = {figures.OURS: "--"}  # formulas of the papers are dotted
WORDS = {"n": "rows n", "d": "columns d", "k": "k", "share": "k / n"}
PANEL = (4.4, 3.3)  # inches
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "skyrank", "font.family": "sans-serif", "font.size": 9,
         "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
         "axes.titlesize": 9.5, "legend.frameon": False}


def draw(figure, scale, device, points, folder):
    """Writes NAME.svg and NAME.png of a figure to a folder."""
    facets = list(dict.fromkeys(it.place[figure.facet] for it in points)) if figure.facet else [None]
    sweeps = [it for it in figure.sweeps if any(point.place["sweep"] == it.name for point in points)]
    with plt.rc_context(STYLE):
        turned = len(sweeps) == 1  # the facets of a single sweep stand side by side
        rows, columns = (1, len(facets)) if turned else (len(facets), len(sweeps))
        size = (max(5.2, PANEL[0] * columns + 0.4), PANEL[1] * rows + 1.1)
        picture, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
        for row, facet in enumerate(facets):
            for column, sweep in enumerate(sweeps):
                panel = axes[0][row] if turned else axes[row][column]
                here = [it for it in points if it.place["sweep"] == sweep.name
                        and (facet is None or it.place[figure.facet] == facet)]
                draw_panel(panel, figure, sweep, facet, here, scale, device)
        handles = {}
        for panel in axes.flat:
            handles.update(dict(zip(*reversed(panel.get_legend_handles_labels()))))
        picture.suptitle(f"{figure.paper}, {figure.figure}: {figure.title}", fontsize=10.5, x=0.01, ha="left")
        add_legend(picture, handles, beside=rows * columns == 1)
        for ending in ("svg", "png"):
            picture.savefig(folder / f"{name_of(figure)}.{ending}", dpi=110,
                            metadata={"Date": None} if ending == "svg" else None)
        plt.close(picture)


def add_legend(picture, handles, beside):
    """Puts the legend `beside` a single panel, and below several."""
    width, height = picture.get_size_inches()
    entry = 0.55 + 0.068 * max(map(len, handles))  # inches, with its line
    if beside:
        picture.set_size_inches(width + entry, max(height, 0.5 + 0.2 * len(handles)))
        picture.legend(handles.values(), handles.keys(), loc="outside right center", fontsize=8)
    else:
        picture.legend(handles.values(), handles.keys(), loc="outside lower center", fontsize=8,
                       ncols=max(1, min(len(handles), int(width / entry))))


def name_of(figure):
    """Returns the name of a figure's files, without an ending."""
    return figure.id.replace("/", "-")


def label_of(figure, series, device):
    """Returns a series' name and, where that does not say it, the algorithm behind it."""
    algorithm = series.algorithm_on(device)
    return series.label if algorithm in (figures.FLOOR, None) else f"{series.label} ({algorithm})"


def draw_panel(panel, figure, sweep, facet, points, scale, device):
    draw_kind = {"bars": draw_bars, "stack": draw_stack, "lines": draw_lines}[figure.kind]
    draw_kind(panel, figure, sweep, points, device)
    draw_published(panel, figure, sweep, facet, points, scale)
    words = [sweep.title] if len(figure.sweeps) > 1 else []
    words += [str(figure.facet_labels.get(facet, facet))] if facet is not None else []
    panel.set_title("; ".join(filter(None, [*words, size_of(figure, sweep, points)])))
    panel.set_ylabel(measure.UNITS[sweep.y])
    scale_axis(panel, "y", figure.y_axis, [])
    if figure.y_axis == "linear":
        panel.set_ylim(bottom=0)
    if figure.kind != "bars":
        panel.set_xlabel(WORDS.get(sweep.x, sweep.x))
        scale_axis(panel, "x", sweep.x_axis, sorted({it.x for it in points}))


def size_of(figure, sweep, points):
    """Returns in words what all points of a panel have in common."""
    words = []
    for key in ("n", "d", "k"):
        values = {it.variables.get(key) for it in points} - {None}
        if len(values) == 1 and key not in (sweep.x, figure.lines) and (key != "d" or figure.op == "skyline"):
            words.append(f"{key} = {number(values.pop())}")
    return ", ".join(words)


def number(value):
    """Returns a count as people of the field write it: 2^20, 0.5 M, 20,000, 0.25."""
    if isinstance(value, int) and value >= 4096 and value & (value - 1) == 0:
        return f"$2^{{{value.bit_length() - 1}}}$"
    if isinstance(value, int) and value >= 500_000:
        return f"{value / 1e6:g} M"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def scale_axis(panel, name, kind, values):
    """Sets a linear or a logarithmic scale of the axis x or y, with the `values` as ticks if they are given."""
    axis = panel.xaxis if name == "x" else panel.yaxis
    if kind != "linear":
        (panel.set_xscale if name == "x" else panel.set_yscale)("log", base=int(kind.removeprefix("log")))
    if kind == "log10":
        name_decades(axis)
    if values and kind == "linear" and all(value == int(value) for value in values):
        axis.set_major_locator(ticker.MaxNLocator(integer=True))
    if values and (kind == "log2" or len(values) <= 8):
        shown = values if len(values) <= 8 else values[::2]
        if kind == "linear":
            shown = apart(shown, (values[-1] - values[0]) / 10)
        elif kind == "log2" and values[0] > 0:
            places = apart([math.log2(value) for value in shown], math.log2(values[-1] / values[0]) / 10)
            shown = [value for value in shown if math.log2(value) in places]
        axis.set_major_locator(ticker.FixedLocator(shown))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number(int(value) if value >= 1 else value)))
        axis.set_minor_locator(ticker.NullLocator())


def name_decades(axis):
    """Labels a logarithmic axis with plain numbers, and with 2 and 5 between those of short axes."""
    plain = ticker.FuncFormatter(lambda value, _: f"{value:g}" if 1e-4 <= value < 1e6
                                 else f"${value / 10 ** math.floor(math.log10(value)):.0f}\\cdot 10^{{{math.floor(math.log10(value))}}}$")
    axis.set_major_formatter(plain)
    low, high = axis.get_view_interval()
    axis.set_minor_locator(ticker.LogLocator(subs=(2, 5)))
    axis.set_minor_formatter(plain if high < 500 * low else ticker.NullFormatter())


def apart(values, gap):
    """Returns the ascending values but for those that are closer than `gap` to the one before."""
    shown = values[:1]
    for value in values[1:]:
        if value - shown[-1] >= gap:
            shown.append(value)
    return shown


def lines_of(figure, points):
    """Yields (series, value of the line's key or None, its points by x), in order."""
    for series in figure.series:
        mine = [it for it in points if it.series == series.id]
        for value in dict.fromkeys(it.place[figure.lines] if figure.lines else None for it in mine):
            yield series, value, sorted((it for it in mine if value is None or it.place[figure.lines] == value),
                                        key=lambda it: it.x)


def colour_of(figure, series):
    """Returns the colour of a series that is measured; predictions have those of what they predict."""
    return COLOURS[[it.id for it in figure.series if not it.predicted or it.id == series].index(series) % len(COLOURS)]


def measured_twin(figure, series):
    """Returns the id of the series that has the measured values of a prediction, or of the series itself."""
    def what(it):
        return it.algorithm, it.parameters, it.float_parameters, it.threads
    twins = [it.id for it in figure.series if series.predicted and not it.predicted and what(it) == what(series)]
    return twins[0] if twins else series.id


def draw_lines(panel, figure, sweep, points, device):
    values = list(dict.fromkeys(it.place[figure.lines] for it in points)) if figure.lines else []
    single = len({it.series for it in points}) == 1
    for series, value, line in lines_of(figure, points):
        place = values.index(value) if value is not None else 0
        label = label_of(figure, series, device)
        if value is not None:
            label += f", {WORDS.get(figure.lines, figure.lines)} = {number(value)}"
        floor = series.algorithm == figures.FLOOR
        index = [it.id for it in figure.series].index(series.id)
        dashes = ":" if floor else "-" if single else DASHES[place % len(DASHES)]
        panel.plot([it.x for it in line], [it.y for it in line], label=label, markersize=4,
                   color="#999999" if floor else COLOURS[place % len(COLOURS)] if single
                   else colour_of(figure, measured_twin(figure, series)),
                   linestyle=PREDICTED.get(series.predicted, ":") if series.predicted else dashes,
                   marker=None if floor or series.predicted else MARKERS[(place if single else index) % len(MARKERS)])
        draw_band(panel, line)
    if sweep.y == "speedup":
        panel.axhline(1, color="#222222", linewidth=0.8)


def draw_band(panel, line):
    """Draws the range from the shortest run to the longest behind the last line."""
    ranges = [measure.range_of(it) for it in line]
    if line and all(ranges):
        lows, highs = zip(*ranges)
        panel.fill_between([it.x for it in line], lows, highs, color=panel.lines[-1].get_color(), alpha=0.18, linewidth=0)


def draw_stack(panel, figure, sweep, points, device):
    """Draws areas upon each other, for the stages of a run."""
    xs = sorted({it.x for it in points})
    floor = [0] * len(xs)
    for series, _, line in lines_of(figure, points):
        values = {it.x: it.y for it in line}
        top = [low + values.get(x, 0) for x, low in zip(xs, floor)]
        panel.fill_between(xs, floor, top, color=colour_of(figure, series.id), alpha=0.85, linewidth=0,
                           label=series.label)
        floor = top
    panel.plot(xs, floor, color="#222222", linewidth=1, marker="o", markersize=3, label="all stages")


def draw_bars(panel, figure, sweep, points, device):
    """Draws a bar for each series, for figures and tables with one point a series."""
    for place, (series, _, line) in enumerate(lines_of(figure, points)):
        panel.bar(place, line[0].y, color=colour_of(figure, series.id), label=label_of(figure, series, device))
        panel.annotate(f"{line[0].y:.3g}", (place, line[0].y), ha="center", va="bottom", fontsize=7)
    panel.set_xticks([])


def draw_published(panel, figure, sweep, facet, points, scale):
    """Draws the paper's numbers as hollow stars, where our cells are as large as the paper's."""
    if not comparable(sweep, scale):
        return
    drawn = [series.id for series, _, _ in lines_of(figure, points)]
    for it in figure.published:
        if it.sweep == sweep.name and it.facet in (None, facet) and it.series in drawn:
            x = drawn.index(it.series) if figure.kind == "bars" else it.x
            panel.plot([x], [it.y], linestyle="none", marker="*", markersize=11, markerfacecolor="white",
                       markeredgecolor="black" if figure.kind == "bars" else colour_of(figure, it.series),
                       label=f"the paper's number ({figure.machine})" if figure.kind == "bars"
                       else f"paper: {figure.series_of(it.series).label} ({figure.machine})")


def comparable(sweep, scale):
    """Returns true if the cells are the paper's but for their places on the x axis."""
    if scale == "paper":
        return True
    return all(sweep.cells[scale][key] == value for key, value in sweep.cells["paper"].items() if key != sweep.x)


