// SPDX-License-Identifier: Apache-2.0
// Random LDWEIGHTS and MATMUL records, groups, types and patterns mixed, against one loop over
// elements. Small integers: every sum is exact, so all of PSUM must be equal bit by bit.
#include "tests/mock_dev/pe_fixture.h"

namespace {

constexpr uint32_t kElements = ISA_PSUM_PARTITION_BYTES / 4;  // of a PSUM lane
constexpr uint32_t kSpan = 2000;                              // elements a source may reach

struct group_t {
  uint8_t bits;
  uint32_t start, size;
};
constexpr group_t kGroups[] = {{0xF, 0, 128}, {0x3, 0, 64},  {0xC, 64, 64}, {0x1, 0, 32},
                               {0x2, 32, 32}, {0x4, 64, 32}, {0x8, 96, 32}};

class PeRandom : public Pe {
 protected:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  // Codes of -2 to 2, or 0 to 4.
  static void codes_of(uint8_t dtype, uint32_t codes[5]) {
    for (int v = -2; v <= 2; v++) {
      codes[v + 2] = static_cast<uint32_t>(v + 2);
      if (dtype == ISA_DTYPE_FP32) {
        auto f = static_cast<float>(v);
        memcpy(&codes[v + 2], &f, 4);
      }
      for (const number_format_t &f : NUMBER_FORMATS)
        for (uint32_t c = 0; f.dtype == dtype && c < f.codes(); c++)
          if (f.meaning(c) == v)
            codes[v + 2] = c;
    }
  }
  static int first_of(uint8_t dtype) { return dtype == ISA_DTYPE_UINT8 ? 0 : -2; }

  // `n` elements in up to three dimensions, somewhere in [0, span); the first one at *start.
  isa_pattern3 pattern_of(uint32_t n, uint32_t span, uint32_t *start) {
    isa_pattern3 p{};
    for (;;) {
      uint32_t left = n;
      int low = 0, high = 0;
      for (int d = 0; d < 3; d++) {
        uint32_t count = left;
        while (d < 2 && (left % (count = 1 + below(left)) != 0)) {
        }
        left /= count;
        p.count[d] = static_cast<uint16_t>(count);
        p.step[d] = static_cast<int16_t>(static_cast<int>(below(41)) - 20);
        if (below(2) == 0)
          p.step[d] = 1;
        int reach = count == 1 ? 0 : p.step[d] * static_cast<int>(count - 1);
        (reach < 0 ? low : high) += reach;
      }
      if (high - low < static_cast<int>(span)) {
        *start = static_cast<uint32_t>(-low) + below(span - static_cast<uint32_t>(high - low));
        return p;
      }
    }
  }
  static int64_t offset(const isa_pattern3 &p, uint32_t i) {
    int64_t at = 0;
    for (int d = 0; d < 3; d++) {
      at += p.count[d] == 1 ? 0 : static_cast<int64_t>(i % p.count[d]) * p.step[d];
      i /= p.count[d];
    }
    return at;
  }

  // What the array and PSUM should hold.
  int array_[128][128] = {};
  std::vector<uint32_t> psum_ = std::vector<uint32_t>(128 * kElements);
};

}  // namespace

TEST_F(PeRandom, EverythingMixed) {
  const uint8_t types[] = {ISA_DTYPE_FP16,  ISA_DTYPE_BF16,  ISA_DTYPE_FP32, ISA_DTYPE_FP8E3,
                           ISA_DTYPE_FP8E4, ISA_DTYPE_FP8E5, ISA_DTYPE_UINT8};
  for (int round = 0; round < 120; round++) {
    uint8_t dtype = types[below(7)];
    uint32_t size = isa_dtype_size(dtype), codes[5];
    codes_of(dtype, codes);
    const group_t &row = kGroups[below(7)], &column = kGroups[below(7)];
    uint32_t k = 1 + below(row.size), m = 1 + below(column.size);
    auto value_at = [&](uint32_t lane, uint32_t byte, int64_t element) {
      uint32_t code = 0;
      memcpy(&code, window_.sbuf(row.start + lane, byte) + element * size, size);
      int v = 0;
      while (codes[v] != code)
        v++;
      return v + first_of(dtype);
    };
    for (uint32_t lane = 0; lane < k; lane++)
      for (uint32_t i = 0; i < kSpan; i++) {
        memcpy(window_.sbuf(row.start + lane, kWeights + i * size), &codes[below(5)], size);
        memcpy(window_.sbuf(row.start + lane, kMoving + i * size), &codes[below(5)], size);
      }
    uint32_t start = 0;
    isa_ldweights w = weights(dtype, k, m);
    w.row_group = row.bits, w.column_group = column.bits;
    w.src = pattern_of(m, kSpan, &start);
    w.src.addr4 = row.start * ISA_SBUF_PITCH + kWeights + start * size;
    run(w);
    for (uint32_t lane = 0; lane < k; lane++)
      for (uint32_t i = 0; i < m; i++)
        array_[row.start + lane][column.start + m - 1 - i] =
            value_at(lane, kWeights + start * size, offset(w.src, i));

    for (int product_round = 0; product_round < 2; product_round++) {
      uint32_t n = below(3) == 0 ? 1 + below(512) : 16 * (1 + below(16));
      // Now and then fewer rows or columns than were loaded.
      uint32_t rows = below(4) == 0 ? 1 + below(k) : k;
      uint32_t columns = below(4) == 0 ? 1 + below(m) : m;
      const uint8_t flags[] = {1, 0, 2, 3, 4, 6};
      isa_matmul x = product(dtype, rows, columns, n, flags[below(6)]);
      x.row_group = row.bits, x.column_group = column.bits;
      x.src = pattern_of(n, kSpan, &start);
      uint32_t moving = kMoving + start * size;
      x.src.addr4 = row.start * ISA_SBUF_PITCH + moving;
      x.dst = pattern_of(n, kElements, &start);
      x.dst.addr4 = ISA_PSUM_BASE + column.start * ISA_PSUM_PITCH + 4 * start;
      // Elements added to hold a number of the type already.
      for (uint32_t lane = 0; lane < columns; lane++)
        for (uint32_t i = 0; i < n; i++) {
          auto at = static_cast<uint32_t>(start + offset(x.dst, i));
          auto f = static_cast<float>(lane) - 3;
          uint32_t before = lane;
          if (dtype != ISA_DTYPE_UINT8)
            memcpy(&before, &f, 4);
          psum_[(column.start + lane) * kElements + at] = before;
          window_.put<uint32_t>(window_.psum(column.start + lane, 4 * at), before);
        }
      run(x);
      for (uint32_t i = 0; i < n; i++) {
        int moved[128];
        for (uint32_t lane = 0; lane < rows; lane++)
          moved[lane] = value_at(lane, moving, offset(x.src, i));
        for (uint32_t lane = 0; lane < columns; lane++) {
          int sum = 0;
          for (uint32_t r = 0; r < rows; r++)
            sum += array_[row.start + r][column.start + lane] * moved[r];
          uint32_t &cell = psum_[(column.start + lane) * kElements +
                                 static_cast<uint32_t>(start + offset(x.dst, i))];
          float before = 0;
          memcpy(&before, &cell, 4);
          bool begin = (x.flags & 1) != 0;
          float after = static_cast<float>(sum) + (begin ? 0 : before);
          if (dtype == ISA_DTYPE_UINT8)
            cell = static_cast<uint32_t>(sum) + (begin ? 0 : cell);
          else
            memcpy(&cell, &after, 4);
        }
      }
      for (uint32_t lane = 0; lane < 128; lane++)
        ASSERT_EQ(memcmp(&psum_[lane * kElements], window_.psum(lane, 0), kElements * 4), 0)
            << "round " << round << " lane " << lane;
    }
  }
}
