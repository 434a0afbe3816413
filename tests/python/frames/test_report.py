"""The page of HTML of an answer."""

import html.parser
import json
import re

import numpy
import skyrank

ATTACK = "</script><img src=x onerror=alert(1)>"


def data_of(path):
    text = path.read_text(encoding="utf-8")
    tags = []
    parser = html.parser.HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)
    parser.feed(text)
    assert tags.count("script") == 2 and "img" not in tags
    assert "script-src 'sha256-" in text
    [query] = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])["queries"]
    return query


def test_a_report_has_the_answer(tmp_path):
    hotels = {"name": ["a", ATTACK, None], "price": [3, 1, 2], "rating": [0.5, 0.25, 0.75], ATTACK: [2**60, 1, 2]}
    answer = skyrank.skyline(hotels, low="price", high="rating")
    answer.report(tmp_path / "report.html", name=ATTACK)
    query = data_of(tmp_path / "report.html")
    assert query["name"] == ATTACK
    assert [column["name"] for column in query["columns"]] == answer.columns
    assert query["ids"] == answer.rows.tolist() == [1, 2]
    assert query["cells"] == [[1, 2], [ATTACK, None], [1, 2], [0.25, 0.75], [1, 2]]
    assert query["axes"] == [2, 3]
    assert query["plan"] == answer.plan and query["timing"] == answer.timing


def test_values_that_scripts_do_not_have_stay_texts(tmp_path):
    data = {"big": [2**60, 1], "x": numpy.array([numpy.nan, numpy.inf])}
    skyrank.top_k(data, 2, low="big").report(tmp_path / "report.html")
    query = data_of(tmp_path / "report.html")
    assert query["cells"][1] == [1, str(2**60)]
    assert all(isinstance(cell, str) for cell in query["cells"][2])
    assert query["axes"] == []


def test_a_part_of_an_answer_has_its_own_report(tmp_path):
    answer = skyrank.query({"x": list(range(9)), "y": list(range(9))}, skyrank.Query().rank_by(skyrank.high("x")))
    answer.head(3).select("y").report(tmp_path / "report.html")
    query = data_of(tmp_path / "report.html")
    assert query["ids"] == [8, 7, 6]
    assert query["cells"] == [[8, 7, 6]]
