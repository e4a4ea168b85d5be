// SPDX-License-Identifier: Apache-2.0
// What a checker hears about a core, in order (watch.h).
#include <cstdarg>

#include "mock_dev/core.h"
#include "mock_dev/core_pool.h"
#include "mock_dev/watch.h"
#include "tests/mock_dev/exec_fixture.h"

namespace {

using log_t = std::vector<std::string>;

struct listener_t : mock_watch_t {
  log_t log;
  listener_t() : mock_watch_t() {
    user = &log;
    issue = [](mock_watch_t *w, uint32_t e, uint64_t, const isa_record *r) {
      say(w, "issue %u %02x", e, r->h.opcode);
    };
    acquire = [](mock_watch_t *w, uint32_t e, uint8_t mode, uint32_t index, int32_t value) {
      say(w, "acquire %u mode %u index %u value %d", e, mode, index, value);
    };
    operand = [](mock_watch_t *w, uint32_t e, const isa_operand_t *o) {
      say(w, "operand %u %x %s", e, o->addr4, o->write ? "write" : "read");
    };
    scalar = [](mock_watch_t *w, uint32_t e, uint64_t, uint64_t bytes, bool write) {
      say(w, "scalar %u %llu %s", e, static_cast<unsigned long long>(bytes),
          write ? "write" : "read");
    };
    release = [](mock_watch_t *w, uint32_t a, bool event, uint32_t index, bool raised,
                 int64_t value) {
      say(w, "release %u %s %u %s %lld", a, event ? "event" : "semaphore", index,
          raised ? "raised" : "set", static_cast<long long>(value));
    };
    transfer_issue = [](mock_watch_t *w, uint32_t a, const mock_transfer_t *t) {
      say(w, "transfer %u of %llu", a, static_cast<unsigned long long>(t->bytes));
    };
    transfer_end = [](mock_watch_t *w, uint32_t a) { say(w, "end %u", a); };
    packet_begin = [](mock_watch_t *w, uint32_t a) { say(w, "packet %u", a); };
    packet_access = [](mock_watch_t *w, uint32_t a, const mock_target_t *, uint64_t length,
                       bool write) {
      say(w, "access %u %llu %s", a, static_cast<unsigned long long>(length),
          write ? "write" : "read");
    };
    register_written = [](mock_watch_t *w, uint32_t a, uint32_t device, uint32_t core,
                          uint64_t offset) {
      say(w, "register by %u: %u %u %llx", a, device, core,
          static_cast<unsigned long long>(offset));
    };
  }
  __attribute__((format(printf, 2, 3))) static void say(mock_watch_t *w, const char *format, ...) {
    char line[128];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    static_cast<log_t *>(w->user)->push_back(line);
  }
};

}  // namespace

TEST(Watch, HearsEverythingInOrder) {
  cores_t m;
  m.run(SP, {nop()});  // the core's run state comes with its first run
  listener_t listener;
  mock_core_t *core = mock_core_at(m.host, 0, 0);
  core->watch = &listener;
  m.semaphore_set(9, 3);
  record_t clear(0x49);  // MEMSET of one word per lane
  clear.put(28, uint32_t{1}).put(44, 0x4000u);
  clear.b[32] = 10;
  clear.b[34] = 4;
  for (size_t d = 0; d < 4; ++d)
    clear.put(48 + 2 * d, int16_t{1}).put(56 + 2 * d, uint16_t{1});
  queue_t q(m, 3, 5);
  q.put_tx({tx_desc(m.data.pa, 64), tx_desc(0x9000000004, 4)});
  q.put_rx({rx_desc(m.data.pa + 8192, 64), rx_desc(events_v3(1) + 0x1800 + 4 * 70, 4)});
  uint64_t ring = 0x1002000000 + 3 * 0x100000 + 0x1000 * 6 + 0x38;
  m.run(DVE, {clear.wait(5, 9, 2).update(0x13, 6), dma(m.data.pa, m.data.pa + 4096, 64, 2, 8),
              write(ring + 0x20000, 4, 2), write(ring, 4, 2)});
  core->watch = nullptr;
  log_t expected = {
      "acquire 3 mode 5 index 9 value 2",
      "issue 3 49",
      "operand 3 4000 write",
      "release 3 semaphore 6 raised 1",
      "issue 3 b8",
      "transfer 16 of 128",
      "release 16 semaphore 8 raised 16",
      "end 16",
      "issue 3 a5",
      "scalar 3 4 write",
      "issue 3 a5",
      "scalar 3 4 write",
      "packet 309",
      "access 309 64 read",
      "access 309 64 write",
      "packet 309",
      "access 309 4 read",
      "access 309 4 write",
      "register by 309: 0 1 1918",
      "issue 3 a1",
  };
  EXPECT_EQ(listener.log, expected);
}
