#!/usr/bin/env python3
"""Runs the GPU suite on this machine and writes down what it found (tests/gpu/evidence.json).

The suite was built by any preset (targets skyrank_gpu_tests and skyrank_gpu_semantics); its folder, build/<preset>/gpu,
can be carried here from a machine without one. The exit status is 0 when every test ran on a GPU and passed; without a GPU no file is written.
"""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ["skyrank_gpu_tests", "skyrank_gpu_semantics"]
# Tool of compute-sanitizer, its options, tests and the seconds that it may take. It slows kernels a hundredfold, so
# small inputs, and some large enough for many blocks, have to do.
SANITIZERS = {
    "memcheck": ("memcheck", ["--leak-check", "full"],
                 "*TieRules*:*LaterKeys*:*TopKConformance.ManyRows*:Gpu.*:DeviceContextOnGpu.*:SkylineOnGpu.*:"
                 "BlockedBitmap.*:EngineOnGpu.*:DeviceKeys.*:DeviceRows.E*:DeviceRows.O*:DeviceRows.RowsOf*", 120),
    "racecheck of the best top-k path": ("racecheck", [], "*TieRules*/cuda_sampled_threshold", 30),
    "racecheck of the best skyline path": (
        "racecheck", [], "BlockedBitmap.LeastAndGreatestKeys:BlockedBitmap.Twins*", 30),
    "racecheck of selections": ("racecheck", [], "*TieRules*/cuda_radix_select:*TieRules*/cuda_dr_topk", 30),
    "racecheck of skylines": ("racecheck", [], "SkylineOnGpu.AConstantColumnTellsNothing", 30),
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


def run_suite(program: pathlib.Path) -> tuple[int, dict]:
    """Exit status and GoogleTest's own report."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        status = subprocess.run([program, f"--gtest_output=json:{report}"], check=False).returncode
        return status, json.loads(report.read_text())


def run_sanitizer(program: pathlib.Path, name: str) -> str:
    """What compute-sanitizer says of some of the suite. An API call that a test makes fail on purpose is no fault."""
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        return "not run: compute-sanitizer is not installed"
    tool, options, tests, limit_s = SANITIZERS[name]
    try:
        run = subprocess.run(
            [sanitizer, "--tool", tool, *options, "--report-api-errors", "no", "--error-exitcode", "99", program,
             "--gtest_brief=1", f"--gtest_filter={tests}"],
            capture_output=True, text=True, check=False, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return f"no result within {limit_s} s (exit status unknown)"
    print(run.stdout[-4000:], run.stderr[-4000:], sep="\n")
    summary = [line.removeprefix("=========").strip() for line in run.stdout.splitlines() if "SUMMARY" in line]
    if "[  PASSED  ] 0 tests" in run.stdout:
        summary.append("no test ran (exit status unknown)")
    return "; ".join(summary) + ("" if run.returncode == 0 else f" (exit status {run.returncode})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT / "build/release/gpu",
                        help="where skyrank_gpu_tests lies (default: %(default)s)")
    parser.add_argument("--evidence", type=pathlib.Path, default=ROOT / "tests/gpu/evidence.json",
                        help="the file to write (default: %(default)s)")
    arguments = parser.parse_args()

    os.environ["SKYRANK_REQUIRE_GPU"] = "1"
    programs = [arguments.folder.resolve() / name for name in PROGRAMS]
    results = [run_suite(program) for program in programs]
    status = max(status for status, _ in results)
    try:
        present = devices()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"run.py: no GPU to report ({error}); {arguments.evidence} is left as it was", file=sys.stderr)
        return 1
    reports = [report for _, report in results]
    suites = [suite for report in reports for suite in report["testsuites"]]
    tests = [f"{suite['name']}.{test['name']}" for suite in suites for test in suite["testsuite"]]
    checks = {name: run_sanitizer(programs[0], name) for name in SANITIZERS}
    evidence = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "devices": present,
        "tests": sum(report["tests"] for report in reports),
        "failures": sum(report["failures"] + report["errors"] for report in reports),
        "skipped": sum(test["result"] == "SKIPPED" for suite in suites for test in suite["testsuite"]),
        "exit_status": status,
        "compute_sanitizer": checks,
        "names": tests,
    }
    arguments.evidence.write_text(json.dumps(evidence, indent=2) + "\n")
    print(json.dumps(evidence, indent=2))
    return 0 if status == 0 and not any("exit status" in summary for summary in checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
