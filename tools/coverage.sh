#!/usr/bin/env bash
# Line coverage of the product by all tests: a table of files, and build/coverage/report/index.html.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/setup.sh --test
umask 0 # a test runs the program as another user, whose counters are written too
mkdir -p build/coverage
chmod -R a+rwX build/coverage
cmake --preset coverage >/dev/null
find build/coverage -name '*.gcda' -delete
cmake --build --preset coverage -- --quiet
ctest --preset coverage -j "$(nproc)" --quiet --output-log "$PWD/build/coverage/ctest.log" || {
  cat build/coverage/ctest.log
  exit 1
}
mkdir -p build/coverage/report
gcovr --root . --object-directory build/coverage -j "$(nproc)" \
  --filter 'engine/' --filter 'kernels/' --filter 'planner/' --filter 'datasets/' --filter 'tools/' \
  --exclude-throw-branches --html-details build/coverage/report/index.html --txt --print-summary
