#!/usr/bin/env bash
# Everything that must hold before a change lands. Without arguments all stages; with arguments those named, in their order.
# The stages `spark`, which takes minutes and a Java runtime, and `wheel`, which compiles Arrow, run only where they are named.
# usage: [TIDY_COMMITS=N|all] tools/test.sh [setup] [format] [checks] [site] [release] [tidy] [asan] [tsan] [fuzz] [arm] [spark] [wheel]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly STAGES=(setup format checks site release tidy asan tsan fuzz arm)
readonly NAMED_STAGES=(spark wheel)  # which run only where they are named
readonly FIRST_PARTY=(engine kernels planner datasets tools)
readonly tidy_commits=${TIDY_COMMITS:-20}  # whose files clang-tidy looks at, or all

# Compiles every file once: a test of consumers builds the engine a second time, in a folder of its own and from within
# ctest, which sets variables of the locale; and clones in different folders share objects. Paths below CCACHE_BASEDIR
# become relative to the build folder, in messages of tests as well. A precompiled header counts by its contents, so clones
# do not share the tests of sanitizer builds.
use_ccache() {
  command -v ccache >/dev/null || return 0
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=locale,pch_defines,time_macros
}

# configure PRESET [cmake arguments...]: with warnings as errors, which a user's build, by whatever compiler, has not.
configure() {
  use_ccache
  mkdir -p "build/$1"
  cmake --preset "$@" -DSKYRANK_WERROR=ON >"build/$1/configure.log" 2>&1 || {
    cat "build/$1/configure.log"
    return 1
  }
}

# build PRESET [cmake arguments...]
build() {
  configure "$@"
  # A job a core: Ninja's two more take 5 % longer.
  cmake --build --preset "$1" -j "$(nproc)" -- --quiet
}

# run_tests PRESET [ctest arguments...]: prints ctest's closing lines, and everything when a test fails.
run_tests() {
  local log=$PWD/build/$1/ctest.log
  ctest --preset "$@" --quiet --output-log "$log" || {
    cat "$log"
    return 1
  }
  sed -n '/tests passed/,$p' "$log"
}

stage_setup() { tools/setup.sh --test; }

stage_format() {
  git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs .deps/python/bin/clang-format --dry-run --Werror
}

stage_checks() {
  local check
  for check in layering folders documents comments sizes; do "tools/checks/$check.py"; done
  tools/bench/tables.py --check
  check_reference
}

# Fails where a public name of the C++ API has no comment.
check_reference() {
  command -v doxygen >/dev/null || {
    echo "reference: not checked, as there is no doxygen (tools/setup.sh --test installs it)"
    return 0
  }
  doxygen engine/docs/Doxyfile
  echo "reference: build/api/index.html"
}

# The pages as a site, build/site/index.html, that needs no network. A broken link, a missing anchor, a page that no table of
# contents names and a public name that the references lack are errors.
stage_site() {
  if left_out site site; then return 0; fi
  doxygen engine/docs/Doxyfile
  rm -rf build/site
  .deps/site/bin/python -B -m sphinx --quiet --fail-on-warning --keep-going --fresh-env -c tools/site -d build/site-state . build/site
}

# What users get: whole queries, the kernels with every kind of vectors, programs, packages, the Python package. Unit tests of
# the engine, the planner and the file formats run with sanitizers alone, which see more in them.
# Built as by tools/run.sh, several files at a time. The objects serve again for the consumers and the wheel that tests build.
# The GPU kernels are compiled where nvcc is found. Where there is no GPU their tests skip, and nvcc does not optimise them, in
# half the time: its errors are the same. On the emulator they run with the address sanitizer, which sees more there. The
# Python package is built where its environment is.
stage_release() {
  local optimise=OFF
  if nvidia-smi -L >/dev/null 2>&1; then optimise=ON; fi
  build release -DSKYRANK_BUILD_TESTS=ON -DSKYRANK_UNIT_TESTS=OFF -DSKYRANK_CUDA=AUTO -DSKYRANK_EMULATE_CUDA=OFF \
    -DSKYRANK_MPI=ON "-DSKYRANK_BUILD_PYTHON=$(with_python)" "-DSKYRANK_OPTIMISE_CUDA=$optimise" -DCMAKE_UNITY_BUILD=ON \
    -DCMAKE_UNITY_BUILD_BATCH_SIZE=10
  run_tests release -j "$(nproc)"
}

with_python() { if [[ -x .deps/python/bin/python ]]; then echo ON; else echo OFF; fi; }

# All files take half an hour of a core, so it looks at those whose code the last commits or the working tree changed, each
# by itself, and at kernels as the emulator has them.
stage_tidy() {
  configure tidy "-DSKYRANK_BUILD_PYTHON=$(with_python)"
  tidy cpp
  # Threads of a GPU count with 32 bits, and halve without fractions, where they can; a kernel may join two namespaces.
  tidy cu --checks=-bugprone-implicit-widening-of-multiplication-result,-bugprone-integer-division,-google-build-using-namespace
}

# tidy SUFFIX [clang-tidy arguments...]
tidy() {
  local log=build/tidy/$1.log files=build/tidy/$1.files
  { [[ $tidy_commits == all ]] && git ls-files || changed_files "$tidy_commits"; } |
    grep -E "^($(IFS='|' && echo "${FIRST_PARTY[*]}"))/.*\.$1$" | grep -Fxf <(compiled_sources tidy) >"$files" || true
  echo "$(wc -l <"$files") $1 files"
  xargs -r -P "$(nproc)" -n 1 .deps/python/bin/clang-tidy --quiet -p build/tidy "${@:2}" <"$files" >"$log" 2>&1 || {
    grep -E -A 5 "error:|warning:" "$log" || cat "$log"
    return 1
  }
}

# changed_files N: what the last N commits and the working tree changed in more than comments and the paths of headers, as
# far as it is still there.
changed_files() {
  local -r code='^[[:space:]]*([^/#[:space:]]|#[^i])'
  {
    git log --format=%H -n "$1" | git log --no-walk --stdin -G"$code" --format= --name-only
    git diff -G"$code" --name-only HEAD
  } | sort -u | grep -Fxf <(git ls-files)
}

# compiled_sources PRESET
compiled_sources() { sed -n "s#^ *\"file\": \"$PWD/\(.*\)\",\{0,1\}\$#\1#p" "build/$1/compile_commands.json"; }

stage_asan() {
  build asan
  run_tests asan -j "$(nproc)"
}

# left_out STAGE DIR: says so and returns true where .deps/DIR is missing, as tools/setup.sh makes it only where the machine's
# mirrors have what it needs.
left_out() {
  [[ ! -e .deps/$2 ]] || return
  echo "$1: not run, as there is no .deps/$2 (tools/setup.sh --test makes it where it finds packages)"
  [[ ${CI:-} != true ]] || exit 1  # an error where nobody reads this
}

stage_tsan() {
  if left_out tsan tbb-tsan; then return; fi
  build tsan
  run_tests tsan -j "$(nproc)"
}

stage_fuzz() {
  build fuzz
  run_tests fuzz -j "$(nproc)"
  grep -E "Done [0-9]+ runs" build/fuzz/ctest.log
}

# The kernels for ARM processors: the vector code is another there, and compilers take less of it. Tests of
# limits of threads are left out, as the emulator has threads of its own; and so are the papers' algorithms, for time.
stage_arm() {
  if left_out arm aarch64; then return; fi
  build arm
  run_tests arm -j "$(nproc)"
}

# Queries on a local cluster of two executors, by the Python package of the release build.
stage_spark() {
  tools/setup.sh --test --spark
  build release -DSKYRANK_BUILD_TESTS=ON -DSKYRANK_UNIT_TESTS=OFF -DSKYRANK_CUDA=AUTO -DSKYRANK_EMULATE_CUDA=OFF \
    -DSKYRANK_BUILD_PYTHON=ON
  PYTHONPATH=$PWD/build/release/python:$PWD/.deps/spark .deps/python/bin/python -B -m pytest -q -p no:cacheprovider \
    tests/python/test_spark.py
}

# A wheel for the first python3, used beside no other library, an old pyarrow and the newest ones.
stage_wheel() {
  use_ccache
  rm -f build/wheels/dist/*.whl
  tools/wheel.sh python3
  tools/wheel/matrix.sh build/wheels/dist/*.whl python3 "" "pyarrow==20.* pandas==2.*" "pyarrow pandas polars"
}

for name in "$@"; do
  [[ " ${STAGES[*]} ${NAMED_STAGES[*]} " == *" $name "* ]] || {
    echo "test.sh: no stage '$name'; the stages are ${STAGES[*]} ${NAMED_STAGES[*]}" >&2
    exit 2
  }
done

trap '[[ $? == 0 ]] || echo "== $stage: FAILED after $SECONDS s"' EXIT
for stage in "${STAGES[@]}" "${NAMED_STAGES[@]}"; do
  [[ ($# == 0 && " ${STAGES[*]} " == *" $stage "*) || " $* " == *" $stage "* ]] || continue
  echo "== $stage"
  SECONDS=0
  "stage_$stage"
  echo "== $stage: passed in $SECONDS s"
done
