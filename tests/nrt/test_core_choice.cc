// SPDX-License-Identifier: Apache-2.0
// The grammar of NEURON_RT_VISIBLE_CORES (nrt-api.md 4.4).
#include <gtest/gtest.h>

#include "base/nlog.h"
#include "nrt/core_choice.h"

namespace {

struct accepted {
  const char *text;
  uint32_t first, count;
};

}  // namespace

TEST(CoreList, Accepted) {
  const accepted rows[] = {
      {"3", 3, 1},     {"3-6", 3, 4},   {"3,4,5", 3, 3},   {"3-5,6", 3, 4},
      {"5,4,3", 3, 3}, {"3,3,3", 3, 1}, {"2-4,3-6", 2, 5}, {"0-15", 0, 16},
      {"15", 15, 1},   {"007", 7, 1},   {"4-4", 4, 1},     {"6,0-5", 0, 7},
  };
  for (const accepted &row : rows) {
    uint32_t first = 99, count = 99;
    EXPECT_EQ(NRT_SUCCESS, core_list_parse("V", row.text, 16, &first, &count)) << row.text;
    EXPECT_EQ(row.first, first) << row.text;
    EXPECT_EQ(row.count, count) << row.text;
  }
}

TEST(CoreList, Refused) {
  for (const char *text : {"",
                           ",",
                           "3,",
                           ",3",
                           "3,,4",
                           " 3",
                           "3 ",
                           "3, 4",
                           "a",
                           "3-",
                           "-3",
                           "5-3",
                           "3-5-7",
                           "0x3",
                           "+3",
                           "3.0",
                           "16",
                           "0-16",
                           "4294967296",
                           "0-4294967295",
                           "0,2",
                           "0-3,8-11",
                           "99999999999999999999",
                           "3;4",
                           "3-4-",
                           "\t3"}) {
    uint32_t first = 99, count = 99;
    unsigned long before = nlog_thread_error_count();
    EXPECT_EQ(NRT_INVALID, core_list_parse("V", text, 16, &first, &count)) << "'" << text << "'";
    EXPECT_EQ(before + 1, nlog_thread_error_count()) << "'" << text << "'";
    EXPECT_EQ(99u, first);
    EXPECT_EQ(99u, count);
  }
}
