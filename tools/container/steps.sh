#!/usr/bin/env bash
# The steps of the Containerfile beside this script, one for each of its stages. Each starts in a bare Debian, as root.
# usage: tools/container/steps.sh build | install
set -euo pipefail
readonly prefix=/opt/skyrank user=skyrank

# Makes a wheel, which has the command line and all libraries inside.
build() {
  cd "$(dirname "${BASH_SOURCE[0]}")/../.."
  tools/setup.sh
  tools/wheel.sh /usr/bin/python3
}

# Installs the wheel that lies beside this script, and leaves nothing of what that took.
install() {
  local wheels
  wheels=$(dirname "${BASH_SOURCE[0]}")
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends python3 python3-venv >/dev/null
  python3 -m venv "$prefix"
  "$prefix/bin/pip" install -q --disable-pip-version-check --no-cache-dir "$wheels"/*.whl
  useradd --system "$user"
  mkdir -p /data
  rm -rf "$wheels" /var/lib/apt/lists/*
}

case ${1:-} in
  build | install) "$1" ;;
  *) echo "usage: tools/container/steps.sh build | install" >&2 && exit 2 ;;
esac
