#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pkg_config.sh COMPILER PREFIX DIR: builds and runs the quick start with nothing but what pkg-config says.
set -eu
PKG_CONFIG_PATH=$(find "$2" -name pkgconfig -type d)
export PKG_CONFIG_PATH
source=$(dirname "$0")/../../examples/quickstart/quickstart.cc
# shellcheck disable=SC2046  # flags are words
"$1" -std=c++20 "$source" -o "$3/quickstart_by_pkg_config" $(pkg-config --cflags --libs lens)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir lens) "$3/quickstart_by_pkg_config"
