// SPDX-License-Identifier: Apache-2.0
// LDWEIGHTS and MATMUL against sums in double precision (neuroncore-isa.md 4.2, verified-matmul.md
// 4, verified-attention.md 6, verified-facts.md G10).
#include "tests/mock_dev/pe_fixture.h"

TEST_F(Pe, ProductOfEveryType) {
  const struct {
    uint32_t k, m, n;
  } shapes[] = {{128, 128, 48}, {128, 2, 128}, {1, 1, 1}, {97, 61, 77}, {32, 128, 16}, {5, 7, 512}};
  for (uint8_t dtype : {ISA_DTYPE_BF16, ISA_DTYPE_FP16, ISA_DTYPE_FP8E3, ISA_DTYPE_FP8E4,
                        ISA_DTYPE_FP8E5, ISA_DTYPE_FP32, ISA_DTYPE_FP32R})
    for (auto s : shapes) {
      auto w = fill(dtype, 0, s.k, kWeights, s.m);
      auto x = fill(dtype, 0, s.k, kMoving, s.n);
      run(weights(dtype, s.k, s.m));
      run(product(dtype, s.k, s.m, s.n, 3));
      for (uint32_t m = 0; m < s.m; m++)
        for (uint32_t n = 0; n < s.n; n++)
          check(psum(m, 4 * n), w, m, x, n);
    }
}

TEST_F(Pe, Uint8CountsInUint32) {
  auto w = fill(ISA_DTYPE_UINT8, 0, 128, kWeights, 100);
  auto x = fill(ISA_DTYPE_UINT8, 0, 128, kMoving, 200);
  run(weights(ISA_DTYPE_UINT8, 128, 100));
  run(product(ISA_DTYPE_UINT8, 128, 100, 200, 1));
  // Sums beyond 2^24 stay exact, and wrap.
  for (uint32_t m = 0; m < 100; m++)
    window_.put<uint32_t>(window_.psum(m, 4 * 199), 0xFFFFFFF0u);
  for (int i = 0; i < 3; i++)
    run(product(ISA_DTYPE_UINT8, 128, 100, 200, 0));
  for (uint32_t m = 0; m < 100; m++)
    for (uint32_t n = 0; n < 200; n++) {
      uint32_t sum = 0;
      for (size_t k = 0; k < 128; k++)
        sum += static_cast<uint32_t>(w[k][m] * x[k][n]);
      uint32_t want = n == 199 ? 0xFFFFFFF0u + 3 * sum : 4 * sum;
      ASSERT_EQ(window_.get<uint32_t>(window_.psum(m, 4 * n)), want) << m << " " << n;
    }
}

TEST_F(Pe, LastColumnFirst) {
  auto w = fill(ISA_DTYPE_FP16, 0, 64, kWeights, 48);
  auto x = fill(ISA_DTYPE_FP16, 0, 64, kMoving, 10);
  isa_ldweights r = weights(ISA_DTYPE_FP16, 64, 48);
  r.src = {kWeights, {1, 0, 0}, {48, 1, 1}};
  run(r);
  run(product(ISA_DTYPE_FP16, 64, 48, 10, 3));
  for (uint32_t m = 0; m < 48; m++)
    for (uint32_t n = 0; n < 10; n++)
      check(psum(47 - m, 4 * n), w, m, x, n);
  // A pattern of three dimensions: column 47 - i is element i in pattern order.
  r.src = {kWeights + 2, {3, 1, 24}, {8, 3, 2}};
  run(r);
  run(product(ISA_DTYPE_FP16, 64, 48, 10, 3));
  for (uint32_t i = 0; i < 47; i++)  // its last element lies beyond what was filled
    for (uint32_t n = 0; n < 10; n++)
      check(psum(47 - i, 4 * n), w, 1 + i % 8 * 3 + i / 8 % 3 + i / 24 * 24, x, n);
}

TEST_F(Pe, WeightsStayUntilTheNextLoad) {
  auto w = fill(ISA_DTYPE_BF16, 0, 128, kWeights, 128);
  run(weights(ISA_DTYPE_BF16, 128, 128));
  fill(ISA_DTYPE_BF16, 0, 128, kWeights, 128);  // nobody looks any more
  for (uint32_t n : {70, 1}) {
    auto x = fill(ISA_DTYPE_BF16, 0, 128, kMoving, n);
    run(product(ISA_DTYPE_BF16, 128, 128, n, 3));
    for (uint32_t m = 0; m < 128; m++)
      for (uint32_t i = 0; i < n; i++)
        check(psum(m, 4 * i), w, m, x, i);
  }
  // Fewer columns: the first ones. And a load in between is seen.
  auto x = fill(ISA_DTYPE_BF16, 0, 128, kMoving, 40);
  run(product(ISA_DTYPE_BF16, 128, 30, 40, 3));
  for (uint32_t m = 0; m < 30; m++)
    check(psum(m, 4 * 39), w, m, x, 39);
  auto other = fill(ISA_DTYPE_BF16, 0, 128, kWeights, 128);
  run(weights(ISA_DTYPE_BF16, 128, 128));
  run(product(ISA_DTYPE_BF16, 128, 30, 40, 3));
  for (uint32_t m = 0; m < 30; m++)
    check(psum(m, 4 * 39), other, m, x, 39);
}

TEST_F(Pe, GroupsInterleavedOverBanksAndOpenAtOnce) {
  // begin 4, begin 5, begin 6, middle 4, ...: every sum is exact in integers.
  window_.fill_psum(0xFF);  // NaN
  constexpr uint32_t kSteps = 4, kBanks = 3, kColumns = 20;
  std::vector<std::vector<int>> sum(kBanks, std::vector<int>(kColumns * 512));
  for (uint32_t step = 0; step < kSteps; step++)
    for (uint32_t bank = 0; bank < kBanks; bank++) {
      auto number = [this](uint32_t k, uint32_t byte, int limit) {
        int v = static_cast<int>(random_() % static_cast<uint32_t>(2 * limit + 1)) - limit;
        window_.put<float>(window_.sbuf(k, byte), static_cast<float>(v));
        return v;
      };
      for (uint32_t k = 0; k < 128; k++) {
        int w[kColumns];
        for (uint32_t m = 0; m < kColumns; m++)
          w[m] = number(k, kWeights + 4 * m, 2);
        for (uint32_t n = 0; n < 512; n++) {
          int x = number(k, kMoving + 4 * n, 8);
          for (uint32_t m = 0; m < kColumns; m++)
            sum[bank][m * 512 + n] += w[m] * x;
        }
      }
      run(weights(ISA_DTYPE_FP32, 128, kColumns));
      auto flags = static_cast<uint8_t>(step == 0 ? 1 : step + 1 == kSteps ? 2 : 0);
      isa_matmul r = product(ISA_DTYPE_FP32, 128, kColumns, 512, flags);
      r.dst.addr4 += (4 + bank) * ISA_PSUM_BANK_BYTES;
      run(r);
    }
  for (uint32_t bank = 0; bank < kBanks; bank++)
    for (uint32_t m = 0; m < kColumns; m++)
      for (uint32_t n = 0; n < 512; n++)
        ASSERT_EQ(psum(m, (4 + bank) * ISA_PSUM_BANK_BYTES + 4 * n), sum[bank][m * 512 + n]);
}

TEST_F(Pe, BeginOverwritesItsElementsAndNothingElse) {
  auto w = fill(ISA_DTYPE_FP16, 0, 128, kWeights, 64);
  auto x = fill(ISA_DTYPE_FP16, 0, 128, kMoving, 70);
  run(weights(ISA_DTYPE_FP16, 128, 64));
  for (uint8_t flags : {1, 3}) {
    window_.fill_psum(0xFF);
    isa_matmul r = product(ISA_DTYPE_FP16, 128, 64, 70, flags);
    r.dst = {ISA_PSUM_BASE + 0x804, {2, 80, 0}, {35, 2, 1}};
    std::vector<uint8_t> before = window_.psum_bytes();
    run(r);
    for (uint32_t m = 0; m < 64; m++)
      for (uint32_t n = 0; n < 70; n++) {
        uint32_t byte = 0x804 + 4 * (n % 35 * 2 + n / 35 * 80);
        check(psum(m, byte), w, m, x, n);
        window_.put<float>(window_.psum(m, byte), kNan);
        memset(window_.psum(m, byte), 0xFF, 4);
      }
    EXPECT_EQ(window_.psum_bytes(), before) << int{flags};
  }
}

TEST_F(Pe, AddingFlags) {
  auto w = fill(ISA_DTYPE_FP16, 0, 128, kWeights, 64);
  auto x = fill(ISA_DTYPE_FP16, 0, 128, kMoving, 50);
  run(weights(ISA_DTYPE_FP16, 128, 64));
  for (uint8_t flags : {0, 2, 4, 6}) {
    for (uint32_t m = 0; m < 64; m++)
      for (uint32_t n = 0; n < 50; n++)
        window_.put<float>(window_.psum(m, 4 * n), static_cast<float>(m) - static_cast<float>(n));
    run(product(ISA_DTYPE_FP16, 128, 64, 50, flags));
    for (uint32_t m = 0; m < 64; m++)
      for (uint32_t n = 0; n < 50; n++)
        check(psum(m, 4 * n), w, m, x, n, static_cast<double>(m) - n);
  }
}

TEST_F(Pe, OddPatterns) {
  auto w = fill(ISA_DTYPE_BF16, 0, 77, kWeights, 65);
  auto x = fill(ISA_DTYPE_BF16, 0, 77, kMoving, 400);
  run(weights(ISA_DTYPE_BF16, 77, 65));
  const struct {
    isa_pattern3 p;
    uint32_t n;
    uint32_t (*at)(uint32_t i);
  } moving[] = {
      {{kMoving + 2 * 399, {-1, 0, 0}, {400, 1, 1}}, 400, [](uint32_t i) { return 399 - i; }},
      {{kMoving + 2 * 7, {0, 0, 0}, {33, 1, 1}}, 33, [](uint32_t) { return 7u; }},
      {{kMoving, {0, 3, 100}, {4, 5, 3}},
       60,
       [](uint32_t i) { return i / 4 % 5 * 3 + i / 20 * 100; }},
      {{kMoving + 2 * 300, {7, -50, 1}, {6, 6, 8}},
       288,
       [](uint32_t i) { return 300 + i % 6 * 7 - i / 6 % 6 * 50 + i / 36; }},
  };
  for (const auto &c : moving) {
    isa_matmul r = product(ISA_DTYPE_BF16, 77, 65, c.n, 3);
    r.src = c.p;
    run(r);
    for (uint32_t m = 0; m < 65; m++)
      for (uint32_t n = 0; n < c.n; n++)
        check(psum(m, 4 * n), w, m, x, c.at(n));
    // Written backwards, added to 1.
    for (uint32_t m = 0; m < 65; m++)
      for (uint32_t n = 0; n < c.n; n++)
        window_.put<float>(window_.psum(m, 4 * n), 1.0F);
    r.flags = 2;
    r.dst = {ISA_PSUM_BASE + 4 * (c.n - 1), {-1, 0, 0}, {static_cast<uint16_t>(c.n), 1, 1}};
    run(r);
    for (uint32_t m = 0; m < 65; m++)
      for (uint32_t n = 0; n < c.n; n++)
        check(psum(m, 4 * (c.n - 1 - n)), w, m, x, c.at(n), 1);
  }
  // All elements on one place: without begin they add up, with begin the last one stays.
  isa_matmul r = product(ISA_DTYPE_BF16, 77, 65, 40, 0);
  r.dst.step[0] = 0;
  for (uint32_t m = 0; m < 65; m++)
    window_.put<float>(window_.psum(m, 0), 0.0F);
  run(r);
  for (uint32_t m = 0; m < 65; m++) {
    double sum = 0;
    for (uint32_t n = 0; n < 40; n++)
      for (uint32_t k = 0; k < 77; k++)
        sum += w[k][m] * x[k][n];
    ASSERT_NEAR(psum(m, 0), sum, 0.1);
  }
  r.flags = 1;
  run(r);
  for (uint32_t m = 0; m < 65; m++)
    check(psum(m, 0), w, m, x, 39);
}

TEST_F(Pe, TransposeMovesBitsExactly) {
  // Every bit pattern: NaNs with their fractions, denormals, infinities.
  const struct {
    uint8_t dtype;
    uint32_t one;
  } types[] = {{ISA_DTYPE_FP16, 0x3C00}, {ISA_DTYPE_BF16, 0x3F80},     {ISA_DTYPE_FP32, 0x3F800000},
               {ISA_DTYPE_FP8E4, 0x38},  {ISA_DTYPE_FP8E5, 0x3C},      {ISA_DTYPE_UINT8, 1},
               {ISA_DTYPE_FP8E3, 0x30},  {ISA_DTYPE_FP32R, 0x3F800000}};
  for (auto t : types)
    for (uint32_t columns : {128, 2, 77}) {
      uint32_t size = isa_dtype_size(t.dtype);
      window_.fill_psum(0xEE);
      for (uint32_t k = 0; k < 128; k++) {
        for (uint32_t m = 0; m < columns * size; m++)
          *window_.sbuf(k, kWeights + m) = static_cast<uint8_t>(random_());
        memset(window_.sbuf(k, kMoving), 0, 128 * size);
        memcpy(window_.sbuf(k, kMoving + k * size), &t.one, size);
      }
      isa_ldweights a = weights(t.dtype, 128, columns);
      isa_matmul b = product(t.dtype, 128, columns, 128, 3);
      a.transpose = b.transpose = 1;
      a.fp32_mode = size == 4 ? 1 : 0;  // one pair: weights mode 1, product mode 3
      b.fp32_mode = size == 4 ? 3 : 0;
      b.dst.addr4 += 128;
      run(a);
      run(b);
      for (uint32_t m = 0; m < columns; m++) {
        for (uint32_t n = 0; n < 128; n++)
          ASSERT_EQ(
              memcmp(window_.psum(m, 128 + n * size), window_.sbuf(n, kWeights + m * size), size),
              0)
              << int{t.dtype} << " " << m << " " << n;
        ASSERT_EQ(*window_.psum(m, 127), 0xEE);
        ASSERT_EQ(*window_.psum(m, 128 + 128 * size), 0xEE);
      }
    }
}

TEST_F(Pe, TransposesShareABank) {
  for (uint32_t k = 0; k < 128; k++)
    for (uint32_t n = 0; n < 128; n++)
      window_.put<uint16_t>(window_.sbuf(k, kMoving + 2 * n), k == n ? 0x3C00 : 0);
  window_.fill_psum(0xFF);
  for (uint32_t block = 0; block < 8; block++) {
    for (uint32_t k = 0; k < 128; k++)
      for (uint32_t m = 0; m < 128; m++)
        window_.put<uint16_t>(window_.sbuf(k, kWeights + 2 * m),
                              static_cast<uint16_t>(block * 8192 + k * 64 + m % 64));
    isa_ldweights a = weights(ISA_DTYPE_FP16, 128, 128);
    isa_matmul b = product(ISA_DTYPE_FP16, 128, 128, 128, 3);
    a.transpose = b.transpose = 1;
    b.dst.addr4 += block * 256;
    run(a);
    run(b);
  }
  for (uint32_t block = 0; block < 8; block++)
    for (uint32_t m = 0; m < 128; m++)
      for (uint32_t n = 0; n < 128; n++)
        ASSERT_EQ(window_.get<uint16_t>(window_.psum(m, block * 256 + 2 * n)),
                  block * 8192 + n * 64 + m % 64);
}

TEST_F(Pe, TransposeFollowsTheMovingOperand) {
  // A permutation moves; anything else is arithmetic, rounded to the type.
  auto w = fill(ISA_DTYPE_FP16, 0, 96, kWeights, 40);
  for (uint32_t k = 0; k < 96; k++)
    for (uint32_t n = 0; n < 200; n++)
      window_.put<uint16_t>(window_.sbuf(k, kMoving + 2 * n), k == n * 7 % 96 ? 0x3C00 : 0);
  isa_ldweights a = weights(ISA_DTYPE_FP16, 96, 40);
  isa_matmul b = product(ISA_DTYPE_FP16, 96, 40, 200, 3);
  a.transpose = b.transpose = 1;
  run(a);
  run(b);
  const number_format_t &fp16 = NUMBER_FORMATS[1];
  auto at = [&](uint32_t m, uint32_t n) {
    return fp16.meaning(window_.get<uint16_t>(window_.psum(m, 2 * n)));
  };
  for (uint32_t m = 0; m < 40; m++)
    for (uint32_t n = 0; n < 200; n++)
      ASSERT_EQ(at(m, n), w[n * 7 % 96][m]);
  // Column 3 holds two ones, column 5 none, column 6 a two: sums, zero, the double.
  window_.put<uint16_t>(window_.sbuf(90, kMoving + 2 * 3), 0x3C00);
  window_.put<uint16_t>(window_.sbuf(35, kMoving + 2 * 5), 0);
  window_.put<uint16_t>(window_.sbuf(42, kMoving + 2 * 6), 0x4000);
  run(b);
  for (uint32_t m = 0; m < 40; m++) {
    double sum = w[21][m] + w[90][m];
    ASSERT_NEAR(at(m, 3), sum, std::fabs(sum) / 2048);  // half a unit
    ASSERT_EQ(at(m, 5), 0);
    ASSERT_EQ(at(m, 6), 2 * w[42][m]);
    ASSERT_EQ(at(m, 7), w[49][m]);
  }
}

TEST_F(Pe, TransposeOfFp32TakesWholeNumbers) {
  // Not an identity: column 1 is twice row 1, so arithmetic, whatever part the mode names.
  auto w = fill(ISA_DTYPE_FP32, 0, 64, kWeights, 64);
  for (uint32_t k = 0; k < 64; k++)
    for (uint32_t n = 0; n < 64; n++)
      window_.put<float>(window_.sbuf(k, kMoving + 4 * n), k != n ? 0.0F : n == 1 ? 2.0F : 1.0F);
  isa_ldweights a = weights(ISA_DTYPE_FP32, 64, 64);
  isa_matmul b = product(ISA_DTYPE_FP32, 64, 64, 64, 3);
  a.transpose = b.transpose = 1;
  a.fp32_mode = 1;
  run(a);
  run(b);
  for (uint32_t m = 0; m < 64; m++)
    for (uint32_t n = 0; n < 64; n++)
      ASSERT_EQ(psum(m, 4 * n), w[n][m] * (n == 1 ? 2 : 1));
}

TEST_F(Pe, Fp32ProductInTwoPasses) {
  auto w = fill(ISA_DTYPE_FP32, 0, 128, kWeights, 128);
  auto x = fill(ISA_DTYPE_FP32, 0, 128, kMoving, 100);
  isa_ldweights a = weights(ISA_DTYPE_FP32, 128, 128);
  isa_matmul b = product(ISA_DTYPE_FP32, 128, 128, 100, 1);
  // The low part alone: what rounding to 12 significant bits leaves, at most 2^-12 of each.
  a.fp32_mode = 1;
  run(a);
  run(b);
  double low = 0;
  for (uint32_t m = 0; m < 128; m++)
    for (uint32_t n = 0; n < 100; n++) {
      double size = 0;
      for (uint32_t k = 0; k < 128; k++)
        size += std::fabs(w[k][m] * x[k][n]);
      ASSERT_LE(std::fabs(psum(m, 4 * n)), size * std::ldexp(1, -12));
      low = std::max(low, std::fabs(static_cast<double>(psum(m, 4 * n))));
    }
  EXPECT_GT(low, 1e-4);
  a.fp32_mode = 2;
  b.flags = 2;
  run(a);
  run(b);
  for (uint32_t m = 0; m < 128; m++)
    for (uint32_t n = 0; n < 100; n++)
      check(psum(m, 4 * n), w, m, x, n, 1e-3);  // one addition more
}

TEST_F(Pe, Fp32TransposeByArithmeticInTwoPasses) {
  // v2: weights low, then high, identity moving with mode 2, no transpose flag. Exact.
  auto w = fill(ISA_DTYPE_FP32, 0, 128, kWeights, 128);
  window_.put<float>(window_.sbuf(3, kWeights + 4 * 9), 1e-42F);
  window_.put<float>(window_.sbuf(4, kWeights + 4 * 9), 3.4028234e38F);
  for (uint32_t k = 0; k < 128; k++)
    for (uint32_t n = 0; n < 128; n++)
      window_.put<float>(window_.sbuf(k, kMoving + 4 * n), k == n ? 1.0F : 0.0F);
  isa_ldweights a = weights(ISA_DTYPE_FP32, 128, 128);
  isa_matmul b = product(ISA_DTYPE_FP32, 128, 128, 128, 1);
  b.fp32_mode = 2;
  a.fp32_mode = 1;
  run(a);
  run(b);
  a.fp32_mode = 2;
  b.flags = 2;
  run(a);
  run(b);
  for (uint32_t m = 0; m < 128; m++)
    for (uint32_t n = 0; n < 128; n++)
      ASSERT_EQ(psum(m, 4 * n), window_.get<float>(window_.sbuf(n, kWeights + 4 * m)))
          << m << " " << n;
}

TEST_F(Pe, RowAndColumnGroupsKeepTheirOwnWeights) {
  // Four row quarters with weights of their own, loaded first, used afterwards; results in four
  // column quarters.
  std::vector<std::vector<std::vector<double>>> w(4);
  for (uint32_t q = 0; q < 4; q++) {
    w[q] = fill(ISA_DTYPE_FP16, 32 * q, 32, kWeights, 32);
    isa_ldweights a = weights(ISA_DTYPE_FP16, 32, 32);
    a.src.addr4 += q * 32 * ISA_SBUF_PITCH;
    a.row_group = static_cast<uint8_t>(1 << q);
    a.column_group = static_cast<uint8_t>(1 << (3 - q));
    run(a);
  }
  for (uint32_t q = 0; q < 4; q++) {
    auto x = fill(ISA_DTYPE_FP16, 32 * q, 32, kMoving, 64);
    isa_matmul b = product(ISA_DTYPE_FP16, 32, 32, 64, 3);
    b.src.addr4 += q * 32 * ISA_SBUF_PITCH;
    b.row_group = static_cast<uint8_t>(1 << q);
    b.column_group = static_cast<uint8_t>(1 << (3 - q));
    b.dst.addr4 += (3 - q) * 32 * ISA_PSUM_PITCH;
    run(b);
    for (uint32_t m = 0; m < 32; m++)
      for (uint32_t n = 0; n < 64; n++)
        check(psum((3 - q) * 32 + m, 4 * n), w[q], m, x, n);
  }
  // The upper half of rows; the lower half's quarter 1 has no weights in column quarter 0.
  auto half = fill(ISA_DTYPE_FP16, 64, 50, kWeights, 64);
  auto x = fill(ISA_DTYPE_FP16, 64, 50, kMoving, 64);
  isa_ldweights a = weights(ISA_DTYPE_FP16, 50, 64);
  a.src.addr4 += 64 * ISA_SBUF_PITCH;
  a.row_group = 0xC;
  a.column_group = 0x3;
  run(a);
  isa_matmul b = product(ISA_DTYPE_FP16, 50, 64, 64, 3);
  b.src.addr4 += 64 * ISA_SBUF_PITCH;
  b.row_group = 0xC;
  b.column_group = 0x3;
  run(b);
  for (uint32_t m = 0; m < 64; m++)
    for (uint32_t n = 0; n < 64; n++)
      check(psum(m, 4 * n), half, m, x, n);
  b = product(ISA_DTYPE_FP16, 50, 32, 64, 3);
  b.row_group = 0x3;
  b.column_group = 0x1;
  EXPECT_NE(try_run(b), nullptr);
}

TEST_F(Pe, RefusesWithoutWriting) {
  fill(ISA_DTYPE_FP16, 0, 128, kWeights, 128);
  fill(ISA_DTYPE_FP16, 0, 128, kMoving, 512);
  std::vector<uint8_t> before = window_.psum_bytes();
  isa_matmul good = product(ISA_DTYPE_FP16, 100, 64, 512, 3);
  EXPECT_STREQ(try_run(good), "more rows or columns than weights were loaded for");
  isa_ldweights load = weights(ISA_DTYPE_FP16, 100, 64);
  run(load);

  auto refused = [&](auto change, const char *why) {
    isa_matmul r = good;
    change(&r);
    EXPECT_STREQ(try_run(r), why);
  };
  refused([](isa_matmul *r) { r->rows = 101; },
          "more rows or columns than weights were loaded for");
  refused([](isa_matmul *r) { r->columns = 65; },
          "more rows or columns than weights were loaded for");
  refused([](isa_matmul *r) { r->transpose = 1; },
          "transpose mode differs from that of the weights");
  refused([](isa_matmul *r) { r->dtype = ISA_DTYPE_UINT8; }, "uint8 with another type");
  EXPECT_EQ(window_.psum_bytes(), before);
  run(good);  // the weights are still those of the good load
  EXPECT_NE(window_.psum_bytes(), before);
}
