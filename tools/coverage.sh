#!/usr/bin/env bash
# Line coverage of the product by all tests: a table of files, and build/coverage/report/index.html.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/setup.sh --test
cmake --preset coverage >/dev/null
find build/coverage -name '*.gcda' -delete
cmake --build --preset coverage -- --quiet
# Robustness ends programs in the middle of writing, of their counters too, and runs them as users that may not write.
ctest --preset coverage --exclude-regex '^Robustness\.' -j "$(nproc)" --quiet --output-log "$PWD/build/coverage/ctest.log" || {
  cat build/coverage/ctest.log
  exit 1
}
mkdir -p build/coverage/report
gcovr --root . --object-directory build/coverage -j "$(nproc)" \
  --filter 'engine/' --filter 'kernels/' --filter 'planner/' --filter 'datasets/' --filter 'tools/' \
  --exclude-throw-branches --html-details build/coverage/report/index.html --txt --print-summary
