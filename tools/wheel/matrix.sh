#!/usr/bin/env bash
# Installs a wheel in clean environments beside old and new libraries of frames, and uses it there.
# usage: tools/wheel/matrix.sh WHEEL PYTHON [ROW...]    a row is a list of requirements, such as "pyarrow==15.* pandas==2.*"
set -euo pipefail
readonly wheel=$1 python=$2
readonly program=$(dirname "${BASH_SOURCE[0]}")/try.py
shift 2
rows=("$@")
if [[ ${#rows[@]} == 0 ]]; then
  rows=("" "pyarrow==15.*" "pyarrow==20.* pandas==2.* polars==1.3.*" "pyarrow pandas>=3 polars" "pandas==2.* polars")
fi
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
for row in "${rows[@]}"; do
  rm -rf "$environment"
  "$python" -m venv "$environment"
  # Wheels of pyarrow 15 are for NumPy 1. What has no wheel for this Python is left out, with a word.
  numpy=()
  if [[ $row == *pyarrow==15* ]]; then numpy=("numpy<2"); fi
  # shellcheck disable=SC2086  # a row is several words
  if ! "$environment/bin/pip" install -q --disable-pip-version-check --only-binary=:all: "$wheel" "${numpy[@]}" $row \
    2>"$environment/log"; then
    echo "no wheels: '$row': $(grep ERROR "$environment/log" | tail -n 1)"
    continue
  fi
  "$environment/bin/python" -I "$program"
  # In both orders, as libraries of one name in one process are where things go wrong.
  if [[ $row == *pyarrow* ]]; then "$environment/bin/python" -I "$program" pyarrow.parquet; fi
done
