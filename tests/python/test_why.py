"""Why a row is not in an answer."""

import dataclasses

import numpy
import pytest
import skyrank
from skyrank import Query, high, low

HOTELS = {"price": [120, 80, 200, 130], "rating": [8.5, 7.0, 9.0, 8.5], "rooms": [10, 0, 5, None]}
DEALS = Query().prefer([low("price"), high("rating")])


def test_dominated():
    reason = skyrank.why(HOTELS, 3, DEALS)
    assert (reason.row, reason.stage, reason.place, reason.num_dominators) == (3, "dominated", None, 1)
    assert reason.dominators == [skyrank.WhyDominator(0, pytest.approx(10 / 120), ["price"])]
    assert [change.change for change in reason.changes] == ["price <= 120", "rating > 8.5"]
    assert str(reason) == reason.text
    assert reason.text.startswith("Row 3 is not in the answer: 1 row is at least as good in everything")
    assert reason == skyrank.Engine(threads=1).why(DEALS, HOTELS, 3)
    assert dataclasses.asdict(reason)["stage"] == "dominated"


def test_other_stages():
    assert skyrank.why(HOTELS, 0, DEALS).stage == "answer"
    assert skyrank.why(HOTELS, 0, DEALS).changes == []
    dear = skyrank.why(HOTELS, 2, Query().where("price <= 150").rank_by(low("price")))
    assert (dear.stage, dear.reasons) == ("where", ["price <= 150 is false"])
    assert dear.num_dominators is None
    missing = skyrank.why(HOTELS, 3, Query().rank_by(high("rooms")).nulls("exclude"))
    assert (missing.stage, missing.reasons) == ("missing", ["rooms is NULL"])
    cut = skyrank.why(HOTELS, 2, Query().rank_by(low("price")).limit(2))
    assert (cut.stage, cut.place, cut.last_row) == ("limit", 4, 0)
    assert cut.against_last == ["price: 200, the last has 120"]
    same = {"price": [1, 1]}
    twin = skyrank.why(same, 1, Query().prefer([low("price")]).distinct())
    assert (twin.stage, twin.equal_row) == ("duplicate", 0)


def test_the_least_change_lets_the_row_in_and_nothing_less():
    generator = numpy.random.default_rng(11)
    points = {name: generator.integers(0, 50, 300) for name in ("a", "b", "c")}
    question = Query().prefer([low("a"), low("b"), low("c")])
    tried = 0
    for row in range(0, 300, 10):
        for change in skyrank.why(points, row, question).changes:
            if not change.change:
                continue
            name, comparison, number = change.change.split()
            least = int(number) - (comparison == "<")
            for value, is_in in ((least, True), (least + 1, False)):
                changed = {**points, name: points[name].copy()}
                changed[name][row] = value
                assert (row in skyrank.query(changed, question).rows) == is_in
            tried += 1
    assert tried > 50


def test_files_and_mistakes(tmp_path):
    file = tmp_path / "hotels.csv"
    file.write_text("price,rating\n120,8.5\n80,7\n200,9\n130,8.5\n")
    assert skyrank.why(str(file), 3, DEALS).num_dominators == 1
    with pytest.raises(skyrank.BindError, match="there is no row 4"):
        skyrank.why(HOTELS, 4, DEALS)
    with pytest.raises(skyrank.BindError, match="'group_by'"):
        skyrank.why(HOTELS, 0, Query().group_by("price").aggregate(skyrank.count("n")))
    with pytest.raises(TypeError, match="a row is its position"):
        skyrank.why(HOTELS, "Aurora", DEALS)
    with pytest.raises(ValueError, match="there is no row"):
        skyrank.why(HOTELS, 2**70, DEALS)
    assert skyrank.why(HOTELS, numpy.int64(3), DEALS).stage == "dominated"
