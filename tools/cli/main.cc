// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/commands.h"

int main(int argc, char** argv) { return lens::cli::run_program(argc, argv); }
