// SPDX-License-Identifier: Apache-2.0
// Discovery, version negotiation and choice of the back end, on a scripted driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hal/hal.h"
#include "tests/hal/error_lines.h"
#include "tests/hal/recorder.h"

namespace {

NRT_STATUS open_kernel(recorder *r, hal_t **hal) {
  hal_syscalls_t table = r->table();
  return hal_open_with(hal_kernel_ops(), hal_kernel_create(&table), hal);
}

// Everything that was opened is closed again.
void expect_all_closed(const recorder &r) {
  EXPECT_EQ(r.opens.size(), r.closes.size());
}

}  // namespace

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Open, NoDevice) {
  recorder r;
  error_lines errors;
  hal_t *hal = nullptr;
  EXPECT_EQ(open_kernel(&r, &hal), NRT_INVALID);
  EXPECT_EQ(hal, nullptr);
  EXPECT_THAT(errors.lines, ElementsAre(HasSubstr("no Neuron device")));
}

TEST(Open, VersionRanges) {
  struct row {
    uint32_t arch, min, max;
    bool good;
    const char *hint;
  };
  const row rows[] = {
      {2, 5, 7, true, ""},
      {2, 6, 6, true, ""},
      {2, 7, 9, true, ""},
      {2, 2, 5, false, "driver is too old"},
      {2, 8, 9, false, "too new"},
      {3, 10, 11, true, ""},
      {3, 11, 12, true, ""},
      {3, 12, 13, false, "too new"},
      {3, 5, 7, false, "driver is too old"},
  };
  for (const row &c : rows) {
    SCOPED_TRACE(testing::Message() << "arch " << c.arch << " driver " << c.min << "-" << c.max);
    recorder r;
    script_driver(&r, c.arch, 0xff, c.min, c.max);
    error_lines errors;
    hal_t *hal = nullptr;
    NRT_STATUS status = open_kernel(&r, &hal);
    if (c.good) {
      EXPECT_EQ(status, NRT_SUCCESS);
      EXPECT_TRUE(errors.lines.empty());
      hal_close(hal);
    } else {
      EXPECT_EQ(status, NRT_INVALID);
      EXPECT_EQ(hal, nullptr);
      std::string theirs = std::to_string(c.min) + " to " + std::to_string(c.max);
      std::string ours = c.arch == 2 ? "6 to 7" : "10 to 11";
      EXPECT_THAT(errors.lines,
                  ElementsAre(AllOf(HasSubstr(theirs), HasSubstr(ours), HasSubstr(c.hint),
                                    HasSubstr("aws-neuronx-dkms"), HasSubstr("2.24.7.0"))));
    }
    expect_all_closed(r);
  }
}

TEST(Open, ArchitecturesWithoutConstants) {
  for (uint32_t arch : {0u, 1u, 4u, 77u}) {
    recorder r;
    script_driver(&r, arch, 0xff, 2, 99);
    error_lines errors;
    hal_t *hal = nullptr;
    EXPECT_EQ(open_kernel(&r, &hal), NRT_INVALID);
    EXPECT_THAT(errors.lines, ElementsAre(HasSubstr("architecture " + std::to_string(arch))));
    expect_all_closed(r);
  }
}

TEST(Open, OldDriverWithoutDriverInfo) {
  recorder r;
  script_driver(&r, 2, 0xff, 5, 7);
  r.sizes.erase(req::DRIVER_INFO_GET);  // answers EINVAL then
  r.responses[req::DEVICE_BASIC_INFO] = [](void *arg) {
    uint32_t answer[2] = {2, 3};
    memcpy(arg, answer, sizeof(answer));
    return 0L;
  };
  hal_t *hal = nullptr;
  ASSERT_EQ(open_kernel(&r, &hal), NRT_SUCCESS);
  EXPECT_EQ(hal_identity(hal)->features, 0u);
  EXPECT_EQ(hal_identity(hal)->revision, 3u);
  EXPECT_EQ(hal_arch(hal), hal_arch_get(2));
  hal_close(hal);
  expect_all_closed(r);
}

TEST(Open, QueriesThatFail) {
  for (uint32_t request : {req::DRIVER_INFO_GET, req::COMPATIBLE_VERSION}) {
    recorder r;
    script_driver(&r, 2, 0xff, 5, 7);
    r.responses[request] = [](void *) -> long { return -EIO; };
    error_lines errors;
    hal_t *hal = nullptr;
    EXPECT_EQ(open_kernel(&r, &hal), NRT_FAILURE);
    EXPECT_THAT(errors.lines, ElementsAre(HasSubstr("EIO")));
    expect_all_closed(r);
  }
  recorder r;
  script_driver(&r, 2, 0xff, 5, 7);
  r.open_error = EACCES;
  error_lines errors;
  hal_t *hal = nullptr;
  EXPECT_EQ(open_kernel(&r, &hal), NRT_FAILURE);
  EXPECT_THAT(errors.lines, ElementsAre(AllOf(HasSubstr("/dev/neuron0"), HasSubstr("EACCES"))));
}

TEST(Open, IdentityFilesMayBeMissing) {
  recorder r;
  script_driver(&r, 2, 0xff, 5, 7);
  r.files.clear();
  r.files["/sys/devices/virtual/dmi/id/product_name"] = "inf2.xlarge\n";
  hal_t *hal = nullptr;
  ASSERT_EQ(open_kernel(&r, &hal), NRT_SUCCESS);
  EXPECT_STREQ(hal_identity(hal)->instance_type, "inf2.xlarge");
  EXPECT_STREQ(hal_identity(hal)->driver_version, "unknown");
  hal_close(hal);
}

TEST(Open, MockVariable) {
  hal_options_t options;
  const std::pair<const char *, hal_mock_mode_t> good[] = {{"never", HAL_MOCK_NEVER},
                                                           {"auto", HAL_MOCK_AUTO},
                                                           {"always", HAL_MOCK_ALWAYS},
                                                           {"ALWAYS", HAL_MOCK_ALWAYS},
                                                           {"", HAL_MOCK_AUTO}};
  const char *before = getenv("NEURON_RT_MOCK");
  std::string saved = before != nullptr ? before : "";
  for (auto [text, mode] : good) {
    setenv("NEURON_RT_MOCK", text, 1);
    EXPECT_EQ(hal_options_from_env(&options), NRT_SUCCESS);
    EXPECT_EQ(options.mock, mode) << text;
  }
  unsetenv("NEURON_RT_MOCK");
  EXPECT_EQ(hal_options_from_env(&options), NRT_SUCCESS);
  EXPECT_EQ(options.mock, HAL_MOCK_AUTO);
  setenv("NEURON_RT_MOCK", "maybe", 1);
  {
    error_lines errors;
    EXPECT_EQ(hal_options_from_env(&options), NRT_INVALID);
    EXPECT_THAT(errors.lines, ElementsAre(AllOf(HasSubstr("NEURON_RT_MOCK"), HasSubstr("maybe"),
                                                HasSubstr("never, auto, always"))));
  }
  setenv("NEURON_RT_MOCK", saved.c_str(), 1);
}
