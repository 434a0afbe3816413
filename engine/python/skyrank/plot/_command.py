"""The command `skyrank plot`: draws the front of a query of a batch into a file."""

from __future__ import annotations

import argparse
import io
import os
import tempfile
from typing import Any

from .. import _core
from .._engine import Files
from .._errors import BindError, DataError, Error, QueryError, ResourceError, required
from .._input.files import files_module, on_main_thread
from .._query import Query
from . import draw_into

_KINDS = ("front", "parallel", "matrix")
_DOTS_PER_INCH = 150


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument("batch", metavar="BATCH", help="YAML file with tables and queries")
    parser.add_argument("query", metavar="QUERY", help="name of the query")
    parser.add_argument("--out", metavar="FILE", help="file of a format of matplotlib, by its suffix (default: QUERY.png)")
    parser.add_argument(
        "--kind",
        choices=_KINDS,
        default="front",
        help="two columns as a plane, three as a space and more as parallel coordinates (front, the default), parallel "
        "coordinates, or a scatter matrix",
    )
    parser.add_argument(
        "--max-rows", metavar="N", type=int, default=2000, help="most rows to draw that are not in the front (default: 2000)"
    )


def run(arguments: argparse.Namespace) -> None:
    """Draws the picture and prints the name of its file. Raises the errors of SkyRank and OSError."""
    if arguments.max_rows < 0:
        raise QueryError(f"--max-rows is 0 or more, not {arguments.max_rows}")
    figure = required("matplotlib.figure", "plot", "skyrank plot").Figure(layout="constrained")
    out = _output(arguments, figure)
    question, table = _open(arguments.batch, arguments.query)
    try:
        draw_into(figure, arguments.kind, table, question, arguments.max_rows)
    except (QueryError, BindError, DataError) as error:
        if error.source:
            raise
        raise type(error)(f"query '{arguments.query}': {error.message}", arguments.batch) from error
    content = io.BytesIO()
    figure.savefig(content, format=_suffix(out), dpi=_DOTS_PER_INCH)
    _write_whole(out, content.getvalue())
    print(out)


def _output(arguments: argparse.Namespace, figure: Any) -> str:
    """Returns the path of the picture; QueryError where it cannot be one, before anything is read."""
    out: str | None = arguments.out
    if out is None:
        out = arguments.query + ".png"
        if os.path.basename(out) != out:
            raise QueryError(f"a query named '{arguments.query}' needs --out FILE, as its name is that of no file")
    suffix = _suffix(out)
    known = sorted(figure.canvas.get_supported_filetypes())
    if suffix not in known:
        found = f"'.{suffix}' is no format of pictures" if suffix else "there is no suffix that tells the format"
        raise QueryError(f"--out {out}: {found}; matplotlib writes {', '.join(known)}")
    folder = os.path.dirname(out) or "."
    if os.path.isdir(out) or not os.path.isdir(folder):
        what = "is a folder" if os.path.isdir(out) else f"there is no folder '{folder}'"
        raise QueryError(f"--out {out}: {what}")
    return out


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower().lstrip(".")


def _open(file: str, name: str) -> tuple[Query, Any]:
    """Returns a query of a batch and its table."""
    if not os.path.exists(file):
        raise QueryError("no such file", file)
    if os.path.isdir(file):
        raise QueryError("is a folder; a batch is a YAML file", file)
    batch = _core.read_batch(file)
    try:
        core = batch.query(name)
        described, folder = batch.table(core)
    except BindError as error:
        raise BindError(error.message, error.source or file, error.line or 0, error.column or 0) from error
    capsule = files_module().open_table(described, folder, on_main_thread())
    table = Files.__new__(Files)
    table._core_data = _core.source_of_capsule(capsule)
    return Query._of(core), table


def _write_whole(path: str, content: bytes) -> None:
    """Writes a file that has its name only when it is complete; the one that was there stays until then."""
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe
        with open(path, "wb") as file:
            file.write(content)
        return
    folder, name = os.path.split(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), _permissions(path))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _permissions(path: str) -> int:
    """Returns those of the file that is there, or else those that a new one gets."""
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def exit_status(error: BaseException) -> int:
    """Returns 2 for what the user can put right, 1 for the system's failures, as the command line has it."""
    if isinstance(error, Error) and not isinstance(error, ResourceError):
        return 2
    return 1
