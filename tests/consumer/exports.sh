#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exports.sh NM LIBRARY: fails when the library exports a name that is not of its interface, or needs a library that
# training programs bring in versions of their own.
set -eu
names=$("$1" --dynamic --defined-only --demangle --format=posix "$2" | sed 's/ [A-Za-z] [0-9a-f ]*$//')
[ -n "$names" ] || { echo "$2 exports nothing at all"; exit 1; }
of_lens='^((guard variable|typeinfo|typeinfo name|vtable|TLS init function|TLS wrapper function) for )?lens::'
rooms='lens::(base|setup|record|otlp|assemble|exporting|telemetry)::'
foreign=$(printf '%s\n' "$names" | grep -vE "$of_lens" || true)
inner=$(printf '%s\n' "$names" | grep -E "$rooms" || true)
[ -z "$foreign$inner" ] || { printf 'exported, but not of the interface:\n%s\n%s\n' "$foreign" "$inner"; exit 1; }
clashing=$("$1" --dynamic --undefined-only --demangle --format=posix "$2" | grep -E '^(google::protobuf|grpc|absl)' || true)
[ -z "$clashing" ] || { printf 'needed, but not to be had without clashes:\n%s\n' "$clashing"; exit 1; }
brought=$(ldd "$2" | grep -E 'lib(protobuf|grpc|absl)' || true)
[ -z "$brought" ] || { printf 'brought along, to clash with the program'\''s:\n%s\n' "$brought"; exit 1; }
printf '%s\n' "$names" | wc -l
