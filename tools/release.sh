#!/usr/bin/env bash
# Builds what a release consists of into build/release-VERSION: packages, sources, bill of materials, checksums.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'END'
usage: tools/release.sh [--check] [--tag] [--push] [-- CMAKE-ARGUMENT...]
  (nothing)  checks that the clone is ready for a release and builds it; changes nothing outside build/
  --check    only checks
  --tag      also makes the tag vVERSION
  --push     also pushes the tag to origin; implies --tag
  --         what follows is for CMake, such as -DSKYRANK_CUDA=OFF
END
}

fail() {
  echo "release: $*" >&2
  exit 1
}

# read_version: the version of the public header, the only place that the build reads.
read_version() {
  local part number numbers=()
  for part in MAJOR MINOR PATCH; do
    number=$(sed -n "s/^#define SKYRANK_VERSION_$part \([0-9]\+\)$/\1/p" engine/include/skyrank/version.hpp)
    [[ -n $number ]] || fail "engine/include/skyrank/version.hpp: SKYRANK_VERSION_$part has no number"
    numbers+=("$number")
  done
  (IFS=. && echo "${numbers[*]}")
}

check_tree() {
  local changed
  changed=$(git status --porcelain)
  [[ -z $changed ]] || fail "the working tree has changes; commit or remove them:"$'\n'"$changed"
  if git rev-parse -q --verify "refs/tags/v$version" >/dev/null; then
    fail "there is a tag v$version; raise the version in engine/include/skyrank/version.hpp"
  fi
}

# expect FILE PATTERN TEXT: the first line of FILE that PATTERN finds holds TEXT.
expect() {
  local line
  line=$(grep -m 1 -- "$2" "$1") || fail "$1: no line with '$2'"
  [[ $line == *"$3"* ]] || fail "$1: '$(sed 's/^ *//' <<<"$line")' should have $3, the version of version.hpp"
}

check_versions() {
  expect tools/packages/vcpkg/skyrank/vcpkg.json '"version-semver"' "\"$version\""
  expect engine/examples/CMakeLists.txt 'find_package(skyrank' "skyrank ${version%.*}"
}

# The section of the version has a date and entries, and no entry waits for a later release.
check_changes() {
  grep -Eq "^## \[${version//./\\.}\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md ||
    fail "CHANGELOG.md: no section '## [$version] - YYYY-MM-DD'"
  [[ $(entries "$version") -gt 0 ]] || fail "CHANGELOG.md: the section of $version has no entry"
  [[ $(entries Unreleased) == 0 ]] ||
    fail "CHANGELOG.md: [Unreleased] has entries; name that section after the release, and raise the version"
}

# entries NAME: the number of entries in a section.
entries() {
  awk -v heading="## [$1]" '/^## / { inside = index($0, heading) == 1 } inside && /^- / { n++ } END { print n + 0 }' CHANGELOG.md
}

build_packages() {
  cmake --preset release -B "$objects" -DSKYRANK_BUILD_TESTS=OFF "${cmake_arguments[@]}"
  cmake --build "$objects"
  cpack --config "$objects/CPackConfig.cmake" -B "$out/packages"
  find "$out/packages" -maxdepth 1 -type f -exec mv -t "$out" {} +
  rm -r "$out/packages"
}

build_sources() { git archive --prefix="skyrank-$version/" -o "$out/skyrank-$version-source.tar.gz" HEAD; }

build_bill() { python3 -B tools/sbom.py "$objects/skyrank" --build "$objects" >"$out/skyrank-$version.cdx.json"; }

build_checksums() {
  (cd "$out" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS)
}

only_check=false tag=false push=false
while [[ $# -gt 0 ]]; do
  case $1 in
    --check) only_check=true ;;
    --tag) tag=true ;;
    --push) tag=true push=true ;;
    --)
      shift
      break
      ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done
readonly cmake_arguments=("$@")

version=$(read_version)
check_versions
check_changes
check_tree
echo "release: $version is ready"
if $only_check; then exit 0; fi

readonly out=$PWD/build/release-$version objects=$PWD/build/release-$version-objects
rm -rf "$out"
mkdir -p "$out"
build_packages
build_sources
build_bill
build_checksums
if $tag; then git tag -a "v$version" -m "SkyRank $version"; fi
if $push; then git push origin "v$version"; fi
echo "release: $out has"
cat "$out/SHA256SUMS"
