// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/dge.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "mock_dev/port.h"

namespace {

bool refuse(mock_dge_fault_t *fault, project_error_t error, const char *text,
            uint64_t address = 0) {
  *fault = {error, address, text};
  return false;
}

// --- issue --------------------------------------------------------------------------------------

// The fields of one side, wherever they are in the record.
struct fields_t {
  isa_addr8 address;
  int32_t step[2];
  uint16_t count[2];
  uint16_t bytes;
  uint8_t bound, dtype;
};

fields_t fields_of(const isa_dma *r, bool source) {
  if (source)
    return {r->src,
            {r->src_step[0], r->src_step[1]},
            {r->src_count[0], r->src_count[1]},
            r->src_bytes,
            r->src_bound,
            r->src_dtype};
  return {r->dst,
          {r->dst_step[0], r->dst_step[1]},
          {r->dst_count[0], r->dst_count[1]},
          r->dst_bytes,
          r->dst_bound,
          r->dst_dtype};
}

bool table_entry(const mock_dge_t *dge, uint32_t index, uint64_t *entry, mock_dge_fault_t *fault) {
  uint64_t base = dge->registers[PROJECT_TABLE_REGISTER] |
                  static_cast<uint64_t>(dge->registers[PROJECT_TABLE_REGISTER + 1]) << 32;
  uint64_t at = base;
  mock_port_t port;
  if (!checked_add(base, uint64_t{index} * sizeof(*entry), &at) ||
      !mock_port_open(dge->host, dge->device, at, sizeof(*entry), false, &port) ||
      port.bytes == nullptr)
    return refuse(fault, PROJECT_ERROR_MEMORY, "no memory behind the entry of the DGE table", at);
  memcpy(entry, port.bytes, sizeof(*entry));
  return true;
}

bool address_resolve(const mock_dge_t *dge, const isa_addr8 &address, mock_dge_side_t *side,
                     mock_dge_fault_t *fault) {
  side->mode = address.mode;
  side->table = 0;
  side->offset = 0;
  if (address.mode == ISA_ADDR8_DEVICE) {
    side->entry = isa_addr8_device(address);
    side->rows.address = side->entry;
    return true;
  }
  side->offset = address.mode == ISA_ADDR8_TABLE ? address.offset : dge->registers[address.offset];
  side->table = isa_addr8_id(address);
  if (!table_entry(dge, side->table, &side->entry, fault))
    return false;
  if (!checked_add(side->entry, side->offset, &side->rows.address))
    return refuse(fault, PROJECT_ERROR_MEMORY, "address beyond 64 bits", side->entry);
  return true;
}

// What the bound register holds is size - extent (verified-facts.md G3).
bool bound_check(const mock_dge_t *dge, uint8_t bound, mock_dge_side_t *side, bool *skip,
                 mock_dge_fault_t *fault) {
  side->bounded = bound != 0;
  side->bound = 0;
  if (bound == 0)
    return true;
  side->bound = dge->registers[bound & ISA_DMA_BOUND_REGISTER];
  if (side->offset <= side->bound)
    return true;
  if ((bound & ISA_DMA_BOUND_SKIP) == 0)
    return refuse(fault, PROJECT_ERROR_OUT_OF_BOUNDS, "offset above the bound");
  *skip = true;
  return true;
}

bool side_issue(const mock_dge_t *dge, const isa_dma *record, bool source, mock_dge_side_t *side,
                bool *skip, mock_dge_fault_t *fault) {
  fields_t f = fields_of(record, source);
  mock_rows_t *rows = &side->rows;
  for (int d = 0; d < 2; ++d) {
    rows->count[d] = f.count[d];
    rows->step[d] = f.count[d] == 1 ? 0 : f.step[d];
  }
  rows->bytes = isa_dma_row_bytes(f.bytes);
  side->dtype = f.dtype;
  return address_resolve(dge, f.address, side, fault) &&
         bound_check(dge, f.bound, side, skip, fault);
}

uint64_t rows_of(const mock_rows_t *rows) {
  return uint64_t{rows->count[0]} * rows->count[1];
}

// --- moving -------------------------------------------------------------------------------------

// Walks the rows of a side. `base` is row (0, 0) when all of them lie in one memory; else each row
// is looked up when its turn comes.
struct cursor_t {
  mock_host *host;
  uint32_t device;
  mock_rows_t rows;
  uint8_t *base;
  bool for_writing;
  uint32_t i, j;  // of the next row
  mock_port_t port;
};

uint64_t cursor_address(const cursor_t *c) {
  return c->rows.address + static_cast<uint64_t>(c->i * c->rows.step[0] + c->j * c->rows.step[1]);
}

// Rows that follow each other without a gap are one.
mock_rows_t rows_join(const mock_rows_t *rows) {
  mock_rows_t joined = *rows;
  for (int d = 0; d < 2; ++d) {
    if (joined.count[0] != 1 && joined.step[0] != static_cast<int64_t>(joined.bytes))
      break;
    joined.bytes *= joined.count[0];
    joined.count[0] = joined.count[1];
    joined.step[0] = joined.step[1];
    joined.count[1] = 1;
    joined.step[1] = 0;
  }
  return joined;
}

// One look-up and one mark for all rows where that is possible.
void cursor_open(mock_host *host, uint32_t device, const mock_rows_t *rows, bool for_writing,
                 cursor_t *c) {
  *c = {};
  c->host = host;
  c->device = device;
  c->for_writing = for_writing;
  c->rows = rows_join(rows);
  mock_span_t span;
  if (mock_decode_rows(host, device, &c->rows, &span) &&
      mock_target_claim(host, &span.target, span.length, for_writing)) {
    uint8_t *bytes = mock_memory_bytes(host, span.target.place.memory);
    if (bytes != nullptr)
      c->base = bytes + span.target.place.offset + span.first;
  }
  if (c->base == nullptr)
    c->rows = *rows;
}

uint8_t *cursor_next(cursor_t *c) {
  uint8_t *row = c->base + (c->i * c->rows.step[0] + c->j * c->rows.step[1]);
  if (++c->i == c->rows.count[0]) {
    c->i = 0;
    ++c->j;
  }
  return row;
}

bool cursor_row(cursor_t *c) {
  mock_port_t *port = &c->port;
  if (c->base != nullptr) {
    port->bytes = cursor_next(c);
    port->left = c->rows.bytes;
    port->done = 0;
    return true;
  }
  if (!mock_port_open(c->host, c->device, cursor_address(c), c->rows.bytes, c->for_writing, port))
    return false;
  if (++c->i == c->rows.count[0]) {
    c->i = 0;
    ++c->j;
  }
  return true;
}

// All rows there? Leaves the cursor where it was: at the first.
bool cursor_check(cursor_t *c, mock_dge_fault_t *fault) {
  if (c->base != nullptr)
    return true;
  while (c->j < c->rows.count[1]) {
    uint64_t address = cursor_address(c);
    if (!cursor_row(c))
      return refuse(fault, PROJECT_ERROR_MEMORY,
                    c->for_writing ? "nothing behind a row of the destination"
                                   : "nothing behind a row of the source",
                    address);
  }
  c->i = c->j = 0;
  c->port = {};
  return true;
}

// Rows of one size between two memories.
void rows_copy(cursor_t *from, cursor_t *to) {
  uint64_t bytes = to->rows.bytes;
  for (uint64_t left = rows_of(&to->rows); left != 0; --left) {
    const uint8_t *src = cursor_next(from);
    mock_bytes_move(cursor_next(to), src, bytes);
  }
}

bool rows_move(const mock_transfer_t *t, cursor_t *from, cursor_t *to) {
  if (!t->cast && from->base != nullptr && to->base != nullptr &&
      from->rows.bytes == to->rows.bytes) {
    rows_copy(from, to);
    return true;
  }
  for (uint64_t left = t->bytes; left != 0;) {
    if ((from->port.left == 0 && !cursor_row(from)) || (to->port.left == 0 && !cursor_row(to)))
      return false;
    uint64_t before = to->port.left;
    if (!(t->cast ? mock_port_cast(&from->port, t->src.dtype, &to->port, t->dst.dtype)
                  : mock_port_move(to->host, nullptr, &from->port, &to->port)))
      return false;
    left -= before - to->port.left;
  }
  return true;
}

}  // namespace

bool mock_dge_issue(const mock_dge_t *dge, const isa_dma *record, mock_transfer_t *out,
                    mock_dge_fault_t *fault) {
  *out = {};
  if (!side_issue(dge, record, true, &out->src, &out->skip, fault) ||
      !side_issue(dge, record, false, &out->dst, &out->skip, fault))
    return false;
  out->device = dge->device;
  out->core = dge->core;
  out->engine = dge->engine;
  out->semaphore = record->semaphore;
  out->increment = record->increment;
  out->cast = out->src.dtype != out->dst.dtype;
  out->bytes = out->dst.rows.bytes * rows_of(&out->dst.rows);
  return true;
}

bool mock_dge_poison(mock_host *host, const mock_transfer_t *transfer, mock_dge_fault_t *fault) {
  if (transfer->skip)
    return true;
  cursor_t to;
  cursor_open(host, transfer->device, &transfer->dst.rows, true, &to);
  if (!cursor_check(&to, fault))
    return false;
  while (to.j < to.rows.count[1] && cursor_row(&to))
    if (to.port.bytes != nullptr)
      memset(to.port.bytes, 0xFF, to.port.left);
  return true;
}

bool mock_dge_move(mock_host *host, const mock_transfer_t *transfer, mock_dge_fault_t *fault) {
  if (transfer->skip)
    return true;
  cursor_t from, to;
  cursor_open(host, transfer->device, &transfer->src.rows, false, &from);
  cursor_open(host, transfer->device, &transfer->dst.rows, true, &to);
  if (!cursor_check(&from, fault) || !cursor_check(&to, fault))
    return false;
  if (!rows_move(transfer, &from, &to))
    return refuse(fault, PROJECT_ERROR_MEMORY, "a register that cannot be accessed so",
                  transfer->dst.rows.address);
  return true;
}
