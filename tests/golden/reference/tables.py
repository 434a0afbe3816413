"""CSV in, CSV out: typed by all values of a column, as the product's reader documents it."""

import datetime
import math
import re

from decimal import Decimal

NULLS = {"", "NULL", "null", "NA", "N/A"}
INTEGER = re.compile(r"[+-]?\d+\Z")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
SPECIAL = re.compile(r"[+-]?(?:nan|inf|infinity)\Z", re.IGNORECASE)
DATE = re.compile(r"\d{4}-\d\d-\d\d\Z")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\Z")


def records(text):
    """Lists of (field, was it quoted)."""
    rows, row, field, quoted, in_quotes, i = [], [], [], False, False, 0
    while i < len(text):
        c = text[i]
        if in_quotes:
            if c == '"' and text[i + 1 : i + 2] == '"':
                field.append('"')
                i += 1
            elif c == '"':
                in_quotes = False
            else:
                field.append(c)
        elif c == '"':
            quoted = in_quotes = True
        elif c in ",\n":
            row.append(("".join(field), quoted))
            field, quoted = [], False
            if c == "\n":
                rows.append(row)
                row = []
        elif c != "\r":
            field.append(c)
        i += 1
    if field or row:
        rows.append(row + [("".join(field), quoted)])
    return [row for row in rows if row != [("", False)]]


def converter(texts):
    """The function that reads the column's values: the first of the types that fits all."""
    if all(INTEGER.match(t) for t in texts):
        return int
    if all(t in ("true", "false") for t in texts):
        return lambda t: t == "true"
    if all(DATE.match(t) for t in texts):
        return datetime.date.fromisoformat
    if all(TIMESTAMP.match(t) for t in texts):
        return datetime.datetime.fromisoformat
    if all(NUMBER.match(t) or SPECIAL.match(t) for t in texts):
        return float
    return str


def split_types(header):
    """Names, and those of the columns that are declared as decimals: `price:decimal(10,2)`."""
    parts = [name.split(":decimal", 1) for name in header]
    return [part[0] for part in parts], {part[0] for part in parts if len(part) == 2}


def read_csv(path, header=True, nulls=None):
    """Column names, and the rows as dicts."""
    with open(path, encoding="utf-8", newline="") as file:
        lines = records(file.read())
    names, declared = split_types([name for name, _ in lines.pop(0)]) if header else ([f"c{i}" for i in range(len(lines[0]))], {})
    null_spellings = ({""} | {str(n) for n in nulls}) if nulls else NULLS
    columns = []
    for i in range(len(names)):
        fields = [None if not line[i][1] and line[i][0] in null_spellings else line[i][0] for line in lines]
        present = [f for f in fields if f is not None]
        convert = Decimal if names[i] in declared else converter(present) if present else float
        columns.append([None if f is None else convert(f) for f in fields])
    if all(f is None for f in columns[-1]) and (not header or names[-1] == ""):
        names.pop()
        columns.pop()
    return names, [dict(zip(names, values)) for values in zip(*columns)]


def spell(value):
    """As the product's CSV writer: the shortest text that reads back to the same value."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return spell_float(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, str):
        return quote(value)
    return str(value)


def spell_float(value):
    if math.isnan(value) or math.isinf(value):
        return str(value)
    if value == 0 and math.copysign(1, value) < 0:
        return "-0.0"  # "-0" would be read again as an integer, which has no such zero
    digits = Decimal(repr(value))  # Python's repr is shortest too; only the notation differs
    if value == 0 or 1e-5 <= abs(value) < 1e16:
        text = format(digits, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = f"{digits.normalize():e}".split("e")
    return f"{mantissa}e{int(exponent):+03d}"


def quote(text):
    needs_quotes = text in NULLS or any(c in text for c in ',"\n\r')
    return '"' + text.replace('"', '""') + '"' if needs_quotes else text


def write_csv(names, rows):
    lines = [",".join(quote(n) for n in names)]
    lines += [",".join(spell(v) for v in row) for row in rows]
    return "\n".join(lines) + "\n"
