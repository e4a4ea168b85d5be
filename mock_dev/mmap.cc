// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/mmap.h"

// mmap of a device node (uapi.md 8). The offset names a chunk or an entry of the special table; the
// mapping is one of the memory file itself, so both sides see each other's writes.
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/checked.h"
#include "mock_dev/chunk.h"
#include "mock_dev/file.h"
#include "mock_dev/resource.h"

namespace {

struct mapping_plan_t {
  mock_place_t place;
  uint64_t pa;
  bool read_only;
};

// Step 1: a chunk around the offset whose size is the length. Device lock held.
bool plan_chunk(mock_host *host, mock_device_t *device, int32_t tgid, uint64_t offset,
                uint64_t length, bool writable, mapping_plan_t *plan) {
  uint32_t n = mock_chunk_by_address(host, device, offset);
  if (n == 0)
    return false;
  mock_chunk_t *chunk = mock_chunk_at(host, device, n);
  bool scratchpad = chunk->category == NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE;
  if (length != chunk->size && (!scratchpad || length > mock_chunk_reach(host, chunk)))
    return false;
  plan->place = mock_chunk_place(host, device, chunk);
  plan->pa = chunk->pa;
  plan->read_only = chunk->tgid != tgid && chunk->lifetime != MOCK_LIFETIME_DEVICE;
  if (writable && !plan->read_only) {
    chunk->dirty = true;
    if (length > chunk->size)  // chunks beyond this one are written unseen
      device->exposed = 1;
  }
  return true;
}

bool plan_special(mock_host *host, mock_device_t *device, uint64_t offset, uint64_t length,
                  bool writable, mapping_plan_t *plan) {
  mock_resource_t resource;
  if (!mock_resource_find(host->state, offset, length, &resource))
    return false;
  plan->place = {&host->device_memory[device->index], resource.memory_offset};
  plan->pa = mock_memory_address(host->state, resource.memory_offset);
  plan->read_only = resource.read_only;
  if (writable && !resource.read_only && resource.block == NEURON_MMAP_BLOCK_HBM)
    device->exposed = 1;
  return true;
}

// View lock held in both.
template <typename F>
void untrack(mock_host *host, F matches) {
  host->tracked.erase(std::remove_if(host->tracked.begin(), host->tracked.end(), matches),
                      host->tracked.end());
}

// False: no memory to remember it.
bool track(mock_host *host, const mock_tracked_t &fresh) {
  // What is left of mappings that are gone gives way.
  untrack(host, [&](const mock_tracked_t &t) {
    return t.va < fresh.va + fresh.length && fresh.va < t.va + t.length;
  });
  try {
    host->tracked.push_back(fresh);
    return true;
  } catch (const std::bad_alloc &) {
    return false;
  }
}

// View lock held. False: no memory to remember it.
bool mapping_note(mock_host *host, uintptr_t at, size_t length, int32_t tgid) {
  try {
    host->mappings[at] = {length, tgid};
    return true;
  } catch (const std::bad_alloc &) {
    return false;
  }
}

}  // namespace

void mock_mappings_forget(mock_host *host, uint32_t device, int32_t tgid) {
  mock_guard_t guard(&host->view_lock);
  untrack(host, [&](const mock_tracked_t &t) { return t.tgid == tgid && t.device == device; });
}

int mock_mmap(mock_host_t *host, int32_t tgid, int fd, uint64_t offset, size_t length, int prot,
              void **va) {
  mock_file_info_t file = mock_file_info(host, fd);
  if (file.kind == MOCK_FILE_FREE)
    return -EBADF;
  if (file.kind != MOCK_FILE_DEVICE)
    return -ENODEV;
  size_t rounded;
  if (length == 0 || offset % MOCK_PAGE != 0)
    return -EINVAL;
  if (!checked_round_up(length, MOCK_PAGE, &rounded))
    return -ENOMEM;
  bool writable = (prot & PROT_WRITE) != 0;
  // What the kernel checks before any driver sees the call: a readable file, and O_RDWR to write.
  if (file.access == O_WRONLY || (writable && file.access != O_RDWR))
    return -EACCES;
  mock_device_t *device = mock_host_device(host, file.device);
  mapping_plan_t plan;
  {
    mock_guard_t guard(&device->lock);
    if (!plan_chunk(host, device, tgid, offset, rounded, writable, &plan) &&
        !plan_special(host, device, offset, rounded, writable, &plan))
      return -EPERM;  // the mock's callers never have CAP_SYS_RAWIO
  }
  if (plan.read_only)
    prot &= ~PROT_WRITE;
  mock_guard_t guard(&host->view_lock);
  void *at = mmap(nullptr, rounded, prot, MAP_SHARED | MAP_NORESERVE, plan.place.memory->fd,
                  static_cast<off_t>(plan.place.offset));
  if (at == MAP_FAILED)
    return -errno;
  madvise(at, rounded, MADV_DONTFORK);
  madvise(at, rounded, MADV_DONTDUMP);
  const mock_tracked_t fresh = {reinterpret_cast<uintptr_t>(at), rounded, tgid, file.device,
                                plan.pa};
  bool noted = mapping_note(host, fresh.va, rounded, tgid);
  if (!noted || !track(host, fresh)) {
    if (noted)
      host->mappings.erase(fresh.va);
    munmap(at, rounded);
    return -ENOMEM;
  }
  *va = at;
  return 0;
}

int mock_munmap(mock_host_t *host, int32_t tgid, void *va, size_t length) {
  uintptr_t at = reinterpret_cast<uintptr_t>(va);
  size_t rounded;
  if (length == 0 || at % MOCK_PAGE != 0 || !checked_round_up(length, MOCK_PAGE, &rounded))
    return -EINVAL;
  mock_guard_t guard(&host->view_lock);
  auto it = host->mappings.upper_bound(at);
  if (it == host->mappings.begin())
    return -EINVAL;
  --it;
  uintptr_t start = it->first;
  mock_mapping_t mapping = it->second;
  if (mapping.tgid != tgid || !range_within(at - start, rounded, mapping.length))
    return -EINVAL;
  // What is left on either side stays ours to unmap later. The kernel, too, can lack memory for one
  // mapping more.
  size_t head = at - start, tail = mapping.length - head - rounded;
  if (tail != 0 && !mapping_note(host, at + rounded, tail, tgid))
    return -ENOMEM;
  if (munmap(va, rounded) != 0) {
    int error = errno;
    if (tail != 0)
      host->mappings.erase(at + rounded);
    return -error;
  }
  untrack(host, [&](const mock_tracked_t &t) { return t.va == at && t.length == rounded; });
  if (head != 0)
    host->mappings[start].length = head;  // there already
  else
    host->mappings.erase(start);
  return 0;
}
