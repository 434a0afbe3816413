"""The page of HTML that shows an answer: its table, its front, its plan and its times."""

from __future__ import annotations

import json
import math
import os
import pathlib
from typing import Any

from .. import _core

_TEMPLATE = pathlib.Path(__file__).with_name("report.html")
_PLACE_OF_DATA = "DATA</script>"
_LARGEST_EXACT = 2**53  # of the integers that JavaScript tells apart


def write_report(path: str | os.PathLike[str], name: str, answer: Any) -> None:
    """Writes the page of a Result. The program writes the same from the same template."""
    table = answer._core.table()
    columns = [table.column(index) for index in range(len(table.names()))]
    # Answers without `select` begin with the row ids, which nobody draws.
    drawn = [index for index, column in enumerate(columns) if _is_number(column.type) and column.name != "row"]
    query = {
        "name": name,
        "columns": [{"name": column.name, "numeric": _is_number(column.type)} for column in columns],
        "axes": drawn[:2] if answer.levels is not None else [],
        "timing": answer.timing,
        "plan": answer.plan,
        "ids": answer.rows.tolist(),
        "cells": [[_cell(text, column.type) for text in column.texts()[: len(answer)]] for column in columns],
    }
    # No text can end the element: "<" only occurs within strings.
    data = json.dumps({"skyrank": _core.version(), "queries": [query]}).replace("<", "\\u003c")
    before, _, after = _TEMPLATE.read_text(encoding="utf-8").partition(_PLACE_OF_DATA)
    pathlib.Path(path).write_text(before + data + "</script>" + after, encoding="utf-8")


def _is_number(kind: str) -> bool:
    return kind.startswith(("int", "uint", "float", "decimal"))


def _cell(text: str | None, kind: str) -> Any:
    """Returns a number where JavaScript has the same one, and else the text."""
    if text is None:
        return None
    if kind.startswith(("int", "uint")) and abs(int(text)) <= _LARGEST_EXACT:
        return int(text)
    if kind.startswith("float") and math.isfinite(float(text)):
        return float(text)
    return text
