"""The program that the package brings: `skyrank plot`. It hands other commands to the command-line tool, if there is one.

The tool is in the extension module of a wheel that tools/wheel.sh made; otherwise it is a program on the PATH.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
from typing import NoReturn

from . import __version__, _core, _errors
from .plot import _command

_NO_TOOL = (
    "the Python package has the command 'plot'; {command} is one of the command-line tool, which is installed apart from it "
    "(cmake --install, or a package of the distribution)"
)


def main(arguments: list[str] | None = None) -> int:
    """Runs a command line and returns the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    if not words or words[0] in ("-h", "--help", "--version"):
        if arguments is None and hasattr(_core, "run_tool"):
            _hand_over(sys.executable, ["-m", "skyrank_command", *words])
        if arguments is None and (tool := _other_tool()) is not None:
            _hand_over(tool, words)
    elif words[0] != "plot":
        if hasattr(_core, "run_tool"):
            _hand_over(sys.executable, ["-m", "skyrank_command", *words])
        tool = _other_tool()
        if tool is None:
            print(f"skyrank: {_NO_TOOL.format(command=repr(words[0]))}", file=sys.stderr)
            return 2
        _hand_over(tool, words)
    parser = argparse.ArgumentParser(prog="skyrank", description="Pictures of queries, by the Python package of SkyRank.")
    parser.add_argument("--version", action="version", version=f"skyrank {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    plot = commands.add_parser("plot", help="draw the front of a query", description="Draw the front of a query of a batch.")
    _command.add_arguments(plot)
    asked = parser.parse_args(words)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    try:
        _command.run(asked)
    except (_errors.Error, OSError) as error:
        print(f"skyrank: {error}", file=sys.stderr)
        return _command.exit_status(error)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 0


def _leave(number: int, _: object) -> NoReturn:
    """Ends the program by an exception, so that no temporary file stays."""
    sys.exit(128 + number)


def _other_tool() -> str | None:
    """Returns the next program `skyrank` on the PATH after this one."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    own = os.path.dirname(os.path.realpath(sys.argv[0]))
    places = [place for place, folder in enumerate(folders) if os.path.realpath(folder or ".") == own]
    rest = folders[places[-1] + 1 :] if places else folders
    return shutil.which("skyrank", path=os.pathsep.join(rest)) if rest else None


def _hand_over(tool: str, words: list[str]) -> NoReturn:
    os.execv(tool, [tool, *words])


if __name__ == "__main__":
    sys.exit(main())
