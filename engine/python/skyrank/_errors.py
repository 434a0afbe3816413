"""The exceptions of SkyRank, which mirror those of the C++ API, and the one of a library that is missing."""

from __future__ import annotations

import builtins
import importlib
from typing import Any


class Error(Exception):
    """Base of everything SkyRank raises.

    ``str(error)`` begins with the place where one is known, and says what is wrong and what would be right.

    Attributes:
        message: The text without the place.
        source: File name, or a word such as "expression" for text that came from Python; empty where unknown.
        line: Line in that text from 1, or None.
        column: Column in that line from 1, in characters, or None.
    """

    def __init__(self, message: str = "", source: str = "", line: int = 0, column: int = 0) -> None:
        self.message = message
        self.source = source
        self.line = line or None
        self.column = column or None
        place = ":".join([source, *(str(number) for number in (line, column) if number)]).strip(":")
        super().__init__(f"{place}: {message}" if place else message)

    def __reduce__(self) -> tuple[type[Error], tuple[str, str, int, int]]:
        return type(self), (self.message, self.source, self.line or 0, self.column or 0)


class QueryError(Error):
    """The text of a query or of an expression is malformed, or its parts contradict each other."""


class BindError(Error):
    """A name does not resolve, or a type does not fit."""


class DataError(Error):
    """The data are at fault: columns of different lengths, an integer overflow in row 17, a damaged file."""


class DeviceError(Error):
    """No usable device, or the device failed."""


class ResourceError(Error):
    """Memory, disk or another resource of the system ran out or was refused."""


class CancelledError(Error):
    """The query was stopped."""


class TimeoutError(Error, builtins.TimeoutError):
    """The query took longer than its time limit."""


for _kind in (Error, *Error.__subclasses__()):
    _kind.__module__ = "skyrank"  # where users find them, and what tracebacks show


def required(module: str, extra: str, purpose: str) -> Any:
    """Returns a module; ResourceError that names the extra of the package to install where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.split(".")[0]
        raise ResourceError(f"{purpose} needs {library}: pip install 'skyrank[{extra}]' ({error})") from error
