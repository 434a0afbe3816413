"""The reason why a row is not in an answer."""

from __future__ import annotations

import dataclasses
from typing import Any

from ._output.tables import html_page, html_rows, html_sentence
from ._values import kind_of


@dataclasses.dataclass(frozen=True)
class WhyDominator:
    """A row that dominates the one in question.

    Attributes:
        row: Its position in the data.
        gap: The greatest difference in one term in which it is better, as a share of the term's range.
        better_in: The terms in which it is better.
    """

    row: int
    gap: float
    better_in: list[str]


@dataclasses.dataclass(frozen=True)
class WhyChange:
    """The least change of one term, or of one condition, with which the row is in the answer.

    Attributes:
        term: The column, the expression or the condition that changes.
        change: The condition to meet, such as "price < 118.5"; empty: no value lets the row in, or `unknown`.
        unknown: The reason why the least change is not determined; empty: it is.
    """

    term: str
    change: str
    unknown: str


@dataclasses.dataclass(frozen=True)
class Why:
    """The reason why a row is not in an answer, and what would let it in. `str` gives sentences for a person.

    Attributes:
        row: Position of the row in the data.
        stage: The first stage that it does not pass: "where", "missing", "dominated", "duplicate", "pick", "offset" or "limit";
            "answer" for a row that is in the answer.
        reasons: "price <= 160 is false", "rating is NULL", for the stages "where" and "missing".
        place: Its place from 1 in the order of its partition, or None.
        last_row: For "offset" and "limit", the last row of its partition that is in the answer, or None.
        against_last: For "limit", the terms of the ranking with the values of both rows.
        equal_row: For "duplicate", the row that is kept in its place.
        num_dominators: The number of rows that dominate it; None if no preference is asked about it.
        dominators: The ten of these with the least gaps.
        changes: One for each term and failed condition.
        text: What `str` gives.
    """

    row: int
    stage: str
    reasons: list[str]
    place: int | None
    last_row: int | None
    against_last: list[str]
    equal_row: int | None
    num_dominators: int | None
    dominators: list[WhyDominator]
    changes: list[WhyChange]
    text: str = dataclasses.field(repr=False)

    @classmethod
    def _of(cls, members: dict[str, Any]) -> Why:
        dominators = [WhyDominator(*one) for one in members["dominators"]]
        changes = [WhyChange(*one) for one in members["changes"]]
        return cls(**{**members, "dominators": dominators, "changes": changes})

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        changes = [(one.term, one.change or one.unknown or "no value lets the row in") for one in self.changes]
        better = [(str(one.row), ", ".join(one.better_in), f"{one.gap:.3g}") for one in self.dominators]
        return html_page(
            html_sentence(self.text.strip().partition("\n")[0]),
            html_rows(["term", "least change"], changes),
            html_rows(["better row", "better in", "gap"], better),
        )


def row_id(row: int) -> int:
    """Returns the position of a row as a plain int of 64 bits. Raises TypeError for other objects."""
    if not hasattr(row, "__index__"):
        raise TypeError(f"a row is its position, a whole number, not {kind_of(row)}")
    position = row.__index__()
    if not -(2**63) <= position < 2**63:
        raise ValueError(f"there is no row {position}")
    return position
