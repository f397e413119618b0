#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# disabled_site_assembly.sh COMPILER INCLUDE SOURCE [FLAG…]: follows the function disabled_site from its entry to its
# first branch, and fails when more stands before it than load and test and, in position-independent code, one to find
# the address. clang 14 finds the address that way in any code, and saves the registers of the enabled path at the
# entry, whichever path is taken: it does not move that behind the branch as g++ does. Those are not counted.
set -euo pipefail
compiler=$1 include=$2 source=$3
shift 3
object=$(mktemp --suffix=.o)
trap 'rm -f "$object"' EXIT
"$compiler" -std=c++20 -O2 "$@" -I"$include" -c "$source" -o "$object"
code=$(objdump -d --no-show-raw-insn -C "$object" | awk '/<disabled_site\(\)>:$/ { on = 1; next } /^$/ { on = 0 } on' | cut -f2-)
head -8 <<< "$code"  # a pipe from echo would break under pipefail

before=$(awk '/^j/ { exit } !/^(nop|endbr|push|sub .*%rsp)/ { ++count } END { print count }' <<< "$code")
allowed=2
case "$compiler $* " in *clang* | *" -fPIC "*) allowed=3 ;; esac
if [ "$before" -gt "$allowed" ]; then
  echo "$before instructions before the branch, at most $allowed are right"
  exit 1
fi
