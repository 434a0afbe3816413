"""Random queries and their tables, each drawn from a seed and a number alone, for decisions.py.

They are of the kinds in which a planner has something to get wrong: filters that go with the ranking or against it,
skewed and clustered values, fronts from a chain to every row of a table, groups and partitions with few and many keys,
and Parquet files of several writers, orders and sizes of row groups."""

import dataclasses
import importlib.util

import numpy
import pyarrow
import pyarrow.parquet

KINDS = ("ranking", "skyline", "groups", "partitions")
SHAPES = ("independent", "correlated", "anticorrelated", "sphere", "chain", "clusters", "coarse")
RELATIONS = ("same", "with", "against", "apart")
ORDERS = ("random", "ascending", "descending", "blocks")
WRITERS = tuple(name for name in ("pyarrow", "duckdb", "polars") if importlib.util.find_spec(name))


@dataclasses.dataclass(frozen=True)
class Storage:
    """A Parquet file and how it is written."""

    writer: str
    group_rows: int
    compression: str
    dictionary: bool

    def __str__(self):
        return f"{self.writer} {self.compression}{' dictionary' if self.dictionary else ''}, groups of {self.group_rows}"

    def write(self, columns, file):
        table = pyarrow.table(columns)
        if self.writer == "duckdb":
            import duckdb

            options = f"FORMAT parquet, COMPRESSION {self.compression}, ROW_GROUP_SIZE {self.group_rows}"
            with duckdb.connect(config={"threads": 1}) as connection:
                connection.register("columns_of_case", table)
                connection.execute(f"COPY (SELECT * FROM columns_of_case) TO '{file}' ({options})")
        elif self.writer == "polars":
            import polars

            polars.from_arrow(table).write_parquet(file, compression=self.compression, row_group_size=self.group_rows)
        else:
            codec = "none" if self.compression == "uncompressed" else self.compression
            pyarrow.parquet.write_table(table, file, row_group_size=self.group_rows, compression=codec,
                                        use_dictionary=self.dictionary)


@dataclasses.dataclass(frozen=True)
class Case:
    """A query in SQL over the table `t`, with the columns that it reads."""

    kind: str
    data: str  # what the table is like, for people
    columns: dict
    storage: Storage | None  # None: in memory
    sql: str

    @property
    def rows(self):
        return len(next(iter(self.columns.values())))


def points(random, shape, rows, dims):
    """Returns `dims` columns of points of which low values are preferred."""
    noise = random.random((rows, dims))
    if shape == "correlated":
        return random.random((rows, 1)) + random.choice([0.02, 0.1, 0.5]) * noise
    if shape == "anticorrelated":
        return noise / noise.sum(axis=1, keepdims=True) + random.choice([0.0, 0.02, 0.1]) * random.random((rows, dims))
    if shape == "sphere":
        directions = random.standard_normal((rows, dims))
        return directions / numpy.linalg.norm(directions, axis=1, keepdims=True)
    if shape == "chain":
        return random.random((rows, 1)) * numpy.where(numpy.arange(dims) % 2 == 0, 1.0, -1.0)
    if shape == "clusters":
        centres = random.random((int(random.integers(2, 50)), dims))
        return centres[random.integers(0, len(centres), rows)] + 0.02 * noise
    if shape == "coarse":
        return numpy.floor(noise * random.choice([5, 30, 200])).astype(numpy.int32)
    return noise


def values(random, rows):
    """Returns a column to rank by, and its description."""
    kind = random.choice(["uniform", "normal", "float32", "zipf", "clusters", "integers"])
    if kind == "normal":
        return random.standard_normal(rows), kind
    if kind == "float32":
        return random.random(rows, dtype=numpy.float32), kind
    if kind == "zipf":
        return zipf(random, rows, random.uniform(1.2, 2.0)), kind
    if kind == "clusters":
        return points(random, "clusters", rows, 1)[:, 0], kind
    if kind == "integers":
        return random.integers(0, 10 ** int(random.integers(1, 9)), rows), kind
    return random.random(rows), kind


def zipf(random, rows, exponent):
    return numpy.minimum(random.zipf(exponent, rows), 2**40)


def keys(random, rows):
    """Returns a column to group by, and its description."""
    kind = random.choice(["zipf", "few", "many", "text", "runs"])
    groups = int(10 ** random.uniform(0.5, 3.5))
    if kind == "zipf":
        exponent = random.choice([1.1, 1.3, 1.6])
        return zipf(random, rows, exponent), f"keys by Zipf {exponent}"
    if kind == "many":
        return random.integers(0, max(2, rows // int(random.choice([1, 4, 20]))), rows), "many keys"
    if kind == "text":
        names = numpy.array([f"name {i:05}" for i in range(groups)], dtype=object)
        drawn = (random.random(rows) ** random.choice([1, 3]) * groups).astype(int)
        return pyarrow.DictionaryArray.from_arrays(drawn.astype(numpy.int32), pyarrow.array(names)).cast("string"), "texts"
    if kind == "runs":
        return numpy.sort(random.integers(0, groups, rows)), "keys in order"
    return random.integers(0, groups, rows), f"{groups} keys"


def related(random, base, relation):
    """Returns a column that goes with `base`, against it, or apart from it."""
    rows = len(base)
    if relation == "apart":
        return random.random(rows)
    place = numpy.argsort(numpy.argsort(base, kind="stable"), kind="stable") / rows
    place = place + random.choice([0.01, 0.1, 0.3]) * random.standard_normal(rows)
    return place if relation == "with" else 1 - place


class Drawing:
    """One case as it is drawn."""

    def __init__(self, random, rows):
        self.random = random
        self.rows = rows
        self.columns = {}
        self.notes = []

    def add(self, column, note=""):
        name = f"c{len(self.columns)}"
        self.columns[name] = column
        if note:
            self.notes.append(note)
        return name

    def condition(self, base):
        """Returns a clause of one or two conditions over columns related to `base`, or none."""
        if self.random.random() < 0.35:
            return ""
        parts = []
        for _ in range(int(self.random.choice([1, 1, 2]))):
            relation = self.random.choice(RELATIONS)
            name = base if relation == "same" else self.add(related(self.random, self.columns[base], relation))
            share = 10 ** self.random.uniform(-3.5, 0)
            above = self.random.random() < 0.5
            limit = numpy.quantile(self.columns[name], 1 - share if above else share, method="nearest")
            parts.append(f"{name} {'>=' if above else '<='} {limit.item()!r}")
            self.notes.append(f"filter {'on the first column' if relation == 'same' else relation}, {share:.2g}")
        return " WHERE " + " AND ".join(parts)

    def order(self):
        return self.random.choice(["", " DESC"])

    def limit(self):
        return f" LIMIT {int(10 ** self.random.uniform(0, min(4.5, numpy.log10(self.rows))))}"

    def selected(self):
        """Returns what rows of an answer show: sometimes a column that decides nothing."""
        return "row" if self.random.random() < 0.5 else "row, " + self.add(self.random.random(self.rows))

    def ranking(self):
        first = self.add(*values(self.random, self.rows))
        where = self.condition(first)
        form = self.random.choice(["column", "column", "sum", "two"])
        term = f"{first}{self.order()}"
        if form != "column":
            other = self.add(related(self.random, self.columns[first], self.random.choice(RELATIONS[1:])), form)
            term = f"{first} + 0.5 * {other}{self.order()}" if form == "sum" else f"{term}, {other}{self.order()}"
        return f"SELECT {self.selected()} FROM t{where} ORDER BY {term}{self.limit()}"

    def skyline(self):
        dims = int(self.random.choice([2, 2, 3, 3, 4, 5, 6, 8]))
        shape = self.random.choice(SHAPES)
        if shape in ("anticorrelated", "sphere", "chain") and dims > 2:  # fronts that fill up, in quadratic time
            self.rows = min(self.rows, 1_000_000 if dims == 3 else 50_000)
        drawn = points(self.random, shape, self.rows, dims)
        names = [self.add(numpy.ascontiguousarray(drawn[:, i])) for i in range(dims)]
        self.notes.append(f"{shape} of {dims}")
        where = self.condition(names[0])
        levels = f" LEVELS {self.random.integers(2, 5)}" if self.random.random() < 0.15 else ""
        ranked = f" ORDER BY {names[0]}{self.limit()}" if self.random.random() < 0.3 else ""
        terms = " PLUS ".join(f"LOW {name}" for name in names)
        return f"SELECT {self.selected()} FROM t{where} PREFERRING {terms}{levels}{ranked}"

    def groups(self):
        key = self.add(*keys(self.random, self.rows))
        value = self.add(*values(self.random, self.rows))
        where = self.condition(value)
        made = [f"COUNT(*) AS a{i}" if i == 0 else f"{self.random.choice(['SUM', 'AVG', 'MAX'])}({value}) AS a{i}"
                for i in range(int(self.random.choice([1, 2, 3])))]
        return f"SELECT {key}, {', '.join(made)} FROM t{where} GROUP BY {key} ORDER BY a0 DESC, {key}{self.limit()}"

    def partitions(self):
        key = self.add(*keys(self.random, self.rows))
        value = self.add(*values(self.random, self.rows))
        where = self.condition(value)
        if self.random.random() < 0.3:
            other = self.add(related(self.random, self.columns[value], self.random.choice(RELATIONS[1:])))
            return f"SELECT row, {key} FROM t{where} PREFERRING LOW {value} PLUS LOW {other} PARTITION BY {key}"
        best = self.random.integers(1, 11)
        return f"SELECT row, {key} FROM t{where} PARTITION BY {key} ORDER BY {value}{self.order()} LIMIT {best}"

    def put_in_order(self):
        """Brings the rows into an order by their first number, as files often have one."""
        order = self.random.choice(ORDERS, p=[0.55, 0.15, 0.1, 0.2])
        by = next(column for column in self.columns.values() if isinstance(column, numpy.ndarray))
        if order == "random":
            return
        place = numpy.argsort(by, kind="stable")
        if order == "descending":
            place = place[::-1]
        elif order == "blocks":
            pieces = numpy.array_split(place, 64)
            place = numpy.concatenate([self.random.permutation(pieces[i]) for i in self.random.permutation(64)])
        self.columns = {name: column.take(place) for name, column in self.columns.items()}
        self.notes.append(f"rows {order}")


def draw_storage(random, rows):
    if random.random() < 0.5:
        return None
    sizes = [size for size in (2_048, 10_240, 122_880, 1_048_576) if rows / 500 <= size <= 4 * rows]
    return Storage(writer=str(random.choice(WRITERS)), group_rows=int(random.choice(sizes or [rows])),
                   compression=str(random.choice(["snappy", "zstd", "uncompressed"])), dictionary=bool(random.random() < 0.5))


def draw(seed, number, fewest, most):
    """Returns case `number` of a seed, with `fewest` to `most` rows."""
    random = numpy.random.default_rng([seed, number])
    drawing = Drawing(random, int(numpy.exp(random.uniform(numpy.log(fewest), numpy.log(most)))))
    kind = str(random.choice(KINDS, p=[0.4, 0.3, 0.2, 0.1]))
    sql = getattr(drawing, kind)()
    drawing.put_in_order()
    return Case(kind, "; ".join(drawing.notes), drawing.columns, draw_storage(random, drawing.rows), sql)
