"""The builder of queries."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _core
from ._core import Aggregate, Expression, Preference
from ._errors import QueryError
from ._preferences import Text, preferences, ranking
from ._values import as_list, expression, kind_of, seconds_of, term, whole_number, without_surrogates

if TYPE_CHECKING:
    import datetime


Keys = Union[Text, Mapping[str, Text], Iterable[Union[Text, Mapping[str, Text]]]]
"""Columns and expressions; those in mappings have names."""


def _keys(keys: Keys, named: Mapping[str, Text]) -> list[tuple[str | None, Expression]]:
    pairs: list[tuple[str | None, Expression]] = []
    for key in [*as_list(keys, (str, Expression, Mapping)), named]:
        if isinstance(key, Mapping):
            pairs += [(name, term(text)) for name, text in key.items()]
        else:
            pairs.append((None, term(key)))
    return pairs


class Query:
    """A preference query; a value that does not change.

    Each method returns a new query, so that parts can be shared:

    >>> cheap = Query.from_("hotels").where("price <= 100")
    >>> best = cheap.prefer([low("price"), high("rating")]).limit(10)

    The words and their order of evaluation are those of the query language: where, group_by and aggregate,
    partition_by, prefer (levels, at_least, skyband, distinct), pick, rank_by, offset, limit (ties), select. Expressions are
    texts; a malformed one raises QueryError with its line and column. A text of a term, a key or `select` that is the name
    of a column is that column, however it is spelt; whether there is one is seen when the query runs.
    """

    __slots__ = ("_core",)
    _core: _core.Query

    def __init__(self, table: str = "data") -> None:
        self._core = _core.Query.from_(table)

    @classmethod
    def from_(cls, table: str = "data") -> Query:
        """Begins a query over a table; the name matters only to people."""
        return cls(table)

    @classmethod
    def parse(cls, text: str) -> Query:
        """Returns the query that one statement of SkyRank's SQL says.

        >>> Query.parse("SELECT * FROM hotels ORDER BY price LIMIT 3") == Query("hotels").rank_by(low("price")).limit(3)
        True

        Raises QueryError with line and column where the statement is malformed, or is SQL that SkyRank leaves to others.
        """
        return cls._of(_core.parse_sql(without_surrogates(text, "a statement"))[0])

    @classmethod
    def _of(cls, core: Any) -> Query:
        query = cls.__new__(cls)
        query._core = core
        return query

    def to_sql(self) -> str:
        """Returns the query as one statement of SQL; `parse` gives an equal query back.

        Raises QueryError where parts contradict each other, as `validate` does.
        """
        return _core.to_sql(self._core)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Query.parse, (self.to_sql(),)

    def _set(self, word: str, *values: Any) -> Query:
        changed = Query.__new__(Query)
        changed._core = self._core.copy()
        getattr(changed._core, word)(*values)
        return changed

    def name(self, name: str) -> Query:
        """Names the query."""
        return self._set("name", name)

    def where(self, condition: Text | None) -> Query:
        """Keeps the rows for which the condition is true. None keeps all."""
        return self._set("where", None if condition is None else expression(condition))

    def group_by(self, columns: Keys = (), **named: Text) -> Query:
        """Replaces the rows by one row of each group, by columns and expressions. Raises QueryError where there are none.

        >>> Query.from_("hotels").group_by("city", year="year(opened)") == Query.parse(
        ...     "SELECT * FROM hotels GROUP BY city, year(opened) AS year")
        True

        A mapping names expressions, too, also in a list: `["city", {"year": "year(opened)"}]`.
        """
        return self._set("group_by", _keys(columns, named))

    def aggregate(self, *aggregates: Aggregate) -> Query:
        """Sets the columns that groups have besides those of `group_by`: count("n"), max("dearest", "price").

        Without `group_by` all rows are one group, which is there even if no row is.
        """
        for aggregate in aggregates:
            if not isinstance(aggregate, Aggregate):
                found = kind_of(aggregate)
                raise QueryError(f"an aggregate is one of count, sum, min, max and avg, such as count('n'), not {found}")
        return self._set("aggregate", list(aggregates))

    def having(self, condition: Text | None) -> Query:
        """Keeps the groups for which the condition over their columns is true. None keeps all.

        >>> query = Query.from_("hotels").group_by("city").aggregate(count("n")).having("n >= 5")
        >>> query == Query.parse("SELECT * FROM hotels GROUP BY city AGGREGATE COUNT(*) AS n HAVING n >= 5")
        True
        """
        return self._set("having", None if condition is None else expression(condition))

    def partition_by(self, columns: Keys = (), **named: Text) -> Query:
        """Answers the rest of the query within each partition, by columns and expressions with or without names.

        Later clauses know a named expression as a column, and so does an answer without `select`.
        """
        return self._set("partition_by", _keys(columns, named))

    def prefer(self, preference: Preference | Iterable[Preference]) -> Query:
        """Keeps the rows that no other row dominates. Several terms are a Pareto order. QueryError for none."""
        terms = preferences(preference)
        return self._set("prefer", terms[0] if isinstance(preference, Preference) else _core.pareto(terms))

    def levels(self, count: int | None) -> Query:
        """Keeps the first Pareto levels; count >= 1."""
        return self._set("levels", whole_number("levels", count))

    def at_least(self, rows: int | None) -> Query:
        """Keeps whole Pareto levels until there are so many rows; rows >= 0."""
        return self._set("at_least", whole_number("at_least", rows))

    def skyband(self, rows: int | Literal["all"] | None) -> Query:
        """Keeps the rows that fewer than so many rows dominate; rows >= 1, which is the skyline.

        "all" keeps every row, for functions of rows:

        >>> points = {"a": [1, 2, 3], "b": [1, 3, 2]}
        >>> counted = Query().prefer([low("a"), low("b")]).skyband("all").rank_by(high("dominates()"))
        >>> query(points, counted.select("a", "dominates()")).to_dict()
        {'a': [1, 2, 3], 'dominates()': [2, 0, 0]}
        """
        return self._set("skyband", sys.maxsize if rows == "all" else whole_number("skyband", rows))

    def distinct(self, on: bool = True) -> Query:
        """Keeps only the first of the rows that are equal in all preferences."""
        return self._set("distinct", on)

    def pick(self, count: int, by: str = "distance", reference: Iterable[float] = ()) -> Query:
        """Keeps a few of the rows that `prefer` keeps: count >= 1 of each partition, one after the other.

        By "distance" the farthest from those picked, by "coverage" the one that dominates most rows that none of them
        dominates, by "hypervolume" the one that adds most volume up to the `reference`, a number for each term.
        """
        return self._set("pick", whole_number("pick", count), by, [float(value) for value in reference])

    def rank_by(self, terms: Text | Preference | Iterable[Text | Preference]) -> Query:
        """Orders the answer by `low` and `high` terms; a text stands for `high`. QueryError for no or other terms."""
        return self._set("rank_by", ranking(terms))

    def offset(self, rows: int) -> Query:
        """Leaves out the first rows of the ranking; rows >= 0."""
        return self._set("offset", whole_number("offset", rows))

    def limit(self, rows: int | None) -> Query:
        """Sets the number of rows to keep; rows >= 0. None keeps all."""
        return self._set("limit", whole_number("limit", rows))

    def ties(self, rule: str) -> Query:
        """Sets which rows that tie with the last one are kept: "first", "last", "all" or "any"."""
        return self._set("ties", rule)

    def nan(self, rule: str) -> Query:
        """Sets the meaning of NaN in preferences and rankings: "worst", "exclude", "error" or "best", which puts it
        before every number."""
        return self._set("nan", rule)

    def nulls(self, rule: str) -> Query:
        """Sets the meaning of NULL in preferences and rankings: "worst", "exclude", "error" or "best", which puts it
        before every value."""
        return self._set("nulls", rule)

    def select(self, *columns: Text, **named: Text) -> Query:
        """Sets the columns of the answer: columns, expressions, or the pseudo-columns row, level and score.

        Functions of rows such as `dominated_by()` stand here, and in `rank_by`, on their own.

        >>> Query.from_("hotels").rank_by("rating").select("name", value="rating / price")
        Query.parse('SELECT name, rating / price AS value FROM hotels ORDER BY rating DESC')
        """
        pairs: list[tuple[str | None, Expression]] = [(None, term(text)) for text in columns]
        return self._set("select", pairs + [(name, term(text)) for name, text in named.items()])

    def timeout(self, limit: float | datetime.timedelta) -> Query:
        """Sets a limit on the time of the answer, in seconds, > 0; TimeoutError after it."""
        return self._set("timeout", seconds_of(limit))

    def using(
        self,
        *algorithms: str,
        device: str = "auto",
        parameters: Mapping[str, int] | None = None,
        without: Iterable[str] = (),
    ) -> Query:
        """Forces a path, for experiments: algorithms of the registry, a device, parameters, rules that are off."""
        return self._set("using", list(algorithms), device, dict(parameters or {}), list(without))

    def validate(self) -> None:
        """Raises QueryError where parts contradict each other or a number is out of range. Running does it too."""
        self._core.validate()

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that are equal for queries with the same answers."""
        return self._core.fingerprint()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Query) and self._core == other._core

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        """The call that makes it, of a statement in SQL; of a query that has none, what it lacks."""
        try:
            text = self.to_sql()
        except QueryError as error:
            return f"<Query over {self._core.table_name()!r}: {error.message}>"
        line = text.replace("\n", " ")
        return f"Query.parse({(line if Query.parse(line) == self else text)!r})"


def core_of(question: Any) -> _core.Query:
    """Returns the inside of a query; QueryError for what is none."""
    if not isinstance(question, Query):
        raise QueryError(
            f"a question is a Query, not {kind_of(question)}; skyrank.sql answers a statement, and Query.parse reads one"
        )
    return question._core
