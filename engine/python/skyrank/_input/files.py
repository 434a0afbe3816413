"""Files as tables that are read while queries run."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core
from .._errors import ResourceError


def on_main_thread() -> bool:
    """Returns true on the thread that handles signals, whose queries Ctrl-C must reach."""
    return threading.current_thread() is threading.main_thread()


def open_files(
    patterns: Sequence[str | os.PathLike[str]],
    header: bool | None = None,
    null_spellings: Sequence[str] = (),
    delimiter: str | None = None,
    format: str | None = None,
    types: Mapping[str, str] | None = None,
    form: Mapping[str, str] | None = None,
    timeout: float = 0.0,
) -> tuple[_core.Source, list[str]]:
    """Opens files as one table that is read while queries run, and only as far as they need it.

    Returns what was recognised of their form, too. `form` states it.
    """
    names = [os.fspath(pattern) for pattern in patterns]
    capsule, notes = files_module().open_files(
        names, header, list(null_spellings), delimiter, format, dict(types or {}), dict(form or {}), on_main_thread(), timeout
    )
    return _core.source_of_capsule(capsule), notes


def files_module() -> Any:
    """Imports the module that reads files and bytes.

    Its Arrow libraries are those of pyarrow unless the build brought its own.
    """
    try:
        from .. import _files
    except ImportError:
        try:
            import pyarrow.parquet  # noqa: F401  loads the libraries
        except ImportError as error:
            raise ResourceError("reading files needs pyarrow: pip install 'skyrank[files]'") from error
        try:
            from .. import _files
        except ImportError as error:
            raise ResourceError(
                f"reading files needs the pyarrow that SkyRank was built with: {error}; read the files with pyarrow "
                "and pass its table"
            ) from error
    _files.hear_stops(_core.stops())
    return _files
