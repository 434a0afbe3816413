#!/usr/bin/env python3
"""Lets the system calls of the command line fail, one in each run, and looks at how it ends.

Each command below runs once to count its calls of each kind (inject.c), then once for each of these calls with that
one failing. It must end within 20 seconds, with status 0 and the right answer (the failure was harmless) or with status
1 and a message; by no signal, and with no file half-written, left over or changed.

A slice of the calls (ctest: faults_slice), all of them (some 105,000 runs, four minutes on 16 cores), or one at random of
each five in a row:
    tests/faults/faults.py --program build/release/skyrank --inject build/release/tests/faults/libskyrank_inject.so --all
    tests/faults/faults.py ... --all --every 5 --seed 1
"""
import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

KINDS = ["malloc", "mmap", "pthread_create", "open", "read", "write", "close", "fsync", "rename", "ftruncate", "stat",
         "mkdir", "unlink", "poll"]
PATIENCE = 20  # seconds
MANY_CALLS = 1000  # of a kind; fewer are never sampled
BATCH = """version: 1
tables: {{points: {{file: {file}}}}}
queries:
  - {{name: best, from: points, where: c0 > 0.1, rank_by: {{low: c0}}, limit: 5}}
  - {{name: front, from: points, prefer: [{{low: c0}}, {{low: c1}}]}}
"""
GROUPS = """version: 1
tables: {points: {file: groups-*.parquet}}
queries:
  - {name: best, from: points, group_by: [c0], aggregate: {n: count()}, rank_by: {low: c0}, limit: 5}
"""
GROUP_FILES = 4
RUN_OF_CALIBRATION = ("bnl,correlated float32 1,300,2,,4,,,0,2,64,1,1,0,0.5,0,64,1.28018,-0.0039128,0.015625,0.72793,"
                      "4.033e-06,2.194e-06,,0.5,0,0\n")

# name -> arguments; {data} is a folder of inputs, {out} one that has an old file of the same name as each output.
COMMANDS = {
    "run csv": "run {data}/csv.yaml",
    "run csv in blocks": "run {data}/blocks.yaml --threads 2",
    "run parquet, print csv": "run {data}/parquet.yaml --query best --format csv",
    "run arrow, print json": "run {data}/arrow.yaml --json",
    "run csv, write parquet": "run {data}/csv.yaml --out {out} --format parquet",
    "run parquet, write csv": "run {data}/parquet.yaml --out {out} --format csv",
    "run parquet, spill groups": "run {data}/groups.yaml --memory-limit 300000 --threads 2",
    "run arrow, write jsonl": "run {data}/arrow.yaml --out {out} --format jsonl",
    "run parquet, write arrow": "run {data}/parquet.yaml --out {out} --format arrow",
    "check": "check {data}/csv.yaml",
    "explain": "explain {data}/parquet.yaml",
    "generate csv": "generate --distribution independent --rows 5000 --dims 2 --out {out}/points.csv",
    "generate parquet": "generate --distribution independent --rows 200 --dims 2 --out {out}/points.parquet",
    "watch": "watch {data}/csv.yaml --query best --from {data}/points.csv --state {out}/best.standing",
    "calibrate": "calibrate --device cpu --from {data}/runs.csv --out {out}/new/profile.yaml",
}

Outcome = collections.namedtuple("Outcome", "status out err files calls failed")


class Bench:
    """Inputs in one folder, and a fresh folder for each run."""

    def __init__(self, program, inject, root):
        self.program, self.root = program, root
        self.inject = shutil.copy(inject, root)  # to a path without spaces, at which the loader divides LD_PRELOAD
        self.data = root / "data"
        self.data.mkdir()
        (self.data / "runs.csv").write_text(RUN_OF_CALIBRATION)
        for extension in ("csv", "parquet", "arrow"):
            (self.data / f"{extension}.yaml").write_text(BATCH.format(file=f"points.{extension}"))
            subprocess.run([program, "generate", "--distribution", "independent", "--rows", "200", "--dims", "3", "--out",
                            self.data / f"points.{extension}"], check=True)

        # More bytes than the sample that decides the types of a CSV file.
        (self.data / "blocks.yaml").write_text(BATCH.format(file="blocks.csv"))
        subprocess.run([program, "generate", "--distribution", "independent", "--rows", "3000", "--dims", "3", "--out",
                        self.data / "blocks.csv"], check=True)
        (self.data / "groups.yaml").write_text(GROUPS)
        for i in range(GROUP_FILES):
            subprocess.run([program, "generate", "--distribution", "independent", "--rows", "2000", "--dims", "1",
                            "--seed", str(i + 1), "--out", self.data / f"groups-{i}.parquet"], check=True)

        # Files of the names of all outputs, which are there before.
        self.old = dict.fromkeys(("best.csv", "front.csv", "best.parquet", "points.csv", "points.parquet"), b"old")
        half, state = self.data / "half.csv", self.data / "half.standing"
        half.write_text("".join((self.data / "points.csv").read_text().splitlines(keepends=True)[:100]))
        subprocess.run([program, "watch", self.data / "csv.yaml", "--query", "best", "--from", half, "--state", state],
                       stdout=subprocess.DEVNULL, check=True)
        self.old["best.standing"] = state.read_bytes()

    def run(self, command, kind, call):
        with tempfile.TemporaryDirectory(dir=self.root) as folder:
            folder = pathlib.Path(folder)
            out = folder / "out"
            out.mkdir()
            for name, content in self.old.items():
                (out / name).write_bytes(content)
            environment = {"PATH": os.environ.get("PATH", ""), "XDG_CACHE_HOME": str(folder / "cache"),
                           "LD_PRELOAD": str(self.inject), "SKYRANK_FAULT_KIND": kind, "SKYRANK_FAULT_CALL": str(call),
                           "SKYRANK_FAULT_COUNT": str(folder / "count")}
            arguments = [part.format(data=self.data, out=out) for part in COMMANDS[command].split()]
            process = subprocess.Popen([self.program] + arguments, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                printed, said = process.communicate(timeout=PATIENCE)
                status = process.returncode
            except subprocess.TimeoutExpired:
                status = "hung"
                process.kill()
                printed, said = process.communicate()
            place = str(folder).encode()
            files = {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*") if file.is_file()}
            counts = (folder / "count").read_text().split() if (folder / "count").exists() else ["0", "1"]
            return Outcome(status, printed.replace(place, b"F"), said.replace(place, b"F"), files, int(counts[0]),
                           counts[1] == "1")


def without_times(text):
    """The part of an output that is the same in each run."""
    return b"\n".join(line for line in text.split(b"\n") if b" ms" not in line and b"_ms" not in line)


def complaint(outcome, good, old):
    """What is wrong with the end of a run in which a call failed, over files that were there; empty if nothing is."""
    if outcome.status == "hung":
        return "hung"
    if not isinstance(outcome.status, int) or outcome.status < 0:
        return f"ended by signal {-outcome.status}"
    if outcome.status not in (0, 1):
        return f"status {outcome.status}"
    if outcome.status == 1 and not any(line.startswith(b"skyrank: ") for line in outcome.err.split(b"\n")):
        return "failed without a message"
    if outcome.status == 0 and without_times(outcome.out) != without_times(good.out):
        return "status 0 with another output"
    for name, content in outcome.files.items():
        if content not in (old.get(name), good.files.get(name)):
            return f"left {name} behind" if name not in good.files else f"half-written {name}"
    if outcome.status == 0 and outcome.files != good.files:
        return "status 0 with other files"
    return ""


def chosen_calls(count, limit):
    """All numbers up to the count, or so many of them: the first ones, the last ones, and some in between."""
    if limit == 0 or count <= limit:
        return range(1, count + 1)
    edge = limit // 4
    step = (count - 2 * edge) / (limit - 2 * edge)
    between = [edge + 1 + int(i * step) for i in range(limit - 2 * edge)]
    return sorted(set(itertools.chain(range(1, edge + 1), between, range(count - edge + 1, count + 1))))


def sampled(calls, every, seed):
    """One call, drawn at random, of each `every` in a row."""
    random_numbers = random.Random(f"{seed} {len(calls)}")
    runs = [calls[first:first + every] for first in range(0, len(calls), every)]
    return [random_numbers.choice(run) for run in runs]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--inject", required=True, type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="all calls, not a slice")
    parser.add_argument("--every", type=int, default=1, help="with --all: one of so many of large kinds")
    parser.add_argument("--seed", type=int, default=1, help="draws the calls of --every")
    parser.add_argument("--limit", type=int, default=24, help="most calls of a kind in a slice")
    parser.add_argument("--command", choices=list(COMMANDS), action="append", help="only this; may be repeated")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only this; may be repeated")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    ends, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="skyrank-faults-") as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        bench = Bench(options.program.resolve(), options.inject.resolve(), pathlib.Path(folder))
        for command in options.command or COMMANDS:
            for kind in options.kind or KINDS:
                good = bench.run(command, kind, 0)
                if good.status != 0:
                    sys.exit(f"{command}: fails without a fault: {good.err.decode()}")
                calls = chosen_calls(good.calls, 0 if options.all else options.limit)
                if len(calls) > MANY_CALLS:
                    calls = sampled(calls, options.every, options.seed)
                for call, outcome in zip(calls, pool.map(lambda call: bench.run(command, kind, call), calls)):
                    what = complaint(outcome, good, bench.old)
                    ends["failed"] += outcome.failed
                    ends["hung"] += outcome.status == "hung"
                    ends["aborted"] += isinstance(outcome.status, int) and outcome.status < 0
                    if what:
                        wrong.append(what)
                        print(f"{command}: {kind} {call} of {good.calls}: {what}: "
                              f"{outcome.err.decode(errors='replace').strip()}", flush=True)
    print(f"{ends['failed']} calls failed, {ends['hung']} hung, {ends['aborted']} aborted, {len(wrong)} ended wrongly")
    sys.exit(1 if wrong or ends["failed"] == 0 else 0)


if __name__ == "__main__":
    main()
