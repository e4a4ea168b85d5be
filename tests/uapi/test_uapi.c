/* SPDX-License-Identifier: Apache-2.0 */
/* Built as C11, C17, C++17 and C++20: the headers must mean the same in each. */
#include <stdio.h>
#include <string.h>

#include "uapi/neuron_address_map.h"
#include "uapi/neuron_ioctl.h"
#include "uapi/neuron_shared.h"
#include "uapi/neuron_udma.h"
#include "uapi_tables.h"

static int failures;

static void check(const char *what, const char *name, uint64_t got, uint64_t want) {
  if (got == want)
    return;
  fprintf(stderr, "%s of %s: got %#llx, want %#llx\n", what, name, (unsigned long long)got,
          (unsigned long long)want);
  ++failures;
}

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static void check_requests(void) {
  static const char *const listed[] = {
#define NAME(name) #name,
      NEURON_IOCTL_LIST(NAME)
#undef NAME
  };
  check("rows", "request table", ROWS(request_rows), 94);
  check("NEURON_IOCTL_COUNT", "header", NEURON_IOCTL_COUNT, 94);
  check("entries", "NEURON_IOCTL_LIST", ROWS(listed), 94);
  unsigned numbers[256] = {0};
  unsigned distinct_numbers = 0;
  for (size_t i = 0; i < ROWS(request_rows); ++i) {
    const struct request_row *r = &request_rows[i];
    check("value", r->name, r->value, r->expected_value);
    check("number", r->name, r->value & 0xff, r->number);
    check("letter", r->name, r->value >> 8 & 0xff, 0x4e);
    check("encoded size", r->name, r->value >> 16 & 0x3fff, r->encoded_size);
    check("structure size", r->name, r->size, r->expected_size);
    check("list order", r->name, i < ROWS(listed) && strcmp(listed[i], r->name) == 0, 1);
    if (numbers[r->number]++ == 0)
      ++distinct_numbers;
    for (size_t j = 0; j < i; ++j)
      check("clash", r->name, request_rows[j].value == r->value, 0);
  }
  check("distinct numbers", "request table", distinct_numbers, 79);
}

static void check_members(void) {
  for (size_t i = 0; i < ROWS(member_rows); ++i) {
    check("offset", member_rows[i].name, member_rows[i].offset, member_rows[i].expected_offset);
    check("size", member_rows[i].name, member_rows[i].size, member_rows[i].expected_size);
  }
}

static void check_shared(void) {
  check("value", "NEURON_ARCH_V3", NEURON_ARCH_V3, 3);
  check("value", "NEURON_FEATURE_CONTIGUOUS_SCRATCHPAD", NEURON_FEATURE_CONTIGUOUS_SCRATCHPAD, 128);
  check("or", "features",
        NEURON_FEATURE_DMABUF | NEURON_FEATURE_ASYNC_DMA | NEURON_FEATURE_BATCH_DMAQ_INIT |
            NEURON_FEATURE_BIG_CORE_MAPS | NEURON_FEATURE_MEM_ALLOC_TYPE |
            NEURON_FEATURE_HBM_SCRUB | NEURON_FEATURE_MEM_ALLOC64 |
            NEURON_FEATURE_CONTIGUOUS_SCRATCHPAD,
        0xff);
  check("value", "NEURON_MEM_DMA_RINGS_HOST", NEURON_MEM_DMA_RINGS_HOST, 17);
  check("value", "NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE", NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE,
        19);
  check("value", "NEURON_NQ_TYPE_THROTTLE", NEURON_NQ_TYPE_THROTTLE, 5);
  check("value", "NEURON_POD_MODE_1_NODE", NEURON_POD_MODE_1_NODE, 4);
  check("value", "NEURON_CINIT_INVALID", NEURON_CINIT_INVALID, 3);
  /* Trn1 routing id 9 is device 8; Trn2 routing id 13 is device 14; ids count on by block. */
  check("device", "trn1 rid 9", neuron_routing_id_to_device(0, 9), 8);
  check("device", "trn2 rid 13", neuron_routing_id_to_device(1, 13), 14);
  check("device", "trn2 rid 29", neuron_routing_id_to_device(1, 29), 30);
  for (int trn2 = 0; trn2 < 2; ++trn2) {
    uint32_t seen = 0;
    for (uint32_t id = 0; id < 16; ++id) {
      uint32_t device = neuron_routing_id_to_device(trn2, id);
      seen |= 1u << device;
      check("inverse", "routing id", neuron_device_to_routing_id(trn2, device), id);
    }
    check("permutation", "routing ids", seen, 0xffff);
  }
  check("physical core", "device 0 core 0", neuron_v3_physical_core(0, 0), 4);
  check("physical core", "device 1 core 2", neuron_v3_physical_core(10, 0), 0);
  check("physical core", "device 4 core 4", neuron_v3_physical_core(36, 0), 6);
  check("physical core", "device 5 core 0", neuron_v3_physical_core(40, 0), 6);
  check("physical core", "device 0 core 0 flipped", neuron_v3_physical_core(0, 1), 0);
}

static void check_special(const char *name, uint32_t arch, uint32_t block, uint32_t id,
                          uint32_t resource, uint64_t cookie, uint64_t length, uint32_t bar,
                          uint64_t bar_offset) {
  uint64_t got_cookie = 0, got_length = 0, got_offset = 0;
  uint32_t got_bar = 99;
  check("entry", name,
        neuron_special_mapping(arch, block, id, resource, &got_cookie, &got_length, &got_bar,
                               &got_offset) == 0,
        1);
  check("cookie", name, got_cookie, cookie);
  check("length", name, got_length, length);
  check("bar", name, got_bar, bar);
  check("bar offset", name, got_offset, bar_offset);
}

static void check_no_special(const char *name, uint32_t arch, uint32_t block, uint32_t id,
                             uint32_t resource) {
  uint64_t a = 0, b = 0, d = 0;
  uint32_t c = 0;
  check("absence", name, neuron_special_mapping(arch, block, id, resource, &a, &b, &c, &d) == 0, 0);
}

/* A register block leads back to its engine, whichever register is meant. */
static void check_engines(uint32_t arch) {
  static const uint64_t inside[] = {0, 0x1038, 0x21038, 0x3fffc};
  for (uint32_t e = 0; e < neuron_arch_counts_get(arch).dma_engines; ++e)
    for (uint32_t i = 0; i < 4; ++i)
      check("engine", "of a register",
            neuron_udma_engine_near(arch, neuron_udma_bar0_offset(arch, e) + inside[i]), e);
  for (uint32_t core = 0; core < neuron_arch_counts_get(arch).cores; ++core)
    check("engine", "of another block",
          neuron_udma_engine_near(arch, neuron_nq_core_bar0_offset(arch, core)), UINT32_MAX);
}

/* So do device addresses to channels and cores, from the first byte of their memory to the last. */
static void check_memories(uint32_t arch) {
  struct neuron_arch_counts counts = neuron_arch_counts_get(arch);
  for (uint32_t h = 0; h < counts.hbms; ++h) {
    check("channel", "first", neuron_hbm_near(arch, neuron_hbm_base(arch, h)), h);
    check("channel", "last",
          neuron_hbm_near(arch, neuron_hbm_base(arch, h) + neuron_hbm_size(arch) - 1), h);
  }
  for (uint32_t core = 0; core < counts.cores; ++core) {
    uint64_t base = neuron_tpb_base(arch, core);
    check("core", "first", neuron_tpb_near(arch, base), core);
    check("core", "events", neuron_tpb_near(arch, base + neuron_event_offset(arch)), core);
    check("core", "last", neuron_tpb_near(arch, base + neuron_tpb_size(arch) - 1), core);
  }
}

static void check_addresses(void) {
  static const uint64_t v3_hbm[4] = {0, 0x4000000000, 0x800000000000, 0x804000000000};
  static const uint64_t v3_tpb[8] = {0x2000000000,   0x3000000000,   0x6000000000,
                                     0x7000000000,   0x802000000000, 0x803000000000,
                                     0x806000000000, 0x807000000000};
  static const uint64_t v3_preproc[4] = {0x1200000000, 0x5200000000, 0x801200000000,
                                         0x805200000000};
  static const uint64_t neighbours[4] = {0x10000000000000, 0x14000000000000, 0x18000000000000,
                                         0x1c000000000000};
  for (uint32_t i = 0; i < 4; ++i) {
    check("base", "v3 hbm", neuron_hbm_base(3, i), v3_hbm[i]);
    check("bar4", "v3 hbm", neuron_hbm_bar4_offset(3, i), i * 0x1000000000ull);
    check("base", "v3 preproc", neuron_preproc_base(3, i), v3_preproc[i]);
    check("base", "v3 neighbour", neuron_neighbour_window(3, i), neighbours[i]);
  }
  for (uint32_t i = 0; i < 8; ++i)
    check("base", "v3 core", neuron_tpb_base(3, i), v3_tpb[i]);
  check("base", "v2 hbm 1", neuron_hbm_base(2, 1), 0x1000000000);
  check("bar4", "v2 hbm 1", neuron_hbm_bar4_offset(2, 1), 0x400000000);
  check("bar4", "v1 hbm 1", neuron_hbm_bar4_offset(1, 1), 0x100000000);
  check("size", "v2 hbm", neuron_hbm_size(2), 0x400000000);
  check("size", "v3 hbm", neuron_hbm_size(3), 0x600000000);
  check("base", "v2 core 1", neuron_tpb_base(2, 1), 0xfffc4000000);
  check("base", "v2 core 2", neuron_tpb_base(2, 2), UINT64_MAX);
  check("base", "v3 hbm 4", neuron_hbm_base(3, 4), UINT64_MAX);
  check("base", "unknown chip", neuron_hbm_base(4, 0), UINT64_MAX);
  check("base", "v2 TOP_SP 5", neuron_top_sp_base(2, 5), 0xfffd1400000);
  check("base", "v2 TOP_SP 6", neuron_top_sp_base(2, 6), UINT64_MAX);
  check("base", "v3 TOP_SP 9", neuron_top_sp_base(3, 9), 0x8082c0000000);
  check("bit", "v2 host window", neuron_host_window_bit(2), 1ull << 44);
  check("bit", "v3 host window", neuron_host_window_bit(3), 1ull << 46);
  check("offset", "v2 events", neuron_event_offset(2), 0x2700000);
  check("offset", "v3 events", neuron_event_offset(3), 0x802700000);

  check("base", "v2 engine 16", neuron_udma_bar0_offset(2, 16), 0x30700000);
  check("base", "v2 engine 33", neuron_udma_bar0_offset(2, 33), 0x30d00000);
  check("base", "v2 engine 34", neuron_udma_bar0_offset(2, 34), UINT64_MAX);
  check("base", "v2 broadcast 0", neuron_udma_broadcast_bar0_offset(2, 0), 0x31000000);
  check("base", "v2 broadcast 1", neuron_udma_broadcast_bar0_offset(2, 1), UINT64_MAX);
  check("base", "v3 broadcast 4", neuron_udma_broadcast_bar0_offset(3, 4), 0xa2080000);
  check("base", "v3 broadcast 8", neuron_udma_broadcast_bar0_offset(3, 8), UINT64_MAX);
  check("bar0", "v2 APB", neuron_apb_bar0_offset(2, 0xffff0fa0000), 0x30fa0000);
  check("bar0", "v2 below APB", neuron_apb_bar0_offset(2, 0xfffefffffff), UINT64_MAX);
  check("bar0", "v2 above APB", neuron_apb_bar0_offset(2, 0x100000000000), UINT64_MAX);
  check("bar0", "v3 IO die 1", neuron_apb_bar0_offset(3, 0x808006800000), 0x46800000);
  check("bar0", "v3 SE 1", neuron_apb_bar0_offset(3, 0x5004000000), 0x94000000);
  check("bar0", "v3 SE 2", neuron_apb_bar0_offset(3, 0x801002000000), 0xa2000000);
  check("bar0", "v3 behind SE 3", neuron_apb_bar0_offset(3, 0x805010000000), UINT64_MAX);
  check("address", "v2 constants", neuron_event_constants(2), 0x2000000000);
  check("address", "v3 constants", neuron_event_constants(3), 0x9000000000);
  check("address", "v1 constants", neuron_event_constants(1), UINT64_MAX);
  check("offset", "queue 15", NEURON_UDMA_QUEUE(15), 0x10000);
  check("base", "v3 engine 95", neuron_udma_bar0_offset(3, 95), 0xa3f00000);
  check("base", "v3 engine 130", neuron_udma_bar0_offset(3, 130), 0x46800000);
  check("base", "v3 engine 132", neuron_udma_bar0_offset(3, 132), UINT64_MAX);
  check_memories(2);
  check_memories(3);
  check_engines(2);
  check_engines(3);
  check("engine", "v2 below engine 0", neuron_udma_engine_near(2, 0x2fffffff), UINT32_MAX);
  check("engine", "v3 behind engine 127", neuron_udma_engine_near(3, 0xb6000000), UINT32_MAX);
  check("engine", "v1", neuron_udma_engine_near(1, 0), UINT32_MAX);
  check("engine", "v3 core 5 copies", neuron_copy_engine(3, 5), 130);
  check("queue", "v3 core 5 copies", neuron_copy_queue(3, 5), 1);
  check("engine", "v1 core 3 copies", neuron_copy_engine(1, 3), 11);
  check("queue", "v1 core 3 copies", neuron_copy_queue(1, 3), 15);
  check("owner", "v2 engine 26 queue 14", (uint64_t)neuron_queue_is_sequencer(2, 26, 14), 1);
  check("owner", "v2 engine 27 queue 14", (uint64_t)neuron_queue_is_sequencer(2, 27, 14), 0);
  check("owner", "v3 engine 24 queue 14", (uint64_t)neuron_queue_is_sequencer(3, 24, 14), 1);
  check("owner", "v3 engine 21 queue 14", (uint64_t)neuron_queue_is_sequencer(3, 21, 14), 0);
  check("owner", "v3 engine 24 queue 13", (uint64_t)neuron_queue_is_sequencer(3, 24, 13), 0);
  check("base", "v3 core 6 notifications", neuron_nq_core_bar0_offset(3, 6), 0x46401000);
  check("base", "v2 TOP_SP 2 notifications", neuron_nq_top_sp_bar0_offset(2, 2), 0x30e84000);
  check("base", "v3 TOP_SP 10 notifications", neuron_nq_top_sp_bar0_offset(3, 10), 0x46a80000);
  check("base", "v2 core 1 engine 2 trace", neuron_nq_dma_trace_bar0_offset(2, 1, 2), 0x30b0f000);

  check_special("v2 core 1 semaphores", 2, 0, 1, 0, 0xfffc6700000, 0x2000, 0, 0x6700000);
  check_special("v2 core 1 sbuf", 2, 0, 1, 2, 0xfffc4000000, 0x2000000, 0, 0x4000000);
  check_special("v2 TOP_SP 5 semaphores", 2, 1, 5, 0, 0xfffd1400000, 0x2000, 0, 0x11400000);
  check_special("v2 TOP_SP 5", 2, 1, 5, 1, 0xfffd1400000, 0x400000, 0, 0x11400000);
  check_special("v3 core 7 semaphores", 3, 0, 7, 0, 0x201e700000, 0x2000, 0, 0xee700000);
  check_special("v3 core 7 sbuf", 3, 0, 7, 2, 0x201c000000, 0x2000000, 0, 0xec000000);
  check_special("v3 TOP_SP 7", 3, 1, 7, 1, 0x8440000000, 0x400000, 0, 0xf1c00000);
  check_special("v3 TOP_SP 15", 3, 1, 15, 0, 0x808440000000, 0x2000, 0, 0xf4400000);
  check_special("v3 hbm 3", 3, 2, 3, 3, 0x804000000000, 0x600000000, 4, 0x3000000000);
  check_no_special("v2 hbm", 2, 2, 0, 3);
  check_no_special("v2 core 2", 2, 0, 2, 0);
  check_no_special("v3 core whole block", 3, 0, 0, 1);
  check_no_special("v3 TOP_SP sbuf", 3, 1, 0, 2);
  check_no_special("v3 TOP_SP 16", 3, 1, 16, 0);
  check_no_special("v3 hbm semaphores", 3, 2, 0, 0);
  check_no_special("unknown block", 3, 3, 0, 0);
  check_no_special("v1 core", 1, 0, 0, 0);

  struct neuron_arch_counts v3 = neuron_arch_counts_get(3);
  check("cores", "v3", v3.cores, 8);
  check("TOP_SPs", "v3", v3.top_sps, 16);
  check("engines", "v3", v3.dma_engines, 132);
  check("engines", "v2", neuron_arch_counts_get(2).dma_engines, 34);
  check("api range", "v3", v3.api_level_min * 100u + v3.api_level_max, 1011);
  check("cores", "unknown chip", neuron_arch_counts_get(77).cores, 0);
}

int main(void) {
  check_requests();
  check_members();
  check_shared();
  check_addresses();
  if (failures != 0)
    fprintf(stderr, "%d differences\n", failures);
  return failures != 0;
}
