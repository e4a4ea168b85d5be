// SPDX-License-Identifier: Apache-2.0
#include "bench/table.h"

#include <fmt/format.h>

#include <random>

#include "bench/harness.h"

bench_table::bench_table(uint32_t count) {
  // The size a load gives it (tdrv/model.cc).
  if (ht_init(&set, count < 512 ? 1024 : size_t{2} * count, mem_ref_free_one) != NRT_SUCCESS)
    bench_die("no memory for the table");
  for (uint32_t id = 0; id < count; id++) {
    std::string name = fmt::format("t125_i{}_RematSpillSave_sg0000", id);
    kbin_mem_ref source{};
    source.mr_type = MR_VIRTUAL_TMP_BUF;
    source.name = name.data();
    source.var_id = id;
    source.size = BENCH_VAR_SIZE;
    mem_ref_t *mr = nullptr;
    if (mem_ref_get_new_mr(&source, &mr) != NRT_SUCCESS ||
        ht_insert(set, id, &mr->ht_node) != NRT_SUCCESS)
      bench_die("cannot fill the table");
    mr->physical_address = 0x100000000 + id * BENCH_VAR_SIZE;
    records.push_back(mr);
  }
}

bench_table::~bench_table() {
  ht_destroy(set);
}

std::vector<uint32_t> bench_make_ids(bench_ids kind, uint32_t count, size_t length) {
  std::mt19937 random(20240517);
  std::vector<uint32_t> hot(16), ids(length);
  for (uint32_t &id : hot)
    id = static_cast<uint32_t>(random() % count);
  for (size_t i = 0; i < length; i++)
    ids[i] = kind == bench_ids::hot ? hot[i % hot.size()] : static_cast<uint32_t>(random() % count);
  return ids;
}
