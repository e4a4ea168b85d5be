// SPDX-License-Identifier: Apache-2.0
// As test_modes.cc: scalars, branches, scalar memory and transfers.
#include "tests/isa/modes_fixture.h"

namespace {

TEST_F(Modes, Registers) {
  const char *text = "register that cannot be written";
  for (uint8_t n : {64, 128, 129, 132, 255}) {
    refused(
        move(), [=](auto &r) { r.dst[0] = n; }, text, 24);
    refused(
        move(), [=](auto &r) { r.dst[1] = n; }, text, 25);
    refused(
        alu(), [=](auto &r) { r.dst_low = n; }, text, 20);
    isa_alu wide = alu();
    wide.dtype = ISA_DTYPE_INT64;
    refused(
        wide, [=](auto &r) { r.dst_high = n; }, text, 21);
    isa_alu narrow = alu();
    narrow.dst_high = n;
    fine(narrow);
    refused(
        tensor_move(ISA_PSEUDO_TENSOR_LOAD), [=](auto &r) { r.reg[5] = n; }, text, 37);
    isa_tensor_move store = tensor_move(ISA_PSEUDO_TENSOR_STORE);
    store.reg[5] = n;
    fine(store);  // all can be read
  }
  refused(
      move(), [](auto &r) { r.count = 0; }, "value out of range", 12);
  refused(
      move(), [](auto &r) { r.count = 9; }, "value out of range", 12);
}

TEST_F(Modes, ScalarArithmetic) {
  const isa_alu good = alu();
  for (uint8_t op : {0x07, 0x0D, 0x12, 0x17, 0x19, 0x1A, 0x1B, 0x1D})
    refused(
        good, [=](auto &r) { r.op = op; }, "scalar operation that is not implemented", 12);
  uint32_t fine_types = 0;
  for (uint8_t dtype = 1; dtype < 16; dtype++) {
    isa_alu r = good;
    r.dtype = dtype;
    const bool integer = dtype == ISA_DTYPE_INT32 || dtype == ISA_DTYPE_UINT32 ||
                         dtype == ISA_DTYPE_INT64 || dtype == ISA_DTYPE_UINT64;
    fine_types += integer ? 1 : 0;
    if (integer)
      fine(r);
    else
      refused(
          good, [=](auto &x) { x.dtype = dtype; },
          "scalar arithmetic on this data type is not implemented", 13);
  }
  EXPECT_EQ(fine_types, 4u);
  refused(
      good, [](auto &r) { r.dst_dtype = ISA_DTYPE_INT32; },
      "scalar arithmetic into another data type is not implemented", 15);
  isa_alu same = good;
  same.dst_dtype = same.dtype;
  fine(same);
}

TEST_F(Modes, Branches) {
  const isa_compare_branch good = branch();
  for (uint8_t dtype : {ISA_DTYPE_FP32, ISA_DTYPE_BF16, ISA_DTYPE_INT8, ISA_DTYPE_UINT16})
    refused(
        good, [=](auto &r) { r.dtype = dtype; }, "branch on a data type that is not implemented",
        13);
  for (uint8_t compare : {7, 8, 15})
    refused(
        good, [=](auto &r) { r.compare = compare; }, "unlisted value", 12);
  for (uint8_t target : {0, 2, 5})
    refused(
        good, [=](auto &r) { r.target = target; }, "unlisted value", 14);
  for (uint8_t dtype : {ISA_DTYPE_INT64, ISA_DTYPE_UINT64}) {
    isa_compare_branch wide = good;
    wide.dtype = dtype;
    for (uint8_t compare = 9; compare < 15; compare++)
      refused(
          wide, [=](auto &r) { r.compare = compare; },
          "64-bit comparison of registers is not implemented", 12);
  }
  isa_compare_branch always = good;
  always.compare = ISA_BRANCH_ALWAYS;
  always.dtype = ISA_DTYPE_FP32;
  fine(always);  // compares nothing
}

TEST_F(Modes, ScalarMemory) {
  for (uint8_t opcode :
       {ISA_PSEUDO_TENSOR_LOAD, ISA_PSEUDO_TENSOR_STORE, ISA_TENSOR_LOAD, ISA_TENSOR_STORE}) {
    const bool load = opcode == ISA_PSEUDO_TENSOR_LOAD || opcode == ISA_TENSOR_LOAD;
    const bool image = opcode == ISA_TENSOR_LOAD || opcode == ISA_TENSOR_STORE;
    form = image ? ISA_FORM_IMAGE : ISA_FORM_NEFF;
    const isa_tensor_move good = tensor_move(opcode);
    for (uint8_t dtype : {ISA_DTYPE_INT64, ISA_DTYPE_UINT64})
      refused(
          good, [=](auto &r) { r.dtype = dtype; },
          "scalar access with this data type is not implemented", 12);
    refused(
        good, [=](auto &r) { r.kind = load ? 1 : 2; }, "unlisted value", 13);
    refused(
        good, [](auto &r) { r.count[0] = 0; }, "value out of range", 14);
    refused(
        good, [](auto &r) { r.count[0] = 17; }, "more elements than registers or immediates", 14);
    for (uint8_t mode : {ISA_ADDR8_TABLE, ISA_ADDR8_TABLE_REGISTER})
      if (image)
        refused(
            good, [=](auto &r) { r.address.mode = mode; }, "address mode", 23);
  }
  isa_tensor_move immediates = tensor_move(ISA_TENSOR_STORE);
  form = ISA_FORM_IMAGE;
  immediates.kind = 1;
  refused(
      immediates, [](auto &r) { r.count[1] = 3; }, "more elements than registers or immediates",
      14);
}

TEST_F(Modes, ImageOnly) {
  form = ISA_FORM_IMAGE;
  auto write = record_of<isa_write>(ISA_WRITE);
  write.size[0] = 8;
  refused(
      write, [](auto &r) { r.size[0] = 9; }, "unlisted value", 12);
  auto clear = record_of<isa_sem_range_clear>(ISA_SEM_RANGE_CLEAR);
  clear.mode = 1;
  refused(
      clear, [](auto &r) { r.mode = 3; }, "unlisted value", 12);
  refused(
      clear, [](auto &r) { r.first = 1; }, "first behind last", 13);
}

TEST_F(Modes, Transfers) {
  for (uint8_t opcode : {ISA_PSEUDO_DMA_DIRECT2D, ISA_DMAMEMCPY}) {
    form = opcode == ISA_DMAMEMCPY ? ISA_FORM_IMAGE : ISA_FORM_NEFF;
    const isa_dma good = dma(opcode);
    refused(
        good, [](auto &r) { r.config = 1; },
        "configuration byte of a DMA record is not implemented", 12);
    refused(
        good, [](auto &r) { r.compute_op = 1; }, "byte without a field is not zero", 15);
    refused(
        good, [](auto &r) { r.src_count[0] = 0; }, "count of 0", 32);
    refused(
        good, [](auto &r) { r.dst_count[1] = 0; }, "count of 0", 58);
    const char *bytes = "the two sides differ in bytes";
    refused(
        good, [](auto &r) { r.dst_bytes = 63; }, bytes, 60);
    refused(
        good, [](auto &r) { r.dst_bytes = 0; }, bytes, 60);
    refused(
        good, [](auto &r) { r.src_count[1] = 2; }, bytes, 60);
    isa_dma most = good;  // 2^32 bytes
    most.src_bytes = most.dst_bytes = 0;
    most.src_count[0] = most.dst_count[0] = 256;
    most.src_count[1] = most.dst_count[1] = 256;
    refused(
        most, [](auto &r) { r.src_count[0] = r.dst_count[0] = 257; },
        "more than 4 GiB in one transfer", 60);
    isa_dma rows = good;  // 2^24 rows of a byte, and those of the other side are longer
    rows.src_bytes = 1;
    rows.src_count[0] = rows.src_count[1] = rows.dst_count[0] = rows.dst_bytes = 4096;
    const char *many = "more than 16777216 rows in one transfer";
    refused(
        rows, [](auto &r) { r.src_count[0] = r.dst_count[0] = 4097; }, many, 32);
    std::swap(rows.src_bytes, rows.dst_bytes);
    std::swap(rows.src_count, rows.dst_count);
    refused(
        rows, [](auto &r) { r.src_count[0] = r.dst_count[0] = 4097; }, many, 56);
    const char *table = "bound on an address that is no entry of the DGE table";
    const uint8_t address = form == ISA_FORM_IMAGE ? ISA_ADDR8_DEVICE : ISA_ADDR8_VARIABLE;
    refused(
        good, [](auto &r) { r.src_bound = 0x21; }, "bound without its valid bit", 38);
    isa_dma bounded = good;
    bounded.src_bound = bounded.dst_bound = 0xC1;
    refused(
        bounded, [=](auto &r) { r.src.mode = address; }, table, 38);
    refused(
        bounded, [=](auto &r) { r.dst.mode = address; }, table, 39);
  }
}

TEST_F(Modes, AddressModesOfTransfers) {
  form = ISA_FORM_IMAGE;
  const isa_dma good = dma(ISA_DMAMEMCPY);
  for (int mode = 1; mode < 256; mode++) {
    if (mode == 0x20 || mode == 0x28)
      continue;
    const auto byte = static_cast<uint8_t>(mode);
    refused(
        good, [=](auto &r) { r.src.mode = byte; }, "address mode", 23);
    refused(
        good, [=](auto &r) { r.dst.mode = byte; }, "address mode", 47);
  }
  for (uint32_t n : {64u, 0x100u, 0xFFFFFFFFu})
    refused(
        good, [=](auto &r) { r.src.mode = 0x28, r.src.offset = n; },
        "register number above 63 in an address", 16);
}

TEST_F(Modes, Casts) {
  const isa_dma good = cast();
  const char *rows = "a cast between rows of different lengths";
  refused(
      good, [](auto &r) { r.dst_bytes = 34; }, rows, 60);
  refused(
      good, [](auto &r) { r.src_bytes = 66, r.dst_bytes = 33; }, rows, 60);  // half elements
  refused(
      good, [](auto &r) { r.src_count[0] = 5; }, rows, 60);
  refused(
      good, [](auto &r) { r.src_count[0] = 2, r.src_bytes = 128; }, rows, 60);  // equal totals
  refused(
      good, [](auto &r) { r.src_dtype = 0; }, "unlisted data type", 62);
  refused(
      good, [](auto &r) { r.dst_dtype = 16; }, "unlisted data type", 63);
}

}  // namespace
