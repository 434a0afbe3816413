#!/usr/bin/env python3
"""What the planner's guesses cost: random queries as they are planned, beside every other way to run them.

The other ways are the query without each rule that its plan applies, without each two of them, and by each algorithm that
was priced. A plan that reads the units of a file one by one applies a rule, so that one over whole columns is among them.
Ways that run alike are measured once. All take turns, and all answers are compared. Where a way seems faster than the
plan, both are measured again, alone, and that ratio counts: the least of many times is always low.

  PYTHONPATH=build/release/python .deps/python/bin/python tools/bench/decisions.py --queries 100 --seed 1000 --out runs.csv

--out keeps what is measured; a second call goes on from there. --report prints the summary of such files. Seeds below
1,000 are those that the planner was mended by; others tell how good it is. Needs the package, numpy and pyarrow; writes
files with DuckDB and Polars, too, where there are any. On a machine with other work, --threads 1 --clock cpu counts the
time of the processor instead of that of the wall.

--device auto does the same on a machine with a GPU: the plan chooses between the devices, and each device alone is one more
way. Each run then has a table of its own, so that nothing lies on the GPU yet: what a guess costs counts the way there.
"""

import argparse
import csv
import dataclasses
import itertools
import os
import pathlib
import re
import sys
import tempfile
import time

import numpy

import random_queries

TUNED_SEEDS = 1000
MIN_MS = 2  # shorter queries do not count for regret
COLUMNS = ("seed", "drawn", "case", "kind", "rows", "storage", "data", "query", "regret", "planned_ms", "best_ms", "best", "ways",
           "predicted_ms", "best_predicted_ms", "different", "plan", "best_plan")

NODE = re.compile(r"^([│ ]*[├└]─ )?([a-z-]+)(?:  (.*))?$")
COST = re.compile(r"predicted (\S+) rows?(?: \([^)]*\))? in (\S+) ms[^;]*(?:; measured(?: (\S+) rows?)?(?: in (\S+) ms)?)?")
PATH = re.compile(r"^([a-z-]+) on (?:cpu|cuda)")
PRICED = re.compile(r"^not ([a-z-]+), \S+ ms")


def number(text):
    return None if text is None else float(text.replace(",", ""))


@dataclasses.dataclass
class Node:
    """An operator of a plan."""

    depth: int
    op: str
    detail: str
    algorithm: str = ""
    cost: tuple = ()  # predicted rows and milliseconds, measured rows and milliseconds
    priced: list = dataclasses.field(default_factory=list)  # algorithms that lost

    def __str__(self):
        rows, ms, measured_rows, measured_ms = self.cost
        measured = ("" if measured_rows is None else f"/{measured_rows:,.0f}"), ("" if measured_ms is None else f"/{measured_ms:g}")
        return f"{' '.join(filter(None, (self.op, self.algorithm)))} {rows:,.0f}{measured[0]} rows {ms:g}{measured[1]} ms"


class Plan:
    """A plan, out of the text that explain shows."""

    def __init__(self, text):
        tree, _, rules = text.partition("\nrules\n")
        self.nodes = []
        for line in tree.splitlines():
            node = NODE.match(line)
            if node and (node[1] or not self.nodes):
                self.nodes.append(Node(len(node[1] or ""), node[2], node[3] or ""))
                continue
            body = line.lstrip("│ ")
            if cost := COST.match(body):
                self.nodes[-1].cost = tuple(map(number, cost.groups()))
            elif path := PATH.match(body):
                self.nodes[-1].algorithm = path[1]
            elif priced := PRICED.match(body):
                self.nodes[-1].priced.append(priced[1])
        lines = [line.split() for line in rules.splitlines()]
        self.rules = frozenset(words[0] for words in lines if words and words[0] != "not")

    def predicted_ms(self):
        """Returns the sum over all operators; that of parts has those below it."""
        total, above = 0.0, None
        for node in self.nodes:
            if above is not None and node.depth > above:
                continue
            above = node.depth if node.op == "parts" else None
            total += node.cost[1]
        return total

    def shape(self):
        """Returns what tells how the query ran: operators, algorithms and rules, without what they expected."""
        operators = tuple((node.op, node.algorithm, re.sub(r"[\d,.]+", "", node.detail)) for node in self.nodes)
        return operators, self.rules - {"statistics"}

    def __str__(self):
        return " <- ".join(map(str, self.nodes))


@dataclasses.dataclass(frozen=True)
class Way:
    """A way to run a query."""

    without: frozenset = frozenset()
    algorithm: str = ""
    device: str = ""  # empty: that of all runs

    def __str__(self):
        return " ".join(filter(None, [f"on {self.device}" if self.device else "", f"by {self.algorithm}" if self.algorithm else "",
                                      f"without {', '.join(sorted(self.without))}" if self.without else ""])) or "as planned"

    def apply(self, query):
        algorithms = [self.algorithm] if self.algorithm else []
        return query.using(*algorithms, without=sorted(self.without))


PLANNED = Way()


class Trial:
    """One query over its table, which runs in several ways."""

    def __init__(self, skyrank, engines, case, table, clock):
        """`engines` by device, that of all runs as ""; `table` makes the table of a run."""
        self.skyrank, self.engines, self.table, self.clock = skyrank, engines, table, clock
        self.query = skyrank.Query.parse(case.sql)
        self.answer = None
        self.different = []
        self.ways = {}  # milliseconds of each, by way

    def run(self, way, timeout=None):
        table = self.table()
        start = self.clock()
        result = self.engines[way.device].run(way.apply(self.query), table, timeout=timeout)
        return (self.clock() - start) * 1e3, result

    def explore(self):
        """Runs the plan and then all other ways, each once, and keeps those that run unlike those before them."""
        start = time.perf_counter()
        _, result = self.run(PLANNED)
        planned_s = time.perf_counter() - start
        self.answer = answer_of(result)
        plan = Plan(result.plan)
        seen = {plan.shape()}
        self.ways[PLANNED] = []
        singles = [Way(device=device) for device in self.engines if device]
        singles += [Way(frozenset([rule])) for rule in sorted(plan.rules)]
        singles += [Way(algorithm=name) for name in dict.fromkeys(name for node in plan.nodes for name in node.priced)]
        for way in singles:
            found = self.explore_way(way, seen, planned_s)
            for rule in sorted(found.rules if found and way.without else ()):
                self.explore_way(Way(way.without | {rule}), seen, planned_s)

    def explore_way(self, way, seen, planned_s):
        """Returns the plan of a way, or nothing where it takes far longer or cannot run."""
        try:
            _, result = self.run(way, timeout=max(10 * planned_s, 0.5))
        except (self.skyrank.TimeoutError, self.skyrank.BindError, self.skyrank.ResourceError):
            return None
        if answer_of(result) != self.answer:
            self.different.append(str(way))
        plan = Plan(result.plan)
        if plan.shape() not in seen:
            seen.add(plan.shape())
            self.ways[way] = []
        return plan

    def take_turns(self, ways, rounds, seconds):
        """Adds times of the ways, in turns, until the time is over; ways that take twice the best drop out."""
        times = {way: [] for way in ways}
        end = time.perf_counter() + seconds
        for turn in range(rounds):
            best = min((min(passed) for passed in times.values() if passed), default=float("inf"))
            for way, passed in times.items():
                if way == PLANNED or turn < 2 or min(passed) < 2 * best:
                    passed.append(self.run(way)[0])
            if turn > 0 and time.perf_counter() > end:
                break
        return {way: min(passed) for way, passed in times.items()}

    def measure(self, rounds, seconds):
        """Returns the milliseconds of the plan, the best way and its milliseconds."""
        times = self.take_turns(self.ways, rounds, seconds)
        best = min(times, key=times.get)
        if best != PLANNED:
            times = self.take_turns([PLANNED, best], 2 * rounds, seconds)
            best = min(times, key=times.get)
        return times[PLANNED], best, times[best]

    def plans(self, way):
        """Returns the plan of a way before it runs, and as it ran."""
        expected = self.engines[way.device].explain(way.apply(self.query), self.table())
        return Plan(expected), Plan(self.run(way)[1].plan)


def answer_of(result):
    """Returns what has to be equal, values and order."""
    columns = [result[name] for name in result.columns]
    return [result.rows.tobytes(), *(column.tobytes() if column.dtype != object else tuple(column) for column in columns)]


def table_maker(skyrank, arguments, source):
    """Returns what gives a run its table: one for all, but on a GPU a new one each time."""
    def new_table():
        return skyrank.Files(source) if isinstance(source, pathlib.Path) else skyrank.Table(source)

    table = new_table()
    return new_table if arguments.device == "auto" else lambda: table


def decide(skyrank, engines, arguments, case_number):
    """Returns the findings of one case."""
    case = random_queries.draw(arguments.seed, case_number, *arguments.rows)
    with tempfile.TemporaryDirectory() as folder:
        source = case.columns
        if case.storage:
            source = pathlib.Path(folder, "t.parquet")
            case.storage.write(case.columns, source)
        clock = time.process_time if arguments.clock == "cpu" else time.perf_counter
        trial = Trial(skyrank, engines, case, table_maker(skyrank, arguments, source), clock)
        trial.explore()
        planned_ms, best, best_ms = trial.measure(arguments.rounds, arguments.seconds_of_case)
        expected, ran = trial.plans(PLANNED)
        best_expected, best_ran = trial.plans(best)
    return {
        "kind": case.kind, "rows": case.rows, "storage": case.storage or "in memory", "data": case.data, "query": case.sql,
        "regret": f"{planned_ms / best_ms:.3f}", "planned_ms": f"{planned_ms:.3f}", "best_ms": f"{best_ms:.3f}", "best": best,
        "ways": len(trial.ways), "predicted_ms": f"{expected.predicted_ms():.3f}",
        "best_predicted_ms": f"{best_expected.predicted_ms():.3f}", "different": "; ".join(trial.different), "plan": ran,
        "best_plan": best_ran}


def describe_worst(line):
    return "\n".join([
        f"{line['regret']} x: case {line['case']} of seed {line['seed']}, {int(line['rows']):,} rows, {line['storage']}",
        f"  {line['data']}", f"  {line['query']}",
        f"  as planned: {line['planned_ms']} ms, predicted {line['predicted_ms']}: {line['plan']}",
        f"  {line['best']}: {line['best_ms']} ms, predicted {line['best_predicted_ms']}: {line['best_plan']}"])


def figures(values):
    return f"median {numpy.median(values):.2f}, 95 % {numpy.quantile(values, 0.95):.2f}, most {max(values):.2f}"


def report(lines, worst):
    """Returns the summary: by tuned and fresh seeds, by kind, and the worst cases of each measure."""
    text = []
    for name, tuned in (("seeds that were tuned on", True), ("fresh seeds", False)):
        chosen = [line for line in lines if (int(line["seed"]) < TUNED_SEEDS) == tuned]
        counted = [line for line in chosen if float(line["planned_ms"]) >= MIN_MS]
        text.append(f"{name}: {len(chosen)} queries, {len(counted)} of at least {MIN_MS} ms")
        for kind in ("all", *random_queries.KINDS) if counted else ():
            of_kind = [line for line in counted if kind in ("all", line["kind"])]
            if not of_kind:
                continue
            ratios = numpy.array([float(line["predicted_ms"]) / float(line["planned_ms"]) for line in of_kind])
            near = numpy.mean((ratios >= 0.25) & (ratios <= 4))
            text.append(f"  {kind:<10} {len(of_kind):>4}  regret: {figures([float(line['regret']) for line in of_kind])};  "
                        f"predicted over measured: {ratios.min():.3f} to {ratios.max():.2f}, median {numpy.median(ratios):.2f}, "
                        f"{near:.0%} within 4 x")
    counted = [line for line in lines if float(line["planned_ms"]) >= MIN_MS]
    if worst and counted:
        text += ["", "largest regret:"]
        text += [describe_worst(line) for line in sorted(counted, key=lambda it: -float(it["regret"]))[:worst]]
        text += ["", "furthest predictions:"]
        off = sorted(counted, key=lambda it: -abs(numpy.log(float(it["predicted_ms"]) / float(it["planned_ms"]))))
        text += [f"  {float(line['predicted_ms']) / float(line['planned_ms']):.3f}: case {line['case']} of seed {line['seed']}, "
                 f"{int(line['rows']):,} rows, {line['storage']}: {line['query']}\n    {line['plan']}" for line in off[:worst]]
    return "\n".join(text)


def read_lines(files):
    lines = []
    for file in files:
        with open(file, newline="") as opened:
            lines += csv.DictReader(opened)
    return lines


def measure_all(arguments):
    """Yields the lines of the cases that the file of results lacks, and keeps them there."""
    import skyrank

    known = read_lines([arguments.out]) if arguments.out and arguments.out.exists() else []
    done = {(line["seed"], line["drawn"], line["case"]) for line in known}
    drawn = "-".join(map(str, arguments.rows))
    yield from known
    devices = ("cpu", "cuda") if arguments.device == "auto" else ()
    engines = {name: skyrank.Engine(threads=arguments.threads, device=name or arguments.device) for name in ("", *devices)}
    end = time.monotonic() + arguments.seconds
    with open(arguments.out or os.devnull, "a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if not known:
            writer.writeheader()
        for case in itertools.islice(itertools.count(arguments.first), arguments.queries):
            if time.monotonic() > end:
                print(f"decisions: {arguments.seconds} s are over before case {case}")
                return
            if (str(arguments.seed), drawn, str(case)) in done:
                continue
            line = {"seed": arguments.seed, "drawn": drawn, "case": case} | decide(skyrank, engines, arguments, case)
            writer.writerow(line)
            file.flush()
            print(f"{case:>4} {line['kind']:<10} {line['rows']:>10,} rows {line['planned_ms']:>10} ms, predicted "
                  f"{line['predicted_ms']:>10}; {line['ways']:>2} ways; {line['regret']} of {line['best']}", flush=True)
            yield {name: str(value) for name, value in line.items()}


def row_range(text):
    fewest, _, most = text.partition("-")
    return int(float(fewest)), int(float(most or fewest))


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=100, help="number of queries (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="they are drawn from (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first query (default: %(default)s)")
    parser.add_argument("--rows", type=row_range, default="1e4-1e7", help="of the tables (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=0, help="default: all cores")
    parser.add_argument("--device", choices=("cpu", "auto"), default="cpu", help="default: %(default)s")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=7, help="timed runs of each way (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=3600, help="after which no query begins (default: %(default)s)")
    parser.add_argument("--seconds-of-case", type=float, default=5, help="for the runs of a query (default: %(default)s)")
    parser.add_argument("--worst", type=int, default=10, help="cases to show in full (default: %(default)s)")
    parser.add_argument("--out", type=pathlib.Path, help="CSV file of the results, which is added to")
    parser.add_argument("--report", type=pathlib.Path, nargs="+", help="CSV files to print the summary of; measures nothing")
    return parser.parse_args(arguments)


def main(arguments):
    lines = read_lines(arguments.report) if arguments.report else list(measure_all(arguments))
    print(report(lines, arguments.worst))
    different = [line for line in lines if line["different"]]
    for line in different:
        print(f"DIFFERENT ANSWER: case {line['case']} of seed {line['seed']}, {line['different']}: {line['query']}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(parse_arguments()))
