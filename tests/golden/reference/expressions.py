"""Expressions of queries, evaluated row by row.

Values: None (NULL), bool, int, float, decimal.Decimal, datetime.date, datetime.datetime (naive, UTC) and str. compile_expression() turns
a text into a function of a row, where a row is a dict from column names to values.
"""

import datetime
import decimal
import math
import operator
import re

decimal.getcontext().prec = 100  # no result of the tests is rounded

INT64_MIN, INT64_MAX, UINT64_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class EvaluationError(Exception):
    """The data do not allow an answer, such as an integer overflow."""


class Written(float):
    """A number of an expression: a float that beside a decimal is the decimal that its text says."""

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number.text = text
        return number


def as_decimal(written):
    """Without zeros behind the last digit that counts."""
    value = decimal.Decimal(written.text).normalize()
    return value.quantize(1) if value.as_tuple().exponent > 0 else value


def beside_decimals(a, b):
    if isinstance(a, decimal.Decimal) and isinstance(b, Written):
        b = as_decimal(b)
    if isinstance(b, decimal.Decimal) and isinstance(a, Written):
        a = as_decimal(a)
    if any(isinstance(x, float) and math.isnan(x) for x in (a, b)):
        return float(a), float(b)  # Decimal refuses to compare with NaN
    return a, b


TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|'(?P<string>(?:[^']|'')*)'|`(?P<quoted>(?:[^`]|``)*)`"
    r"|(?P<word>[A-Za-z_][A-Za-z_0-9]*)|(?P<symbol><=|>=|<>|!=|==|\|\||::|[-+*/%=<>()\[\],]))"
)
RESERVED = {"and", "or", "not", "in", "between", "is", "null", "true", "false", "case", "when", "then", "else", "end"}


def tokens_of(text):
    at, tokens = 0, []
    text = text.rstrip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise SyntaxError(f"cannot read {text[at:]!r}")
        kind = match.lastgroup
        value = match.group(kind)
        if kind == "word" and value.lower() in RESERVED:
            kind, value = "keyword", value.lower()
        tokens.append((kind, value))
        at = match.end()
    return tokens + [("end of text", "")]


def as_datetime(value):
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime(value.year, value.month, value.day)
    return value


def compare(op, a, b):
    """SQL comparison: NULL if an operand is; Python compares int and float exactly and NaN as IEEE 754 says."""
    if a is None or b is None:
        return None
    if isinstance(a, datetime.datetime) or isinstance(b, datetime.datetime):
        a, b = as_datetime(a), as_datetime(b)
    return op(*beside_decimals(a, b))


def checked(value, unsigned=False):
    if isinstance(value, int) and not INT64_MIN <= value <= (UINT64_MAX if unsigned else INT64_MAX):
        raise EvaluationError("integer overflow")
    return value


def arithmetic(op, a, b):
    if a is None or b is None:
        return None
    if isinstance(a, datetime.date) or isinstance(b, datetime.date):
        return date_arithmetic(op, a, b)
    a, b = beside_decimals(a, b)
    if op == "/" and (isinstance(a, decimal.Decimal) or isinstance(b, decimal.Decimal)):
        return float_arithmetic(op, float(a), float(b))
    if isinstance(a, decimal.Decimal) and op == "%":
        return a % b  # rounds the quotient towards zero
    if isinstance(a, float) or isinstance(b, float):
        return float_arithmetic(op, float(a), float(b))
    if op in "/%":
        if b == 0:
            raise EvaluationError("division by zero")
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return checked(quotient) if op == "/" else a - b * quotient
    return checked({"+": a + b, "-": a - b, "*": a * b}[op])


def float_arithmetic(op, a, b):
    if op == "/":
        if b != 0:
            return a / b
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1, b)
    if op == "%":
        return math.nan if b == 0 or math.isinf(a) else math.fmod(a, b)
    return {"+": operator.add, "-": operator.sub, "*": operator.mul}[op](a, b)


def date_arithmetic(op, a, b):
    if isinstance(a, datetime.date) and isinstance(b, datetime.date):
        return (a - b).days
    if isinstance(a, datetime.date):
        return a + datetime.timedelta(days=b if op == "+" else -b)
    return b + datetime.timedelta(days=a)


def logical_and(a, b):
    return False if a is False or b is False else None if a is None or b is None else True


def logical_or(a, b):
    return True if a is True or b is True else None if a is None or b is None else False


def logical_not(a):
    return None if a is None else not a


def equal_any(value, members):
    result = False
    for member in members:
        result = logical_or(result, compare(operator.eq, value, member))
    return result


def rounded(x):
    """The nearest whole number; of two, that farther from zero."""
    if isinstance(x, float):
        if math.isnan(x) or math.isinf(x) or x == math.trunc(x):
            return x
        up = 1 if abs(x - math.trunc(x)) >= 0.5 else 0
        return math.copysign(abs(math.trunc(x)) + up, x)
    return int(decimal.Decimal(x).to_integral_value(decimal.ROUND_HALF_UP))


def time_part(name, moment):
    if name == "weekday":
        return moment.isoweekday()
    return getattr(as_datetime(moment), name)


def like(text, pattern):
    if text is None or pattern is None:
        return None
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    regexp = "".join({"%": ".*", "_": "."}.get(p, re.escape(p[-1])) for p in parts)
    return re.fullmatch(regexp, text, re.DOTALL) is not None


def in_ascii(change, text):
    return "".join(change(c) if c.isascii() else c for c in text)


def text_of(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = repr(float(value))
        return text[:-2] if text.endswith(".0") else text
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return str(value)


def cast(value, target):
    if value is None:
        return None
    if target == "string":
        return text_of(value)
    text = value.strip() if isinstance(value, str) else None
    if target == "int64":
        number = decimal.Decimal(text) if text is not None else value
        if text is not None and number != int(number):
            raise EvaluationError(f"{text} is no int64")
        return checked(int(number))
    if target == "float64":
        return float(value)
    if target == "bool":
        return {"true": True, "false": False}[text.lower()] if text is not None else value != 0
    if target == "date":
        return datetime.date.fromisoformat(text) if text is not None else as_datetime(value).date()
    if target == "timestamp":
        return datetime.datetime.fromisoformat(text) if text is not None else as_datetime(value)
    precision, scale = (int(number) for number in re.findall(r"\d+", target))
    number = decimal.Decimal(value).quantize(decimal.Decimal(1).scaleb(-scale))
    if number != decimal.Decimal(value) or abs(number) >= decimal.Decimal(10) ** (precision - scale):
        raise EvaluationError(f"{value} is no {target}")
    return number


def join_texts(a, b):
    return None if a is None or b is None else text_of(a) + text_of(b)


def call(name, arguments):
    if name == "coalesce":
        return next((a for a in arguments if a is not None), None)
    if any(a is None for a in arguments):
        return None
    x = arguments[0]
    if name in ("min", "max"):
        if any(isinstance(a, float) and math.isnan(a) for a in arguments):
            return math.nan
        return min(arguments) if name == "min" else max(arguments)
    if name == "abs":
        return checked(abs(x))
    if name in ("floor", "ceil"):
        if isinstance(x, int) or math.isnan(x) or math.isinf(x):
            return x
        if isinstance(x, decimal.Decimal):
            return math.floor(x) if name == "floor" else math.ceil(x)
        return float(math.floor(x) if name == "floor" else math.ceil(x))
    if name == "round":
        return rounded(x)
    if name in ("year", "month", "day", "hour", "minute", "second", "weekday"):
        return time_part(name, x)
    if name == "length":
        return len(x)
    if name in ("lower", "upper"):
        return in_ascii(str.lower if name == "lower" else str.upper, x)
    x = float(x)
    if name == "sqrt":
        return math.sqrt(x) if x >= 0 else math.nan
    if name == "log":
        return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan
    if name == "exp":
        return math.exp(x) if x < 709.8 else math.inf
    raise SyntaxError(f"unknown function {name}")


class Parser:
    COMPARISONS = {
        "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<>": operator.ne,
        "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    }

    def __init__(self, text):
        self.tokens, self.at = tokens_of(text), 0

    def peek(self, *values):
        kind, value = self.tokens[self.at]
        return kind in ("symbol", "keyword") and value in values

    def take(self, *values):
        if not self.peek(*values):
            return None
        self.at += 1
        return self.tokens[self.at - 1][1]

    def need(self, value):
        if not self.take(value):
            raise SyntaxError(f"expected {value!r}, found {self.tokens[self.at]}")

    def parse(self):
        result = self.disjunction()
        if self.tokens[self.at][0] != "end of text":
            raise SyntaxError(f"unexpected {self.tokens[self.at]}")
        return result

    def disjunction(self):
        left = self.conjunction()
        while self.take("or"):
            left = (lambda a, b: lambda row: logical_or(a(row), b(row)))(left, self.conjunction())
        return left

    def conjunction(self):
        left = self.negation()
        while self.take("and"):
            left = (lambda a, b: lambda row: logical_and(a(row), b(row)))(left, self.negation())
        return left

    def negation(self):
        if self.take("not"):
            operand = self.negation()
            return lambda row: logical_not(operand(row))
        return self.predicate()

    def predicate(self):
        operand = self.sum()
        symbol = self.take(*self.COMPARISONS)
        if symbol:
            op, right = self.COMPARISONS[symbol], self.sum()
            return lambda row: compare(op, operand(row), right(row))
        if self.take("is"):
            negated = self.take("not")
            self.need("null")
            return lambda row: (operand(row) is None) != bool(negated)
        negated = self.take("not")
        if self.tokens[self.at][0] == "word" and self.tokens[self.at][1].lower() == "like":
            self.at += 1
            pattern = self.sum()
            if self.take_word("escape"):
                pattern = self.escaped(pattern)
            positive = lambda row: like(operand(row), pattern(row))
        elif self.take("in"):
            close = {"(": ")", "[": "]"}[self.take("(", "[")]
            members = self.list(close)
            positive = lambda row: equal_any(operand(row), [m(row) for m in members])
        elif self.take("between"):
            low = self.sum()
            self.need("and")
            high = self.sum()
            positive = lambda row: logical_and(
                compare(operator.ge, operand(row), low(row)), compare(operator.le, operand(row), high(row)))
        else:
            return operand
        return (lambda row: logical_not(positive(row))) if negated else positive

    def list(self, close):
        items = []
        if not self.peek(close):
            items.append(self.disjunction())
            while self.take(","):
                items.append(self.disjunction())
        self.need(close)
        return items

    def sum(self):
        left = self.product()
        while op := self.take("+", "-", "||"):
            if op == "||":
                left = (lambda a, b: lambda row: join_texts(a(row), b(row)))(left, self.product())
                continue
            left = (lambda op, a, b: lambda row: arithmetic(op, a(row), b(row)))(op, left, self.product())
        return left

    def product(self):
        left = self.signed()
        while op := self.take("*", "/", "%"):
            left = (lambda op, a, b: lambda row: arithmetic(op, a(row), b(row)))(op, left, self.signed())
        return left

    def signed(self):
        if self.take("-"):
            operand = self.signed()

            def negated(row):
                value = operand(row)
                if isinstance(value, Written):
                    return Written("-" + value.text)
                return None if value is None else checked(-value)

            return negated
        value = self.primary()
        while self.take("::"):
            value = self.cast_of(value)
        return value

    def take_word(self, word):
        kind, value = self.tokens[self.at]
        self.at += kind == "word" and value.lower() == word
        return kind == "word" and value.lower() == word

    def cast_of(self, value):
        target = self.tokens[self.at][1].lower()
        self.at += 1
        if target == "decimal":
            self.need("(")
            digits = [self.tokens[self.at][1], self.tokens[self.at + 2][1]]
            self.at += 3
            self.need(")")
            target = f"decimal({digits[0]}, {digits[1]})"
        target = {"text": "string", "int": "int64", "double": "float64"}.get(target, target)
        return lambda row: cast(value(row), target)

    def escaped(self, pattern):
        escape, text = self.tokens[self.at][1], pattern({})
        self.at += 1
        parts = re.findall(f"{re.escape(escape)}.|.", text, re.DOTALL)
        written = "".join("\\" + p[-1] if len(p) == 2 or p == "\\" else p for p in parts)
        return lambda row: written

    def primary(self):
        kind, value = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            number = Written(value) if re.search(r"[.eE]", value) else int(value)
            return lambda row: number
        if kind == "string":
            text = value.replace("''", "'")
            return lambda row: text
        if kind == "quoted":
            name = value.replace("``", "`")
            return lambda row: row[name]
        if kind == "word":
            return self.word(value)
        if (kind, value) == ("symbol", "("):
            inner = self.disjunction()
            self.need(")")
            return inner
        if kind == "keyword" and value in ("true", "false", "null"):
            constant = {"true": True, "false": False, "null": None}[value]
            return lambda row: constant
        if (kind, value) == ("keyword", "case"):
            return self.case()
        raise SyntaxError(f"unexpected {value!r}")

    def word(self, word):
        kind, value = self.tokens[self.at]
        if word.lower() == "date" and kind == "string":
            self.at += 1
            constant = datetime.date.fromisoformat(value)
            return lambda row: constant
        if word.lower() == "timestamp" and kind == "string":
            self.at += 1
            moment = datetime.datetime.fromisoformat(value)
            return lambda row: moment
        if word.lower() == "cast" and self.take("("):
            value = self.disjunction()
            if not self.take_word("as"):
                raise SyntaxError("expected as")
            converted = self.cast_of(value)
            self.need(")")
            return converted
        if self.take("("):
            arguments = self.list(")")
            return lambda row: call(word.lower(), [a(row) for a in arguments])
        return lambda row: row[word]

    def case(self):
        branches, otherwise = [], lambda row: None
        while self.take("when"):
            condition = self.disjunction()
            self.need("then")
            branches.append((condition, self.disjunction()))
        if self.take("else"):
            otherwise = self.disjunction()
        self.need("end")

        def choose(row):
            for condition, value in branches:
                if condition(row) is True:
                    return value(row)
            return otherwise(row)

        return choose


def compile_expression(text):
    return Parser(str(text)).parse()
