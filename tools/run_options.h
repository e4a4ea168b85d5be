// SPDX-License-Identifier: Apache-2.0
// The options of `neff run`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/commands.h"

// What the parser fills; numbers as text, read by run_options_take.
struct run_options {
  run_arguments run;
  std::string rtol, atol, repeat, seed;
};

// Adds all options but those that choose the machine. `number` and `positive` check numbers.
void run_options_add(CLI::App *command, run_options *options, const CLI::Validator &number,
                     const CLI::Validator &positive);
run_arguments run_options_take(const run_options &options, const machine_arguments &machine);
