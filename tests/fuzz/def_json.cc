// SPDX-License-Identifier: Apache-2.0
// def.json through lowering to records, and the records through placement on a mocked core: every
// placed variable must lie in one of the driver's chunks, alone where the memory is its own, and
// nothing may be left afterwards.
#include <algorithm>

#include "hal/mock.h"
#include "kelf/kelf.h"
#include "tdrv/dma_ring.h"
#include "tdrv/model.h"
#include "tests/fuzz/support.h"

namespace {

using chunk_list = std::vector<hal_chunk_t>;

bool same_chunks(const chunk_list &a, const chunk_list &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const hal_chunk_t &x, const hal_chunk_t &y) {
                      return x.pa == y.pa && x.size == y.size && x.category == y.category;
                    });
}

struct machine {
  hal_t *hal = nullptr;
  tdrv_t *tdrv = nullptr;
  hal_device_t *device = nullptr;
  tdrv_options_t options{};
  chunk_list idle;

  machine() {
    fuzz_silence_log();
    mock_dev_options_t mock{};
    mock.hbm_size = 3ull << 30;
    mock_host_t *host = nullptr;
    options.lnc = 1;
    options.num_vncs = 1;
    options.scratchpad_page_size = 16 << 20;
    bool ok = mock_host_create(&mock, &host) == 0 &&
              hal_open_with(hal_mock_ops(), hal_mock_create(host), &hal) == NRT_SUCCESS &&
              tdrv_init(hal, &options, &tdrv) == NRT_SUCCESS &&
              hal_device_open(hal, 0, &device) == NRT_SUCCESS;
    FUZZ_CHECK(ok, "no mocked machine");
    idle = chunks();
  }
  ~machine() {
    hal_device_close(device);
    tdrv_close(tdrv);
    hal_close(hal);
  }

  chunk_list chunks() {
    chunk_list all;
    for (uint32_t hbm = 0; hbm < hal_arch(hal)->hbm_count; hbm++) {
      uint32_t count = 1 << 14;
      chunk_list list(count);
      FUZZ_CHECK(hal_dump_chunks(device, hbm, list.data(), &count) == 0, "chunk list");
      all.insert(all.end(), list.begin(), list.begin() + count);
    }
    return all;
  }
};

// What kelf_load_nn would make of one subgraph whose host graph matches it.
std::unique_ptr<kelf_nn_t> model_of(std::shared_ptr<const neff> source,
                                    std::unique_ptr<kbin_t> kbin) {
  auto nn = std::make_unique<kelf_nn_t>();
  nn->source = std::move(source);
  nn->target = KELF_TARGET_CAYMAN;
  nn->kbins.push_back(std::move(kbin));
  return nn;
}

bool own_memory(kbin_mr_type_t type) {
  return type == MR_BUFFER || type == MR_BUFFER_STAGED || type == MR_TMP_BUF || type == MR_INPUT ||
         type == MR_OUTPUT;
}

void check_placement(machine &m, const vtpb_info_shared_t *placed, const kbin_t &kbin) {
  chunk_list chunks = m.chunks();
  std::vector<std::pair<uint64_t, uint64_t>> own;  // begin, end
  for (uint32_t i = 0; i < kbin.mem_ref_set->nmem; i++) {
    const kbin_mem_ref &record = kbin.mem_ref_set->mem[i];
    const mem_ref_t *mr = lookup_memref_by_idx(placed->mr_sets[0].mem_ref_set, record.var_id);
    FUZZ_CHECK(mr != nullptr, "variable {} is not in the table", record.name);
    bool window = record.mr_type == MR_VIRTUAL_TMP_BUF;
    if (!own_memory(record.mr_type) && !window)
      continue;
    uint64_t address = 0;
    NRT_STATUS status = mem_ref_to_addr(mr, 0, mr->size, &address);
    FUZZ_CHECK(status == NRT_SUCCESS, "{} of {} bytes does not resolve", record.name, mr->size);
    bool inside = std::any_of(chunks.begin(), chunks.end(), [&](const hal_chunk_t &c) {
      return address >= c.pa && address - c.pa <= c.size && mr->size <= c.size - (address - c.pa);
    });
    FUZZ_CHECK(inside, "{}: {:#x}, {} bytes: in no chunk", record.name, address, mr->size);
    if (!window)
      own.emplace_back(address, address + mr->size);
  }
  std::sort(own.begin(), own.end());
  for (size_t i = 1; i < own.size(); i++)
    FUZZ_CHECK(own[i - 1].second <= own[i].first, "variables overlap at {:#x}", own[i].first);
}

void place(machine &m, const kelf_nn_t &nn) {
  unsigned long lines = fuzz_error_lines();
  vtpb_info_shared_t *placed = nullptr;
  const tdrv_neff_t neff = {"fuzz.neff", {1}};
  NRT_STATUS status =
      vtpb_info_shared_init_vtpb(tdrv_vcore(m.tdrv, 0), &nn, &m.options, &neff, &placed);
  unsigned long said = fuzz_error_lines() - lines;
  FUZZ_CHECK(said == (status == NRT_SUCCESS ? 0 : 1), "status {} and {} lines",
             static_cast<int>(status), said);
  if (status == NRT_SUCCESS)
    check_placement(m, placed, *nn.kbins[0]);
  vtpb_info_shared_free(placed);
  FUZZ_CHECK(same_chunks(m.chunks(), m.idle), "device memory is left behind");
}

void check_records(const kbin_t &kbin) {
  const kbin_mem_ref_set_t *set = kbin.mem_ref_set;
  FUZZ_CHECK(set != nullptr && kbin.engines.size() == AL_HAL_TPB_ENG_TYPE_NUM, "incomplete");
  for (uint32_t i = 0; i < set->nmem; i++) {
    FUZZ_CHECK(set->mem[i].var_id == i, "record {} has id {}", i, set->mem[i].var_id);
    FUZZ_CHECK(set->mem[i].name != nullptr, "record {} has no name", i);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static machine m;
  static const fuzz_members base = fuzz_sample_members(1);
  std::shared_ptr<const neff> source = fuzz_neff(base, "sg00/def.json", {data, size});
  finding_sink strict, all(true);
  std::unique_ptr<kbin_t> kbin, any;
  NRT_STATUS status =
      kelf_load_from_neff(source, "sg00", "sg00/def.json", KELF_TARGET_CAYMAN, {}, strict, &kbin);
  fuzz_check_findings(status, strict);
  FUZZ_CHECK((status == NRT_SUCCESS) == (kbin != nullptr), "status {}", static_cast<int>(status));
  fuzz_check_findings(
      kelf_load_from_neff(source, "sg00", "sg00/def.json", KBIN_TARGET_ANY, {}, all, &any), all);
  if (kbin == nullptr)
    return 0;
  check_records(*kbin);
  std::unique_ptr<kelf_nn_t> nn = model_of(std::move(source), std::move(kbin));
  finding_sink remotes;
  NRT_STATUS resolved = kelf_resolve_vtpb_remote_variables(*nn, remotes);
  fuzz_check_findings(resolved, remotes);
  if (resolved == NRT_SUCCESS)
    place(m, *nn);
  return 0;
}
