"""Libraries that only some functions need."""

from __future__ import annotations

import importlib
from typing import Any

from ._errors import ResourceError


def required(module: str, extra: str, purpose: str) -> Any:
    """Returns a module; ResourceError that names the extra of the package to install where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.split(".")[0]
        raise ResourceError(f"{purpose} needs {library}: pip install 'skyrank[{extra}]' ({error})") from error
