"""Boxes, conditions to meet, weights and picks, straight from their definitions."""

import datetime
import itertools
import math
import re

from decimal import Decimal
from fractions import Fraction

from expressions import compile_expression

UNITS = {"ns": Fraction(1, 10**9), "us": Fraction(1, 10**6), "ms": Fraction(1, 1000), "s": 1, "min": 60, "h": 3600,
         "d": 86400, "w": 604800}
EPOCH = datetime.datetime(1970, 1, 1)


def seconds_of(step):
    number, unit = re.fullmatch(r"([0-9.]+) *([a-z]+)", step).groups()
    return Fraction(number) * UNITS[unit]


def ratio_box(value, ratio):
    """k with (1 + ratio)^k <= value < (1 + ratio)^(k + 1), where powers are rounded to floats."""
    value = float(value)
    if math.isnan(value) or value < 0:
        return math.nan
    if value == 0 or math.isinf(value):
        return -math.inf if value == 0 else value
    box = math.floor(math.log(value) / math.log1p(ratio))
    while value < power(1 + ratio, box):
        box -= 1
    while value >= power(1 + ratio, box + 1):
        box += 1
    return float(box)


def power(base, exponent):
    try:
        return float(base**exponent)
    except OverflowError:
        return math.inf


def box_of(value, step):
    """The number of the box of a value, for a `step` as YAML has it."""
    if value is None:
        return None
    if isinstance(step, str) and step.endswith("%"):
        return ratio_box(value, Fraction(step[:-1]) / 100)
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // datetime.timedelta(microseconds=1) // (seconds_of(step) * 10**6)
    if isinstance(value, datetime.date):
        days = seconds_of(step) / 86400 if re.search("[a-z]", str(step)) else Fraction(str(step))
        return (value.toordinal() - EPOCH.toordinal()) // days
    if isinstance(value, float):
        quotient = value / float(str(step))
        return quotient if math.isnan(quotient) or math.isinf(quotient) else float(math.floor(quotient))
    return int(Fraction(value) // Fraction(str(step)))


def violation_of(condition, violation):
    """The value of a violation, which is 0 for rows that meet the condition."""
    met, value = compile_expression(condition), compile_expression(violation)
    return lambda row: 0 if met(row) is True else value(row)


def corners_of(names, constraints):
    """The corners of the weights of terms that fulfil some constraints: each makes all but one of these equalities."""
    rows = [[Fraction(i == j) for j in range(len(names))] for i in range(len(names))]
    for constraint in constraints:
        left, sign, right = re.fullmatch(r"(.*?)(<=|>=|=)(.*)", constraint).groups()
        units = [{name: int(name == unit) for name in names} for unit in names]
        row = [Fraction(compile_expression(left)(unit)) - Fraction(compile_expression(right)(unit)) for unit in units]
        rows += [row] * (sign != "<=") + [[-c for c in row]] * (sign != ">=")
    found = set()
    for chosen in itertools.combinations(rows, len(names) - 1):
        weights = solved([*chosen, [Fraction(1)] * len(names)])
        if weights and all(sum(c * w for c, w in zip(row, weights)) >= 0 for row in rows):
            found.add(tuple(weights))
    return sorted(found)


def solved(rows):
    """The only x with rows * x = (0, ..., 0, 1), or None."""
    n = len(rows)
    matrix = [[*row, Fraction(i == n - 1)] for i, row in enumerate(rows)]
    for column in range(n):
        pivot = next((r for r in range(column, n) if matrix[r][column] != 0), None)
        if pivot is None:
            return None
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        matrix[column] = [value / matrix[column][column] for value in matrix[column]]
        for r in range(n):
            if r != column:
                matrix[r] = [a - matrix[r][column] * b for a, b in zip(matrix[r], matrix[column])]
    return [row[-1] for row in matrix]


def weighted_value(terms, weights):
    """The sum of terms, (sign, value) each, that is missing where one that counts is."""
    def value_of(row):
        values = [(w * sign, value(row)) for w, (sign, value) in zip(weights, terms) if w != 0]
        if any(value is None for _, value in values):
            return None
        if any(isinstance(value, float) and math.isnan(value) for _, value in values):
            return math.nan
        return sum(w * Fraction(value) for w, value in values)
    return value_of


def picked(query, rows, kept, points, dominates):
    """The rows that are picked of those that are kept. `points` are coordinates, the less the better, of each."""
    pick = query["pick"]
    count, by = pick["count"], pick.get("by", "distance")
    chosen = []
    if by == "distance":
        chosen = [min(kept, key=lambda i: (points[i][0], i))]
        points = scaled({i: points[i] for i in kept})
        gain = lambda i: min(sum((a - b) ** 2 for a, b in zip(points[i], points[c])) for c in chosen)  # noqa: E731
    elif by == "coverage":
        gain = lambda i: sum(  # noqa: E731
            dominates(i, row) and not any(dominates(c, row) for c in chosen) for row in rows
        )
    else:
        reference = [sign * float(str(v)) for sign, v in zip(pick["signs"], pick["reference"])]
        points = {i: [math.inf if math.isinf(v) else v for v in points[i]] for i in kept}
        gain = lambda i: volume([*(points[c] for c in chosen), points[i]], reference) - volume(  # noqa: E731
            [points[c] for c in chosen], reference
        )
    while len(chosen) < min(count, len(kept)):
        chosen.append(max((i for i in kept if i not in chosen), key=lambda i: (gain(i), -i)))
    return sorted(chosen)


def scaled(points):
    """Places between the best and the worst finite value of each coordinate."""
    result = {i: [] for i in points}
    for dim in range(len(next(iter(points.values())))):
        finite = [p[dim] for p in points.values() if math.isfinite(p[dim])]
        best, worst = (min(finite), max(finite)) if finite else (0, 0)
        for i, point in points.items():
            value = point[dim]
            if math.isinf(value):
                result[i].append(0.0 if value < 0 else 1.0)
            else:
                result[i].append((value - best) / (worst - best) if worst > best else 0.0)
    return result


def volume(points, reference):
    """The volume of what points dominate, slice by slice."""
    points = [p for p in points if all(a < b for a, b in zip(p, reference))]
    if not points:
        return 0
    if len(reference) == 1:
        return reference[0] - min(p[0] for p in points)
    cuts = sorted({p[-1] for p in points}) + [reference[-1]]
    return sum(
        (high - low) * volume([p[:-1] for p in points if p[-1] <= low], reference[:-1])
        for low, high in zip(cuts, cuts[1:])
    )


def as_number(value):
    """A value as a float: what a distance and a volume weigh."""
    if isinstance(value, datetime.datetime):
        return float((value - EPOCH) // datetime.timedelta(microseconds=1))
    if isinstance(value, datetime.date):
        return float(value.toordinal() - EPOCH.toordinal())
    return float(Fraction(value)) if isinstance(value, Decimal) else float(value)
