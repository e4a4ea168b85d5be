// SPDX-License-Identifier: Apache-2.0
// Writes a generated NEFF: make_sample FILE TARGET CORES.
#include <cstdio>
#include <cstdlib>

#include "tools/sample.h"

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  neff_sample_options options;
  options.target = argv[2];
  options.cores = static_cast<uint32_t>(strtoul(argv[3], nullptr, 10));
  finding_sink findings;
  std::vector<uint8_t> bytes;
  if (neff_sample_build(options, findings, &bytes) != NRT_SUCCESS) {
    for (const finding &f : findings.all())
      fprintf(stderr, "%s: %s\n", f.where.c_str(), f.what.c_str());
    return 1;
  }
  FILE *file = fopen(argv[1], "wb");
  if (file == nullptr)
    return 1;
  bool written = fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return fclose(file) == 0 && written ? 0 : 1;
}
