"""Parts of answers, and how answers, tables, files and reasons look in a notebook."""

import datetime
import decimal
import html.parser

import numpy
import pytest
import skyrank
from hypothesis import given
from hypothesis import strategies as st
from skyrank import Query, high, low

DATA = {
    "row": [5, 6, 7, 8],
    "x": [3.5, None, 1.5, float("nan")],
    "name": ["b", None, "a text of more than twelve characters", ""],
    "day": [datetime.date(2024, 5, 1), None, datetime.date(2024, 5, 2), datetime.date(2024, 5, 3)],
    "open": [True, None, False, True],
}


def answer():
    return skyrank.query(DATA, Query().prefer([low("row")]).levels(9))


# -------------------------------------------------------------------------------------------------------------- parts


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 9])
def test_head(rows):
    whole = answer()
    first = whole.head(rows)
    assert len(first) == min(rows, 4)
    assert first.columns == whole.columns == ["row()", *DATA]
    assert repr(first.to_dict()) == repr({name: values[:rows] for name, values in whole.to_dict().items()})
    assert first.rows.tolist() == whole.rows.tolist()[:rows]
    assert first.levels.tolist() == whole.levels.tolist()[:rows]
    assert first.head(2).rows.tolist() == whole.rows.tolist()[: min(rows, 2)]
    assert first.plan == whole.plan and first.timing == whole.timing and first.work == whole.work


def test_the_head_of_an_answer_without_levels_and_of_one_without_its_input():
    result = skyrank.top_k({"x": numpy.arange(100)}, 50, low="x").head()
    assert result.levels is None and result["x"].tolist() == [0, 1, 2, 3, 4] and result.rows.tolist() == [0, 1, 2, 3, 4]


def test_heads_keep_types():
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    frame = polars.DataFrame(
        {
            "kind": polars.Series(["lo", "hi", None], dtype=polars.Enum(["lo", "hi"])),
            "at": polars.Series([datetime.datetime(2024, 5, 1)] * 3).dt.replace_time_zone("Europe/Oslo"),
            "price": [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")],
            "dominates()": [1, 2, 3],
        }
    )
    result = skyrank.query(frame, Query().rank_by(low("0")))
    assert result.head(2).to_polars().drop("row").equals(frame.head(2))
    assert result.select(["price", "kind"]).head(1).to_polars().equals(frame.select("price", "kind").head(1))


def test_select():
    result = answer().select(["name", "x"])
    assert result.columns == ["name", "x"] and result.rows.tolist() == [0, 1, 2, 3] and len(result) == 4
    assert result["name"].tolist() == DATA["name"]
    assert answer().select("day").head(1).to_dict() == {"day": [DATA["day"][0]]}
    with pytest.raises(skyrank.BindError, match="nme"):
        answer().select(["nme"])
    with pytest.raises(skyrank.QueryError, match="one or more names"):
        answer().select([])
    with pytest.raises(skyrank.QueryError, match="'head' is 0 or more rows"):
        answer().head(-1)


def test_to_numpy():
    result = answer()
    numbers = result.to_numpy(["row", "x"])
    assert numbers.dtype == numpy.float64 and numbers.shape == (4, 2)
    assert numpy.array_equal(numbers, [[5, 3.5], [6, numpy.nan], [7, 1.5], [8, numpy.nan]], equal_nan=True)
    assert result.to_numpy("row").dtype == numpy.int64 and result.to_numpy("row").tolist() == [[5], [6], [7], [8]]
    assert numpy.isnat(result.to_numpy("day"))[:, 0].tolist() == [False, True, False, False]
    assert result.to_numpy("open").tolist() == [[True], [None], [False], [True]]
    mixed = result.to_numpy(["name", "row"])
    assert mixed.dtype == object and mixed.tolist() == [["b", 5], [None, 6], ["a text of more than twelve characters", 7], ["", 8]]
    assert result.to_numpy().shape == (4, 6)
    assert skyrank.query(DATA, Query().where("row > 99").rank_by(low("row"))).to_numpy(["row"]).shape == (0, 1)
    integers = skyrank.query({"x": [1, None], "y": [1, 2]}, Query().rank_by(low("y"))).to_numpy("x")
    assert numpy.array_equal(integers, [[1.0], [numpy.nan]], equal_nan=True)


# ---------------------------------------------------------------------------------------------------------- notebooks


class Page(html.parser.HTMLParser):
    """Reads HTML, and fails where it is not well-formed or has more than tables and plain words need."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.words, self.rows = [], [], 0
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert tag in ("div", "table", "thead", "tbody", "tr", "th", "td", "p", "i", "br", "small"), tag
        assert {name for name, _ in attributes} <= {"class", "style"}, attributes
        assert all(value.isascii() and "url" not in value and "expression" not in value for _, value in attributes)
        self.rows += tag == "tr" and "tbody" in self.open
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.words.append(text)

    def handle_comment(self, text):
        raise AssertionError(text)

    handle_decl = handle_pi = unknown_decl = handle_comment


ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</td></tr></table><b>",
    "<!-- ",
    "]]>",
    "&lt;b&gt;",
    "&#60;script&#62;",
    "$\\href{javascript:alert(1)}{x}$",
    "<style>*{display:none}</style>",
    "{}",
    "{0.__class__}",
    "javascript:alert(1)",
    "\x00<b>",
    "NULL",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_texts_of_data_stay_texts(attack):
    data = {attack: [attack, None], "x": [1, 2]}
    term = skyrank.column(attack)
    result = skyrank.query(data, Query().rank_by(low("x")).select(term, "x"))
    shown = " ".join(attack.replace("\x00", "\x00").splitlines())
    for thing in (result, skyrank.Table(data)):
        page = Page(thing._repr_html_())
        assert page.words.count(shown) + sum(word == "\ufffd<b>" for word in page.words) >= 2
        assert page.words.count("NULL") == (3 if attack == "NULL" else 1)
    reason = skyrank.why(data, 0, Query().where(f"x > 1 and x <> 7").prefer([low("x"), low(term)]))
    Page(reason._repr_html_())


@given(st.lists(st.text(max_size=100), min_size=1, max_size=12), st.text(min_size=1, max_size=20))
def test_any_text(values, name):
    values = [value.encode("utf-8", "replace").decode() for value in values]
    name = name.encode("utf-8", "replace").decode()
    page = Page(skyrank.Table({name: values})._repr_html_())
    assert page.rows == min(len(values), 10) + (len(values) > 10)


def test_ten_rows_and_the_shape():
    result = skyrank.top_k({"x": numpy.arange(1000), "name": ["n"] * 1000}, 500, low="x")
    page = Page(result._repr_html_())
    assert page.rows == 11 and page.words[-1] == "500 rows × 3 columns, the first 10 shown" and "…" in page.words
    assert "int64" in page.words and "string" in page.words
    page = Page(skyrank.top_k({"x": [1]}, 1, low="x").select("x")._repr_html_())
    assert page.rows == 1 and page.words[-1] == "1 row × 1 column"
    page = Page(skyrank.top_k({"x": [1]}, 0, low="x")._repr_html_())
    assert page.rows == 0 and page.words[-1] == "0 rows × 2 columns"
    wide = Page(skyrank.Table({f"x{i}": [i] for i in range(100)})._repr_html_())
    assert "70 more columns" in wide.words and "x29" in wide.words and "x30" not in wide.words
    assert "a" * 79 + "…" in Page(skyrank.Table({"x": ["a" * 1000]})._repr_html_()).words


def test_files_are_not_read_to_show_them(tmp_path):
    pytest.importorskip("pyarrow")
    file = tmp_path / "a.csv"
    file.write_text("<b>x</b>,y\n1,a\n2,b\n")
    page = Page(skyrank.Files(file)._repr_html_())
    assert page.words == ["column", "type", "<b>x</b>", "int64", "y", "string", "2 rows × 2 columns in 1 unit"]


def test_bytes_that_are_no_text_are_shown_as_such():
    pyarrow = pytest.importorskip("pyarrow")
    broken = pyarrow.StringArray.from_buffers(2, pyarrow.array([0, 1, 2], pyarrow.int32()).buffers()[1], pyarrow.py_buffer(b"a\xff"))
    table = skyrank.Table(pyarrow.table({"x": broken}))
    assert "\ufffd" in Page(table._repr_html_()).words
    assert "\ufffd" in repr(skyrank.top_k(table, 2, low="x"))


def test_reasons():
    hotels = {"name": ["Aurora", "Bristol", "Comfort"], "price": [120, 80, 130], "rating": [4.5, 3.9, 3.5]}
    reason = skyrank.why(hotels, 2, Query().prefer([low("price"), high("rating")]))
    words = Page(reason._repr_html_()).words
    assert words[0] == reason.text.splitlines()[0]
    assert words[1:] == [
        *["term", "least change", "price", "price < 80", "rating", "rating > 4.5"],
        *["better row", "better in", "gap", "0", "price, rating", "1", "1", "price, rating", "1"],
    ]
    inside = Page(skyrank.why(hotels, 1, Query().prefer([low("price")]))._repr_html_())
    assert inside.words == ["Row 1 is in the answer, at place 1."] or len(inside.words) == 1
