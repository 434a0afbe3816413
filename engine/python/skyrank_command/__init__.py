"""The program `skyrank` of the package: the command-line tool where the extension module has it, else `skyrank.__main__`.

It stands beside the package, whose import brings NumPy. That takes longer than many commands, and NumPy's threads would take
signals that the tool waits for.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import signal
import sys
from typing import Any


def main() -> int:
    """Runs the command line of the process and returns the exit status, if the process has not ended."""
    words = sys.argv[1:]
    if words[:1] != ["plot"]:
        module = _extension_module()
        if hasattr(module, "run_tool"):
            for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            module.run_tool(words)
    from skyrank.__main__ import main as main_of_package

    return main_of_package()


def _extension_module() -> Any:
    """Returns `skyrank._core` without the package around it."""
    package = importlib.util.find_spec("skyrank")
    assert package is not None and package.submodule_search_locations
    (file,) = glob.glob(os.path.join(glob.escape(package.submodule_search_locations[0]), "_core.*.so"))
    spec = importlib.util.spec_from_file_location("skyrank._core", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
