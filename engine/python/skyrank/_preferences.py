"""Terms of preferences and rankings. An expression is a text, such as "price / beds", or an Expression. A text that is
the name of a column of the table, such as "Unit Price" or "a-b", is that column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Union

from . import _core
from ._core import Aggregate, Expression, Preference
from ._errors import QueryError
from ._values import as_list, expression, kind_of, plain, term

Text = Union[str, Expression]  # Python 3.9 has no other way
"""Name of a column, however it is spelt, text of an expression, or the parsed form."""


def column(name: str) -> Expression:
    """Returns the column of exactly this name, whatever characters it has; inside expressions, backquotes do the same."""
    return Expression.column(name)


def low(text: Text, *, step: Any = None) -> Preference:
    """Smaller values are better. QueryError where the text is malformed.

    With a `step`, values in one box are equal: a number is the size of the boxes, a text such as "10%" the ratio of one
    box to the next, and one such as "7d" a size in time. QueryError where it is none of these.
    """
    return _stepped(_core.low(term(text)), step)


def high(text: Text, *, step: Any = None) -> Preference:
    """Larger values are better, those of boxes with a `step`; see `low`. QueryError where the text is malformed."""
    return _stepped(_core.high(term(text)), step)


def _stepped(preference: Preference, size: Any) -> Preference:
    return preference if size is None else _core.step(preference, plain(size))


def around(text: Text, target: Any) -> Preference:
    """Smaller distance to `target`, a number, date or time, is better."""
    return _core.around(term(text), plain(target))


def between(text: Text, start: Any = None, end: Any = None) -> Preference:
    """Inside [start, end] is best; outside, smaller distance to the range is better. None leaves an end open.

    Raises QueryError where start > end.
    """
    return _core.between(term(text), plain(start), plain(end))


def in_sets(text: Text, sets: Sequence[Iterable[Any]]) -> Preference:
    """A value of an earlier set is better than one of a later set; a value of none is worst.

    >>> in_sets("city", [["Oslo", "Bergen"], ["Aarhus"]])
    in_sets('city', [['Oslo', 'Bergen'], ['Aarhus']])

    Raises QueryError where a value comes twice.
    """
    listed = [] if isinstance(sets, str) else as_list(sets, ())
    if not listed or any(isinstance(members, str) or not isinstance(members, Iterable) for members in listed):
        raise QueryError("in_sets takes a list of sets, each a list of values, such as [['Oslo', 'Bergen'], ['Aarhus']]")
    return _core.in_sets(term(text), [[plain(value) for value in members] for members in listed])


def where(condition: Text) -> Preference:
    """Rows for which the condition is true are better."""
    return _core.where(expression(condition))


def pareto(terms: Iterable[Preference]) -> Preference:
    """All terms count equally: a row is better that is better or equal in all and better in one."""
    return _core.pareto(preferences(terms))


def prior(terms: Iterable[Preference]) -> Preference:
    """The first term decides; only where it finds rows equal, the next."""
    return _core.prior(preferences(terms))


def inverse(preference: Preference) -> Preference:
    """The reverse order among values; NaN and NULL stay worst."""
    return _core.inverse(preference)


def feasible(
    condition: Text, terms: Preference | Iterable[Preference], violation: Text | Iterable[Text] = ()
) -> Preference:
    """Rows for which the condition is true come before all others, whatever the terms say of them.

    >>> feasible("weight <= 10", [low("price"), high("speed")], violation="weight - 10")
    prior([where('weight <= 10'), low('case when weight <= 10 then 0 else weight - 10 end'), pareto([low('price'), \
high('speed')])])

    Of the others, less violation is better: that of the first expression, then that of the next. The terms, a Pareto
    order, decide between rows that meet the condition, and between rows with equal violations.
    """
    given = [expression(text) for text in as_list(violation, (str, Expression))]
    found = preferences(terms)
    return _core.feasible(expression(condition), given, found[0] if len(found) == 1 else _core.pareto(found))


def weighted(terms: Iterable[Preference], weights: Text | Iterable[Text]) -> Preference:
    """A row is better if its sum of the terms is less under all weights, 0 or more, that the constraints allow.

    >>> weighted([low("price"), low("distance")], ["price >= distance"])
    pareto([low('price'), low('price + distance')])

    In a constraint the terms stand for their weights, which sum to 1. Values of `high` terms count negated. QueryError
    where no weights fulfil all constraints, and for terms that are not `low` or `high`.
    """
    return _core.weighted(preferences(terms), [expression(text) for text in as_list(weights, (str, Expression))])


def count(name: str, text: Text | None = None) -> Aggregate:
    """Number of rows of a group; with an expression, of those where it is not NULL. `name` names the column."""
    return _core.aggregate(name, "count", None if text is None else term(text))


def sum(name: str, text: Text) -> Aggregate:  # noqa: A001
    """Sum over a group, without NULL; that of floats is rounded once."""
    return _core.aggregate(name, "sum", term(text))


def min(name: str, text: Text) -> Aggregate:  # noqa: A001
    """Least value of a group, without NULL."""
    return _core.aggregate(name, "min", term(text))


def max(name: str, text: Text) -> Aggregate:  # noqa: A001
    """Greatest value of a group, without NULL."""
    return _core.aggregate(name, "max", term(text))


def avg(name: str, text: Text) -> Aggregate:
    """Average over a group as float64, without NULL."""
    return _core.aggregate(name, "avg", term(text))


def preferences(terms: Any) -> list[Preference]:
    """Returns one term, or several, as a list; QueryError where one is no preference."""
    found = as_list(terms, (str, Expression, Preference))
    for term in found:
        if not isinstance(term, Preference):
            raise QueryError(f"a term is a preference, such as low('price') or high('rating'), not {kind_of(term)}")
    return found


def ranking(terms: Text | Preference | Iterable[Text | Preference]) -> list[Preference]:
    """Returns the terms of a ranking. A text stands for `high`: the largest value first."""
    return [
        term if isinstance(term, Preference) else high(term) for term in as_list(terms, (str, Expression, Preference))
    ]
