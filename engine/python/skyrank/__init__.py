"""SkyRank: skyline and ranking queries over tables.

>>> import numpy, skyrank
>>> points = numpy.array([[1.0, 4.0], [2.0, 2.0], [3.0, 3.0]])
>>> skyrank.skyline(points).rows
array([0, 1])

`skyline`, `top_k` and `rank` answer the common questions in one call; `sql`, or `Query` and `query`, ask any other. `query`
says what data may be. `skyrank.pandas` and `skyrank.polars` give frames methods. `skyrank.plot` draws fronts; `skyrank.dask`
and `skyrank.spark` ask clusters. `select_k` selects the best elements of arrays, and `skyrank.torch.topk` those of tensors.
`hypervolume` and others measure fronts, `nsga2_survival` serves optimisers. The answer of a `StandingQuery` follows rows that
come, change and go, and an `Archive` keeps the best points of an optimiser. Answers are exact, and the same row for row on
every path.
"""

from . import _core, plot
from ._arrays.indicators import (
    crowding,
    epsilon_additive,
    epsilon_multiplicative,
    hypervolume,
    hypervolume_contributions,
    igd,
    igd_plus,
    is_nondominated,
    normalise,
    nsga2_survival,
)
from ._arrays.select import Selected, select_k
from ._core import Aggregate, Expression, Preference
from ._engine import Engine, Files, Partial, SkyRankWarning, Table, default_engine
from ._errors import (
    BindError,
    CancelledError,
    DataError,
    DeviceError,
    Error,
    QueryError,
    ResourceError,
    TimeoutError,
)
from ._functions import explain, merge, partial, query, rank, skyline, sql, top_k, why
from ._metrics import QueryReport
from ._preferences import (
    around,
    avg,
    between,
    column,
    count,
    feasible,
    high,
    in_sets,
    inverse,
    low,
    max,
    min,
    pareto,
    prior,
    sum,
    weighted,
    where,
)
from ._query import Query
from ._result import Result
from ._standing import Archive, Changes, StandingQuery
from ._why import Why, WhyChange, WhyDominator

__version__ = _core.version()

__all__ = [
    "Aggregate",
    "Archive",
    "BindError",
    "CancelledError",
    "Changes",
    "DataError",
    "DeviceError",
    "Engine",
    "Error",
    "Expression",
    "Files",
    "Partial",
    "Preference",
    "Query",
    "QueryError",
    "QueryReport",
    "ResourceError",
    "Result",
    "Selected",
    "SkyRankWarning",
    "StandingQuery",
    "Table",
    "TimeoutError",
    "Why",
    "WhyChange",
    "WhyDominator",
    "around",
    "avg",
    "between",
    "column",
    "count",
    "crowding",
    "default_engine",
    "epsilon_additive",
    "epsilon_multiplicative",
    "explain",
    "feasible",
    "high",
    "hypervolume",
    "hypervolume_contributions",
    "igd",
    "igd_plus",
    "in_sets",
    "inverse",
    "is_nondominated",
    "low",
    "max",
    "merge",
    "min",
    "normalise",
    "nsga2_survival",
    "pareto",
    "partial",
    "plot",
    "prior",
    "query",
    "rank",
    "select_k",
    "skyline",
    "sql",
    "sum",
    "top_k",
    "weighted",
    "where",
    "why",
]
