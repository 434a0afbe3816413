#!/usr/bin/env python3
"""Runs the GPU suite on this machine and writes down what it found (tests/gpu/evidence.json).

The suite was built by any preset (targets skyrank_gpu_tests, skyrank_gpu_semantics and skyrank_differential); its
folder, build/<preset>/gpu, can be carried here from a machine without one. Several GPUs share the work. The exit
status is 0 when every test ran on a GPU and passed; without a GPU no file is written.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ["skyrank_gpu_tests", "skyrank_gpu_semantics"]
# Answers of random batches to compare with the oracle, by the device that the engines are told to use.
DIFFERENTIAL = {"cuda": 70_000, "auto": 40_000}
DIFFERENTIAL_SECONDS = 200  # for each
# Tool of compute-sanitizer, its options, tests and the seconds that it may take. It slows kernels a hundredfold, so
# small inputs, and some large enough for many blocks, have to do.
SANITIZERS = {
    "memcheck": ("memcheck", ["--leak-check", "full"],
                 "*TieRules*:*LaterKeys*:*TopKConformance.ManyRows*:Gpu.*:DeviceContextOnGpu.*:SkylineOnGpu.*:"
                 "BlockedBitmap.*:SelectRowsOnGpu.[DELMS]*:EngineOnGpu.*:DeviceKeys.*:DeviceRows.E*:DeviceRows.O*:DeviceRows.RowsOf*", 300),
    "racecheck of the best top-k path": ("racecheck", [], "*TieRules*/cuda_sampled_threshold", 30),
    "racecheck of the best skyline path": (
        "racecheck", [], "BlockedBitmap.LeastAndGreatestKeys:BlockedBitmap.Twins*", 30),
    "racecheck of selections": ("racecheck", [], "*TieRules*/cuda_radix_select:*TieRules*/cuda_dr_topk", 30),
    "memcheck of groups": ("memcheck", [], "PartitionRows.*:DevicePartitions.*:DeviceGroups.*", 300),
    "racecheck of groups": (
        "racecheck", [], "PartitionRows.OfCodes*:PartitionRows.OfNone:PartitionRows.ContendersOfValues*:"
                         "PartitionRows.KeysWithout*", 60),
    "racecheck of skylines": ("racecheck", [], "SkylineOnGpu.AConstantColumnTellsNothing", 30),
    "racecheck of partitions": ("racecheck", [], "PartitionsOnGpu.OfManyLengths", 60),
    "memcheck of indicators": (
        "memcheck", ["--leak-check", "full"], "VolumesOnGpu.OfWholePointsAreExact:VolumesOnGpu.OfFewPoints:DistancesOnGpu.*",
        120),
    "racecheck of indicators": ("racecheck", [], "VolumesOnGpu.OfFewPoints:VolumesOnGpu.OfManyDimensions", 90),
    "memcheck of counts": (
        "memcheck", ["--leak-check", "full"], "CountsOnGpu.AreAsDefined:CountsOnGpu.Of[GN]*:CountsOnGpu.SkybandsAreAsDefined", 60),
    "racecheck of counts": ("racecheck", [], "CountsOnGpu.OfGreatestKeysCountNoRowsThatAreNotThere", 60),
    "racecheck of rows": (
        "racecheck", [], "SelectRowsOnGpu.StridesAndOffsets:SelectRowsOnGpu.LongRowsOfUnevenNumbers", 120),
}


def output_of(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def commit() -> str:
    """The commit of this checkout; SKYRANK_COMMIT says it where the files were carried without their history."""
    if told := os.environ.get("SKYRANK_COMMIT"):
        return told
    try:
        changed = output_of("git", "status", "--porcelain", "--untracked-files=no")
        return output_of("git", "rev-parse", "HEAD") + ("-changed" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def devices() -> list[dict[str, str]]:
    fields = ["name", "driver_version", "compute_cap", "memory.total"]
    lines = output_of("nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader").splitlines()
    return [dict(zip(fields, line.split(", "))) for line in lines]


def usable(present: list[dict[str, str]]) -> list[str]:
    """The numbers of the GPUs that this process may use."""
    told = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    numbers = [number for number in told.split(",") if number.isdigit() and int(number) < len(present)]
    return numbers or [str(number) for number in range(len(present))]


def run_tests(program: pathlib.Path, what: str, options: list[str], environment: dict[str, str]) -> tuple[int, dict]:
    """Exit status and GoogleTest's own report. A program that ends without a report counts as failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        run = subprocess.run([program, f"--gtest_output=json:{report}", *options], check=False, env=environment,
                             capture_output=True, text=True)
        print(run.stdout, run.stderr, sep="", end="", flush=True)  # as a whole, not mixed with that of other programs
        try:
            return run.returncode, json.loads(report.read_text())
        except FileNotFoundError:
            print(f"{what} of {program.name} ended with status {run.returncode} before its report", flush=True)
            return run.returncode or 1, {"tests": 0, "failures": 1, "errors": 0, "testsuites": []}


def run_part(program: pathlib.Path, part: int, parts: int, environment: dict[str, str]) -> tuple[int, dict]:
    """Runs every `parts`th test."""
    shard = {"GTEST_TOTAL_SHARDS": str(parts), "GTEST_SHARD_INDEX": str(part)}
    return run_tests(program, f"part {part}", [], environment | shard)


def tests_in(report: dict) -> list[tuple[str, dict]]:
    """Each test's name and entry in GoogleTest's report."""
    return [(f"{suite['name']}.{test['name']}", test) for suite in report["testsuites"] for test in suite["testsuite"]]


def with_all_gpus(program: pathlib.Path, runs: list[tuple[int, dict]]) -> list[tuple[int, dict]]:
    """Runs again, with all GPUs, the tests that were skipped where there was one; `runs` without those, and their run."""
    skipped = [name for _, report in runs for name, test in tests_in(report) if test["result"] == "SKIPPED"]
    if not skipped:
        return runs
    for _, report in runs:
        for suite in report["testsuites"]:
            suite["testsuite"] = [test for test in suite["testsuite"] if test["result"] != "SKIPPED"]
        report["tests"] = len(tests_in(report))
    return [*runs, run_tests(program, "tests with all GPUs", ["--gtest_filter=" + ":".join(skipped)], dict(os.environ))]


def run_sanitizer(program: pathlib.Path, name: str, environment: dict[str, str]) -> str:
    """What compute-sanitizer says of some of the suite. An API call that a test makes fail on purpose is no fault."""
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        return "not run: compute-sanitizer is not installed"
    tool, options, tests, limit_s = SANITIZERS[name]
    try:
        run = subprocess.run(
            [sanitizer, "--tool", tool, *options, "--report-api-errors", "no", "--error-exitcode", "99", program,
             "--gtest_brief=1", f"--gtest_filter={tests}"],
            capture_output=True, text=True, check=False, timeout=limit_s, env=environment)
    except subprocess.TimeoutExpired:
        return f"no result within {limit_s} s (exit status unknown)"
    print(run.stdout[-4000:], run.stderr[-4000:], sep="\n")
    summary = [line.removeprefix("=========").strip() for line in run.stdout.splitlines() if "SUMMARY" in line]
    if "[  PASSED  ] 0 tests" in run.stdout:
        summary.append("no test ran (exit status unknown)")
    return "; ".join(summary) + ("" if run.returncode == 0 else f" (exit status {run.returncode})")


def run_differential(program: pathlib.Path, device: str, answers: int, workers: int,
                     environment: dict[str, str]) -> dict[str, int]:
    """How many answers of random batches were compared and how many were wrong; the exit status where it is not 0."""
    command = [program, "--device", device, "--answers", str(answers), "--seconds", str(DIFFERENTIAL_SECONDS),
               "--workers", str(workers), "--seed", str(answers)]
    run = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    print(run.stdout[-4000:], run.stderr[-4000:], sep="\n", flush=True)
    found = re.search(r"(\d+) answers compared, (\d+) wrong\s*$", run.stdout)
    counts = {"answers": int(found[1]), "wrong": int(found[2])} if found else {"answers": 0, "wrong": 0}
    return counts | ({"exit_status": run.returncode} if run.returncode else {})


class Kept:
    """Results of the pieces of a run, kept in a file, so that several calls for one commit make up one run."""

    def __init__(self, path: pathlib.Path | None, of: dict[str, object]) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._kept: dict[str, object] = {"of": of}
        if path is not None and path.exists():
            kept = json.loads(path.read_text())
            if kept["of"] != of:
                raise SystemExit(f"run.py: {path} has results of {kept['of']}, not of {of}; remove it")
            self._kept = kept

    def result(self, name: str, run, *arguments):
        """What the file has under a name; else what `run` returns, which is then in the file."""
        if name not in self._kept:
            result = run(*arguments)
            with self._lock:
                self._kept[name] = result
                if self._path is not None:
                    new = self._path.with_suffix(".new")
                    new.write_text(json.dumps(self._kept))
                    new.replace(self._path)
        return self._kept[name]


def run_all(folder: pathlib.Path, gpus: list[str], beside: bool,
            kept: Kept) -> tuple[list[tuple[int, dict]], dict[str, str], dict[str, dict]]:
    """The runs of the suite's tests, what the sanitizers say, and the counts of the random batches. Each GPU runs one
    thing at a time, but the random batches, which keep the host busy for the most part, if they may run `beside`."""
    free = queue.SimpleQueue()
    for gpu in gpus:
        free.put(gpu)

    def on_a_gpu(run, *arguments):
        gpu = free.get()
        try:
            return run(*arguments, os.environ | ({"CUDA_VISIBLE_DEVICES": gpu} if len(gpus) > 1 else {}))
        finally:
            free.put(gpu)

    def on_the_first(run, *arguments):
        return run(*arguments, os.environ | {"CUDA_VISIBLE_DEVICES": gpus[0]})

    parts = len(gpus)
    workers = max(1, (os.cpu_count() or 1) // 2 // min(parts, len(DIFFERENTIAL)))
    programs = [folder / name for name in PROGRAMS]
    with concurrent.futures.ThreadPoolExecutor(parts) as pool, concurrent.futures.ThreadPoolExecutor(1) as side:
        # What takes longest begins first.
        lane, place = (side, on_the_first) if beside else (pool, on_a_gpu)
        batches = {device: lane.submit(kept.result, f"random batches, {device}", place, run_differential,
                                       folder / "skyrank_differential", device, answers, workers)
                   for device, answers in DIFFERENTIAL.items()}
        runs = {program: [pool.submit(kept.result, f"{program.name}, part {part}", on_a_gpu, run_part, program, part,
                                      parts) for part in range(parts)]
                for program in programs}
        checks = {name: pool.submit(kept.result, name, on_a_gpu, run_sanitizer, programs[0], name)
                  for name in SANITIZERS}
    results = {program: [run.result() for run in parts_of] for program, parts_of in runs.items()}
    if parts > 1:
        results = {program: with_all_gpus(program, runs) for program, runs in results.items()}
    return ([run for runs in results.values() for run in runs], {name: check.result() for name, check in checks.items()},
            {device: batch.result() for device, batch in batches.items()})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT / "build/release/gpu",
                        help="where skyrank_gpu_tests lies (default: %(default)s)")
    parser.add_argument("--evidence", type=pathlib.Path, default=ROOT / "tests/gpu/evidence.json",
                        help="the file to write (default: %(default)s)")
    parser.add_argument("--gpus", type=int, help="how many GPUs share the work (default: all)")
    parser.add_argument("--beside", action="store_true", help="run random batches beside the tests, on the first GPU")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FILE",
                        help="keep the results of pieces in FILE; a later call with it runs what is missing")
    arguments = parser.parse_args()

    os.environ["SKYRANK_REQUIRE_GPU"] = "1"
    try:
        present = devices()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"run.py: no GPU to report ({error}); {arguments.evidence} is left as it was", file=sys.stderr)
        return 1
    gpus = usable(present)[: arguments.gpus]
    kept = Kept(arguments.keep, {"commit": commit(), "devices": [present[int(gpu)] for gpu in gpus]})
    results, checks, differential = run_all(arguments.folder.resolve(), gpus, arguments.beside, kept)
    status = max([abs(status) for status, _ in results]
                 + [abs(counts.get("exit_status", 0)) for counts in differential.values()])
    reports = [report for _, report in results]
    tests = [test for report in reports for test in tests_in(report)]
    evidence = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "devices": [present[int(gpu)] for gpu in gpus],
        "tests": sum(report["tests"] for report in reports),
        "failures": sum(report["failures"] + report["errors"] for report in reports),
        "skipped": sum(test["result"] == "SKIPPED" for _, test in tests),
        "exit_status": status,
        "differential": differential,
        "compute_sanitizer": checks,
        "names": sorted(name for name, _ in tests),
    }
    arguments.evidence.write_text(json.dumps(evidence, indent=2) + "\n")
    print(json.dumps(evidence, indent=2))
    return 0 if status == 0 and not any("exit status" in summary for summary in checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
