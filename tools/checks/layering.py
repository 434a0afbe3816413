#!/usr/bin/env python3
"""Checks that includes between folders point one way: tools -> datasets -> engine -> planner -> kernels, and inside
engine/: standing -> parts -> executor -> plan/rules -> operators -> plan -> keys -> device -> expression -> query, all over runtime.

usage: tools/checks/layering.py [ROOT]

Prints each include that no line of ALLOWED permits, as FILE:LINE, and exits with 1 when there is one. Tests may include
everything. A source file that stands in none of the folders below is an error too, so that no new folder escapes, and
so is a public header that names a namespace of the inside. Below WITHOUT_CIRCLES folders include each other one way too.
"""

import collections
import graphlib
import pathlib
import re
import subprocess
import sys

# Kernels that plans use, with the names of the papers' algorithms (kernels/papers). Only the cost models of these and
# tests reach past the registry to the folders below it.
PRODUCTION_KERNELS = ["kernels", "kernels/common", "kernels/cpu", "kernels/cuda", "kernels/papers"]
PAPERS = ["kernels/papers/common", "kernels/papers/cpu", "kernels/papers/cuda"]
# Folders that every folder of the engine may include from.
ENGINE = ["engine/include", "engine", *PRODUCTION_KERNELS]
# Folder -> folders that its files may include from, beside itself. The longest matching prefix decides. The public
# headers are named <skyrank/...>, everything else by its path from the root.
ALLOWED = {
    "kernels": ["kernels/common", "kernels/cpu", "kernels/cuda"],
    "kernels/common": [],
    "kernels/cpu": ["kernels", "kernels/common"],
    "kernels/cuda": ["kernels", "kernels/common"],
    "kernels/papers": ["kernels", "kernels/common"],
    "kernels/papers/common": ["kernels", "kernels/common"],
    "kernels/papers/cpu": ["kernels", "kernels/common", "kernels/cpu", "kernels/papers/common"],
    "kernels/papers/cuda": ["kernels", "kernels/common", "kernels/cuda", "kernels/papers/common"],
    "planner": ["planner/cost/papers", *PRODUCTION_KERNELS],
    "planner/cost/papers": ["planner", *PRODUCTION_KERNELS, *PAPERS],
    "engine/include": [],
    "engine": ["engine/include", *PRODUCTION_KERNELS],
    "engine/files": ["engine/include"],
    "engine/runtime": [*ENGINE, "planner"],
    "engine/query": ["engine/include", "engine"],
    "engine/expression": [*ENGINE, "engine/runtime", "engine/query"],
    "engine/device": [*ENGINE, "engine/runtime", "engine/query", "engine/expression"],
    "engine/keys": [*ENGINE, "engine/runtime", "engine/query", "engine/expression", "engine/device"],
    "engine/plan": [
        *ENGINE, "engine/runtime", "engine/query", "engine/expression", "engine/device", "engine/keys", "planner",
    ],
    "engine/operators": [
        *ENGINE, "engine/runtime", "engine/query", "engine/expression", "engine/device", "engine/keys",
        "engine/plan", "planner",
    ],
    "engine/plan/rules": [
        *ENGINE, "engine/runtime", "engine/query", "engine/expression", "engine/device", "engine/keys",
        "engine/plan", "engine/operators", "planner",
    ],
    "engine/executor": [
        *ENGINE, "engine/runtime", "engine/query", "engine/expression", "engine/device", "engine/keys",
        "engine/plan", "engine/operators", "engine/plan/rules", "planner",
    ],
    "engine/parts": [
        *ENGINE, "engine/runtime", "engine/query", "engine/expression", "engine/device", "engine/keys",
        "engine/plan", "engine/operators", "engine/plan/rules", "engine/executor", "planner",
    ],
    "engine/why": [
        *ENGINE, "engine/runtime", "engine/query", "engine/expression", "engine/device", "engine/keys",
        "engine/plan", "engine/operators", "engine/plan/rules", "engine/executor", "planner",
    ],
    "engine/standing": [
        *ENGINE, "engine/runtime", "engine/query", "engine/expression", "engine/device", "engine/keys",
        "engine/plan", "engine/operators", "engine/plan/rules", "engine/executor", "engine/parts", "engine/files", "planner",
    ],
    "engine/examples": ["engine/include"],
    "engine/python": ["engine/include", "engine", "datasets"],
    "datasets": ["engine/include", "engine", "engine/files"],
    "tools": ["engine/include", "engine", "engine/files", "engine/query", "datasets", "planner", *PRODUCTION_KERNELS],
}
EVERYTHING = list(ALLOWED)
ALLOWED["tests"] = EVERYTHING
# File -> folders that it may include from besides, and why or until when.
EXCEPTIONS = {
    "engine/arrow.cpp": ["engine/runtime"],  # an exported table's columns have to be on the host
    "engine/engine.cpp": EVERYTHING,  # the public face, over all layers of the engine
    "engine/python/src/device_input.cpp": ["engine/device"],  # structs that a capsule holds
    "engine/python/src/arrow_input.cpp": ["engine/query"],  # names are UTF-8, as Python's texts
    "engine/python/src/queries.cpp": ["engine/query"],  # the place of a statement's table, which no Query holds
    "engine/python/src/standing.cpp": ["engine/query"],  # lengths of windows are texts
    "engine/python/src/tool.cpp": ["tools"],  # which a wheel has inside
    "engine/registry.cpp": ["engine/plan"],  # the public list of the planner's rules
    "engine/table.cpp": ["engine/runtime"],  # a table makes the caches that queries fill
    "tools/bench/planner/filters.cpp": ["engine/expression"],  # lowers its filters as the engine does
    "tools/skyrank/commands/learn.cpp": ["engine/executor"],  # hears of each kernel that runs
    "tools/skyrank/commands/run.cpp": ["engine/executor"],  # a query's time begins before its table is opened
    "tools/mpi/run.cpp": ["engine/parts"],  # a rank keeps the state of a query over parts
}
# Folders below which no folders include each other in a circle.
WITHOUT_CIRCLES = ["datasets", "engine", "kernels", "planner", "tools"]
# Namespaces of the inside, which no public header names.
INSIDE = re.compile(r"\b(exec|kernels|planner)::|\bnamespace (exec|kernels|planner)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
SOURCES = ("*.cpp", "*.hpp", "*.cu", "*.cuh", "*.hpp.in")


def folder_of(path: str) -> str | None:
    """Returns the folder of ALLOWED that a path belongs to, or None."""
    parts = path.split("/")[:-1]
    for size in range(len(parts), 0, -1):
        if (folder := "/".join(parts[:size])) in ALLOWED:
            return folder
    return None


def target_of(include: str) -> str | None:
    """Returns the folder that an include comes from; None for libraries and for files of the including folder."""
    if include.startswith("skyrank/"):
        return "engine/include"
    return folder_of(include)


def violations(root: pathlib.Path, path: str) -> list[str]:
    source = folder_of(path)
    if source is None:
        return [f"{path}: stands in no folder that tools/checks/layering.py knows"]
    found = []
    allowed = [source, *ALLOWED[source], *EXCEPTIONS.get(path, [])]
    for number, line in enumerate((root / path).read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        target = target_of(match[1]) if match else None
        if target is not None and target not in allowed:
            found.append(f"{path}:{number}: {source}/ must not include {match[1]} of {target}/")
        if source == "engine/include" and INSIDE.search(line):
            found.append(f"{path}:{number}: a public header must not name the inside of the engine")
    return found


def circles(root: pathlib.Path, files: list[str], top: str) -> list[str]:
    """Returns a line for the folders below `top` that include each other in a circle; none where none do.

    Files that may include more than their folder do not count: they are the public face over all layers.
    """
    folders = collections.defaultdict(set)
    for path in files:
        if not path.startswith(f"{top}/") or path in EXCEPTIONS:
            continue
        includes = (INCLUDE.match(line) for line in (root / path).read_text().splitlines())
        targets = {include[1].rpartition("/")[0] for include in includes if include and include[1].startswith(f"{top}/")}
        folders[path.rpartition("/")[0]] |= targets - {path.rpartition("/")[0]}
    try:
        graphlib.TopologicalSorter(folders).prepare()
    except graphlib.CycleError as error:
        return [f"{top}/: folders include each other in a circle: {' <- '.join(error.args[1])}"]
    return []


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    listed = subprocess.run(["git", "ls-files", *SOURCES], cwd=root, capture_output=True, text=True, check=True)
    files = listed.stdout.split()
    found = [violation for path in files for violation in violations(root, path)]
    found += [circle for top in WITHOUT_CIRCLES for circle in circles(root, files, top)]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"layering: {len(files)} files, {len(found)} lines against the layers")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
