// SPDX-License-Identifier: Apache-2.0
#include "tools/run_options.h"

#include <fmt/format.h>

#include <cmath>

#include "tools/tool.h"

namespace {

// A tolerance: a number that is not negative.
CLI::Validator is_tolerance() {
  return CLI::Validator(
      [](std::string &text) {
        char *end = nullptr;
        double value = strtod(text.c_str(), &end);
        bool good = !text.empty() && *end == '\0' && std::isfinite(value) && value >= 0;
        return good ? std::string() : fmt::format("'{}' is not a number from 0 on", text);
      },
      "NUMBER");
}

void add_list(CLI::App *command, const char *name, std::vector<std::string> *out,
              const char *description, const char *text) {
  command->add_option(name, *out, description)
      ->option_text(text)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

void run_options_add(CLI::App *command, run_options *o, const CLI::Validator &number,
                     const CLI::Validator &positive) {
  run_arguments &run = o->run;
  add_list(command, "--input", &run.inputs,
           "NAME=FILE.npy, NAME=raw:FILE, NAME=zeros, NAME=random or NAME=random:SEED; may be "
           "repeated",
           "NAME=WHAT");
  add_list(command, "--output", &run.outputs,
           "NAME=FILE.npy or NAME=raw:FILE, without NAME= for the only output; may be repeated",
           "NAME=FILE");
  add_list(command, "--compare", &run.compares,
           "Compare an output with a reference, without NAME= the only one; may be repeated",
           "NAME=FILE.npy");
  command
      ->add_option("--rtol", o->rtol,
                   "With --compare: tolerance relative to the reference (default 0)")
      ->check(is_tolerance())
      ->option_text("X");
  command->add_option("--atol", o->atol, "With --compare: absolute tolerance (default 0)")
      ->check(is_tolerance())
      ->option_text("X");
  command->add_flag("--zeros", run.zeros, "Fill inputs that are not given with zeros");
  command->add_flag("--random", run.random, "Fill inputs that are not given with random numbers")
      ->excludes("--zeros");
  command->add_option("--repeat", o->repeat, "Executions (default 1)")
      ->check(positive)
      ->option_text("N");
  command
      ->add_option("--seed", o->seed,
                   "Engines and queues of the mock interleave at random (default 0: in order)")
      ->check(number)
      ->option_text("S");
  command->add_flag("--strict", run.strict,
                    "Report reads of memory nobody wrote and accesses outside a variable");
  command->add_flag("--races", run.races, "Report accesses that nothing orders");
  command->add_flag("--exact-functions", run.exact_functions,
                    "Activation functions in double precision, not from the file's tables");
  command->add_option("--trace", run.trace, "Chrome trace of what was executed, simulated time")
      ->option_text("FILE");
}

run_arguments run_options_take(const run_options &o, const machine_arguments &machine) {
  run_arguments run = o.run;
  run.machine = machine;
  auto number = [](const std::string &text, uint64_t otherwise) {
    uint64_t value = otherwise;
    tool_parse_u64(text, &value);
    return text.empty() ? otherwise : value;
  };
  run.repeat = number(o.repeat, 1);
  run.seed = number(o.seed, 0);
  run.rtol = o.rtol.empty() ? 0 : strtod(o.rtol.c_str(), nullptr);
  run.atol = o.atol.empty() ? 0 : strtod(o.atol.c_str(), nullptr);
  return run;
}
