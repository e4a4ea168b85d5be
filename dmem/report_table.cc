// SPDX-License-Identifier: Apache-2.0
#include "dmem/report_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "base/nlog.h"

namespace {

constexpr size_t kLabelWidth = 14;
constexpr size_t kCellWidth = 10;
constexpr size_t kCollectivesWidth = 11;
constexpr const char *kNoFigure = "n/a";

// Headings in two lines; `item` is the name in the block of a load.
struct column_text_t {
  const char *upper, *lower, *item;
  size_t width;
};

// Indexed by dmem_column_t.
constexpr column_text_t kColumns[DMEM_COLUMN_COUNT] = {
    {"Model", "Code", "model code", kCellWidth},
    {"Model", "Constants", "model constants", kCellWidth},
    {"", "Tensors", "tensors", kCellWidth},
    {"Shared", "Scratchpad", "shared scratchpad", kCellWidth},
    {"", "Scratchpad", "scratchpad", kCellWidth},
    {"", "Runtime", "runtime", kCellWidth},
    {"DMA Rings", "IO", "dma rings io", kCellWidth},
    {"DMA Rings", "Spill", "dma rings spill", kCellWidth},
    {"DMA Rings", "Collectives", "dma rings collectives", kCollectivesWidth},
    {"DMA Rings", "Runtime", "dma rings runtime", kCellWidth},
    {"", "Collectives", "collectives", kCollectivesWidth},
    {"Profiler", "Buffers", "profiler buffers", kCellWidth},
};

struct table_t {
  std::vector<std::string> labels;  // the two heading lines first
  struct column_t {
    size_t width;
    std::vector<std::string> cells;
  };
  std::vector<column_t> columns;
};

uint64_t saturating_add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return checked_add(a, b, &sum) ? sum : UINT64_MAX;
}

std::string label(const dmem_report_row_t &row) {
  switch (row.kind) {
    case dmem_row_kind_t::DEVICE:
      return fmt::format("ND {} Overall", row.device_id);
    case dmem_row_kind_t::HBM:
      return fmt::format("ND {} HBM {}", row.device_id, row.id);
    case dmem_row_kind_t::CORE:
      return fmt::format(" \\_NC {}", row.id);
    case dmem_row_kind_t::NEFF:
      break;
  }
  return fmt::format("  \\_NEFF {}", row.id);
}

// `figure` gives the text of a row's cell.
template <typename Figure>
void add_column(table_t *table, std::span<const dmem_report_row_t> rows, const char *upper,
                const char *lower, size_t width, Figure figure) {
  table_t::column_t column = {width, {upper, lower}};
  for (const dmem_report_row_t &row : rows)
    column.cells.push_back(figure(row));
  for (const std::string &cell : column.cells)
    column.width = std::max(column.width, cell.size());
  table->columns.push_back(std::move(column));
}

void add_groups(table_t *table, std::span<const dmem_report_row_t> rows) {
  for (uint32_t i = 0; i < DMEM_COLUMN_COUNT; ++i) {
    auto column = static_cast<dmem_column_t>(i);
    if (column == dmem_column_t::PROFILER_BUFFERS) {
      add_column(table, rows, "", "XT CC", kCellWidth, [](const dmem_report_row_t &row) {
        return row.kind == dmem_row_kind_t::NEFF ? kNoFigure : dmem_size_text(0);
      });
    }
    const column_text_t &text = kColumns[i];
    add_column(table, rows, text.upper, text.lower, text.width,
               [column](const dmem_report_row_t &row) {
                 return dmem_report_absent(row.kind, column)
                            ? kNoFigure
                            : dmem_size_text(dmem_report_column(&row, column));
               });
  }
}

void add_usages(table_t *table, std::span<const dmem_report_row_t> rows) {
  for (uint32_t i = 0; i < DMEM_USAGE_COUNT; ++i) {
    auto usage = static_cast<dma_mem_usage_type_t>(i);
    add_column(table, rows, "", dmem_usage_key(usage), kCellWidth,
               [i, usage](const dmem_report_row_t &row) {
                 return dmem_report_absent(row.kind, dmem_usage_column(usage))
                            ? kNoFigure
                            : dmem_size_text(row.bytes[i]);
               });
  }
}

// Centred, the smaller half of the padding on the left.
std::string centred(const std::string &text, size_t width) {
  size_t left = (width - text.size()) / 2;
  return fmt::format("{:{}}{:{}}", "", left, text, width - left);
}

}  // namespace

dmem_report_row_t dmem_report_row(dmem_row_kind_t kind, uint32_t device_id, uint32_t id,
                                  const uint64_t bytes[DMEM_USAGE_COUNT]) {
  dmem_report_row_t row = {kind, device_id, id, {}};
  std::copy_n(bytes, DMEM_USAGE_COUNT, row.bytes);
  return row;
}

bool dmem_report_absent(dmem_row_kind_t kind, dmem_column_t column) {
  return kind == dmem_row_kind_t::NEFF &&
         (column == dmem_column_t::TENSORS || column == dmem_column_t::SHARED_SCRATCHPAD ||
          column == dmem_column_t::PROFILER_BUFFERS);
}

uint64_t dmem_report_column(const dmem_report_row_t *row, dmem_column_t column) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < DMEM_USAGE_COUNT; ++i) {
    if (dmem_usage_column(static_cast<dma_mem_usage_type_t>(i)) == column)
      sum = saturating_add(sum, row->bytes[i]);
  }
  return sum;
}

uint64_t dmem_report_total(const dmem_report_row_t *row) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < DMEM_COLUMN_COUNT; ++i) {
    auto column = static_cast<dmem_column_t>(i);
    if (!dmem_report_absent(row->kind, column))
      sum = saturating_add(sum, dmem_report_column(row, column));
  }
  return sum;
}

std::string dmem_report_table(std::span<const dmem_report_row_t> rows, bool per_usage) {
  table_t table;
  table.labels = {"", ""};
  size_t label_width = kLabelWidth;
  for (const dmem_report_row_t &row : rows) {
    table.labels.push_back(label(row));
    label_width = std::max(label_width, table.labels.back().size());
  }
  add_column(&table, rows, "", "TOTAL", kCellWidth,
             [](const dmem_report_row_t &row) { return dmem_size_text(dmem_report_total(&row)); });
  if (per_usage)
    add_usages(&table, rows);
  else
    add_groups(&table, rows);

  std::string text;
  for (size_t line = 0; line < table.labels.size(); ++line) {
    text += fmt::format("{:{}}", table.labels[line], label_width);
    for (const table_t::column_t &column : table.columns)
      text += "|" + centred(column.cells[line], column.width);
    text += '\n';
  }
  return text;
}

std::string dmem_report_neff(uint32_t device_id, const dmem_report_row_t *core,
                             const dmem_report_row_t *neff, const char *name) {
  uint64_t shared = dmem_report_column(core, dmem_column_t::SHARED_SCRATCHPAD);
  std::string text = fmt::format(
      "[ND {}:NC {}] Current Usage Total: {}\n\tshared scratchpad: {}\nNEFF {} {}\n\tTotal: {}",
      device_id, core->id, dmem_size_text(dmem_report_total(core)), dmem_size_text(shared),
      neff->id, nlog_one_line(name), dmem_size_text(dmem_report_total(neff)));
  for (uint32_t i = 0; i < DMEM_COLUMN_COUNT; ++i) {
    auto column = static_cast<dmem_column_t>(i);
    if (dmem_report_absent(neff->kind, column))
      continue;
    text += fmt::format("\n\t* {}: {}", kColumns[i].item,
                        dmem_size_text(dmem_report_column(neff, column)));
  }
  return text;
}
