"""What a picture shows: its axes, and the rows with their values, levels and marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _core
from .._engine import default_engine
from .._errors import BindError, DataError, QueryError, required
from .._functions import Taken
from .._query import Query
from .._result import Result
from .._values import expression

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy

    Values = numpy.ndarray[Any, Any]


class Axis:
    """A term of the preference: what is drawn of it, and in which direction it is better."""

    def __init__(self, term: _core.Preference) -> None:
        self.is_low = term.kind != "high" and term.kind != "where"
        self._range: tuple[float, float] | None = None  # whose distance is drawn
        self._range_name = ""
        if term.kind == "inverse" and term.children[0].kind in ("low", "high"):
            (term,) = term.children
            self.is_low = term.kind == "high"
        elif term.kind == "around":
            self._range = (_number(term.target, term, 0.0), _number(term.target, term, 0.0))
            self._range_name = f"distance of {{}} from {_written(term.target)}"
        elif term.kind == "between":
            self._range = (_number(term.target, term, float("-inf")), _number(term.upper, term, float("inf")))
            ends = [_written(end) for end in (term.target, term.upper) if end is not None]
            self._range_name = f"distance of {{}} from {' to '.join(ends)}"
        elif term.kind not in ("low", "high", "where"):
            raise QueryError(f"a picture has no axis for {term!r}; it draws terms of low, high, around, between and where")
        assert term.expression is not None
        self.expression: _core.Expression = term.expression
        self.is_time = False
        self.values: Values

    @property
    def name(self) -> str:
        """The column or expression, as people write it."""
        text = self.expression.text
        if text[0] == "`" and text.find("`", 1) == len(text) - 1:
            text = text[1:-1]
        return text if self._range is None else self._range_name.format(text)

    @property
    def label(self) -> str:
        """The name with an arrow along the axis towards better values; axes that go up turn it with their text."""
        return f"{self.name} (← better)" if self.is_low else f"{self.name} (better →)"

    @property
    def upright_label(self) -> str:
        """The name with an arrow that says whether lower or higher values are better."""
        return f"{self.name} {'↓' if self.is_low else '↑'}"

    def take(self, values: Values) -> None:
        """Takes the values of all rows."""
        import numpy

        numbers = _numbers(values, self.name)
        self.is_time = values.dtype.kind == "M" and self._range is None
        if self._range is not None:
            first, last = self._range
            numbers = numpy.maximum(numpy.maximum(first - numbers, numbers - last), 0.0)
            if values.dtype.kind == "M":
                self._range_name += ", days"
        self.values = numbers

    def format_ticks(self, ticks: Any) -> None:
        """Has the ticks of an axis of matplotlib show times as such."""
        if self.is_time:
            dates = required("matplotlib.dates", "plot", "a plot")
            locator = dates.AutoDateLocator(minticks=4, maxticks=7)
            ticks.set_major_locator(locator)
            ticks.set_major_formatter(dates.ConciseDateFormatter(locator))


def _number(value: float | str | None, term: _core.Preference, otherwise: float) -> float:
    """Returns the end of a range as a number, days for dates and times."""
    if value is None:
        return otherwise
    try:
        return float(value)
    except ValueError:
        pass
    import numpy

    try:
        time = numpy.datetime64(_written(value))
    except ValueError as error:
        raise QueryError(f"a picture has no axis for {term!r}: {value} is neither a number nor a time") from error
    return float(_numbers(time.reshape(1), _written(value))[0])


def _written(value: float | str | None) -> str:
    """Returns the end of a range as people write it; a text, which batches have for dates, without its quotes."""
    return value.strip("'") if isinstance(value, str) else f"{value:g}"


def _numbers(values: Values, name: str) -> Values:
    """Returns float64 values with NaN for NULL; times as matplotlib counts them."""
    import numpy

    if values.dtype.kind == "M":
        dates = required("matplotlib.dates", "plot", "a plot")
        try:
            numbers: Values = dates.date2num(values.astype("datetime64[us]"))
        except OverflowError as error:
            raise BindError(f"{name} has times that 64 bits of microseconds, and so a plot, cannot hold") from error
        return numbers
    if values.dtype.kind == "O":  # decimals
        if any(isinstance(value, str) for value in values):
            raise BindError(f"a plot has no place for strings, and {name} is one")
        values = numpy.array([numpy.nan if value is None else float(value) for value in values])
    return numpy.ma.filled(numpy.ma.asarray(values).astype("float64"), numpy.nan)


class Picture:
    """The axes, and for each row its level, 0 for rows of no level, and whether it is picked.

    At most `max_rows` rows of no level are drawn, evenly spread, and so many of a level in parallel coordinates.
    """

    def __init__(
        self, axes: list[Axis], levels: Values, is_picked: Values, max_rows: int, picked_name: str = "picked"
    ) -> None:
        import numpy

        if len(axes) < 2:
            raise QueryError(f"a plot needs two or more columns in `low` and `high`, not {len(axes)}")
        self.axes = axes
        self.levels = levels
        self.max_rows = max_rows
        self.picked_name = picked_name
        self.last_level = int(levels.max(initial=1))
        self.picked = numpy.flatnonzero(is_picked)
        self.num_others = int((levels == 0).sum())
        self.others = evenly(numpy.flatnonzero(levels == 0), max_rows)

    def rows_of(self, level: int) -> Values:
        """Returns the places of the rows of a level."""
        import numpy

        return numpy.flatnonzero(self.levels == level)

    def drawn(self) -> Values:
        """Returns the places of all rows that are drawn."""
        import numpy

        return numpy.union1d(numpy.concatenate([numpy.flatnonzero(self.levels), self.others]), self.picked)

    def level_label(self, level: int) -> str:
        name = "front" if self.last_level == 1 else f"level {level}"
        return f"{name} ({_counted(len(self.rows_of(level)))})"

    def others_label(self) -> str:
        shown = len(self.others)
        count = _counted(self.num_others)
        return f"others ({count})" if shown == self.num_others else f"others ({shown:,} of {count})"

    def picked_label(self) -> str:
        return f"{self.picked_name} ({_counted(len(self.picked))})"


def _counted(rows: int) -> str:
    return f"{rows:,} {'row' if rows == 1 else 'rows'}"


def evenly(places: Values, count: int) -> Values:
    """Returns at most `count` of the places, evenly spread."""
    import numpy

    if len(places) <= count:
        return places
    return places[numpy.linspace(0, len(places) - 1, count).astype(int)] if count else places[:0]


def picture_of(
    data: Any,
    terms: Any,
    question: Query | None,
    picked: Any,
    background: Any,
    columns: Any,
    max_rows: int,
) -> Picture:
    """Makes the picture of a front.

    Args:
        data: What `query` takes. A Result with levels is a front that was found; others are rows to find one in.
        terms: Returns the query of a preference by columns of the data, unless there is a `question`.
        question: The query whose front is drawn; rows of its answer are picked if they are not the whole front.
        picked: A Result, positions of rows or a mask of them; None for none.
        background: None draws the other rows of the data, False none, and anything else is data whose rows are drawn.
        columns: As for `skyline`.
        max_rows: The most rows of no level.
    """
    import numpy

    if max_rows < 0:
        raise ValueError("max_rows is 0 or more")
    found = data if isinstance(data, Result) and data.levels is not None and question is None else None
    if background is not None and background is not False:
        if found is None:
            raise QueryError("`background` gives the other rows of a Result with levels; other data have them themselves")
        data = background
    taken = Taken(data, columns).whole()
    if isinstance(data, Result):
        taken.leave_out("row")
    asked = question if question is not None else terms(taken)
    preference = asked._core.preference()
    if preference is None:
        raise QueryError("the query has no `prefer`, and so no front that a picture could show")
    if asked._core.has_partitions():
        raise QueryError("the query has partitions, each with a front; a picture shows one, such as that of `where`")
    axes = [Axis(term) for term in _terms(preference)]

    shown = {f"axis{index}": axis.expression for index, axis in enumerate(axes)}
    compared = Query._of(asked._core.compared()).rank_by(_core.low(expression("0"))).select("row()", **shown)
    every = default_engine().run(compared, taken)
    if found is None:
        front = default_engine().run(Query._of(asked._core.front()).select("row()", "level()", axis=axes[0].expression), taken)
        ids = every.rows
    else:
        front = found
        ids = every.rows if data is background else found.rows[every.rows]
    levels = numpy.zeros(len(ids), "int32")
    levels[_places(ids, front.rows)] = front.levels

    is_picked = numpy.zeros(len(ids), bool)
    picked_name = "picked"
    if question is not None and picked is None:
        answer = default_engine().run(question.select("row()", axis=axes[0].expression), taken)
        picked = answer if len(answer) < len(front) else None
        picked_name = "answer"
    if picked is not None:
        is_picked[_places(ids, _row_ids(picked))] = True

    kept = numpy.flatnonzero((levels > 0) | is_picked) if background is False else numpy.arange(len(ids))
    for name, axis in zip(shown, axes):
        axis.take(every[name][kept])
    return Picture(axes, levels[kept], is_picked[kept], max_rows, picked_name)


def _terms(preference: _core.Preference) -> list[_core.Preference]:
    """Returns the terms that make a front: those of a Pareto order, also behind others that come first.

    Rows of one level are equal in what comes first, such as a condition that they all meet.
    """
    compositions = ("pareto", "prior", "inverse")
    if preference.kind == "prior" and all(child.kind not in compositions for child in preference.children[:-1]):
        preference = preference.children[-1]
    return preference.children if preference.kind == "pareto" else [preference]


def _row_ids(picked: Any) -> Values:
    import numpy

    if isinstance(picked, Result):
        return picked.rows
    ids = numpy.asarray(picked)
    if ids.size == 0:
        return numpy.empty(0, "int64")
    if ids.ndim == 1 and ids.dtype.kind == "b":  # a mask of all rows
        return numpy.flatnonzero(ids)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise DataError("`picked` is a Result, a list of positions of rows, or a mask of all rows")
    return ids.astype("int64")


def _places(ids: Values, wanted: Values) -> Values:
    """Returns where each of the row ids is among `ids`; BindError for those that are not."""
    import numpy

    order = numpy.argsort(ids, kind="stable")
    places: Values = numpy.searchsorted(ids, wanted, sorter=order)
    missing = places == len(ids)
    places = order[numpy.where(missing, 0, places)] if len(ids) else places
    missing = missing | (ids[places] != wanted) if len(ids) else numpy.ones(len(wanted), bool)
    if missing.any():
        row = int(numpy.asarray(wanted)[missing][0])
        raise BindError(f"row {row} is to be drawn, and is not among the {len(ids):,} rows of the picture")
    return places


def preference_of(
    low_terms: Iterable[_core.Preference], high_terms: Iterable[_core.Preference], where: Any, levels: int | None
) -> Query:
    """Returns the query of a Pareto order of these terms."""
    terms = [*low_terms, *high_terms]
    if len(terms) < 2:
        raise QueryError(f"a plot needs two or more columns in `low` and `high`, not {len(terms)}")
    return Query().where(where).prefer(terms).levels(levels)
