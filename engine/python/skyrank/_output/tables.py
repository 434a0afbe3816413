"""Tables for people: aligned text for a terminal, and HTML for a notebook.

All texts of the HTML are escaped, and it has no scripts, no links and no colours of its own, so that it is safe to show
for data from anywhere and follows the theme of the notebook. Names and values that look like formulas stay texts.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from .. import _core
from .._errors import DataError

SHOWN_ROWS = 10
_SHOWN_COLUMNS = 30
_SHOWN_WIDTH = 24
_SHOWN_WIDTH_OF_HTML = 80
# Notebooks typeset $...$ as formulas, but not within these classes.
_PAGE = '<div class="skyrank tex2jax_ignore mathjax_ignore">{}</div>'
_FAINT = ' style="opacity:0.6;font-weight:normal"'


def counted(count: int, word: str) -> str:
    """Returns a number with its word: "1 row", "2 rows"."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def shape_of(rows: int, columns: int, times: str = "×") -> str:
    """Returns the shape of a table: "2 rows × 3 columns"."""
    return f"{counted(rows, 'row')} {times} {counted(columns, 'column')}"


def text_table(table: _core.Table, rows: int) -> list[str]:
    """Returns the first rows as aligned text: numbers to the right, texts to the left."""
    lines = [""] * (rows + 1)
    for index, name in enumerate(table.names()):
        column = table.column(index)
        cells = [name, *(_cell(column, row, _SHOWN_WIDTH) for row in range(rows))]
        width = max(map(len, cells))
        for line, cell in enumerate(cells):
            lines[line] += ("  " if index else "") + (cell.ljust(width) if _is_left(column) else cell.rjust(width))
    return [line.rstrip() for line in lines]


def html_table(table: _core.Table, rows: int) -> str:
    """Returns the first rows of a table with the types of its columns, above a line with its shape."""
    names = table.names()
    columns = [table.column(index) for index in range(min(len(names), _SHOWN_COLUMNS))]
    more = len(names) - len(columns)
    shown = min(rows, SHOWN_ROWS)
    heads = [_head(column.name, column.type, _is_left(column)) for column in columns]
    body = [[_data(column, row) for column in columns] for row in range(shown)]
    if more:
        heads.append(f"<th{_FAINT}>{counted(more, 'more column')}</th>")
    if rows > shown:
        body.append([f"<td{_FAINT}>…</td>"] * len(columns))
    shape = shape_of(rows, len(names)) + (f", the first {shown} shown" if rows > shown else "")
    return html_page(_table(heads, body) if names else "", f"<p>{shape}</p>")


def html_schema(table: _core.Table, rows: int, more: str) -> str:
    """Returns the names and types of the columns of a table that is not read for it, above a line with its shape."""
    names = table.names()
    pairs = [(name, table.column(index).type) for index, name in enumerate(names[:_SHOWN_COLUMNS])]
    left_out = [("…", counted(len(names) - len(pairs), "more column"))] if len(names) > len(pairs) else []
    return html_page(html_rows(["column", "type"], pairs + left_out), f"<p>{shape_of(rows, len(names))} {more}</p>")


def html_rows(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table of texts, or nothing where there are no rows."""
    cells = [[f'<td style="text-align:left">{_escaped(cell)}</td>' for cell in row] for row in rows]
    return _table([f'<th style="text-align:left">{_escaped(head)}</th>' for head in heads], cells) if cells else ""


def html_sentence(text: str) -> str:
    """Returns a text as a paragraph."""
    return f"<p>{html.escape(text)}</p>"


def html_page(*parts: str) -> str:
    """Returns parts of HTML as what a notebook shows."""
    return _PAGE.format("".join(parts))


def _table(heads: list[str], body: list[list[str]]) -> str:
    rows = "".join(f"<tr>{''.join(cells)}</tr>" for cells in body)
    return f'<table class="dataframe"><thead><tr>{"".join(heads)}</tr></thead><tbody>{rows}</tbody></table>'


def _head(name: str, kind: str, left: bool) -> str:
    return f'<th style="text-align:{_side(left)}">{_escaped(name)}<br><small{_FAINT}>{_escaped(kind)}</small></th>'


def _data(column: _core.Column, row: int) -> str:
    cell = _cell(column, row, _SHOWN_WIDTH_OF_HTML)
    is_null = cell == "NULL" and column.text_at(row) is None
    text = f"<i{_FAINT}>NULL</i>" if is_null else _escaped(cell)
    return f'<td style="text-align:{_side(_is_left(column))}">{text}</td>'


def _side(left: bool) -> str:
    return "left" if left else "right"


def _escaped(text: str) -> str:
    return html.escape(_short(text, _SHOWN_WIDTH_OF_HTML))


def _is_left(column: _core.Column) -> bool:
    return column.type in ("string", "bool", "date") or column.type.startswith("timestamp")


def _cell(column: _core.Column, row: int, width: int) -> str:
    try:
        text = column.text_at(row)
    except DataError:  # bytes that are no UTF-8
        return "�"
    return "NULL" if text is None else _short(text, width)


def _short(text: str, width: int) -> str:
    line = " ".join(text.splitlines())
    return line if len(line) <= width else line[: width - 1] + "…"
