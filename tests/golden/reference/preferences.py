"""Preferences and rankings, straight from their definitions: rows are compared in pairs."""

import datetime
import math

from decimal import Decimal
from fractions import Fraction

from fronts import as_number, box_of, corners_of, violation_of, weighted_value
from expressions import Written, as_datetime, as_decimal, compile_expression

NAN, NULL = (1, 0), (2, 0)  # places behind every value, which is (0, key)
NULL_FIRST, NAN_FIRST = (-2, 0), (-1, 0)  # places of those that are best
EPOCH = datetime.datetime(1970, 1, 1)


def number(value):
    """A number, date, time or truth value as something to subtract and compare."""
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return value.toordinal()
    if isinstance(value, Decimal):
        return Fraction(value)
    return int(value) if isinstance(value, bool) else value


def target_like(value, target):
    """A target as written in YAML, in the terms of the value it is compared with."""
    if isinstance(value, datetime.datetime):
        return number(as_datetime(parse_moment(target)))
    if isinstance(value, datetime.date):
        return number(parse_moment(target))
    if isinstance(value, float):
        return float(target)
    if isinstance(target, int) or math.isinf(target):
        return target
    return Fraction(as_decimal(target) if isinstance(value, Decimal) and isinstance(target, Written) else target)


def is_member(value, members):
    if isinstance(value, Decimal):
        return any(Fraction(value) == target_like(value, member) for member in members)
    return value in members


def parse_moment(target):
    if not isinstance(target, str):
        return target  # PyYAML reads plain dates itself
    return datetime.date.fromisoformat(target) if len(target) == 10 else datetime.datetime.fromisoformat(target)


def placed(value, key, nan, null):
    if value is None:
        return null
    if isinstance(value, float) and math.isnan(value):
        return nan
    return (0, key(value))


def distance_around(value, target):
    return distance_between(value, target, target)


def distance_between(value, low, high):
    """The distance to a range, of which one end may be None."""
    v = number(value)
    if low is not None and v < target_like(value, low):
        return target_like(value, low) - v
    if high is not None and v > target_like(value, high):
        return v - target_like(value, high)
    return 0


def directed(key, sign):
    """A key of a value in the order of the sign. A string is its bytes, with an end that comes before all of them."""
    return tuple(sign * byte for byte in (*(b + 1 for b in key.encode()), 0)) if isinstance(key, str) else sign * key


class Term:
    """A preference on one expression: smaller places are better."""

    def __init__(self, kind, argument, inverted):
        self.sign = -1 if inverted else 1
        self.nan, self.null = NAN, NULL
        if kind in ("low", "high"):
            self.value = compile_expression(argument)
            self.text = argument
            if kind == "high":
                self.sign = -self.sign
            self.key = number
        elif kind == "around":
            self.value = compile_expression(argument["expr"])
            self.key = lambda v: distance_around(v, argument["target"])
        elif kind == "between":
            self.value = compile_expression(argument["expr"])
            self.key = lambda v: distance_between(v, argument.get("from"), argument.get("to"))
        elif kind == "in":
            self.value = compile_expression(argument["expr"])
            sets = argument["values"]
            self.key = lambda v: next((i for i, s in enumerate(sets) if is_member(v, s)), len(sets))
        elif kind == "where":
            condition = compile_expression(argument)
            self.value = lambda row: condition(row) is True
            self.key = lambda v: 0 if v else 1
        else:
            raise SyntaxError(f"unknown preference {kind}")

    def place(self, row):
        return placed(self.value(row), lambda v: directed(self.key(v), self.sign), self.nan, self.null)


class Composition:
    def __init__(self, kind, children):
        self.kind, self.children = kind, children


def read_preference(node, inverted=False):
    if isinstance(node, list):
        return Composition("pareto", [read_preference(child, inverted) for child in node])
    step = node.get("step")
    ((kind, argument),) = ((key, value) for key, value in node.items() if key != "step")
    if kind == "inverse":
        return read_preference(argument, not inverted)
    if kind in ("pareto", "prior"):
        return Composition(kind, [read_preference(child, inverted) for child in argument])
    term = Term(kind, argument, inverted)
    if step is not None:
        value = term.value
        term.value = lambda row: box_of(value(row), step)
    return term


def behind_condition(condition, violations, preference):
    """Constraint domination: rows that meet a condition first, then by violations, then by the preference."""
    terms = [Term("where", condition, False)]
    for violation in violations:
        terms.append(Term("low", "0", False))
        terms[-1].value = violation_of(condition, violation)
    return Composition("prior", [*terms, preference])


def by_weights(constraints, preference):
    """The Pareto order of the sums at the corners of some weights. Terms are columns."""
    terms = terms_of(preference)
    sums = []
    for weights in corners_of([term.text for term in terms], constraints):
        sums.append(Term("low", "0", False))
        sums[-1].value = weighted_value([(term.sign, term.value) for term in terms], weights)
    return Composition("pareto", sums)


def picked_terms(preference):
    """The terms of the last part of a prior."""
    if isinstance(preference, Composition) and preference.kind == "prior":
        return picked_terms(preference.children[-1])
    return terms_of(preference)


def coordinate(term, row):
    """A value as a number that is the better the less it is."""
    place = term.place(row)
    if place[0] != 0:
        return -math.inf if place[0] < 0 else math.inf
    return term.sign * as_number(term.value(row)) + 0.0


def terms_of(preference):
    if isinstance(preference, Term):
        return [preference]
    return [term for child in preference.children for term in terms_of(child)]


def compare(preference, a, b):
    """'<': a is better, '>': b is, '=': equal, '|': neither. a and b map each term to its place."""
    if isinstance(preference, Term):
        x, y = a[preference], b[preference]
        return "<" if x < y else ">" if x > y else "="
    if preference.kind == "prior":
        for child in preference.children:
            result = compare(child, a, b)
            if result != "=":
                return result
        return "="
    results = {compare(child, a, b) for child in preference.children}
    if "|" in results or {"<", ">"} <= results:
        return "|"
    return "<" if "<" in results else ">" if ">" in results else "="


def places(preference, rows):
    """For each row, each term's place as a small number; the same order, quicker to compare."""
    result = [{} for _ in rows]
    for term in terms_of(preference):
        exact = [term.place(row) for row in rows]
        rank = {place: i for i, place in enumerate(sorted(set(exact)))}
        for row, place in zip(result, exact):
            row[term] = rank[place]
    return result


def skyline(preference, placed_rows, candidates):
    """Indices of the candidates that no other dominates, ascending.

    Where all terms count equally, rows are met in ascending order of the sum of their places: a row comes after all
    that dominate it, and only what stayed need be compared with.
    """
    if isinstance(preference, Composition) and preference.kind == "pareto" and all(
        isinstance(child, Term) for child in preference.children
    ):
        vectors = {i: tuple(placed_rows[i].values()) for i in candidates}
        kept = []
        for i in sorted(candidates, key=lambda c: sum(vectors[c])):
            row = vectors[i]
            if not any(dominates(vectors[k], row) for k in kept):
                kept.append(i)
        return sorted(kept)
    return [
        i for i in candidates
        if not any(compare(preference, placed_rows[j], placed_rows[i]) == "<" for j in candidates)
    ]


def dominates(a, b):
    for x, y in zip(a, b):
        if x > y:
            return False
    return a != b
