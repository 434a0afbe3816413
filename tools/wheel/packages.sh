#!/usr/bin/env bash
# Unpacks packages of the distribution for another kind of machine into a folder, with all that they depend on.
# usage: [SUITE=NAME] tools/wheel/packages.sh MACHINE FOLDER PACKAGE...    SUITE is another release than this machine's
set -euo pipefail
readonly machine=$1 folder=$2
shift 2
case $machine in
  x86_64) architecture=amd64 ;;
  aarch64) architecture=arm64 ;;
  *) echo "packages: '$machine' is neither x86_64 nor aarch64" >&2 && exit 2 ;;
esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/{apt/partial,sources.d,download/partial} "$folder"
touch "$scratch/status"
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
  [[ -e $list ]] || continue
  sed "s/\b$release\b/${SUITE:-$release}/g" "$list" >"$scratch/sources.d/$(basename "$list")"
done
options=(-qq -o Dir::Etc::sourcelist=- -o "Dir::Etc::sourceparts=$scratch/sources.d" -o "Dir::State::Lists=$scratch/apt"
  -o "Dir::State::status=$scratch/status" -o "Dir::Cache=$scratch" -o "Dir::Cache::Archives=$scratch/download"
  -o APT::Sandbox::User=root -o "APT::Architecture=$architecture" -o "APT::Architectures::=$architecture")
apt-get "${options[@]}" update
apt-get "${options[@]}" install --download-only --no-install-recommends "$@" >/dev/null
for package in "$scratch"/download/*.deb; do dpkg-deb -x "$package" "$folder"; done
# Since Debian 13 packages have nothing in /lib, where programs look for the dynamic linker.
[[ -e $folder/lib ]] || ln -s usr/lib "$folder/lib"
