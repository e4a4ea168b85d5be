// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/stack.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "hal/kernel.h"
#include "hal/mock.h"
#include "tests/support/corpus.h"
#include "uapi/neuron_ioctl.h"

namespace {

// System calls of the kernel back end, answered by a mocked machine.
constexpr int32_t kTgid = 4711;

hal_syscalls_t mock_syscalls(mock_host_t *host) {
  hal_syscalls_t table{};
  table.ctx = host;
  table.open = [](void *ctx, const char *path, int flags) {
    return mock_open(static_cast<mock_host_t *>(ctx), kTgid, path, flags);
  };
  table.close = [](void *ctx, int fd) {
    return mock_close(static_cast<mock_host_t *>(ctx), kTgid, fd);
  };
  table.ioctl = [](void *ctx, int fd, uint32_t request, void *arg) {
    return mock_ioctl(static_cast<mock_host_t *>(ctx), kTgid, fd, request, arg);
  };
  table.read = [](void *ctx, int fd, void *buffer, size_t size) {
    return mock_read(static_cast<mock_host_t *>(ctx), kTgid, fd, buffer, size);
  };
  table.mmap = [](void *ctx, int fd, uint64_t offset, size_t length, int prot, void **va) {
    return mock_mmap(static_cast<mock_host_t *>(ctx), kTgid, fd, offset, length, prot, va);
  };
  table.munmap = [](void *ctx, void *va, size_t length) {
    return mock_munmap(static_cast<mock_host_t *>(ctx), kTgid, va, length);
  };
  // Probing must not open the node: closing it would drop the claims of the process.
  table.exists = [](void *ctx, const char *path) {
    auto *machine = static_cast<mock_host_t *>(ctx);
    int fd = mock_open(machine, kTgid + 1, path, 0);
    if (fd < 0)
      return false;
    mock_close(machine, kTgid + 1, fd);
    return true;
  };
  return table;
}

}  // namespace

stack::stack(const stack_options_t &wanted) : options(wanted) {
  mock_dev_options_t mock{};
  mock.instance = options.instance;
  mock.hbm_size = options.hbm_size;
  if (mock_host_create(&mock, &host) != 0) {
    ADD_FAILURE() << "no mocked machine " << options.instance;
    return;
  }
  NRT_STATUS status;
  if (options.kernel_back_end) {
    owns_host_ = true;
    hal_syscalls_t table = mock_syscalls(host);
    status = hal_open_with(hal_kernel_ops(), hal_kernel_create(&table), &hal);
  } else {
    status = hal_open_with(hal_mock_ops(), hal_mock_create(host), &hal);
  }
  EXPECT_EQ(status, NRT_SUCCESS);
  if (status != NRT_SUCCESS)
    return;
  tdrv_options_t t{};
  t.lnc = options.lnc;
  t.first_vnc = 0;
  t.num_vncs = options.num_vncs != 0 ? options.num_vncs
                                     : hal_identity(hal)->device_count *
                                           hal_arch(hal)->cores_per_device / options.lnc;
  t.want_contiguous_scratchpad = options.contiguous;
  t.scratchpad_page_size = options.page_size;
  t.io_placement_at_load = options.io_at_load;
  t.exec_timeout = options.exec_timeout;
  t.wait_full_timeout = options.wait_full_timeout;
  t.hw_exec = options.hw_exec;
  status = tdrv_init(hal, &t, &tdrv);
  EXPECT_EQ(status, NRT_SUCCESS);
  if (status != NRT_SUCCESS)
    return;
  kmgr_options_t k;
  k.neff.validate_hash = options.validate_hash;
  k.kelf.allow_legacy_neff = options.allow_legacy;
  EXPECT_EQ(kmgr_create(tdrv, &k, &kmgr), NRT_SUCCESS);
}

stack::~stack() {
  kmgr_destroy(kmgr);
  if (tdrv != nullptr)
    tdrv_close(tdrv);
  if (hal != nullptr)
    hal_close(hal);
  if (owns_host_)
    mock_host_destroy(host);
}

std::vector<chunk_t> stack::chunks() {
  std::vector<chunk_t> all;
  for (uint32_t d = 0; d < hal_identity(hal)->device_count; d++) {
    hal_device_t *device = nullptr;
    if (hal_device_open(hal, d, &device) != NRT_SUCCESS) {
      ADD_FAILURE() << "device " << d;
      continue;
    }
    for (uint32_t hbm = 0; hbm < hal_arch(hal)->hbm_count; hbm++) {
      std::vector<hal_chunk_t> list(4096);
      auto count = static_cast<uint32_t>(list.size());
      EXPECT_EQ(hal_dump_chunks(device, hbm, list.data(), &count), 0);
      for (uint32_t i = 0; i < count; i++)
        all.push_back({d, hbm, list[i].pa, list[i].size, list[i].category});
    }
    hal_device_close(device);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<dmem_usage_table_t> stack::counters() {
  std::vector<dmem_usage_table_t> all;
  for (uint32_t v = 0; v < tdrv_vnc_count(tdrv); v++) {
    vcore_t *vcore = tdrv_vcore(tdrv, v);
    for (uint32_t i = 0; i < vcore->num_tpbs; i++) {
      dmem_usage_table_t table;
      dmem_device_snapshot(vcore->tpbs[i]->pcore.stats, &table);
      all.push_back(table);
    }
  }
  return all;
}

bool operator==(const dmem_usage_table_t &a, const dmem_usage_table_t &b) {
  return memcmp(&a, &b, sizeof(a)) == 0;
}

mem_ref_t *stack::var(H_NN h_nn, uint32_t subgraph, uint32_t var_id) {
  kmgr_model_t *model = kmgr_model_get(kmgr, h_nn);
  if (model == nullptr)
    return nullptr;
  mem_ref_t *mr =
      subgraph < model->placement->num_kbins
          ? lookup_memref_by_idx(model->placement->mr_sets[subgraph].mem_ref_set, var_id)
          : nullptr;
  kmgr_model_put(kmgr, model);
  return mr;
}

uint64_t stack::address(H_NN h_nn, uint32_t subgraph, uint32_t var_id) {
  const mem_ref_t *mr = var(h_nn, subgraph, var_id);
  uint64_t addr = MEM_REF_NOT_STAGED;
  EXPECT_NE(mr, nullptr) << subgraph << "/" << var_id;
  if (mr != nullptr) {
    EXPECT_EQ(mem_ref_to_addr(mr, 0, 0, &addr), NRT_SUCCESS) << subgraph << "/" << mr->name;
  }
  return addr;
}

plan_t stack::plan(H_NN h_nn) {
  plan_t found;
  kmgr_model_t *model = kmgr_model_get(kmgr, h_nn);
  EXPECT_NE(model, nullptr);
  if (model == nullptr)
    return found;
  for (uint32_t s = 0; s < model->placement->num_kbins; s++) {
    const kbin_mem_ref_set_t *records = model->nn->kbins[s]->mem_ref_set;
    for (uint32_t i = 0; i < records->nmem; i++) {
      const mem_ref_t *mr = lookup_memref_by_idx(model->placement->mr_sets[s].mem_ref_set, i);
      EXPECT_NE(mr, nullptr) << s << "/" << i;
      if (mr == nullptr || mr->type == MR_PTR || mr->type == MR_LIST || mr->type == MR_PTR_TABLE)
        continue;
      placed_t placed{0, mr->size, mr->type};
      EXPECT_EQ(mem_ref_to_addr(mr, 0, mr->size, &placed.address), NRT_SUCCESS) << mr->name;
      found[fmt::format("{}/{}", s, mr->name)] = placed;
    }
  }
  kmgr_model_put(kmgr, model);
  return found;
}

uint8_t *stack::dram(uint64_t pa, uint64_t size) {
  return static_cast<uint8_t *>(mock_dram(host, 0, pa, size));
}

uint64_t stack::allocations() {
  return mock_ioctl_count(host, NEURON_IOCTL_MEM_ALLOC) +
         mock_ioctl_count(host, NEURON_IOCTL_MEM_ALLOC_V2) +
         mock_ioctl_count(host, NEURON_IOCTL_MEM_ALLOC_V2MT) +
         mock_ioctl_count(host, NEURON_IOCTL_MEM_ALLOC_V2MT64);
}

void stack::fail_nth(uint32_t request, uint32_t nth, int error) {
  mock_fault_t fault{request, nth, error, false};
  EXPECT_EQ(mock_set_faults(host, &fault, 1), 0);
}

void stack::heal() {
  EXPECT_EQ(mock_set_faults(host, nullptr, 0), 0);
}

std::vector<std::vector<uint8_t>> corpus_files() {
  std::vector<std::vector<uint8_t>> files;
  for (const char *name : {"matmul_small.neff", "matmul_large.neff", "attn_v6.neff"}) {
    files.push_back(corpus_file(name));
    if (files.back().empty())
      return {};
  }
  return files;
}
