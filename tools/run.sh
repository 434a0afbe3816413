#!/usr/bin/env bash
# Runs a batch of queries, from an empty machine: installs what is missing, builds, answers.
# usage: tools/run.sh BATCH.yaml [arguments of `skyrank run`]
set -euo pipefail

if [[ $# == 0 || $1 == -h || $1 == --help ]]; then
  echo "usage: tools/run.sh BATCH.yaml [arguments of 'skyrank run']" >&2
  [[ $# != 0 ]] && exit 0 || exit 2
fi

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly ROOT
readonly BUILD=$ROOT/build/release
readonly LOG=$BUILD/run.sh.log

"$ROOT/tools/setup.sh"

quietly() {
  "$@" >"$LOG" 2>&1 || {
    cat "$LOG" >&2
    exit 1
  }
}
mkdir -p "$BUILD"
cd "$ROOT"
if [[ ! -e $BUILD/build.ninja ]]; then
  # GPU kernels take minutes to compile, for nothing where no GPU is.
  cuda=OFF
  if nvidia-smi -L >/dev/null 2>&1; then cuda=AUTO; fi
  # Several files at a time take two thirds of the time.
  quietly cmake --preset release -DSKYRANK_BUILD_TESTS=OFF "-DSKYRANK_CUDA=$cuda" \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=10
fi
if [[ -x $BUILD/skyrank ]]; then
  quietly ninja -C "$BUILD" skyrank_cli  # where files have changed
else
  echo "run: building, which takes minutes the first time" >&2
  if [[ -t 2 ]]; then
    ninja -C "$BUILD" skyrank_cli >&2
  else
    quietly ninja -C "$BUILD" skyrank_cli
  fi
fi

cd "$OLDPWD"
exec "$BUILD/skyrank" run "$@"
