"""Checks what a paper claims on our measurements.

A rule is a comparison of series, optionally for some points only:

    bitonic < radix for k <= 256
    skyalign <= 1.05 * min(hybrid, bskytree) for d >= 10 and distribution != 'correlated'
    0.9 <= slope(sort) <= 1.1 for n >= 2**22

A series stands for its value at a point, and the rule is checked at every point that has all its series. The functions of
CURVES take the values of a series along the x axis instead (or along another key: the claim's `across`), and the rule is
checked for every curve.
"""

import ast
import dataclasses
import itertools
import math
import operator

VARIABLES = {"n", "d", "k", "share", "distribution", "type", "sweep"}


class RuleError(Exception):
    """A rule is not understood; the message says what is wrong with it."""


class NoValue(Exception):
    """A curve lacks a value that a rule asks for."""


def at(curve, x):
    """Returns the value at `x`."""
    if x not in curve:
        raise NoValue
    return curve[x]


def slope(curve):
    """Returns the exponent of growth: the slope of the least squares line through the logarithms."""
    points = [(math.log(x), math.log(y)) for x, y in curve.items()]
    if len(points) < 2:
        raise NoValue
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points))
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def bend(curve):
    """Returns how far the curve is from a straight line, at most, as a part of its value.

    The line, which need not go through the origin, is that of least squares of such parts.
    """
    if len(curve) < 3:
        raise NoValue
    xx, x, xy, one, y = (sum(f(at, value) / value ** 2 for at, value in curve.items())
                         for f in (lambda at, _: at * at, lambda at, _: at, lambda at, value: at * value,
                                   lambda *_: 1, lambda _, value: value))
    rise = (one * xy - x * y) / (one * xx - x * x)
    start = (y - rise * x) / one
    return max(abs(start + rise * at - value) / value for at, value in curve.items())


def spread(curve):
    """Returns the greatest value over the least."""
    if len(curve) < 2:
        raise NoValue
    return max(curve.values()) / min(curve.values())


def end(curve, place):
    if len(curve) < 2:
        raise NoValue
    return list(curve.values())[place]


CURVES = {"at": at, "slope": slope, "bend": bend, "spread": spread, "first": lambda curve: end(curve, 0),
          "last": lambda curve: end(curve, -1)}
PLAIN = {"min": min, "max": max}
COMPARISONS = {ast.Lt: ("<", operator.lt), ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt),
               ast.GtE: (">=", operator.ge), ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne)}
ALLOWED = (ast.Expression, ast.Compare, ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.And, ast.Or, ast.Not, ast.USub, ast.Add,
           ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Name, ast.Load, ast.Constant, ast.Call, *COMPARISONS)


@dataclasses.dataclass(frozen=True)
class Rule:
    text: str
    operands: tuple          # compiled expressions
    comparisons: tuple       # classes of ast, one less than operands
    condition: object        # compiled expression or None
    names: frozenset         # series, and variables of the operands
    of_curves: bool


@dataclasses.dataclass(frozen=True)
class Claim:
    text: str                # in the paper's words, as far as possible
    rule: Rule | None
    across: str | None       # the key along which curves run; None: the sweep's x
    share: float             # of the points or curves at which the rule must hold
    needs: str | None        # why there is no rule
    why_not: str | None = None  # why it does not hold, where it does not


@dataclasses.dataclass(frozen=True)
class Verdict:
    claim: Claim
    holds: bool | None       # None: not enough data
    evidence: str


def parse_expression(text):
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        raise RuleError(f"'{text.strip()}' is no expression") from None
    for node in ast.walk(tree):
        if not isinstance(node, ALLOWED):
            raise RuleError(f"'{text.strip()}' has something that rules do not: {type(node).__name__}")
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) not in {**CURVES, **PLAIN}:
            raise RuleError(f"there is no function '{ast.unparse(node.func)}'; there are {', '.join({**CURVES, **PLAIN})}")
    return tree


def compiled(node):
    return compile(ast.Expression(node), "rule", "eval")


def names_in(*nodes):
    names = {node.id for root in nodes for node in ast.walk(root) if isinstance(node, ast.Name)}
    return names


def parse(text):
    """Returns the rule of a text. RuleError if it is not understood."""
    comparison, _, condition = text.partition(" for ")
    tree = parse_expression(comparison).body
    if not isinstance(tree, ast.Compare):
        raise RuleError(f"'{comparison}' compares nothing")
    condition_tree = parse_expression(condition).body if condition else None
    if condition_tree is not None and (unknown := names_in(condition_tree) - VARIABLES):
        raise RuleError(f"a condition knows {', '.join(sorted(VARIABLES))}, but not '{sorted(unknown)[0]}'")
    operands = [tree.left, *tree.comparators]
    used = names_in(*operands)
    return Rule(text, tuple(compiled(it) for it in operands), tuple(type(it) for it in tree.ops),
                condition_tree and compiled(condition_tree), frozenset(used - set(CURVES) - set(PLAIN)),
                bool(used & set(CURVES)))


def evaluate(code, names):
    return eval(code, {"__builtins__": {}, **CURVES, **PLAIN}, names)  # parse_expression has looked at it


def groups_of(claim, points):
    """Yields (words for the place, names of the rule and their values) for each point or curve to check.

    A point has the attributes `series`, `x`, `y`, `place` (a map of sweep, facet and line) and `variables`.
    """
    rule = claim.rule
    chosen = [it for it in points if rule.condition is None or evaluate(rule.condition, it.variables)]
    if not rule.of_curves:
        keys = [(tuple(it.place.items()), it.x_name, it.x) for it in chosen]
    elif claim.across:
        keys = [(tuple((k, v) for k, v in it.place.items() if k != claim.across), it.x_name, it.x) for it in chosen]
    else:
        keys = [(tuple(it.place.items()), None, None) for it in chosen]
    for key in dict.fromkeys(keys):
        members = [it for it, its in zip(chosen, keys) if its == key]
        names = {}
        for it in members:
            if rule.of_curves:
                along = it.variables[claim.across] if claim.across else it.x
                names.setdefault(it.series, {})[along] = it.y
            else:
                names[it.series] = it.y
        words = [str(value) for _, value in key[0]] + ([f"{key[1]} = {key[2]:,}"] if key[1] else [])
        yield ", ".join(words), {**members[0].variables, **names}


def outcome(rule, names):
    """Returns (whether the rule holds, its operands' values)."""
    values = [evaluate(code, names) for code in rule.operands]
    holds = all(COMPARISONS[kind][1](left, right)
                for kind, (left, right) in zip(rule.comparisons, itertools.pairwise(values)))
    return holds, values


def closeness(values):
    """Returns how near neighbouring operands are, as a ratio of at least 1."""
    def ratio(left, right):
        if not all(isinstance(it, (int, float)) and it > 0 for it in (left, right)):
            return math.inf
        return max(left, right) / min(left, right)
    return min(ratio(*pair) for pair in itertools.pairwise(values))


def in_words(rule, values):
    words = [f"{values[0]:.3g}"]
    for kind, value in zip(rule.comparisons, values[1:]):
        words += [COMPARISONS[kind][0], f"{value:.3g}"]
    return " ".join(words)


def check(claim, points):
    """Returns the verdict on a claim over the points of its figure."""
    if claim.rule is None:
        return Verdict(claim, None, f"not checked: {claim.needs}")
    found = []
    for place, names in groups_of(claim, points):
        if claim.rule.names <= names.keys():
            try:
                found.append((place, *outcome(claim.rule, names)))
            except NoValue:
                continue
    if not found:
        missing = sorted(claim.rule.names - VARIABLES - {it.series for it in points})
        return Verdict(claim, None, f"no point has all of it{'; not measured: ' + ', '.join(missing) if missing else ''}")
    held = [it for it in found if it[1]]
    holds = len(held) >= claim.share * len(found)
    failed = [it for it in found if not it[1]]
    unit = ("curve" if claim.rule.of_curves else "point") + ("s" if len(found) > 1 else "")
    # Shown is the failure by the most, or else what holds by the least.
    place, _, values = (max(failed, key=lambda it: closeness(it[2])) if failed and not holds
                        else min(held, key=lambda it: closeness(it[2])))
    kind = "fails most" if not holds else "tightest"
    return Verdict(claim, holds, f"holds at {len(held)} of {len(found)} {unit}; {kind} at {place}: "
                                 f"{in_words(claim.rule, values)}")
