// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <stdexcept>

#include "isa/isa_table.h"

namespace {

// Shapes of the program: out[128, 65536] = x[128, 32768] @ y[32768, 65536], fp16.
constexpr int64_t kXRow = 32768 * 2, kYRow = 65536 * 2;
constexpr uint32_t kBlock = 128, kGroups = 8, kBlocksPerGroup = 32;
constexpr uint32_t kSbufBytes = 0x38000;

enum kind_t {
  UNDEFINED,  // nobody wrote it
  IN_FLIGHT,  // a transfer is to write it
  X,          // lane p: row p of x; offset: byte in the row
  Y,          // lane p: row id + p of y
  IDENTITY,
  XT,     // lane p: column 128 * id + p of x, all its 128 rows
  GROUP,  // sum id over blocks of k; offset: 4 * column of y
  SUM,    // sum id of finished groups
  OUT,    // the same in fp16; offset: 2 * column
};
constexpr const char *kKinds[] = {
    "nothing", "a transfer in flight", "x", "y", "identity", "x^T", "a group", "sum", "out"};

struct tag_t {
  kind_t kind = UNDEFINED;
  uint32_t id = 0;
  int64_t offset = 0;
};

[[noreturn]] void fail(const std::string &what) {
  throw std::runtime_error(what);
}

// What lies where in one partition or row; the same on all lanes. Neighbours may belong together.
class segments {
 public:
  explicit segments(uint32_t size = 0) { map_[0] = {size, {}}; }

  void write(uint32_t begin, uint32_t end, const tag_t &tag) {
    cut(begin);
    cut(end);
    map_.erase(map_.lower_bound(begin), map_.lower_bound(end));
    map_[begin] = {end, tag};
  }
  // The pieces of [begin, end): length and tag, its offset moved along.
  std::vector<std::pair<uint32_t, tag_t>> read(uint32_t begin, uint32_t end) {
    cut(begin);
    cut(end);
    std::vector<std::pair<uint32_t, tag_t>> pieces;
    for (auto it = map_.find(begin); it != map_.end() && it->first < end; ++it) {
      const tag_t &tag = it->second.tag;
      if (tag.kind == UNDEFINED || tag.kind == IN_FLIGHT)
        fail(fmt::format("byte 0x{:x} is read and holds {}", it->first, kKinds[tag.kind]));
      uint32_t length = it->second.end - it->first;
      if (!pieces.empty() && continues(pieces.back().second, pieces.back().first, tag))
        pieces.back().first += length;
      else
        pieces.emplace_back(length, tag);
    }
    return pieces;
  }
  // All of it in one piece.
  tag_t read_one(uint32_t begin, uint32_t end, kind_t kind) {
    auto pieces = read(begin, end);
    if (pieces.size() != 1 || pieces[0].second.kind != kind)
      fail(fmt::format("{} at 0x{:x} in {} piece(s), not {}", kKinds[pieces[0].second.kind], begin,
                       pieces.size(), kKinds[kind]));
    return pieces[0].second;
  }

 private:
  struct segment_t {
    uint32_t end;
    tag_t tag;
  };
  static bool continues(const tag_t &a, uint32_t length, const tag_t &b) {
    return a.kind == b.kind && a.id == b.id && a.offset + length == b.offset;
  }
  void cut(uint32_t at) {
    auto it = map_.upper_bound(at);
    if (it == map_.begin())
      fail("outside the memory");
    --it;
    if (it->first == at)
      return;
    if (at > it->second.end)
      fail("outside the memory");
    if (at == it->second.end)
      return;
    tag_t tag = it->second.tag;
    tag.offset += at - it->first;
    map_[at] = {it->second.end, tag};
    it->second.end = at;
  }
  std::map<uint32_t, segment_t> map_;
};

// Sums as lists, one number for equal lists.
class sums {
 public:
  uint32_t extended(uint32_t sum, uint32_t by, bool fresh) {
    std::vector<uint32_t> list;
    if (!fresh)
      list = lists_[sum];
    list.push_back(by);
    return number(std::move(list));
  }
  uint32_t number(std::vector<uint32_t> list) {
    auto [it, added] = numbers_.emplace(list, lists_.size());
    if (added)
      lists_.push_back(std::move(list));
    return it->second;
  }
  const std::vector<uint32_t> &list(uint32_t sum) const { return lists_[sum]; }

 private:
  std::map<std::vector<uint32_t>, uint32_t> numbers_;
  std::vector<std::vector<uint32_t>> lists_;
};

struct place_t {
  segments *memory = nullptr;  // nullptr: x, y or the output
  tag_t tag;                   // of x and y, or where in the output
  uint32_t begin = 0;
};

class machine {
 public:
  machine(const kbin_t &kbin, const provenance_options &options)
      : kbin_(kbin), options_(options), random_(options.seed) {
    const kbin_mem_ref_set_t &set = *kbin.mem_ref_set;
    for (uint32_t i = 0; i < set.nmem; i++) {
      vars_[set.mem[i].var_id] = &set.mem[i];
      if (set.mem[i].mr_type == MR_PTR_TABLE)
        table_.assign(set.mem[i].list.list, set.mem[i].list.list + set.mem[i].list.length);
      if (set.mem[i].mr_type == MR_VIRTUAL_TMP_BUF)
        scratch_[set.mem[i].var_id] = segments(4096);
    }
  }

  void run() {
    std::array<uint32_t, ISA_ENGINE_COUNT> order{0, 1, 2, 3, 4};
    for (;;) {
      bool moved = false, ended = true;
      if (options_.seed != 0)
        std::shuffle(order.begin(), order.end(), random_);
      for (uint32_t engine : order) {
        while (at_[engine] < kbin_.engines[engine].ninstr && step(engine))
          moved = true;
        ended = ended && at_[engine] == kbin_.engines[engine].ninstr;
      }
      if (moved)
        continue;
      if (!pending_.empty()) {
        finish(random_() % pending_.size());
        continue;
      }
      if (!ended)
        fail("deadlock");
      return;
    }
  }

  void check_output(provenance_result *result) {
    auto pieces = out_.read(first_, end_);
    uint32_t sum = 0;
    std::vector<uint32_t> groups;
    for (uint32_t q = 0; q < kGroups; q++) {
      std::vector<uint32_t> blocks(kBlocksPerGroup);
      for (uint32_t j = 0; j < kBlocksPerGroup; j++)
        blocks[j] = q * kBlocksPerGroup + j;
      groups.push_back(groups_.number(std::move(blocks)));
    }
    sum = sums_.number(std::move(groups));
    uint32_t at = first_;
    for (const auto &[length, tag] : pieces) {
      if (tag.kind != OUT || tag.id != sum || tag.offset != at)
        fail(fmt::format("output byte {} of a row holds {}, column {}, sum {}", at,
                         kKinds[tag.kind], tag.offset / 2, tag.id));
      at += length;
    }
    result->first_column = first_ / 2;
    result->end_column = end_ / 2;
    result->macs = macs_;
    result->open_groups = most_open_;
    result->semaphores = semaphores_;
  }

 private:
  bool step(uint32_t engine) {
    isa_record record;
    memcpy(&record, kbin_.engines[engine].instr.data() + at_[engine] * 64ull, sizeof(record));
    uint32_t where = 0;
    if (const char *why =
            isa_check(&record, static_cast<isa_engine_t>(engine), ISA_FORM_NEFF, &where))
      fail(why);
    bool skip = record.h.opcode == ISA_PSEUDO_DMA_DIRECT2D && options_.ignore_dma_wait;
    if (!skip && !holds(record.h.wait_mode, record.h.wait_index, record.h.value))
      return false;
    if (record.h.opcode == ISA_EVENT_SEMAPHORE && !options_.ignore_second_wait) {
      isa_event_semaphore both;
      memcpy(&both, &record, sizeof(both));
      if (!holds(both.wait_mode, both.wait_index, both.wait_value))
        return false;
    }
    try {
      execute(record);
    } catch (const std::exception &e) {
      fail(fmt::format("{} slot {} ({}): {}", isa_engine_name(engine), at_[engine],
                       isa_opcode_name(record.h.opcode), e.what()));
    }
    if (record.h.update_mode == (ISA_UPDATE_SEM_INC | ISA_UPDATE_COMPLETE))
      semaphores_[record.h.update_index]++;
    else if (record.h.update_mode != ISA_UPDATE_NONE)
      fail("another update than +1 at completion");
    at_[engine]++;
    return true;
  }

  bool holds(uint8_t mode, uint8_t index, uint32_t value) {
    if (mode == ISA_WAIT_NONE)
      return true;
    if (mode != ISA_WAIT_SEM_GE)
      fail("another wait than >=");
    return semaphores_[index] >= value;
  }

  void execute(const isa_record &record) {
    switch (record.h.opcode) {
      case ISA_SET_ORDERING:
      case ISA_PSEUDO_BRANCH_LABEL:
      case ISA_EVENT_SEMAPHORE:
      case ISA_NOP:
      case ISA_ACT_TABLE_LOAD:
        return;
      case ISA_PSEUDO_DMA_DIRECT2D: {
        isa_dma dma;
        memcpy(&dma, &record, sizeof(dma));
        return issue(dma);
      }
      default:
        return compute(record);
    }
  }

  // --- engines -----------------------------------------------------------------------------------

  struct range_t {
    segments *memory;
    uint32_t begin, end;
  };
  // Every lane from 0, every byte from begin to end.
  range_t range_of(const isa_operand_t &operand) {
    bool psum = false;
    uint32_t partition = 0, begin = 0, end = 0;
    if (!isa_operand_range(&operand, kSbufBytes, &psum, &partition, &begin, &end))
      fail("an operand outside the memory");
    if (partition != 0 || operand.lanes != kBlock)
      fail("not on all lanes");
    if (end - begin != isa_operand_elements(&operand) * operand.element_bytes)
      fail("an operand with holes");
    return {psum ? &psum_ : &sbuf_, begin, end};
  }

  void compute(const isa_record &record) {
    isa_operand_t operands[ISA_MAX_OPERANDS];
    uint32_t count = isa_operands(&record, operands);
    if (count == 0)
      fail("an instruction that the program does not have");
    range_t dst = range_of(operands[count - 1]);
    range_t src = range_of(operands[0]);
    switch (record.h.opcode) {
      case ISA_LDWEIGHTS:
        return load_weights(record, operands[0], src);
      case ISA_MATMUL:
        return multiply(record, src, dst);
      case ISA_COPY:
        for (uint32_t at = dst.begin;
             const auto &[length, tag] : src.memory->read(src.begin, src.end)) {
          dst.memory->write(at, at + length, tag);
          at += length;
        }
        return;
      case ISA_MEMSET:
        return dst.memory->write(dst.begin, dst.end, {SUM, sums_.number({}), 0});
      case ISA_CAST: {
        tag_t sum = src.memory->read_one(src.begin, src.end, SUM);
        return dst.memory->write(dst.begin, dst.end, {OUT, sum.id, sum.offset / 2});
      }
      case ISA_TENSOR_TENSOR:
        return add(src, range_of(operands[1]), dst);
      default:
        fail("an instruction that the program does not have");
    }
  }

  // Last column first: the pattern begins at the last element.
  void load_weights(const isa_record &record, const isa_operand_t &operand, const range_t &src) {
    isa_ldweights r;
    memcpy(&r, &record, sizeof(r));
    uint32_t start = operand.addr4 & (ISA_SBUF_PITCH - 1);
    if (start + operand.element_bytes != src.end || r.src.step[0] != -1 || r.src.step[2] != -32)
      fail("weights that do not begin at their last element");
    weights_ = src.memory->read_one(src.begin, src.end, r.transpose != 0 ? X : XT);
  }

  void multiply(const isa_record &record, const range_t &moving, const range_t &dst) {
    isa_matmul r;
    memcpy(&r, &record, sizeof(r));
    uint8_t flags = r.flags;
    if (options_.flags_swapped)
      flags = static_cast<uint8_t>((flags & 1) << 1 | flags >> 1);
    uint32_t bank = dst.begin / ISA_PSUM_BANK_BYTES;
    if (r.transpose != 0) {
      moving.memory->read_one(moving.begin, moving.end, IDENTITY);
      if (weights_.kind != X || weights_.offset % (2 * kBlock) != 0 || flags != 3)
        fail("a transpose of something else than a block of x");
      if (!open_.empty())
        fail("a transpose while a group is open");
      return dst.memory->write(dst.begin, dst.end,
                               {XT, static_cast<uint32_t>(weights_.offset / (2 * kBlock)), 0});
    }
    tag_t y = moving.memory->read_one(moving.begin, moving.end, Y);
    if (weights_.kind != XT || weights_.offset != 0 || y.id != weights_.id * kBlock)
      fail(fmt::format("block {} of k meets rows from {} of y", weights_.id, y.id));
    bool begin = (flags & ISA_MATMUL_BEGIN) != 0;
    uint32_t before = 0;
    if (!begin) {
      tag_t group = dst.memory->read_one(dst.begin, dst.end, GROUP);
      if (group.offset != 2 * y.offset || !open_.contains(bank))
        fail("a group goes on that is not open, or with other columns");
      before = group.id;
    } else if (!open_.insert({bank, true}).second) {
      fail("a group begins where one is open");
    }
    most_open_ = std::max(most_open_, static_cast<uint32_t>(open_.size()));
    dst.memory->write(dst.begin, dst.end,
                      {GROUP, groups_.extended(before, weights_.id, begin), 2 * y.offset});
    macs_ += uint64_t{kBlock} * kBlock * (moving.end - moving.begin) / 2;
    if ((flags & ISA_MATMUL_END) != 0)
      open_.erase(bank);
  }

  void add(const range_t &left, const range_t &right, const range_t &dst) {
    tag_t group = left.memory->read_one(left.begin, left.end, GROUP);
    tag_t sum = right.memory->read_one(right.begin, right.end, SUM);
    if (open_.contains(left.begin / ISA_PSUM_BANK_BYTES))
      fail("a group is read before it has ended");
    bool first = sums_.list(sum.id).empty();
    if (!first && sum.offset != group.offset)
      fail("columns of one block are added to those of another");
    dst.memory->write(dst.begin, dst.end,
                      {SUM, sums_.extended(sum.id, group.id, first), group.offset});
  }

  // --- transfers ---------------------------------------------------------------------------------

  place_t place_of(const isa_addr8 &address, int64_t row_step, uint32_t bytes) {
    uint32_t id = isa_addr8_id(address);
    bool table = address.mode == ISA_ADDR8_TABLE && !options_.table_index_is_variable;
    if (table && id >= table_.size())
      fail("an index beyond the table");
    auto it = vars_.find(table ? table_[id] : id);
    if (it == vars_.end())
      fail("no such variable");
    const kbin_mem_ref &var = *it->second;
    int64_t offset = options_.signed_offset ? int64_t{static_cast<int32_t>(address.offset)}
                                            : int64_t{address.offset};
    int64_t last = offset + (kBlock - 1) * row_step + bytes;
    bool sbuf = var.mr_type == MR_SB;
    if (offset < 0 || (!sbuf && last > static_cast<int64_t>(var.size)))
      fail(fmt::format("offset {} in {}", offset, var.name));
    place_t place;
    if (sbuf || var.mr_type == MR_VIRTUAL_TMP_BUF) {
      int64_t pitch = sbuf ? int64_t{ISA_SBUF_PITCH} : 4096;
      if (row_step != pitch || offset >= pitch)
        fail("not on all lanes");
      place.memory = sbuf ? &sbuf_ : &scratch_.at(var.var_id);
      place.begin = static_cast<uint32_t>(offset);
      return place;
    }
    if (var.mr_type == MR_BUFFER) {
      place.tag = {IDENTITY, 0, 0};
      return place;
    }
    bool is_x = var.size == static_cast<uint64_t>(kXRow) * kBlock && var.mr_type == MR_INPUT;
    int64_t row = is_x ? kXRow : kYRow;
    if (row_step != row)
      fail(fmt::format("rows of {} that are not one behind the other", var.name));
    place.tag = {is_x                      ? X
                 : var.mr_type == MR_INPUT ? Y
                                           : OUT,
                 static_cast<uint32_t>(offset / row), offset % row};
    return place;
  }

  void issue(const isa_dma &dma) {
    if (dma.src_count[0] != kBlock || dma.src_count[1] != 1 || dma.src_bytes != dma.dst_bytes ||
        dma.src_dtype != dma.dst_dtype || dma.increment != 16)
      fail("another transfer than 128 rows");
    pending_t p{place_of(dma.src, dma.src_step[0], dma.src_bytes),
                place_of(dma.dst, dma.dst_step[0], dma.dst_bytes), dma.src_bytes, dma.semaphore};
    if (p.dst.memory != nullptr)
      p.dst.memory->write(p.dst.begin, p.dst.begin + p.bytes, {IN_FLIGHT, 0, 0});
    pending_.push_back(p);
    if (options_.seed == 0)
      finish(pending_.size() - 1);
  }

  void finish(size_t index) {
    pending_t p = pending_[index];
    pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(index));
    std::vector<std::pair<uint32_t, tag_t>> pieces;
    if (p.src.memory != nullptr)
      pieces = p.src.memory->read(p.src.begin, p.src.begin + p.bytes);
    else
      pieces.emplace_back(p.bytes, p.src.tag);
    segments *to = p.dst.memory;
    uint32_t at = p.dst.begin;
    if (to == nullptr) {
      if (p.dst.tag.kind != OUT || p.dst.tag.id != 0)
        fail("a transfer into an input");
      to = &out_;
      at = static_cast<uint32_t>(p.dst.tag.offset);
      first_ = std::min(first_, at);
      end_ = std::max(end_, at + p.bytes);
    }
    for (const auto &[length, tag] : pieces) {
      to->write(at, at + length, tag);
      at += length;
    }
    semaphores_[p.semaphore] += options_.one_per_transfer ? 1 : 16;
  }

  struct pending_t {
    place_t src, dst;
    uint32_t bytes;
    uint8_t semaphore;
  };

  const kbin_t &kbin_;
  const provenance_options &options_;
  std::mt19937_64 random_;
  std::map<uint32_t, const kbin_mem_ref *> vars_;
  std::vector<uint32_t> table_;
  segments sbuf_{kSbufBytes}, psum_{ISA_PSUM_PARTITION_BYTES}, out_{kYRow};
  std::map<uint32_t, segments> scratch_;
  std::map<uint32_t, bool> open_;  // groups, by bank
  std::vector<pending_t> pending_;
  std::map<uint32_t, uint32_t> semaphores_;
  std::array<uint32_t, ISA_ENGINE_COUNT> at_{};
  tag_t weights_;
  sums groups_, sums_;
  uint32_t first_ = UINT32_MAX, end_ = 0, most_open_ = 0;
  uint64_t macs_ = 0;
};

}  // namespace

provenance_result provenance_run(const kbin_t &kbin, const provenance_options &options) {
  provenance_result result;
  try {
    machine m(kbin, options);
    m.run();
    m.check_output(&result);
  } catch (const std::exception &e) {
    result.error = fmt::format("{}: {}", kbin.sg_name, e.what());
  }
  return result;
}
