#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# disabled_site_assembly.sh COMPILER INCLUDE SOURCE [FLAG…]: follows the functions disabled_site and
# disabled_site_with_attributes from their entry to their first branch, and fails when more stands before it than load and test and, in position-independent code, one to find
# the address. clang 14 finds the address that way in any code, and saves the registers of the enabled path at the
# entry, whichever path is taken. g++ moves that behind the branch where, as here, the disabled path goes straight to the
# end of the function: so these are counted for g++ only. In a function that goes on behind its span, g++ too saves them
# at the entry, which no site can change.
set -euo pipefail
compiler=$1 include=$2 source=$3
shift 3
object=$(mktemp --suffix=.o)
trap 'rm -f "$object"' EXIT
"$compiler" -std=c++20 -O2 "$@" -I"$include" -c "$source" -o "$object"

allowed=2 saves='push|sub .*%rsp|'
case "$compiler $* " in *clang* | *" -fPIC "*) allowed=3 ;; esac
case "$compiler" in *clang*) ;; *) saves= ;; esac

for site in disabled_site disabled_site_with_attributes; do
  code=$(objdump -d --no-show-raw-insn -C "$object" |
    awk -v entry="<$site\\(" '$0 ~ entry && /:$/ { on = 1; next } /^$/ { on = 0 } on' | cut -f2-)
  echo "$site:"
  head -12 <<< "$code"  # a pipe from echo would break under pipefail
  before=$(awk -v skipped="^(${saves}nop|endbr)" '/^j/ { exit } $0 !~ skipped { ++count } END { print count }' \
    <<< "$code")
  if [ "$before" -lt 2 ] || [ "$before" -gt "$allowed" ]; then
    echo "$before instructions before the branch, 2 to $allowed are right"
    exit 1
  fi
done
