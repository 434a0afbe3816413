#!/usr/bin/env bash
# Installs a wheel beside a Python of another release of the distribution, and uses it there. A wheel for another machine runs
# on an emulator.
# usage: tools/wheel/elsewhere.sh WHEEL SUITE VERSION [REQUIREMENT...]    such as forky 3.14
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
wheel=$(realpath "$1") suite=$2 version=$3
shift 3
machine=${wheel##*manylinux_2_28_} machine=${machine%.whl}
root=$PWD/build/wheels/$machine/$suite
if [[ ! -e $root ]]; then
  SUITE=$suite tools/wheel/packages.sh "$machine" "$root.unfinished" "python$version-minimal" "libpython$version-stdlib"
  mv "$root.unfinished" "$root"
fi
if [[ $machine == "$(uname -m)" ]]; then
  runner="$(echo "$root"/usr/lib*/ld-linux-*.so.?) --library-path $root/usr/lib/$machine-linux-gnu --argv0"
else
  runner="qemu-$machine -L $root -0"
fi
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
site=$environment/lib/python$version/site-packages
mkdir -p "$environment/bin" "$site"
# The interpreter of the environment is a script, as the kernel starts no program of another machine.
printf '#!/bin/sh\nexec %s "$0" %s/usr/bin/python%s "$@"\n' "$runner" "$root" "$version" >"$environment/bin/python"
chmod +x "$environment/bin/python"
printf 'home = %s\nversion = %s\n' "$root/usr/bin" "$version" >"$environment/pyvenv.cfg"
platforms=()
for release in 2_28 2_27 2_26 2_24 2_17; do platforms+=(--platform "manylinux_${release}_$machine"); done
build/wheels/tools/bin/pip install -q --disable-pip-version-check --root-user-action=ignore --only-binary=:all: --target "$site" --implementation cp \
  --python-version "$version" "${platforms[@]}" --platform "manylinux2014_$machine" "$wheel" "$@"
sed "1s|.*|#!$environment/bin/python|" "$site/bin/skyrank" >"$environment/bin/skyrank"
chmod +x "$environment/bin/skyrank"
"$environment/bin/python" -I tools/wheel/try.py
