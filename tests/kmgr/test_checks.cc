// SPDX-License-Identifier: Apache-2.0
#include "kmgr/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using testing::HasSubstr;

TEST(Checks, LogicalCoreSize) {
  struct {
    uint64_t features;
    uint32_t lnc_size, lnc;
    NRT_STATUS status;
    const char *text;
  } const rows[] = {
      {0, 0, 1, NRT_SUCCESS, ""},  // without bit 10 the field is not looked at
      {0, 2, 1, NRT_SUCCESS, ""},
      {0, 99, 2, NRT_SUCCESS, ""},
      {0x400, 1, 1, NRT_SUCCESS, ""},
      {0x209C00, 2, 2, NRT_SUCCESS, ""},
      {0x400, 2, 1, NRT_LOAD_NOT_ENOUGH_NC,
       "needs logical cores of 2 physical cores, here they have 1"},
      {0x400, 8, 2, NRT_LOAD_NOT_ENOUGH_NC, "needs logical cores of 8"},
      {0x400, 1, 2, NRT_INVALID,
       "compiled for logical cores of 1 physical cores, here they have 2"},
      {0x400, 0, 2, NRT_INVALID, "logical core size 0"},
      {0x400, 9, 2, NRT_INVALID, "logical core size 9"},
      {0x400, 0xFFFFFFFF, 2, NRT_INVALID, "accepted: 1 to 8"},
  };
  for (const auto &row : rows) {
    neff_header_t header{};
    header.feature_bits = row.features;
    header.lnc_size = row.lnc_size;
    finding_sink findings;
    EXPECT_EQ(kmgr_check_lnc(header, row.lnc, findings), row.status) << row.lnc_size;
    EXPECT_EQ(findings.all().size(), row.status == NRT_SUCCESS ? 0u : 1u);
    if (row.status != NRT_SUCCESS && !findings.empty()) {
      EXPECT_THAT(findings.all()[0].what, HasSubstr(row.text));
      EXPECT_THAT(findings.all()[0].where, HasSubstr("header+0x228"));
    }
  }
}

TEST(Checks, Target) {
  hal_arch_t sunda{}, cayman{};
  sunda.arch = AL_HAL_TPB_ARCH_TYPE_SUNDA;
  sunda.name = "sunda";
  cayman.arch = AL_HAL_TPB_ARCH_TYPE_CAYMAN;
  cayman.name = "cayman";
  struct {
    uint32_t target;
    const char *target_name;
    const hal_arch_t *arch;
    bool legacy;
    NRT_STATUS status;
    const char *text;
  } const rows[] = {
      {3, "cayman", &cayman, false, NRT_SUCCESS, ""},
      {3, "v3", &cayman, false, NRT_SUCCESS, ""},
      {KBIN_TARGET_ANY, "*", &cayman, false, NRT_SUCCESS, ""},
      {KBIN_TARGET_ANY, "*", &sunda, false, NRT_SUCCESS, ""},
      {2, "", &sunda, false, NRT_SUCCESS, ""},
      {2, "", &cayman, false, NRT_INVALID, "compiled for sunda, this machine is cayman"},
      {2, "sunda", &cayman, false, NRT_INVALID, "NEURON_RT_ALLOW_LEGACY_NEFF=1"},
      {2, "sunda", &cayman, true, NRT_SUCCESS, ""},
      {3, "cayman", &sunda, false, NRT_INVALID, "compiled for cayman, this machine is sunda"},
      {3, "cayman", &sunda, true, NRT_INVALID, "compiled for cayman"},  // newer: never
      {4, "mariana", &cayman, true, NRT_INVALID, "compiled for mariana"},
  };
  for (const auto &row : rows) {
    kelf_nn_t nn;
    nn.kelf_member = "kelf-0.json";
    nn.target = row.target;
    nn.target_name = row.target_name;
    finding_sink findings;
    EXPECT_EQ(kmgr_check_target(nn, *row.arch, row.legacy, findings), row.status)
        << row.target_name << " on " << row.arch->name;
    if (row.status != NRT_SUCCESS) {
      ASSERT_EQ(findings.all().size(), 1u);
      EXPECT_THAT(findings.all()[0].what, HasSubstr(row.text));
      EXPECT_EQ(findings.all()[0].where, "kelf-0.json: target");
    }
  }
}
