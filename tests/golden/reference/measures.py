"""Skybands and functions of a row, straight from their definitions."""

import itertools
import math
import re

from fractions import Fraction

from preferences import compare, terms_of

CALL = re.compile(r"(level|dominated_by|dominates|crowding|contribution|compromise)\((.*)\)", re.IGNORECASE)


class Measure:
    """A ranking term that is a function of a row; `of_part` gives its values, once the rows of the part are known."""

    def __init__(self, call, sign):
        self.call, self.sign, self.values = call, sign, {}

    def place_of(self, i):
        value = self.values[i]
        return (2, 0) if value is None else (0, self.sign * value)


def read_call(text):
    """The name and the numbers of a call, or None."""
    found = CALL.fullmatch(str(text).strip())
    if not found:
        return None
    return found.group(1).lower(), [float(number) for number in found.group(2).split(",") if number.strip()]


def skyband(query, preference, placed, levels):
    """Level by row, for the rows that fewer than `skyband` rows dominate."""
    if query["skyband"] == "all":
        return levels
    better = {i: sum(compare(preference, placed[j], placed[i]) == "<" for j in levels) for i in levels}
    return {i: level for i, level in levels.items() if better[i] < query["skyband"]}


def measure(call, preference, rows, placed, levels, all_rows):
    """The values of a function of a row, by row of `levels`; `all_rows` take part."""
    name, numbers = call
    if name == "level":
        return dict(levels)
    if name == "dominated_by":
        return {i: sum(compare(preference, placed[j], placed[i]) == "<" for j in all_rows) for i in levels}
    if name == "dominates":
        return {i: sum(compare(preference, placed[i], placed[j]) == "<" for j in all_rows) for i in levels}
    terms = terms_of(preference)
    values = {i: [number_of(term.value(rows[i][1])) for term in terms] for i in levels}
    found = {i: None for i in levels}
    for level in set(levels.values()):
        members = {i: values[i] for i in levels if levels[i] == level and None not in values[i]}
        found.update({i: within_level(name, numbers, terms, members, i) for i in members})
    return found


def number_of(value):
    return None if value is None or math.isnan(value) else float(value)


def within_level(name, numbers, terms, members, i):
    if name == "crowding":
        return crowding(members, i)
    minimised = {j: [term.sign * value for term, value in zip(terms, row)] for j, row in members.items()}
    if name == "compromise":
        return compromise(minimised, numbers or [1] * len(terms), i)
    reference = [Fraction(term.sign * number) for term, number in zip(terms, numbers)]
    without = {tuple(map(Fraction, row)) for j, row in minimised.items() if j != i}
    return float(volume({*without, tuple(map(Fraction, minimised[i]))}, reference) - volume(without, reference))


def crowding(members, i):
    total = 0.0
    for term in range(len(members[i])):
        order = sorted(members, key=lambda j: (members[j][term], j))
        least, greatest = members[order[0]][term], members[order[-1]][term]
        if least == greatest:
            continue
        at = order.index(i)
        if at in (0, len(order) - 1):
            return math.inf
        total += (members[order[at + 1]][term] - members[order[at - 1]][term]) / (greatest - least)
    return total


def compromise(members, weights, i):
    worst = -math.inf
    for term, weight in enumerate(weights):
        column = [row[term] for row in members.values()]
        width = max(column) - min(column) or 1
        if weight:
            worst = max(worst, weight * ((members[i][term] - min(column)) / width))
    return worst


def volume(points, reference):
    """The volume of the cells, between the values of all points, that a point dominates."""
    points = [point for point in points if all(p < r for p, r in zip(point, reference))]
    cuts = [sorted({point[c] for point in points} | {reference[c]}) for c in range(len(reference))]
    total = Fraction(0)
    for cell in itertools.product(*(zip(cut, cut[1:]) for cut in cuts)):
        if any(all(p <= low for p, (low, _) in zip(point, cell)) for point in points):
            total += math.prod(high - low for low, high in cell)
    return total
