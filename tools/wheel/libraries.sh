#!/usr/bin/env bash
# Builds the libraries that a wheel has inside, as static ones, into build/wheels/MACHINE/libraries. tools/wheel.sh calls it.
# Where MACHINE is another than this one, its packages are unpacked into build/wheels/MACHINE/root.
# usage: tools/wheel/libraries.sh MACHINE
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly machine=$1
readonly out=$PWD/build/wheels/$machine sources=$PWD/build/wheels/source
readonly libraries=$out/libraries
# What unpacks the sources, which a small system lacks.
readonly TOOLS=(xz-utils)
# What the distribution has as static libraries too.
readonly PACKAGES=(
  libthrift-dev libsnappy-dev libzstd-dev liblz4-dev libbrotli-dev zlib1g-dev libbz2-dev rapidjson-dev libboost-dev)
# What compiling for another machine needs of its packages besides.
readonly ROOT_PACKAGES=(
  libc6-dev libeigen3-dev libyaml-cpp-dev libtbb-dev libhwy-dev tao-pegtl-dev libcli11-dev nlohmann-json3-dev libsimdjson-dev
  libfmt-dev libedit-dev)
# What it has as shared ones alone, or for its own C library: built from its source packages.
readonly SOURCE_PACKAGES=(onetbb highway yaml-cpp simdjson fmtlib bzip2)

say() { echo "wheel: $*" >&2; }
fail() {
  say "$*"
  exit 1
}

# quietly NAME COMMAND...: prints the log where the command fails.
quietly() {
  local log=$out/$1.log
  "${@:2}" >"$log" 2>&1 || {
    tail -30 "$log" >&2
    fail "$1 failed; the whole log is $log"
  }
}

# set_apt_options FOLDER SED: has apt look for packages as the machine's sources say, changed by SED, with lists of its own.
set_apt_options() {
  local list
  mkdir -p "$1/apt/partial" "$1/sources.d" "$1/download/partial"
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
    [[ -e $list ]] || continue
    sed -E "$2" "$list" >"$1/sources.d/$(basename "$list")"
  done
  apt_options=(-o Dir::Etc::sourcelist=- -o "Dir::Etc::sourceparts=$1/sources.d" -o "Dir::State::Lists=$1/apt"
    -o APT::Sandbox::User=root)
}

# install_packages NAME...: those that are missing, as root.
install_packages() {
  local wanted=() package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || wanted+=("$package")
  done
  [[ ${#wanted[@]} -gt 0 ]] || return 0
  say "installing ${wanted[*]}"
  apt-get install -qq -y --no-install-recommends "${wanted[@]}" >/dev/null || fail "apt-get could not install ${wanted[*]}"
}

# Unpacks packages for another machine, so that this one gets no second architecture.
get_root() {
  [[ ! -e $root ]] || return 0
  say "downloading packages for $machine"
  tools/wheel/packages.sh "$machine" "$root.unfinished" "${PACKAGES[@]}" "${ROOT_PACKAGES[@]}"
  # Some packages' CMake files name their libraries by absolute paths, which CMake does not look up in a sysroot.
  find "$root.unfinished/usr" -name '*.cmake' -exec sed -i "s|\"/usr/|\"$root/usr/|g; s|\"/usr\"|\"$root/usr\"|g" {} +
  mv "$root.unfinished" "$root"
}

get_sources() {
  local scratch package
  scratch=$(mktemp -d)
  set_apt_options "$scratch" 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /'
  apt-get "${apt_options[@]}" update -qq
  for package in "${SOURCE_PACKAGES[@]}"; do
    [[ ! -e $sources/$package ]] || continue
    (cd "$scratch/download" && apt-get "${apt_options[@]}" source -qq --download-only --tar-only "$package")
    mkdir -p "$sources/$package.unfinished"
    tar -xf "$scratch/download/$package"_*.orig.tar.* -C "$sources/$package.unfinished" --strip-components=1
    mv "$sources/$package.unfinished" "$sources/$package"
  done
  rm -rf "$scratch"
}

get_arrow_source() {
  local scratch
  [[ ! -e $sources/arrow ]] || return 0
  scratch=$(mktemp -d -p "$sources")
  python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes -d "$scratch" \
    -r tools/requirements/arrow-source.txt || fail "pip could not download the sources of Arrow; its message is above"
  python3 -m zipfile -e "$scratch"/*.whl "$scratch/unpacked"
  mv "$scratch"/unpacked/*/vendor "$scratch/arrow"
  touch "$scratch/arrow/.env"  # which its CMake looks for
  mv "$scratch/arrow" "$sources/arrow"
  rm -rf "$scratch"
}

# build_library NAME FOLDER [CMAKE-ARGUMENT...]
build_library() {
  local build=$out/$1
  say "building $1 for $machine"
  quietly "$1-configure" cmake -G Ninja -S "$sources/$2" -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_TESTING=OFF -DCMAKE_INSTALL_PREFIX="$libraries" -DCMAKE_INSTALL_LIBDIR=lib \
    "-DCMAKE_PREFIX_PATH=$libraries" "${cross[@]}" "${@:3}"
  quietly "$1-build" cmake --build "$build" --target install
}

# The distribution's static one is for programs alone. It has no CMake files.
build_bzip2() {
  local part parts=(blocksort huffman crctable randtable compress decompress bzlib)
  say "building bzip2 for $machine"
  mkdir -p "$out/bzip2" "$libraries/lib"
  for part in "${parts[@]}"; do
    quietly bzip2-build "${cc[@]}" -O2 -fPIC -D_FILE_OFFSET_BITS=64 -c "$sources/bzip2/$part.c" -o "$out/bzip2/$part.o"
  done
  quietly bzip2-build "${prefix}ar" rcs "$libraries/lib/libbz2.a" "$out"/bzip2/*.o
}

build_arrow() {
  local arguments=() name
  for name in PARQUET CSV FILESYSTEM IPC WITH_{ZLIB,ZSTD,LZ4,SNAPPY,BROTLI,BZ2} BUILD_STATIC; do
    arguments+=("-DARROW_$name=ON")
  done
  for name in BUILD_SHARED BUILD_UTILITIES DEPENDENCY_USE_SHARED MIMALLOC JEMALLOC USE_CCACHE; do
    arguments+=("-DARROW_$name=OFF")
  done
  # Neither distributions nor package indexes have a release of xsimd that is new enough. Parquet is mostly decoded by SkyRank.
  build_library arrow arrow/cpp "${arguments[@]}" -DARROW_SIMD_LEVEL=NONE -DARROW_RUNTIME_SIMD_LEVEL=NONE \
    -DARROW_DEPENDENCY_SOURCE=SYSTEM "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG" \
    "-DARROW_CXXFLAGS=-fvisibility=hidden -fvisibility-inlines-hidden -fno-gnu-unique"
}

# The texts of those that tools/THIRD-PARTY.txt leaves to the distribution.
copy_licenses() {
  local package
  mkdir -p "$libraries/licenses"
  for package in "${PACKAGES[@]}"; do cp "$root/usr/share/doc/$package/copyright" "$libraries/licenses/$package.txt"; done
  cp "$sources/arrow/LICENSE.txt" "$libraries/licenses/arrow-LICENSE.txt"
  cp "$sources/arrow/NOTICE.txt" "$libraries/licenses/arrow-NOTICE.txt"
}

mkdir -p "$sources" "$out"
root=$out/root
if [[ $machine == $(uname -m) ]]; then
  prefix='' cc=(gcc) cross=() root=  # the machine's own
  install_packages "${TOOLS[@]}" "${PACKAGES[@]}"
else
  prefix=$machine-linux-gnu- cc=("$machine-linux-gnu-gcc" "--sysroot=$root")
  cross=("-DCMAKE_TOOLCHAIN_FILE=$PWD/tools/wheel/$machine.cmake")
  install_packages "${TOOLS[@]}" "g++-$machine-linux-gnu"
  get_root
fi
get_sources
get_arrow_source
build_library onetbb onetbb -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON
build_library highway highway -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_EXAMPLES=OFF -DHWY_FORCE_STATIC_LIBS=ON
build_library yaml-cpp yaml-cpp -DYAML_CPP_BUILD_TESTS=OFF -DYAML_CPP_BUILD_TOOLS=OFF -DYAML_BUILD_SHARED_LIBS=OFF
build_library simdjson simdjson -DSIMDJSON_DEVELOPER_MODE=OFF
build_library fmtlib fmtlib -DFMT_TEST=OFF -DFMT_DOC=OFF
build_bzip2
build_arrow
copy_licenses
touch "$libraries/finished"
