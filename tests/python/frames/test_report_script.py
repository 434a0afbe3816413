"""The script of a report, run by QuickJS over elements that stand for those of a browser."""

import json
import re

import pytest
import skyrank

quickjs = pytest.importorskip("quickjs")

# Elements keep their attributes, children and listeners; there is no layout.
ELEMENTS = """
class Element {
  constructor(tag) {
    this.tag = tag; this.attributes = {}; this.children = []; this.listeners = {}; this.textContent = ""; this.value = "";
    this.disabled = false;
    const classes = new Set();
    this.classList = { add: (name) => classes.add(name), remove: (name) => classes.delete(name), has: (name) => classes.has(name) };
  }
  setAttribute(key, value) { this.attributes[key] = String(value); }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  addEventListener(name, listener) { (this.listeners[name] ||= []).push(listener); }
  fire(name, event) { (this.listeners[name] || []).forEach((listener) => listener(event || {})); }
  get text() { return this.textContent || this.children.map((child) => typeof child === "string" ? child : child.text).join(""); }
  all(tag) {
    const below = this.children.filter((child) => typeof child !== "string");
    return below.flatMap((child) => (child.tag === tag ? [child] : []).concat(child.all(tag)));
  }
}
const places = { data: new Element("script"), answers: new Element("main") };
places.data.textContent = DATA;
globalThis.document = {
  getElementById: (id) => places[id], createElement: (tag) => new Element(tag), createElementNS: (_, tag) => new Element(tag),
};
const page = places.answers;
const press = (element, key) => { let taken = false; element.fire("keydown", { key, preventDefault() { taken = true; } }); return taken; };
const column = (index) => page.all("tbody")[0].children.map((row) => row.children[index].text);
const button = (words) => page.all("button").find((one) => one.text === words);
"""


@pytest.fixture
def page(tmp_path):
    """Returns a function that evaluates a script on the page of a skyline of 120 rows, one of which has no distance."""
    rows = 120
    hotels = {
        "name": [f"<b>{i}</b>" for i in range(rows)],
        "price": list(range(rows)),
        "rating": [i / 4 for i in range(rows)],
        "km": [None if i == 3 else i % 7 for i in range(rows)],
    }
    answer = skyrank.skyline(hotels, low="price", high="rating")
    answer.select(["name", "price", "rating", "km"]).report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1]
    context = quickjs.Context()
    context.eval(ELEMENTS.replace("DATA", json.dumps(data)))
    context.eval(re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1])
    return lambda script: json.loads(context.eval(f"JSON.stringify(({script}) ?? null)"))


def test_tables_sort_by_click(page):
    assert page("page.all('th').slice(0, 4).map((head) => head.attributes['aria-sort'])") == ["none"] * 4
    assert page("column(0).slice(0, 2)") == ["<b>0</b>", "<b>1</b>"]
    page("button('km').fire('click')")
    assert page("column(3)") == ["0"] * 18 + ["1"] * 17 + ["2"] * 15
    assert page("column(0).slice(0, 3)") == ["<b>0</b>", "<b>7</b>", "<b>14</b>"]  # equal ones in the order of the answer
    assert page("page.all('th').slice(0, 4).map((head) => head.attributes['aria-sort'])") == ["none"] * 3 + ["ascending"]
    page("button('Next').fire('click')")
    page("button('Next').fire('click')")
    assert page("column(3).slice(-2)") == ["6", "NULL"]
    assert page("[button('Previous').disabled, button('Next').disabled]") == [False, True]
    assert page("page.all('span')[0].text") == "Page 3 of 3, 120 rows"
    page("button('km').fire('click')")
    assert page("[column(3)[0], page.all('th')[3].attributes['aria-sort']]") == ["6", "descending"]
    page("button('Next').fire('click')")
    page("button('Next').fire('click')")
    assert page("column(3).slice(-2)") == ["0", "NULL"]  # NULL comes last in both directions
    page("button('price').fire('click')")
    assert page("column(1).slice(0, 11)") == [str(i) for i in range(11)]  # as numbers, and from the first page


def test_arrow_keys_go_from_point_to_point(page):
    chosen = "page.all('tr').filter((row) => row.attributes.class === 'chosen').map((row) => row.children[0].text)"
    assert page("page.all('svg')[0].attributes.tabindex") == "0"
    assert page("press(page.all('svg')[0], 'Tab')") is False
    assert page("press(page.all('svg')[0], 'ArrowRight')") is True
    assert "name <b>0</b>, price 0" in page("page.all('p').map((one) => one.text).join()")
    assert page(chosen) == ["<b>0</b>"]
    page("press(page.all('svg')[0], 'ArrowLeft')")  # around to the last point, which is on the last page of the table
    assert page(chosen) == ["<b>119</b>"]
    assert page("page.all('span')[0].text") == "Page 3 of 3, 120 rows"
    assert page("page.all('circle').filter((one) => one.classList.has('chosen')).length") == 1


def test_names_stay_texts(page):
    assert page("page.all('b').length") == 0
    assert page("page.all('td')[0].children") == ["<b>0</b>"]
