"""Random statements that SQLite reads too give the same rows there; so do the first rows of partitions by DuckDB."""

import random
import sqlite3

import pytest
import skyrank

COLUMNS = ["a", "b", "x", "s", "p"]
WORDS = ["", "ant", "Ant", "bee", "be", "b%", "z_z", "ärm"]


def rows_of_table(draw, count=None):
    def maybe(value):
        return None if draw.random() < 0.2 else value

    return [
        (maybe(draw.randint(-4, 4)), draw.randint(0, 3), maybe(draw.randint(-20, 20) / 4), maybe(draw.choice(WORDS)), draw.choice("uvw"))
        for _ in range(draw.choice([0, 1, 5, 40]) if count is None else count)
    ]


class Statements:
    """Draws statements over the table t."""

    def __init__(self, draw):
        self.draw = draw

    def of(self, *choices):
        return self.draw.choice(choices)()

    def number(self, depth, columns=("a", "b", "x")):
        """An expression of numbers over some columns, which may be calls of aggregates."""
        if depth == 0:
            return self.draw.choice([*columns, str(self.draw.randint(-3, 3))])

        def more():
            return self.number(depth - 1, columns)

        return self.of(
            more,
            lambda: f"({more()} {self.draw.choice('+-*')} {more()})",
            lambda: f"abs({more()})",
            lambda: f"coalesce({more()}, {more()})",
            lambda: f"case when {self.condition(depth - 1, columns, ())} then {more()} else {more()} end",
            lambda: f"case {self.draw.choice(columns)} when 1 then {more()} when 2 then 7 end",
            lambda: f"cast({more()} as {self.draw.choice(['integer', 'real'])})",
        )

    def text(self, columns, whole="ab"):
        column, whole = self.draw.choice(columns), self.draw.choice(whole)
        joined = [f"{column} || '-' || {whole}", f"cast({whole} + 1 as text)", f"'x' || {column}"]
        return self.draw.choice([column, f"upper({column})", f"lower({column})", f"coalesce({column}, 'none')", *joined])

    def condition(self, depth, columns=("a", "b", "x"), texts=("s", "p")):
        if depth > 0 and self.draw.random() < 0.5:
            left, right = (self.condition(depth - 1, columns, texts) for _ in range(2))
            return self.draw.choice([f"({left} and {right})", f"({left} or {right})", f"(not {left})"])
        value = self.draw.choice(columns)
        negated = self.draw.choice(["", "not "])
        tests = [
            f"{value} {self.draw.choice(['=', '<>', '!=', '<', '<=', '>', '>='])} {self.number(1, columns)}",
            f"{value} {negated}between {self.draw.randint(-4, 0)} and {self.draw.randint(0, 4)}",
            f"{value} {negated}in (0, 1, {self.draw.randint(2, 4)})",
            f"{value} is {negated}null",
        ]
        if texts:
            text = self.text(texts, [name for name in columns if name in "abw"])
            tests += [f"{text} {negated}like '{self.draw.choice(['b%', '%e', '_nt', 'A%', '%'])}'", f"{text} < 'b'"]
            tests += [f"{text} {negated}in ('ant', 'u', 'NONE')", f"{text} {negated}like '{self.draw.choice(['b!%', '%!_z', '!!%', '%!%%'])}' escape '!'"]
        return self.draw.choice(tests)

    def aggregate(self):
        call = self.draw.choice(["sum", "avg", "min", "max", "count"])
        return self.of(lambda: "count(*)", lambda: f"{call}({self.draw.choice('abx')})", lambda: f"{call}({self.number(1)})")

    def where(self):
        return f" where {self.condition(2)}" if self.draw.random() < 0.5 else ""

    def window(self, columns):
        """An order by all columns of the answer, so that there is one answer, and a part of it."""
        order = [f"{i + 1} {self.draw.choice(['', 'desc', 'asc'])} nulls last" for i in range(columns)]
        self.draw.shuffle(order)
        return f" order by {', '.join(order)} limit {self.draw.randint(0, 9)} offset {self.draw.randint(0, 2)}"

    def plain(self):
        distinct = self.draw.choice(["", "distinct "])
        columns = self.draw.sample(COLUMNS, self.draw.randint(1, 3))
        items = [f"{c} as c{i}" for i, c in enumerate(columns)]
        if not distinct:
            items += [f"{self.number(2)} n", f"{self.text(['s', 'p'])} AS t /* a text */"]
        return f"select {distinct}{', '.join(items)} -- columns\nfrom t{self.where()}{self.window(len(items))}"

    def grouped(self):
        keys = self.draw.sample(["a", "b", "s", "p", "upper(p)", "b % 2", "case when a > 0 then 'more' else p end"], self.draw.randint(0, 2))
        calls = [self.aggregate() for _ in range(self.draw.randint(1, 2))]
        texts = ["min(s)", "max(upper(s))", "max(p)"]
        computed = f"coalesce({calls[0]}, 0) + {self.number(1, calls)}"
        items = keys + [f"{call} as n{i}" for i, call in enumerate(calls)] + [f"{self.draw.choice(texts)} as w", f"{computed} as m"]
        keys_text = [str(i + 1) for i in range(len(keys))] if self.draw.random() < 0.3 else keys
        text = f"select {', '.join(items)} from t{self.where()}" + (f" group by {', '.join(keys_text)}" if keys else "")
        if self.draw.random() < 0.5:
            text += f" having {self.condition(1, tuple(calls), ())}"
        return text + self.window(len(items))


    def over_a_sub_select(self):
        """A statement over a sub-select that computes columns or groups, or whose columns have the table's name before them."""
        if self.draw.random() < 0.2:
            name = self.draw.choice([("t", "t"), ("t as h", "h"), ("t h", "h")])
            return f"select {name[1]}.a, {name[1]}.b + {name[1]}.x as n, s from {name[0]} where {name[1]}.b >= 1{self.window(3)}"
        grouped = self.draw.random() < 0.4
        if grouped:
            inner = f"select p as k, {self.aggregate()} as v, count(*) as w from t{self.where()} group by p"
        else:
            inner = f"select {self.number(1)} as v, {self.text(['s', 'p'])} as k, b as w from t{self.where()}"
        if self.draw.random() < 0.3:
            inner = f"select k, v, w from ({inner}) where w > 0"
        alias, name = self.draw.choice([("", ""), (" as h", "h."), (" h", "h.")])
        where = f" where {self.condition(1, ('v', 'w'), ('k',))}" if self.draw.random() < 0.5 else ""
        if not grouped and self.draw.random() < 0.4:
            return f"select {name}k, sum(v) as n, max(w) + 1 as m from ({inner}){alias}{where} group by {name}k{self.window(3)}"
        return f"select {name}k, v + w as n, v from ({inner}){alias}{where}{self.window(3)}"


def comparable(row):
    return tuple(round(float(v), 9) if isinstance(v, (bool, int, float)) else v for v in row)


@pytest.mark.parametrize("seed", range(6))
def test_random_statements(seed):
    draw = random.Random(seed)
    statements = Statements(draw)
    answered = 0
    for _ in range(40):
        rows = rows_of_table(draw)
        peer = sqlite3.connect(":memory:")
        peer.execute("pragma case_sensitive_like = on")
        peer.execute("create table t (a integer, b integer, x real, s text, p text)")
        peer.executemany("insert into t values (?, ?, ?, ?, ?)", rows)
        data = skyrank_table(rows)
        for _ in range(3):
            text = draw.choice([statements.plain, statements.grouped, statements.over_a_sub_select])()
            expected = [comparable(row) for row in peer.execute(text).fetchall()]
            found = list(map(comparable, zip(*skyrank.sql(text, t=data).to_dict().values())))
            assert found == expected, f"{text}\nover {rows}"
            answered += len(found)
    assert answered >= 50


def skyrank_table(rows):
    pyarrow = pytest.importorskip("pyarrow")
    types = [pyarrow.int64(), pyarrow.int64(), pyarrow.float64(), pyarrow.string(), pyarrow.string()]
    return pyarrow.table({name: pyarrow.array([row[i] for row in rows], types[i]) for i, name in enumerate(COLUMNS)})


@pytest.mark.parametrize(
    "text",
    [
        "SELECT p, s, a FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY p ORDER BY a NULLS LAST, x NULLS LAST, s NULLS LAST) <= 2",
        "SELECT b, x FROM t WHERE x IS NOT NULL QUALIFY ROW_NUMBER() OVER (PARTITION BY b ORDER BY x DESC) = 1",
        "SELECT p, s, a FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY p ORDER BY a DESC NULLS LAST, x NULLS LAST, s NULLS LAST) AS r FROM t) WHERE r <= 2",
        "SELECT h.b, y FROM (SELECT b, x * 2 AS y, ROW_NUMBER() OVER (PARTITION BY b ORDER BY x, a, s) AS r FROM t WHERE x > 0) AS h WHERE h.r = 1",
        "SELECT a::DOUBLE / 2 AS h, CAST(b AS VARCHAR) || '/' || p AS k, s FROM t WHERE s LIKE 'b!%' ESCAPE '!' OR a::BIGINT > 2",
        "SELECT p, count(*) AS n, max(s) AS last FROM t GROUP BY p HAVING count(*) > 3",
        "SELECT count(*), min(s), max(s), avg(a), sum(a) FROM t WHERE a > 100",
        "SELECT count(*) FROM t HAVING count(*) > 1000",
    ],
)
def test_statements_of_duckdb(text):
    duckdb = pytest.importorskip("duckdb")
    t = skyrank_table(rows_of_table(random.Random(7), 40))
    peer = duckdb.connect()
    peer.register("t", t)
    expected = sorted(map(repr, map(comparable, peer.execute(text).fetchall())))
    assert sorted(map(repr, map(comparable, zip(*skyrank.sql(text, t=t).to_dict().values())))) == expected


def test_a_join_by_duckdb_first():
    duckdb = pytest.importorskip("duckdb")
    hotels = skyrank_table(rows_of_table(random.Random(7), 40))
    with pytest.raises(skyrank.QueryError, match="joined=duckdb.sql"):
        skyrank.sql("SELECT * FROM hotels JOIN cities USING (p)", hotels=hotels)
    peer = duckdb.connect()
    peer.register("hotels", hotels)
    joined = peer.sql("SELECT hotels.a, cities.n FROM hotels JOIN (VALUES ('u', 1), ('v', 2)) cities (p, n) USING (p)")
    best = skyrank.sql("SELECT a, n FROM joined WHERE a IS NOT NULL PREFERRING LOW a PRIOR TO HIGH n LIMIT 1", joined=joined)
    expected = peer.sql("SELECT a, n FROM joined WHERE a IS NOT NULL ORDER BY a, n DESC LIMIT 1").fetchall()
    assert list(zip(*best.to_dict().values())) == expected
