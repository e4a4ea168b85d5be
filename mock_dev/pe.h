// SPDX-License-Identifier: Apache-2.0
// The PE array (neuroncore-isa.md 4.2, verified-matmul.md 4, verified-attention.md 6): a stationary
// operand of 128 rows and columns that stays until it is loaded again, and the products with it.
#pragma once

#include "mock_dev/compute.h"
#include "mock_dev/gemm.h"

constexpr uint32_t MOCK_PE_ROWS = 128;                // K: contracted
constexpr uint32_t MOCK_PE_COLUMNS = 128;             // M: destination lanes
constexpr uint32_t MOCK_PE_MOVING = ISA_PE_MOVING;    // N: elements of the moving operand per lane
constexpr uint32_t MOCK_PE_QUARTER = ISA_PE_QUARTER;  // row and column groups are made of quarters
constexpr uint32_t MOCK_PE_QUARTERS = 4;

// A quarter of a quarter: what one LDWEIGHTS has put there. Rows 0: nothing yet.
struct mock_pe_tile_t {
  uint8_t rows, columns;  // from its first row and column
  uint8_t dtype;
  uint8_t fp32_mode;
  uint8_t transpose;
};

// The array of one core: numbers only, zero is empty, one thread at a time.
struct mock_pe_t {
  mock_pe_tile_t tile[MOCK_PE_QUARTERS][MOCK_PE_QUARTERS];  // [row][column]
  // The elements as they were loaded. A quarter of a row starts at a fixed place and holds its
  // elements side by side; rows are a little longer than needed, so that columns can be read too.
  uint8_t raw[MOCK_PE_ROWS][MOCK_PE_COLUMNS * 4 + 64];
  // What the last MATMUL used, converted and packed for mock_gemm_tile_fn; good while `packed_rows`
  // is not 0.
  uint32_t packed_row, packed_column, packed_rows, packed_columns;
  alignas(64) float packed[MOCK_PE_ROWS * MOCK_PE_COLUMNS + 8];
  // The moving operand of the record at hand: blocks of 16 columns, K rows each.
  alignas(
      64) float moving[MOCK_PE_MOVING / MOCK_GEMM_COLUMNS][MOCK_PE_ROWS * MOCK_GEMM_COLUMNS + 16];
};

// 01 and 02, as mock_compute_fn. Refused: a MATMUL that does not fit the weights that are there.
const char *mock_pe_ldweights(const mock_compute_t *compute, const isa_record *record);
const char *mock_pe_matmul(const mock_compute_t *compute, const isa_record *record);
