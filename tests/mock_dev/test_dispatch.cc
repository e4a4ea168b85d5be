// SPDX-License-Identifier: Apache-2.0
// Every request value: lane, attach gate and bad pointers (uapi.md 3 and 4).
#include "tests/mock_dev/mock_fixture.h"

namespace {

enum kind_t {
  REAL,    // has behaviour and reads or writes an argument
  NO_ARG,  // succeeds without looking at the argument
  FIXED,   // always `fixed`
  RESET,   // no argument; +1 from the second call on
};

struct request_t {
  uint32_t value;  // written out from the sheet, not from the header
  bool misc, gate;
  kind_t kind;
  long fixed = 0;
};

// uapi.md 4, in its order. The four values the driver forgets to gate and the mock does not
// (mock-device-semantics.md 1) are in UNGATED_BY_DRIVER.
const request_t REQUESTS[] = {
    {0x00004E01, false, false, RESET},         {0x80014E02, false, false, REAL},
    {0x80084E03, false, false, REAL},          {0x80084E04, false, false, NO_ARG},
    {0x00004E05, false, false, NO_ARG},        {0x80044E06, false, false, REAL},
    {0x80084E07, false, false, REAL},          {0x80084E0B, false, false, REAL},
    {0x40084E0C, false, true, REAL},           {0x40084E0D, false, true, REAL},
    {0x80084E15, false, true, REAL},           {0x80084E16, false, true, REAL},
    {0x80084E17, false, true, REAL},           {0x80284E17, false, false, REAL},
    {0xC0084E18, false, false, REAL},          {0xC0284E18, false, false, REAL},
    {0x80084E19, false, true, REAL},           {0x80084E1A, false, true, REAL},
    {0xC0084E1B, false, false, REAL},          {0x80084E1C, false, false, REAL},
    {0x80204E1C, false, false, REAL},          {0x80084E1D, false, false, REAL},
    {0x80084E1E, false, true, NO_ARG},         {0x80084E1F, false, true, REAL},
    {0xC0084E20, false, false, REAL},          {0x80084E21, false, true, REAL},
    {0x80084E22, false, true, REAL},           {0x80084E23, false, false, REAL},
    {0x80084E24, false, true, REAL},           {0xC0084E25, false, false, REAL},
    {0x80084E26, false, true, REAL},           {0x80284E26, false, false, REAL},
    {0xC0084E27, false, false, REAL},          {0x80084E28, false, false, FIXED, -ENOTTY},
    {0x80084E29, false, false, REAL},          {0x80084E2A, false, false, REAL},
    {0xC0084E2B, false, false, REAL},          {0x80084E2C, false, false, REAL},
    {0x80084E2D, false, false, REAL},          {0xC0084E2E, false, false, REAL},
    {0x80084E33, false, true, REAL},           {0x80084E34, false, false, NO_ARG},
    {0x80084E35, false, true, REAL},           {0x80084E36, false, true, REAL},
    {0x80084E3A, false, false, FIXED, -EPERM}, {0x80084E3D, false, false, REAL},
    {0x80084E47, false, false, REAL},          {0x80084E48, false, false, REAL},
    {0x40084E51, false, false, REAL},          {0x40084E52, false, false, REAL},
    {0x40084E53, false, false, REAL},          {0x40084E54, false, false, REAL},
    {0x40084E55, true, false, REAL},           {0xC0504E55, true, false, REAL},
    {0x40084E56, true, false, REAL},           {0x40504E56, true, false, REAL},
    {0x40084E5B, false, false, REAL},          {0x40084E5C, false, false, REAL},
    {0x40084E5D, true, false, REAL},           {0x40084E64, true, false, REAL},
    {0x80084E65, false, false, REAL},          {0x80084E66, false, true, REAL},
    {0x80304E66, false, true, REAL},           {0x80384E66, false, true, REAL},
    {0x80084E67, false, false, REAL},          {0x80084E68, false, false, REAL},
    {0xC0084E69, false, false, REAL},          {0xC0284E69, false, false, REAL},
    {0x80014E6A, false, false, REAL},          {0x80084E6A, true, false, REAL},
    {0x80084E6B, true, false, REAL},           {0xC0304E6C, false, true, REAL},
    {0xC0384E6C, false, false, REAL},          {0x40184E6D, false, true, REAL},
    {0x80184E6E, true, false, REAL},           {0x40184E6E, true, true, FIXED, -524},
    {0xC0184E6F, false, false, REAL},          {0xC0204E6F, false, false, REAL},
    {0xC0204E70, false, false, REAL},          {0x40104E71, true, false, REAL},
    {0x80044E72, false, false, REAL},          {0xC1044E73, true, false, REAL},
    {0x80084E74, false, false, REAL},          {0xC0104E75, true, false, REAL},
    {0xC0104E76, false, true, REAL},           {0xC0084E77, false, false, REAL},
    {0xC0104E78, true, false, REAL},           {0xC1044E79, true, false, REAL},
    {0xC10C4E7A, true, false, REAL},           {0xC1144E7A, true, false, REAL},
    {0xC0104E7B, true, false, REAL},           {0xC0144E7B, true, false, REAL},
    {0xC0284E7C, false, false, REAL},          {0xB0084E85, false, false, REAL},
};
constexpr size_t COUNT = sizeof(REQUESTS) / sizeof(REQUESTS[0]);
static_assert(COUNT == 94);
constexpr uint32_t UNGATED_BY_DRIVER[] = {0x80084E66, 0x80304E66, 0x80384E66, 0xC0104E76};

// EACCES for a bad pointer where others tell how much is missing.
bool bad_pointer_is_eacces(uint32_t value) {
  return value == 0x80084E15 || value == 0x80084E21 || value == 0xB0084E85;
}

bool nothing_reads(const request_t &r) {
  return r.kind != REAL;
}

}  // namespace

TEST(Dispatch, NineteenValuesAreGated) {
  size_t gated = 0;
  for (const request_t &r : REQUESTS)
    gated += r.gate ? 1 : 0;
  EXPECT_EQ(gated, 19 + sizeof(UNGATED_BY_DRIVER) / sizeof(UNGATED_BY_DRIVER[0]));
}

TEST(Dispatch, MiscLaneTakesOnlyMiscRequests) {
  machine_t m;
  bad_range_t range;
  for (const request_t &r : REQUESTS) {
    long rc = m.io_misc(r.value, range.bad());
    if (!r.misc)
      EXPECT_EQ(rc, -EINVAL) << std::hex << r.value;
    else
      EXPECT_NE(rc, -EINVAL) << std::hex << r.value;
  }
}

TEST(Dispatch, GateComesBeforeTheArgument) {
  machine_t m;
  bad_range_t range;
  for (const request_t &r : REQUESTS) {
    long rc = mock_ioctl(m.host, PID + 1, m.fd, r.value, range.bad());
    if (r.gate || bad_pointer_is_eacces(r.value))
      EXPECT_EQ(rc, -EACCES) << std::hex << r.value;
    else
      EXPECT_NE(rc, -EACCES) << std::hex << r.value;
  }
}

// A pointer to nothing: the whole argument is missing, or EACCES. Nothing crashes.
TEST(Dispatch, BadPointerForEveryRequest) {
  machine_t m;
  bad_range_t range;
  void *const bad[] = {nullptr, range.bad(), reinterpret_cast<void *>(0x10),
                       reinterpret_cast<void *>(UINTPTR_MAX - 7),
                       reinterpret_cast<void *>(0x8000000000000000ull)};
  for (const request_t &r : REQUESTS) {
    for (void *p : bad) {
      long rc = m.io(r.value, p);
      if (r.kind == FIXED)
        EXPECT_EQ(rc, r.fixed) << std::hex << r.value;
      else if (r.kind == RESET)
        EXPECT_EQ(rc, p == nullptr ? 0 : 1);
      else if (r.kind == NO_ARG)
        EXPECT_EQ(rc, 0) << std::hex << r.value;
      else if (bad_pointer_is_eacces(r.value))
        EXPECT_EQ(rc, -EACCES) << std::hex << r.value;
      else
        EXPECT_GT(rc, 0) << std::hex << r.value << " at " << p;
    }
  }
}

// An argument that ends in nothing: what is missing is counted to the byte.
TEST(Dispatch, PartlyReadableArgument) {
  machine_t m;
  bad_range_t range;
  memset(range.base, 0, range.good);
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_COPY64, range.tail(24)), 16);
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_FREE, range.tail(1)), 7);
  EXPECT_EQ(m.io(NEURON_IOCTL_DRIVER_INFO_GET, range.tail(20)), 4);
  EXPECT_EQ(m.io(NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, range.tail(256)), 4);
}

TEST(Dispatch, UnknownValues) {
  machine_t m;
  uint8_t buffer[512] = {};
  for (uint32_t value :
       {0x80084e00u | 200, 0x0u, 0xffffffffu, 0x80084E00u, 0x80084E08u,
        0x80104E16u /* MEM_FREE with another size */, 0x40084E16u /* and direction */,
        0x80085816u /* and letter */, 0x80404E66u /* MEM_ALLOC with a size nobody has */,
        0xC0084E17u /* MEM_COPY with another direction */}) {
    EXPECT_EQ(m.io(value, buffer), -EINVAL) << std::hex << value;
    EXPECT_EQ(m.io_misc(value, buffer), -EINVAL) << std::hex << value;
  }
}

// Requests the driver picks by number (uapi.md 3, mock-device-semantics.md 15).
TEST(Dispatch, PickedByNumber) {
  machine_t m;
  neuron_ioctl_device_driver_info info = {};
  EXPECT_EQ(m.io_misc(_IOC(_IOC_READ, 'N', 110, 48), &info), 0);  // larger struct, 24 bytes filled
  EXPECT_EQ(info.size, 24u);
  EXPECT_EQ(m.io_misc(_IOC(_IOC_READ, 'X', 110, 24), &info), 0);  // letter not looked at
  EXPECT_EQ(m.io_misc(_IOC(_IOC_READ, 'N', 110, 16), &info), -EINVAL);
  EXPECT_EQ(m.io_misc(_IOC(_IOC_WRITE, 'N', 110, 24), &info), -524);
  EXPECT_EQ(m.io(_IOC(_IOC_WRITE, 'N', 110, 24), &info), -524);
  EXPECT_EQ(m.io_misc(_IOC(_IOC_READ | _IOC_WRITE, 'N', 110, 24), &info), -EINVAL);

  neuron_ioctl_host_device_id_to_rid_map map = {};
  EXPECT_EQ(m.io_misc(_IOC(_IOC_READ, 'N', 115, 260), &map), 0);
  EXPECT_EQ(map.count, 1u);
  EXPECT_EQ(m.io_misc(_IOC(_IOC_READ | _IOC_WRITE, 'N', 115, 256), &map), -EINVAL);

  neuron_ioctl_mem_get_mc_mmap_info mc = {};
  EXPECT_EQ(m.io(_IOC(_IOC_READ, 'N', 111, 24), &mc), 0);  // address 0: the firmware's share
  EXPECT_EQ(mc.size, 0x1000000u);
  EXPECT_EQ(m.io(_IOC(_IOC_READ | _IOC_WRITE, 'N', 111, 40), &mc), -EINVAL);

  // 124: any size or direction is the 40-byte struct.
  chunk_t c = alloc(m, {});
  uint32_t word = 0x01020304, back = 0;
  neuron_ioctl_mem_buf_copy64 copy = {c.handle, &word, 4, 0, 1};
  EXPECT_EQ(m.io(_IOC(_IOC_WRITE, 'N', 124, 48), &copy), 0);
  EXPECT_EQ(buf_copy(m, c.handle, &back, 0, 4, false), 0);
  EXPECT_EQ(back, word);
}

TEST(Dispatch, HiddenFeaturesTakeTheirRequestsAway) {
  struct {
    uint64_t feature;
    std::vector<uint32_t> refused;
  } rows[] = {
      {0x1, {NEURON_IOCTL_DMABUF_FD}},
      {0x2,
       {NEURON_IOCTL_MEM_COPY_ASYNC, NEURON_IOCTL_MEM_COPY_ASYNC64,
        NEURON_IOCTL_MEM_COPY_ASYNC_WAIT}},
      {0x4, {NEURON_IOCTL_DMA_QUEUE_INIT_BATCH}},
      {0x8, {NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, NEURON_IOCTL_CRWL_NC_RANGE_UNMARK_EXT0}},
      {0x10, {NEURON_IOCTL_MEM_ALLOC_V2MT}},
      {0x20, {NEURON_IOCTL_HBM_SCRUB_START, NEURON_IOCTL_HBM_SCRUB_WAIT}},
      {0x40,
       {NEURON_IOCTL_MEM_ALLOC_V2MT64, NEURON_IOCTL_MEM_COPY64, NEURON_IOCTL_MEM_BUF_COPY64,
        NEURON_IOCTL_MEMSET64, NEURON_IOCTL_DMA_COPY_DESCRIPTORS64,
        NEURON_IOCTL_PROGRAM_ENGINE_NC64, NEURON_IOCTL_MEM_COPY_ASYNC64,
        NEURON_IOCTL_MEM_BUF_ZEROCOPY64}},
  };
  for (const auto &row : rows) {
    mock_dev_options_t o = {};
    o.hidden_features = row.feature;
    machine_t m(o);
    neuron_ioctl_device_driver_info info = {};
    EXPECT_EQ(m.io_misc(NEURON_IOCTL_DRIVER_INFO_GET, &info), 0);
    EXPECT_EQ(info.feature_flags1, 0xffu & ~row.feature);
    bad_range_t range;
    for (const request_t &r : REQUESTS) {
      bool refused =
          std::find(row.refused.begin(), row.refused.end(), r.value) != row.refused.end();
      EXPECT_EQ(m.io(r.value, range.bad()) == -EINVAL, refused)
          << std::hex << r.value << " with " << row.feature << " hidden";
    }
  }
  // Bit 7 has no request of its own: the category goes.
  mock_dev_options_t o = {};
  o.hidden_features = 0x80;
  machine_t m(o);
  EXPECT_EQ(alloc(m, {.category = NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE}).rc, -EINVAL);
  EXPECT_EQ(alloc(m, {}).rc, 0);
}

TEST(Dispatch, Descriptors) {
  machine_t m;
  EXPECT_EQ(mock_ioctl(m.host, PID, 3, NEURON_IOCTL_DEVICE_INIT, nullptr), -EBADF);
  EXPECT_EQ(mock_ioctl(m.host, PID, -1, NEURON_IOCTL_DEVICE_INIT, nullptr), -EBADF);
  int text = mock_open(m.host, PID, "/sys/module/neuron/version", O_RDONLY);
  EXPECT_GE(text, 0);
  EXPECT_EQ(mock_ioctl(m.host, PID, text, NEURON_IOCTL_DEVICE_INIT, nullptr), -ENOTTY);
  EXPECT_EQ(mock_close(m.host, PID, text), 0);
  EXPECT_EQ(mock_close(m.host, PID, text), -EBADF);
}

TEST(Dispatch, Counts) {
  machine_t m;
  uint64_t before = mock_ioctl_count(m.host, 0);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_INIT, nullptr), 0);
  EXPECT_EQ(m.io(0x12345678, nullptr), -EINVAL);
  EXPECT_EQ(mock_ioctl_count(m.host, NEURON_IOCTL_DEVICE_INIT), 3u);
  EXPECT_EQ(mock_ioctl_count(m.host, NEURON_IOCTL_DEVICE_RELEASE), 0u);
  EXPECT_EQ(mock_ioctl_count(m.host, 0), before + 4);
  for (const request_t &r : REQUESTS)
    if (nothing_reads(r))
      m.io(r.value, nullptr);
  EXPECT_EQ(mock_ioctl_count(m.host, NEURON_IOCTL_DEVICE_INIT), 4u);
}
