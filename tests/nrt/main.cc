// SPDX-License-Identifier: Apache-2.0
#include "nrt_test.h"

log_file &test_log() {
  static log_file log;
  return log;
}

int main(int argc, char **argv) {
  setenv("NEURON_RT_MOCK", "always", 1);
  test_log();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
