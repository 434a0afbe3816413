#!/usr/bin/env bash
# Measures the grids that `run.py --grids` wrote, where there is nothing but the benchmark: measure.sh PROGRAM GRIDS OUT
# [SECONDS [GRID_SECONDS]]. OUT gets NAME.csv, NAME.log and, once a grid is done, NAME.done, with which it is not measured
# again. Stops after so many seconds, and leaves a grid for the next after GRID_SECONDS; what was measured until then is
# kept. The exit status is 0; 1 if an answer was wrong; 2 if a grid failed; 3 if time ran out.
set -u
if [ $# -lt 3 ]; then
  echo "usage: measure.sh PROGRAM GRIDS OUT [SECONDS [GRID_SECONDS]]" >&2
  exit 2
fi
program=$1 grids=$2 out=$3
end=$((SECONDS + ${4:-1000000}))
mkdir -p "$out" || exit 2
status=0
for grid in "$grids"/*.yaml; do
  name=$(basename "$grid" .yaml)
  [ -e "$out/$name.done" ] && continue
  left=$((end - SECONDS))
  if [ "$left" -lt 2 ]; then
    echo "out of time before $name"
    exit 3
  fi
  limit=${5:-$left}
  [ "$limit" -lt "$left" ] || limit=$left
  start=$SECONDS
  timeout --signal=TERM --kill-after=10 "$limit" "$program" bench "$grid" --out "$out/$name.csv" >"$out/$name.log" 2>&1
  ended=$?
  echo "$name: $((SECONDS - start)) s, status $ended"
  case $ended in
    0) touch "$out/$name.done" ;;
    1) touch "$out/$name.done"; [ $status -eq 2 ] || status=1; grep WRONG "$out/$name.log" ;;
    124 | 137 | 143)
      if [ "$limit" -eq "$left" ]; then
        echo "out of time in $name"
        exit 3
      fi
      [ $status -ne 0 ] || status=3
      ;;
    *) status=2; tail -n 2 "$out/$name.log" ;;
  esac
done
exit $status
