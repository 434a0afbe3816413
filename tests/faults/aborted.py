#!/usr/bin/env python3
"""Ends the command line as a library does that gives up (SIGABRT), while its output has a temporary name.

Output has no name before it is whole, but where the folder's file system has no nameless files. One of the calls that
open files is made to fail (inject.c), so that the tool takes the folder for such a one.
"""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CALLS = 60  # to open files, of which one is that of the output
PATIENCE = 20  # seconds
COMMAND = "generate --distribution independent --rows 3000000 --dims 8 --out"


def has_nameless(process, folder):
    """Whether a process has a file without a name open in a folder."""
    for file in pathlib.Path(f"/proc/{process}/fd").glob("*"):
        try:
            target = os.readlink(file)
        except OSError:  # closed meanwhile, or the process has ended
            continue
        if target.startswith(f"{folder}/") and target.endswith(" (deleted)"):
            return True
    return False


def begin(program, inject, out, call):
    """Starts the tool with one call failing; returns it when its output has a name, or nothing if it has none."""
    environment = {"PATH": os.environ.get("PATH", ""), "LD_PRELOAD": str(inject), "SKYRANK_FAULT_KIND": "open",
                   "SKYRANK_FAULT_CALL": str(call)}
    process = subprocess.Popen([program] + COMMAND.split() + [out / "points.csv"], env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        if any(out.iterdir()):
            return process
        if has_nameless(process.pid, out):
            break
        time.sleep(0.001)
    process.kill()
    process.communicate()
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--inject", required=True, type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="skyrank-aborted-") as folder:
        # A path without spaces, at which the loader divides LD_PRELOAD.
        inject = shutil.copy(options.inject, folder)
        out = pathlib.Path(folder) / "out"
        out.mkdir()
        for call in range(1, CALLS + 1):
            process = begin(options.program.resolve(), inject, out, call)
            if process is not None:
                break
            for file in out.iterdir():
                file.unlink()
        else:
            sys.exit("no run had a temporary name for its output")
        process.send_signal(signal.SIGABRT)
        said = process.communicate(timeout=PATIENCE)[1].decode()
        left = [file.name for file in out.iterdir()]
    print(f"with open {call} failing, aborted: status {process.returncode}, left {left}: {said.strip()}")
    sys.exit(0 if process.returncode == 1 and said.startswith("skyrank: ") and not left else 1)


if __name__ == "__main__":
    main()
