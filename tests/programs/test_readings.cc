// SPDX-License-Identifier: Apache-2.0
// Wrong readings of the instruction set, planted as changed records: the device, which reads right,
// then does what a wrong one would have done with the file as it is. Each must show. Those that
// matmul_small.neff tells apart; attention_readings has the others.
#include <gmock/gmock.h>

#include <array>
#include <mutex>

#include "mock_dev/semaphore.h"
#include "tests/programs/matmul_run.h"
#include "tests/programs/misreading.h"
#include "tools/npy.h"
#include "tools/sample.h"

namespace {

struct outcome {
  NRT_STATUS load = NRT_SUCCESS, run = NRT_SUCCESS;
  uint32_t wrong = 0;  // outputs
  bool caught() const { return load != NRT_SUCCESS || run != NRT_SUCCESS || wrong != 0; }
};

// `data`: seed of the inputs. What an earlier run of this session left behind is not to be taken
// for right.
outcome try_out(session &s, const std::vector<uint8_t> &file, const mock_exec_options_t &options,
                uint64_t data = 3) {
  outcome o;
  s.configure(options);
  small_matmul m(file);
  o.load = m.status();
  if (o.load != NRT_SUCCESS)
    return o;
  m.fill(data);
  o.run = m.run();
  if (o.run == NRT_SUCCESS)
    o.wrong = m.wrong();
  return o;
}

using edit_t = std::function<bool(isa_record &)>;

class Readings : public testing::Test {
 protected:
  void SetUp() override {
    file = corpus_file("matmul_small.neff");
    SKIP_WITHOUT(file);
  }
  outcome plant(const edit_t &edit, uint32_t changes) {
    uint32_t changed = 0;
    std::vector<uint8_t> edited = edit_records(file, edit, &changed);
    EXPECT_EQ(changed, changes);
    session s;
    return try_out(s, edited, {});
  }
  std::vector<uint8_t> file;
};

constexpr uint32_t kOutputs = 128 * 128;

}  // namespace

// Rewriting the file alone changes nothing.
TEST_F(Readings, TheFileAsItIs) {
  outcome o = plant([](isa_record &) { return false; }, 0);
  EXPECT_FALSE(o.caught());
}

TEST_F(Readings, WeightsWithoutLastColumnFirst) {
  outcome o = plant(for_opcode<isa_ldweights>(ISA_LDWEIGHTS, mirror_weights), 8);
  EXPECT_EQ(o.run, NRT_SUCCESS);
  EXPECT_GT(o.wrong, kOutputs * 9 / 10);  // no column right
}

TEST_F(Readings, PatternIndexZeroSlowest) {
  outcome o = plant(for_opcode<isa_ldweights>(ISA_LDWEIGHTS,
                                              [](isa_ldweights &r) {
                                                std::swap(r.src.step[0], r.src.step[2]);
                                                std::swap(r.src.count[0], r.src.count[2]);
                                                return true;
                                              }),
                    8);
  EXPECT_EQ(o.run, NRT_SUCCESS);
  EXPECT_GT(o.wrong, kOutputs * 9 / 10);
}

TEST_F(Readings, BeginAndEndSwapped) {
  outcome o = plant(
      for_opcode<isa_matmul>(ISA_MATMUL,
                             [](isa_matmul &r) {
                               r.flags = static_cast<uint8_t>((r.flags & 1) << 1 | r.flags >> 1);
                               return true;
                             }),
      8);
  EXPECT_TRUE(o.caught());
  EXPECT_TRUE(o.run != NRT_SUCCESS || o.wrong > kOutputs * 9 / 10);
}

// Takes the first transpose away when the second one begins.
TEST_F(Readings, BeginClearsTheBank) {
  session s;
  misreading wrong(s.host(), clear_bank_at_begin);
  outcome o = try_out(s, file, {});
  EXPECT_EQ(o.run, NRT_SUCCESS);
  EXPECT_GT(o.wrong, kOutputs * 9 / 10);
}

// Adds to what the memory held: never written, or an earlier run's.
TEST_F(Readings, BeginAddsToWhatIsThere) {
  uint32_t changed = 0;
  std::vector<uint8_t> edited =
      edit_records(file,
                   for_opcode<isa_matmul>(ISA_MATMUL,
                                          [](isa_matmul &r) {
                                            bool begin = (r.flags & ISA_MATMUL_BEGIN) != 0;
                                            r.flags &= static_cast<uint8_t>(~ISA_MATMUL_BEGIN);
                                            return begin;
                                          }),
                   &changed);
  EXPECT_EQ(changed, 6u);
  for (bool right : {true, false}) {
    SCOPED_TRACE(right);
    session s;
    s.configure({.seed = 0, .strict = 1, .races = 0, .exact_functions = 0});
    small_matmul m(right ? file : edited);
    ASSERT_EQ(m.status(), NRT_SUCCESS);
    m.fill(3);
    NRT_STATUS first = m.run();
    EXPECT_EQ(s.findings().empty(), right);
    m.fill(4);
    NRT_STATUS second = m.run();
    if (right) {
      EXPECT_EQ(first, NRT_SUCCESS);
    }
    EXPECT_EQ(second == NRT_SUCCESS && m.wrong() == 0, right);
  }
}

TEST_F(Readings, TransposeBitIgnored) {
  outcome o = plant(
      [](isa_record &record) {
        auto *bytes = reinterpret_cast<uint8_t *>(&record);
        bool mine = (bytes[0] == ISA_LDWEIGHTS || bytes[0] == ISA_MATMUL) && bytes[34] == 1;
        if (mine)
          bytes[34] = 0;
        return mine;
      },
      8);
  EXPECT_TRUE(o.caught());
  EXPECT_TRUE(o.load != NRT_SUCCESS || o.run != NRT_SUCCESS || o.wrong > kOutputs * 9 / 10);
}

// A finished DMA adds 1 instead of 16: nobody's threshold is reached, and the report is there at
// once.
TEST_F(Readings, FinishedTransferAddsOne) {
  outcome o = plant(for_opcode<isa_dma>(ISA_PSEUDO_DMA_DIRECT2D,
                                        [](isa_dma &r) {
                                          r.increment = 1;
                                          return true;
                                        }),
                    10);
  EXPECT_EQ(o.run, NRT_TIMEOUT);
}

// It raises its semaphore when it is issued: whoever waits reads what has not arrived. A race under
// every schedule, and wrong numbers or transfers in flight at the end under some.
TEST_F(Readings, RaisedAtIssue) {
  uint32_t changed = 0;
  std::vector<uint8_t> edited = raise_at_issue(file, &changed);
  EXPECT_EQ(changed, 10u);
  session s;
  for (bool right : {true, false}) {
    uint32_t found = 0, caught = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
      caught += try_out(s, right ? file : edited,
                        {.seed = seed, .strict = 0, .races = 1, .exact_functions = 0}, seed)
                        .caught()
                    ? 1
                    : 0;
      found += s.findings().empty() ? 0 : 1;
    }
    EXPECT_EQ(found, right ? 0u : 10u);
    EXPECT_TRUE(right ? caught == 0 : caught >= 3) << caught << " of 10";
  }
}

// Counts that a run leaves behind let the waits of the next one through. Clearing, at the end of a
// run, puts back what was there before.
TEST_F(Readings, CountsStayFromRunToRun) {
  session s;
  small_matmul m(file);
  ASSERT_EQ(m.status(), NRT_SUCCESS);
  m.fill(3);
  ASSERT_EQ(m.run(), NRT_SUCCESS);
  EXPECT_TRUE(m.right(4));
  std::map<const mock_core_t *, std::array<uint32_t, 256>> counts;  // of both cores, before
  std::mutex lock;
  misreading wrong(s.host(), [&](mock_core_t *core, uint32_t, const isa_record &record) {
    std::lock_guard guard(lock);
    std::array<uint32_t, 256> &before = counts[core];
    for (uint64_t i = record.bytes[0]; record.h.opcode == ISA_SEM_RANGE_CLEAR && i < 256; i++)
      if (i >= record.bytes[1] && i <= record.bytes[2])
        mock_semaphore_write(core->events, NEURON_SEMAPHORE_SET + 4 * i, before[i]);
    for (uint64_t i = 0; i < 256; i++)
      before[i] = mock_semaphore_read(core->events, NEURON_SEMAPHORE_READ + 4 * i);
  });
  EXPECT_TRUE(m.right(5));  // began with cleared ones
  EXPECT_FALSE(m.right(6));
}

TEST_F(Readings, GreaterInsteadOfGreaterOrEqual) {
  outcome o = plant(
      [](isa_record &record) {
        bool mine = record.h.wait_mode == ISA_WAIT_SEM_GE;
        record.h.wait_mode = mine ? static_cast<uint8_t>(ISA_WAIT_SEM_GT) : record.h.wait_mode;
        return mine;
      },
      18);
  EXPECT_EQ(o.run, NRT_TIMEOUT);
}

// +1 that adds the header's value, which is the threshold of the wait: later waits pass too early.
TEST_F(Readings, PlusOneAddsTheValue) {
  uint32_t changed = 0;
  std::vector<uint8_t> edited = edit_records(
      file,
      [](isa_record &record) {
        bool mine = record.h.update_mode == (ISA_UPDATE_SEM_INC | ISA_UPDATE_COMPLETE);
        if (mine)
          record.h.update_mode = ISA_UPDATE_SEM_ADD | ISA_UPDATE_COMPLETE;
        return mine;
      },
      &changed);
  EXPECT_EQ(changed, 12u);
  session s;
  EXPECT_TRUE(try_out(s, edited, {}).caught());
}

TEST_F(Readings, TableIndexTakenAsVariable) {
  outcome o = plant(
      [](isa_record &record) {
        if (record.h.opcode != ISA_PSEUDO_DMA_DIRECT2D)
          return false;
        return edit_as<isa_dma>(record, [](isa_dma &r) {
          for (isa_addr8 *address : {&r.src, &r.dst})
            if (address->mode == ISA_ADDR8_TABLE)
              address->mode = ISA_ADDR8_VARIABLE;
        });
      },
      10);
  EXPECT_TRUE(o.caught());
}

// Without the cast the first half of each fp32 row lands in the output as it is.
TEST_F(Readings, TransfersThatDoNotCast) {
  outcome o = plant(
      [](isa_record &record) {
        isa_dma r;
        memcpy(&r, &record, sizeof(r));
        if (r.h.opcode != ISA_PSEUDO_DMA_DIRECT2D || r.src_dtype == r.dst_dtype)
          return false;
        r.src_dtype = r.dst_dtype;
        r.src_bytes = r.dst_bytes;
        memcpy(&record, &r, sizeof(r));
        return true;
      },
      2);
  EXPECT_EQ(o.run, NRT_SUCCESS);
  EXPECT_GT(o.wrong, kOutputs * 9 / 10);
}

// --- one byte in device memory -------------------------------------------------------------------

namespace {

// What a run gives: its status and output.
std::pair<NRT_STATUS, std::vector<uint16_t>> result_of(small_matmul &m) {
  NRT_STATUS status = m.run();
  return {status, m.output()};
}

}  // namespace

TEST_F(Readings, OneByteOfAnImageChangesTheNextRun) {
  session s;
  small_matmul m(file);
  ASSERT_TRUE(m.right(4));
  auto before = result_of(m);
  // The lowest byte of the first operand's address, of the record's own count, of its opcode.
  struct place_t {
    isa_engine_t engine;
    uint8_t opcode;
    uint32_t byte;
  };
  const place_t places[] = {
      {ISA_ENGINE_PE, ISA_LDWEIGHTS, 17},   {ISA_ENGINE_PE, ISA_MATMUL, 48},
      {ISA_ENGINE_PE, ISA_MATMUL, 0},       {ISA_ENGINE_PE, ISA_MATMUL, 26},
      {ISA_ENGINE_ACT, ISA_COPY, 13},       {ISA_ENGINE_ACT, ISA_COPY, 24},
      {ISA_ENGINE_POOL, ISA_DMAMEMCPY, 17}, {ISA_ENGINE_POOL, ISA_DMAMEMCPY, 24},
      {ISA_ENGINE_POOL, ISA_DMAMEMCPY, 62}, {ISA_ENGINE_SP, ISA_DMAMEMCPY, 17},
      {ISA_ENGINE_POOL, ISA_DMAMEMCPY, 13},
  };
  for (const place_t &place : places) {
    uint32_t first = 0, slots = m.p.main_slots(0, place.engine, &first), hits = 0;
    for (uint32_t slot = first; slot < first + slots; slot++) {
      auto *bytes = static_cast<uint8_t *>(
          mock_dram(s.host(), 0, m.p.image(0, place.engine, slot), ISA_RECORD_BYTES));
      ASSERT_NE(bytes, nullptr);
      if (bytes[0] != place.opcode)
        continue;
      hits++;
      bytes[place.byte] ^= 4;
      auto after = result_of(m);
      bytes[place.byte] ^= 4;
      EXPECT_NE(after, before) << isa_engine_t(place.engine) << " slot " << slot << " byte "
                               << place.byte;
      EXPECT_EQ(result_of(m), before) << "not mended, slot " << slot;
    }
    EXPECT_GT(hits, 0u);
  }
}

TEST_F(Readings, OneByteOfAWeightChangesTheNextRun) {
  session s;
  small_matmul m(file);
  ASSERT_TRUE(m.right(5));
  auto before = result_of(m);
  // identity: 128 x 128 fp16
  auto *weights = static_cast<uint8_t *>(
      mock_dram(s.host(), 0, m.p.variable(0, m.p.weights(0).front()), 32768));
  ASSERT_NE(weights, nullptr);
  for (uint32_t place : {1u, 5 * 256 + 11u, 127 * 256 + 255u}) {
    weights[place] ^= 0x40;
    EXPECT_NE(result_of(m), before) << place;
    weights[place] ^= 0x40;
    EXPECT_EQ(result_of(m), before) << place;
  }
}

// Static rings of the sample's program: each packet's buffer address.
TEST_F(Readings, OneByteOfADescriptorChangesTheNextRun) {
  neff_sample_options options;
  options.program = true;
  finding_sink findings;
  std::vector<uint8_t> sample;
  std::map<std::string, std::vector<uint8_t>> data;
  ASSERT_EQ(neff_sample_build(options, findings, &sample), NRT_SUCCESS);
  ASSERT_EQ(neff_sample_data(2, findings, &data), NRT_SUCCESS);
  session s;
  program p(sample);
  ASSERT_EQ(p.status(), NRT_SUCCESS);
  // Other inputs first, so that what they leave behind is not right for these.
  auto right = [&](const std::function<void()> &before) {
    for (const char *name : {"x", "y"})
      EXPECT_EQ(nrt_tensor_memset(p.tensor(name), 0, 0, p.size(name)), NRT_SUCCESS);
    EXPECT_EQ(p.run(), NRT_SUCCESS);
    for (const char *name : {"x", "y"}) {
      npy_array array;
      EXPECT_EQ(npy_read(data[name], name, findings, &array), NRT_SUCCESS);
      p.write(name, array.data.data(), 0, array.data.size());
    }
    p.spoil("output0");
    before();
    npy_array wanted;
    EXPECT_EQ(npy_read(data["output0"], "output0", findings, &wanted), NRT_SUCCESS);
    NRT_STATUS status = p.run();
    std::vector<uint8_t> out = p.read("output0");
    return status == NRT_SUCCESS && std::equal(out.begin(), out.end(), wanted.data.begin());
  };
  EXPECT_TRUE(right([] {}));
  uint32_t packets = 0;
  for (const program::range_t &range : p.memory(0)) {
    if (range.name.find("qSPIO0") == std::string::npos &&
        range.name.find("qPoolIO0") == std::string::npos)
      continue;
    auto *ring = static_cast<uint8_t *>(mock_dram(s.host(), 0, range.address, range.size));
    ASSERT_NE(ring, nullptr);
    // Descriptors of 16 bytes, the address in the upper half; the first of each ring in turn.
    for (uint64_t at = 0; at + 16 <= range.size && at < 32; at += 16) {
      uint64_t address;
      memcpy(&address, ring + at + 8, sizeof(address));
      if (address == 0)
        continue;
      packets++;
      EXPECT_FALSE(right([&] { ring[at + 9] ^= 4; })) << range.name << " packet " << at / 16;
      ring[at + 9] ^= 4;
      EXPECT_TRUE(right([] {})) << range.name << " packet " << at / 16 << " not mended";
    }
  }
  EXPECT_GE(packets, 64u);  // both sides of sixteen rings of two queues
}
