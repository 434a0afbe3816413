"""SQL, and queries as statements."""

import datetime
import pickle

import pytest
import skyrank
from skyrank import Query, high, low


def test_tables_by_name(hotels):
    result = skyrank.sql(
        "SELECT name, price FROM places WHERE rating IS NOT NULL PREFERRING LOW price PLUS HIGH rating ORDER BY price",
        places=hotels,
        others={"x": [1]},
    )
    expected = Query().where("rating is not null").prefer([low("price"), high("rating")]).rank_by(low("price"))
    assert result.to_dict() == skyrank.query(hotels, expected.select("name", "price")).to_dict()
    assert result.to_dict() == {"name": ["Bristol", None, "Aurora"], "price": [80, 95, 120]}
    groups = skyrank.sql("SELECT open, COUNT(*) AS n FROM t GROUP BY open ORDER BY n DESC", t=hotels)
    assert groups["n"].tolist() == [3, 1, 1]


def test_a_table_hides_a_file_and_files_are_named_in_quotes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shops.csv").write_text("x\n3\n1\n2\n")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "part.csv").write_text("x\n7\n")
    pytest.importorskip("pyarrow")
    lowest = "SELECT x FROM {} ORDER BY x LIMIT 1"
    assert skyrank.sql(lowest.format("'shops.csv'"))["x"].tolist() == [1]
    assert skyrank.sql(lowest.format("'shops.csv'"), **{"shops.csv": {"x": [0]}})["x"].tolist() == [0]
    assert skyrank.sql(lowest.format("'*.csv'"))["x"].tolist() == [1]
    assert skyrank.sql(lowest.format("plain"))["x"].tolist() == [7]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("SELECT * FROM hotel ORDER BY price", skyrank.BindError, "sql:1:15: there is no table 'hotel'; did you mean 'hotels'?"),
        (
            "SELECT *\nFROM  x ORDER BY price",
            skyrank.BindError,
            "sql:2:7: there is no table 'x'; the tables are hotels. Give it as an argument, x=..., or name a file in quotes",
        ),
        ("SELECT * FROM hotels ORDER BY pric", skyrank.BindError, "sql:1:31: there is no column 'pric'; did you mean 'price'?"),
        ("SELECT * FRM hotels", skyrank.QueryError, "sql:1:10: expected ',' or FROM after '*', found 'FRM'; did you mean 'FROM'?"),
        ("SELECT *\nFROM hotels\nJOIN b ON x", skyrank.QueryError, "sql:3:1: "),
        ("SELECT * FROM 'no-such.parquet' ORDER BY x", skyrank.DataError, "no-such.parquet"),
    ],
)
def test_errors_say_where(hotels, text, error, message):
    if "parquet" in text:
        pytest.importorskip("pyarrow")
    with pytest.raises(error) as caught:
        skyrank.sql(text, hotels=hotels)
    assert message in str(caught.value)
    if str(caught.value).startswith("sql:"):
        assert (caught.value.source, f"{caught.value.line}:{caught.value.column}") == ("sql", str(caught.value)[4:].split(": ")[0])


def test_without_tables():
    with pytest.raises(skyrank.BindError, match="there is no table 'hotels'; no table is given"):
        skyrank.sql("SELECT * FROM hotels ORDER BY x")


QUERIES = [
    Query("two words").where("x > 1 and c in ['a', 'b']").prefer([low("x"), high("y / 2")]).levels(2),
    Query().name("best").rank_by([high("x"), low("y")]).offset(2).limit(5).ties("all").nulls("exclude").timeout(2.5),
    Query().group_by("c").aggregate(skyrank.count("n"), skyrank.max("m", "x")).prefer([high("n"), low("m")]).select("c", twice="2 * n"),
    Query().group_by("c", m="x + 1").aggregate(skyrank.count("n")).rank_by("m").select("c", "m", "n"),
    Query().partition_by(["c", {"a b": "x + 1", "z": "y"}]).rank_by("x").limit(2),
    Query().partition_by("c").prefer(skyrank.around("day", datetime.date(2024, 5, 1))).at_least(3).distinct(),
    Query().prefer(skyrank.prior([skyrank.in_sets("c", [["a"], [1, True]]), skyrank.inverse(low("x"))])),
    Query().rank_by([high("x"), low("y")]).limit(5).nulls("best"),
    Query().rank_by([high("x"), low("y")]).limit(5).nan("best"),
    Query().prefer([low("x"), low("y")]).using("bnl", device="cpu", without=["late-columns"]),
]


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_queries_are_statements_and_travel(query):
    assert Query.parse(query.to_sql()) == query
    again = pickle.loads(pickle.dumps(query))
    assert again == query and again.fingerprint == query.fingerprint and again.to_sql() == query.to_sql()


def test_a_query_that_contradicts_itself_is_no_statement():
    with pytest.raises(skyrank.QueryError, match="levels"):
        Query().rank_by("x").levels(2).to_sql()
