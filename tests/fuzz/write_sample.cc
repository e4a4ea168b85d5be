// SPDX-License-Identifier: Apache-2.0
// Writes the test suite's sample as a file: write_sample FILE TARGET SUBGRAPHS. make_seeds.py takes
// it apart.
#include <cstdlib>

#include "neff/neff_file.h"
#include "tests/integration/sample.h"

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  sample_options_t options;
  options.target = argv[2];
  options.subgraphs = static_cast<uint32_t>(strtoul(argv[3], nullptr, 10));
  finding_sink findings;
  return neff_file_write(argv[1], sample_file(options), findings) == NRT_SUCCESS ? 0 : 1;
}
