"""The queries of a batch, evaluated step by step in the order that the language defines."""

import math
import os
import re

from decimal import Decimal
from fractions import Fraction

import yaml

from expressions import EvaluationError, Written, checked, compile_expression
from fronts import picked
from measures import Measure, measure, read_call, skyband
from preferences import (
    NAN_FIRST,
    NULL_FIRST,
    behind_condition,
    by_weights,
    compare,
    coordinate,
    picked_terms,
    places,
    read_preference,
    skyline,
    terms_of,
)
from tables import read_csv

PSEUDO_COLUMNS = ("row", "level", "score")


class Loader(yaml.SafeLoader):
    """YAML 1.2's notion of plain words: dates and `yes` stay text, 1e6 is a number."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith(("timestamp", "bool"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_constructor(
    "tag:yaml.org,2002:float",
    lambda loader, node: loader.construct_yaml_float(node) if ".inf" in node.value else Written(node.value),
)
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("true$|false$"), "tf")


def run_batch(path, data_folder=None):
    """Yields (query name, column names, rows) for each query of a batch."""
    with open(path, encoding="utf-8") as file:
        batch = yaml.load(file, Loader)
    tables = {}
    for query in batch["queries"]:
        name = query["from"]
        if name not in tables:
            tables[name] = read_table(batch["tables"][name], os.path.dirname(path), data_folder)
        yield query["name"], *run_query(query, *tables[name])


def read_table(source, base, data_folder):
    path = os.path.join(base, source["file"])
    if not os.path.exists(path) and data_folder:
        path = os.path.join(data_folder, os.path.basename(source["file"]))
    # What a Parquet file holds stands in a CSV file beside it, whose header tells the types that CSV lacks.
    path = re.sub(r"\.parquet$", ".typed.csv", path)
    return read_csv(path, source.get("header", True), source.get("nulls"))


def run_query(query, names, table):
    rows = list(enumerate(table))
    if "where" in query:
        condition = compile_expression(query["where"])
        rows = [(i, row) for i, row in rows if condition(row) is True]
    if "group_by" in query or "aggregate" in query:
        keys = named_keys(query.get("group_by", []))
        names, rows = group(rows, keys, query.get("aggregate", {}))
        # An expression means its column in what follows; the column's name in backquotes is that.
        query = with_key_names(query, {text: name for name, text in keys.items() if not text.isidentifier()})
    if "having" in query:
        condition = compile_expression(query["having"])
        rows = [(i, row) for i, row in rows if condition(row) is True]
    preference = read_preference(query["prefer"]) if "prefer" in query else None
    if "weights" in query:
        preference = by_weights(as_list(query["weights"]), preference)
    if "feasible" in query:
        preference = behind_condition(query["feasible"], as_list(query.get("violation", [])), preference)
    ranking = [read_ranking(term) for term in as_list(query.get("rank_by", []))]
    terms = [term for term in ranking if not isinstance(term, Measure)] + (terms_of(preference) if preference else [])
    for term in terms:
        term.nan = NAN_FIRST if query.get("nan") == "best" else term.nan
        term.null = NULL_FIRST if query.get("nulls") == "best" else term.null
    rows = apply_missing_rule(rows, terms, 1, query.get("nan", "worst"))
    rows = apply_missing_rule(rows, terms, 2, query.get("nulls", "worst"))
    answer = []
    columns = as_list(query.get("select", []))
    calls = [read_call(text) for item in columns for text in (item.values() if isinstance(item, dict) else [item])]
    calls = [call for call in calls if call]
    keys = named_keys(query.get("partition_by", []))
    named = [name for name, text in keys.items() if name != text]
    names = names + named
    values = {name: compile_expression(keys[name]) for name in named}
    rows = [(i, {**row, **{name: value(row) for name, value in values.items()}}) for i, row in rows]
    for part in partition(rows, keys.values()):
        answer += answer_part(query, part, preference, ranking, calls)
    return select(query, names, answer, ranking)


def named_keys(keys):
    """The texts of keys by the names of their columns."""
    named = {}
    for key in as_list(keys):
        named.update({name: str(text) for name, text in key.items()} if isinstance(key, dict) else {str(key): str(key)})
    return named


def with_key_names(value, keys):
    """The clauses of a query with groups, in which the text of a key names the key's column."""
    if isinstance(value, dict):
        return {k: v if k in ("where", "group_by", "aggregate") else with_key_names(v, keys) for k, v in value.items()}
    if isinstance(value, list):
        return [with_key_names(v, keys) for v in value]
    if isinstance(value, str):
        for text, name in keys.items():
            value = value.replace(text, f"`{name}`")
    return value


def as_list(value):
    return value if isinstance(value, list) else [value]


def identity(value):
    """What makes values the same in a group or partition."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return (type(value) is bool, value)


def group(rows, keys, aggregates):
    groups = {}
    values_of = {name: compile_expression(text) for name, text in keys.items()}
    for row_id, row in rows:
        values = {c: value(row) for c, value in values_of.items()}
        key = tuple(map(identity, values.values()))
        groups.setdefault(key, (row_id, values, []))[2].append(row)
    if not keys and not groups:
        groups[()] = (-1, {}, [])
    result = []
    for row_id, values, members in groups.values():
        for name, text in aggregates.items():
            function, argument = text.rstrip()[:-1].split("(", 1)
            values[name] = aggregate(function.strip(), argument.strip(), members)
        result.append((row_id, values))
    return list(keys) + list(aggregates), result


def aggregate(function, argument, members):
    if function == "count" and not argument:
        return len(members)
    value = compile_expression(argument)
    values = [v for v in map(value, members) if v is not None]
    if function == "count":
        return len(values)
    if not values:
        return None
    if function == "sum":
        return math.fsum(values) if isinstance(values[0], float) else checked(sum(values))
    if function == "avg":
        if isinstance(values[0], Decimal):
            return float(Fraction(sum(values)) / len(values))
        return math.fsum(values) / len(values)
    numbers = [v for v in values if not (isinstance(v, float) and math.isnan(v))]
    if not numbers:
        return math.nan
    return min(numbers) if function == "min" else max(numbers)


def apply_missing_rule(rows, terms, place, rule):
    """`place` is that of NaN or NULL, the first part of Term.place()."""
    if rule in ("worst", "best"):
        return rows
    missing = {i for i, row in rows if any(term.place(row)[0] == place for term in terms)}
    if rule == "error" and missing:
        raise EvaluationError(f"missing value in row {min(missing)}")
    return [(i, row) for i, row in rows if i not in missing]


def partition(rows, columns):
    parts = {}
    values = [compile_expression(c) for c in columns]
    for row_id, row in rows:
        parts.setdefault(tuple(identity(value(row)) for value in values), []).append((row_id, row))
    return parts.values()


def read_ranking(term):
    ((direction, text),) = term.items()
    call = read_call(text)
    return Measure(call, -1 if direction == "high" else 1) if call else read_preference(term)


def answer_part(query, rows, preference, ranking, calls):
    """The answer rows (row id, row, level, measures by call) of one partition, in their order."""
    levels = {i: None for i in range(len(rows))}
    measures = {}
    if preference:
        placed = places(preference, [row for _, row in rows])
        levels = pareto_levels(query, rows, preference)
        found = skyband(query, preference, placed, levels) if "skyband" in query else levels
        terms = [term for term in ranking if isinstance(term, Measure)]
        everyone = range(len(rows))
        if query.get("distinct"):
            everyone = distinct(preference, placed, everyone)
        for name, numbers in calls + [term.call for term in terms]:
            measures[name, *numbers] = measure((name, numbers), preference, rows, placed, levels, everyone)
        for term in terms:
            term.values = measures[term.call[0], *term.call[1]]
        levels = found
    if levels and "pick" in query:
        levels = {i: levels[i] for i in picked_rows(query, rows, preference, sorted(levels))}
    order = sorted(levels)
    ranks = {
        i: tuple(term.place_of(i) if isinstance(term, Measure) else term.place(rows[i][1]) for term in ranking)
        for i in order
    }
    order.sort(key=lambda i: ranks[i])
    kept = limited(query, order, ranks)
    return [(*rows[i], levels[i], {call: values[i] for call, values in measures.items()}) for i in kept]


def picked_rows(query, rows, preference, kept):
    terms = picked_terms(preference)
    weighs = query["pick"].get("by") != "coverage"
    points = {i: [coordinate(term, rows[i][1]) for term in terms] if weighs else [] for i in kept}
    placed_rows = places(preference, [row for _, row in rows])
    query = {**query, "pick": {**query["pick"], "signs": [term.sign for term in terms]}}
    return picked(query, range(len(rows)), kept, points,
                  lambda a, b: compare(preference, placed_rows[a], placed_rows[b]) == "<")


def pareto_levels(query, rows, preference):
    """Level by row, for the rows of the levels that the query asks for."""
    placed_rows = places(preference, [row for _, row in rows])
    remaining, levels, level = list(range(len(rows))), {}, 0
    wanted = query.get("levels", 1 if "at_least" not in query and "skyband" not in query else math.inf)
    while remaining and level < wanted and (level == 0 or len(levels) < query.get("at_least", math.inf)):
        level += 1
        front = skyline(preference, placed_rows, remaining)
        kept = distinct(preference, placed_rows, front) if query.get("distinct") else front
        levels.update((i, level) for i in kept)
        taken = set(front)
        remaining = [i for i in remaining if i not in taken]
    return levels


def distinct(preference, placed_rows, front):
    kept = {}
    for i in front:
        kept.setdefault(tuple(placed_rows[i].values()), i)
    return sorted(kept.values())


def limited(query, order, ranks):
    offset, limit = query.get("offset", 0), query.get("limit")
    if limit is None:
        return order[offset:]
    end = offset + limit
    if limit == 0 or end >= len(order):
        return order[offset:end]
    ties = query.get("ties", "first") if query.get("rank_by") else "first"
    last = ranks[order[end - 1]]
    if ties == "all":
        return [i for i in order[offset:] if ranks[i] <= last]
    if ties == "last":
        better = [i for i in order if ranks[i] < last]
        tied = [i for i in order if ranks[i] == last]
        return (better + tied[len(tied) - (end - len(better)):])[offset:]
    return order[offset:end]


def select(query, names, answer, ranking):
    if "select" not in query:
        return ["row()" if "row" in names else "row"] + names, [[i] + [row[n] for n in names] for i, row, _, _ in answer]
    outputs = []
    for item in query["select"]:
        outputs += list(item.items()) if isinstance(item, dict) else [(str(item).strip("`"), item)]
    columns = []
    for _, text in outputs:
        word = text[:-2].lower() if text.endswith("()") else text
        if word in PSEUDO_COLUMNS and text not in names:
            pseudo = {
                "row": lambda i, row, level, measures: i,
                "level": lambda i, row, level, measures: level,
                "score": lambda i, row, level, measures: ranking[0].value(row),
            }
            columns.append(pseudo[word])
        elif (call := read_call(text)) and text not in names:
            columns.append((lambda key: lambda i, row, level, measures: measures[key])((call[0], *call[1])))
        else:
            columns.append((lambda value: lambda i, row, level, measures: value(row))(compile_expression(text)))
    return [name for name, _ in outputs], [[column(*row) for column in columns] for row in answer]
