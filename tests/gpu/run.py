#!/usr/bin/env python3
"""Runs the GPU suite on this machine and writes down what it found (tests/gpu/evidence.json).

The suite was built by any preset (target skyrank_gpu_tests); its folder, build/<preset>/gpu, can be carried here from a
machine without one. The exit status is 0 when every test ran on a GPU and passed; without a GPU no file is written.
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


def run_memcheck(program: pathlib.Path) -> str:
    """What compute-sanitizer says of the suite. An API call that a test makes fail on purpose is no fault."""
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        return "not run: compute-sanitizer is not installed"
    run = subprocess.run(
        [sanitizer, "--tool", "memcheck", "--leak-check", "full", "--report-api-errors", "no", "--error-exitcode", "99",
         program, "--gtest_brief=1"],
        capture_output=True, text=True, check=False)
    print(run.stdout, run.stderr, sep="\n")
    summary = [line.removeprefix("=========").strip() for line in run.stdout.splitlines() if "SUMMARY" in line]
    return "; ".join(summary) + ("" if run.returncode == 0 else f" (exit status {run.returncode})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT / "build/release/gpu",
                        help="where skyrank_gpu_tests lies (default: %(default)s)")
    parser.add_argument("--evidence", type=pathlib.Path, default=ROOT / "tests/gpu/evidence.json",
                        help="the file to write (default: %(default)s)")
    arguments = parser.parse_args()

    os.environ["SKYRANK_REQUIRE_GPU"] = "1"
    program = arguments.folder.resolve() / "skyrank_gpu_tests"
    status, report = run_suite(program)
    try:
        present = devices()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"run.py: no GPU to report ({error}); {arguments.evidence} is left as it was", file=sys.stderr)
        return 1
    tests = [f"{suite['name']}.{test['name']}" for suite in report["testsuites"] for test in suite["testsuite"]]
    memcheck = run_memcheck(program)
    evidence = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "devices": present,
        "tests": report["tests"],
        "failures": report["failures"] + report["errors"],
        "skipped": sum(test["result"] == "SKIPPED" for suite in report["testsuites"] for test in suite["testsuite"]),
        "exit_status": status,
        "compute_sanitizer": memcheck,
        "names": tests,
    }
    arguments.evidence.write_text(json.dumps(evidence, indent=2) + "\n")
    print(json.dumps(evidence, indent=2))
    return 0 if status == 0 and "exit status" not in memcheck else 1


if __name__ == "__main__":
    sys.exit(main())
