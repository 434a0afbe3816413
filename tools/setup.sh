#!/usr/bin/env bash
# Installs what SkyRank needs on Debian 12 or 13, or Ubuntu 24.04 (root or sudo). Does nothing, quickly, where all is there.
set -euo pipefail

usage() {
  cat <<'END'
usage: tools/setup.sh [--test] [--spark] [--cuda]
  (nothing)  what building and running needs: packages of the distribution, and Arrow C++ into .deps/pyarrow
             unless the system has it
  --test     also what tools/test.sh needs: test libraries, clang and its tools, into .deps/tbb-tsan a oneTBB that the
             thread sanitizer sees into, into .deps/python an environment with clang-format, clang-tidy and what the tests
             of the Python package need, into .deps/site what makes the site of the pages, and, on x86-64, a compiler and an
             emulator of ARM processors, with libraries for them in .deps/aarch64
  --spark    also, for the stage `spark` of tools/test.sh, a Java runtime unless there is one, and PySpark into .deps/spark
  --cuda     also, where there is no nvcc, the CUDA 13.0 compiler into .deps/cuda
END
}

readonly BUILD_PACKAGES=(
  g++ cmake ninja-build ccache python3 python3-pip python3-dev python3-venv
  libeigen3-dev libyaml-cpp-dev libtbb-dev libhwy-dev tao-pegtl-dev libcli11-dev nlohmann-json3-dev libsimdjson-dev
  libfmt-dev libedit-dev)
readonly TEST_PACKAGES=(
  git libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev libboost-context-dev libopenmpi-dev openmpi-bin python3-yaml pkg-config clang lld llvm gcovr doxygen groff-base zsh fish dpkg-dev file)
# Where programs for ARM processors are not the machine's own.
readonly ARM_PACKAGES=(g++-aarch64-linux-gnu qemu-user)
readonly ARM_LIBRARIES=(libtbb-dev libhwy-dev libyaml-cpp-dev libeigen3-dev libgtest-dev libgmock-dev librapidcheck-dev)
readonly ARROW_OLDEST=15  # of a system Arrow
readonly CUDA_RELEASE=13.0

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly ROOT
readonly DEPS=$ROOT/.deps
# Versions and hashes of the wheels.
readonly REQUIREMENTS=$ROOT/tools/requirements
ARROW_VERSION=$(sed -n 's/^pyarrow==\([0-9.]*\).*/\1/p' "$REQUIREMENTS/arrow.txt")
readonly ARROW_VERSION

say() { echo "setup: $*" >&2; }
fail() {
  say "$*"
  exit 1
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "packages are missing ($missing) and there is neither root nor sudo to install them"
  fi
}

installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# install_packages NAME...: those that are missing, by apt.
install_packages() {
  local wanted=() package
  for package in "$@"; do
    installed "$package" || wanted+=("$package")
  done
  missing="${wanted[*]}"
  [[ -n $missing ]] || return 0
  say "installing $missing"
  as_root apt-get update -qq || fail "apt-get update failed: is there a network?"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${wanted[@]}" >/dev/null ||
    fail "apt-get could not install $missing"
}

# make_scratch: a new folder beside the results, so that a finished one is moved into place whole.
make_scratch() {
  mkdir -p "$DEPS"
  rm -rf "$scratch"
  scratch=$(mktemp -d "$DEPS/.unfinished.XXXXXX")
}

# replace DIR NAME: DIR becomes .deps/NAME.
replace() {
  if [[ -e $DEPS/$2 ]]; then mv -T "$DEPS/$2" "$scratch/replaced"; fi
  mv -T "$1" "$DEPS/$2"
}

# download_wheels NAME [PIP-ARGUMENT...]: what tools/requirements/NAME.txt lists, into $scratch/wheels. A wheel with
# another hash is refused.
download_wheels() {
  python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
    -d "$scratch/wheels" -r "$REQUIREMENTS/$1.txt" "${@:2}"
}

system_has_arrow() {
  local version package
  for package in libarrow-dev libparquet-dev; do
    version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null) || return 1
    dpkg --compare-versions "$version" ge "$ARROW_OLDEST" || return 1
  done
}

setup_arrow() {
  local folder=$DEPS/pyarrow found=false
  if system_has_arrow; then return; fi
  if grep -qs "ARROW_VERSION_STRING \"$ARROW_VERSION\"" "$folder/include/arrow/util/config.h"; then found=true; fi
  if $found && [[ -e $folder/LICENSE.txt ]]; then return; fi
  say "downloading Arrow C++ $ARROW_VERSION (the pyarrow wheel)"
  make_scratch
  # The Python version only picks one of several wheels with the same libraries.
  if ! download_wheels arrow --python-version 3.11 --implementation cp --platform "manylinux_2_28_$(uname -m)"; then
    $found || fail "pip could not download Arrow; its message is above"
    say "$folder stays without Arrow's licence texts, which an install tree needs before it is passed on"
    return
  fi
  python3 - "$scratch"/wheels/*.whl "$scratch/pyarrow" <<'END'
import pathlib, re, sys, zipfile
wheel, target = sys.argv[1], pathlib.Path(sys.argv[2])
wanted = re.compile(r"pyarrow/(include/.*|lib(arrow|arrow_compute|parquet)\.so\.\d+)$")
licence = re.compile(r"pyarrow-[^/]*\.dist-info/licenses/(LICENSE\.txt|NOTICE\.txt)$")
with zipfile.ZipFile(wheel) as archive:
    names = archive.namelist()
    archive.extractall(target.parent, [name for name in names if wanted.match(name)])
    for name in filter(licence.match, names):
        (target / pathlib.Path(name).name).write_bytes(archive.read(name))
END
  replace "$scratch/pyarrow" pyarrow
}

# setup_environment NAME REQUIREMENTS MODULE PURPOSE: a virtual environment of the first python3, in .deps/NAME.
setup_environment() {
  local folder=$DEPS/$1 pinned=$REQUIREMENTS/$2.txt
  if cmp -s "$pinned" "$folder/requirements.txt" && "$folder/bin/python" -c "import $3" 2>/dev/null; then return; fi
  say "installing the environment of $4"
  make_scratch
  # An environment does not move, so a failed one is removed from its place.
  rm -rf "$folder"
  python3 -m venv --without-pip "$folder" || fail "python3 -m venv failed; its message is above"
  python3 -m pip --python "$folder/bin/python" install -q --disable-pip-version-check --no-deps --only-binary=:all: \
    --require-hashes -r "$pinned" || { rm -rf "$folder"; fail "pip could not install $pinned; its message is above"; }
  cp "$pinned" "$folder/requirements.txt"
}

# The extension is built for the interpreter of the first.
setup_python() {
  setup_environment python python nanobind "the Python tests"
  setup_environment site site sphinx "the site"
}

# PySpark for the environment of the Python tests. PyPI has its source alone, which pip makes a wheel of.
setup_spark() {
  local folder=$DEPS/spark pinned=$REQUIREMENTS/spark.txt
  command -v java >/dev/null || install_packages default-jre-headless
  if cmp -s "$pinned" "$folder/requirements.txt"; then return; fi
  say "installing PySpark"
  make_scratch
  python3 -m pip install -q --disable-pip-version-check --no-deps --require-hashes --target "$scratch/spark" -r "$pinned" ||
    fail "pip could not install $pinned; its message is above"
  cp "$pinned" "$scratch/spark/requirements.txt"
  replace "$scratch/spark" spark
}

find_nvcc() {
  command -v nvcc || { [[ -x /usr/local/cuda/bin/nvcc ]] && echo /usr/local/cuda/bin/nvcc; } ||
    { "$DEPS/cuda/bin/nvcc" --version 2>/dev/null | grep -q "release $CUDA_RELEASE" && echo "$DEPS/cuda/bin/nvcc"; }
}

setup_cuda() {
  if ! find_nvcc >/dev/null; then
    say "downloading the CUDA $CUDA_RELEASE compiler"
    make_scratch
    download_wheels cuda || fail "pip could not download the CUDA compiler; its message is above"
    local wheel
    for wheel in "$scratch"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$scratch/unpacked"; done
    local cuda=$scratch/unpacked/nvidia/cu${CUDA_RELEASE%.*}
    chmod +x "$cuda"/bin/* "$cuda"/nvvm/bin/*
    ln -s lib "$cuda/lib64"
    ln -s "libcudart.so.${CUDA_RELEASE%.*}" "$cuda/lib/libcudart.so" # CMake takes it as the sign of a toolkit
    replace "$cuda" cuda
  fi
  say "CUDA compiler: $(find_nvcc). CMake finds it by itself (SKYRANK_CUDA=AUTO) in a new build folder;" \
    "for other uses: export CUDACXX=$(find_nvcc)"
}

# set_apt_options SED: has apt look for packages as the machine's sources say, changed by SED, with lists of its own.
set_apt_options() {
  local list
  mkdir -p "$scratch/apt/partial" "$scratch/sources.d" "$scratch/download/partial"
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
    [[ -e $list ]] || continue
    sed -E "$1" "$list" >"$scratch/sources.d/$(basename "$list")"
  done
  apt_options=(-o Dir::Etc::sourcelist=- -o "Dir::Etc::sourceparts=$scratch/sources.d" -o "Dir::State::Lists=$scratch/apt"
    -o APT::Sandbox::User=root)
}

# The sanitizer must see how threads meet inside oneTBB, or it reports races where there are none. So oneTBB is built with
# it, from the source of the distribution's own package: the archive alone, as some mirrors lack the files beside it.
setup_tbb_for_tsan() {
  [[ ! -e $DEPS/tbb-tsan/lib/libtbb.so ]] || return 0
  say "building oneTBB for the thread sanitizer"
  make_scratch
  set_apt_options 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /'
  if ! { apt-get "${apt_options[@]}" update -qq &&
    (cd "$scratch/download" && apt-get "${apt_options[@]}" source -qq --download-only --tar-only onetbb); }; then
    say "this machine's mirrors have no source of onetbb, so the stage \`tsan\` of tools/test.sh is left out"
    return
  fi
  local log=$scratch/log
  elsewhere=$(mktemp -d)  # as oneTBB's own build fails where its path has a space
  mkdir "$elsewhere/source"
  tar -xf "$scratch"/download/onetbb_*.orig.tar.* -C "$elsewhere/source" --strip-components=1
  { cmake -S "$elsewhere/source" -B "$elsewhere/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_INSTALL_PREFIX="$scratch/tbb" -DCMAKE_INSTALL_LIBDIR=lib \
    -DTBB_SANITIZE=thread -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBBMALLOC_BUILD=OFF \
    -DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON && cmake --build "$elsewhere/build" --target install; } >"$log" 2>&1 ||
    { tail -30 "$log" >&2; fail "oneTBB did not build"; }
  rm -rf "$elsewhere"
  replace "$scratch/tbb" tbb-tsan
}

# Packages for ARM processors, unpacked beside the machine's own: it gets no second architecture. Ubuntu has them on other
# mirrors than those of x86-64, so a machine may have none, and the stage `arm` of tools/test.sh is left out there.
setup_aarch64() {
  [[ $(uname -m) == x86_64 && ! -e $DEPS/aarch64 ]] || return 0
  install_packages "${ARM_PACKAGES[@]}"
  say "downloading libraries for ARM processors"
  make_scratch
  set_apt_options ''
  touch "$scratch/status"
  apt_options+=(-o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o "Dir::State::status=$scratch/status"
    -o "Dir::Cache=$scratch" -o "Dir::Cache::Archives=$scratch/download")
  if ! { apt-get "${apt_options[@]}" update -qq &&
    apt-get "${apt_options[@]}" install -qq --download-only --no-install-recommends "${ARM_LIBRARIES[@]}" >/dev/null; }; then
    say "this machine's mirrors have no packages for arm64, so the stage \`arm\` of tools/test.sh is left out"
    return
  fi
  local package
  for package in "$scratch"/download/*.deb; do dpkg-deb -x "$package" "$scratch/aarch64"; done
  # Since Debian 13 packages have nothing in /lib, where programs look for the dynamic linker.
  [[ -e $scratch/aarch64/lib ]] || ln -s usr/lib "$scratch/aarch64/lib"
  replace "$scratch/aarch64" aarch64
}

with_test=false with_spark=false with_cuda=false
for argument in "$@"; do
  case $argument in
    --test) with_test=true ;;
    --spark) with_spark=true ;;
    --cuda) with_cuda=true ;;
    -h | --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
  esac
done

command -v apt-get >/dev/null || fail "this script knows only apt (Debian 12 and 13, Ubuntu 24.04); elsewhere install what" \
  "corresponds to: ${BUILD_PACKAGES[*]}, and Arrow C++ with Parquet, $ARROW_OLDEST or later"
scratch='' elsewhere=''
trap 'rm -rf "$scratch" "$elsewhere"' EXIT

install_packages "${BUILD_PACKAGES[@]}"
setup_arrow
if $with_test; then
  install_packages "${TEST_PACKAGES[@]}"
  install_packages "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
  setup_tbb_for_tsan
  setup_aarch64
  setup_python
fi
if $with_spark; then setup_spark; fi
if $with_cuda; then setup_cuda; fi
