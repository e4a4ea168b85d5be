// SPDX-License-Identifier: Apache-2.0
#include "tdrv/scratchpad.h"

#include <string>

#include "base/checked.h"
#include "base/nlog.h"
#include "dmem/oom_report.h"
#include "tdrv/tdrv.h"

namespace {

// Network adaptors reach collective buffers inside a page, so pages start on this boundary.
constexpr uint64_t kPageBaseAlign = 4096;

class lock_guard_t {
 public:
  explicit lock_guard_t(pthread_mutex_t *mutex) : mutex_(mutex) { pthread_mutex_lock(mutex_); }
  ~lock_guard_t() { pthread_mutex_unlock(mutex_); }
  lock_guard_t(const lock_guard_t &) = delete;
  lock_guard_t &operator=(const lock_guard_t &) = delete;

 private:
  pthread_mutex_t *mutex_;
};

// Highest index first: in contiguous mode the driver takes its lowest page back first.
void free_pages_down_to(tdrv_scratchpad_t *scratchpad, uint32_t count) {
  while (scratchpad->num_pages > count) {
    tdrv_scratchpad_page_t *page = &scratchpad->pages[--scratchpad->num_pages];
    dmem_free(page->mem);
    *page = {};
  }
}

NRT_STATUS alloc_page(tpb_t *tpb, dmem_t **out) {
  tdrv_scratchpad_t *scratchpad = &tpb->scratchpad;
  if (!scratchpad->is_contiguous)
    return dmem_alloc_aligned(tpb->global_allocator, scratchpad->page_size,
                              dma_mem_location_t::TONGA_DRAM, tpb->pcore.hbm_index, nullptr,
                              dma_mem_usage_type_t::SCRATCHPAD, "scratchpad page",
                              TDRV_SCRATCHPAD_PAGE_ALIGN, out);
  bool full = false;
  NRT_STATUS status =
      dmem_alloc_contiguous_page(tpb->global_allocator, scratchpad->page_size, out, &full);
  if (full) {
    std::string remark =
        fmt::format("the contiguous scratchpad holds {} bytes and cannot grow below them",
                    scratchpad->num_pages * scratchpad->page_size);
    dmem_shortage_t shortage = {};
    shortage.pcore = &tpb->pcore;
    shortage.channel = tpb->pcore.hbm_index;
    shortage.size = scratchpad->page_size;
    shortage.usage = dma_mem_usage_type_t::SCRATCHPAD;
    shortage.one_place = true;
    shortage.remark = remark.c_str();
    dmem_report_shortage(&shortage);
  }
  return status;
}

NRT_STATUS check_page(const tpb_t *tpb, const dmem_t *page) {
  const tdrv_scratchpad_t *scratchpad = &tpb->scratchpad;
  uint64_t pa = dmem_get_pa(page);
  if (pa % kPageBaseAlign != 0) {
    NLOG_ERROR(NLOG_TDRV,
               "scratchpad page of ND {} NC {} starts at 0x{:x}, not on a multiple of {}",
               tpb->pcore.device_id, tpb->pcore.nc_id, pa, kPageBaseAlign);
    return NRT_INVALID;
  }
  if (scratchpad->is_contiguous && scratchpad->num_pages > 0) {
    uint64_t upper = dmem_get_pa(scratchpad->pages[scratchpad->num_pages - 1].mem);
    if (pa + scratchpad->page_size != upper) {
      NLOG_ERROR(NLOG_TDRV,
                 "contiguous scratchpad of ND {} NC {}: page {} lies at 0x{:x}, not directly below "
                 "0x{:x}: somebody else allocates scratchpad on HBM {}",
                 tpb->pcore.device_id, tpb->pcore.nc_id, scratchpad->num_pages, pa, upper,
                 tpb->pcore.hbm_index);
      return NRT_RESOURCE;
    }
  }
  return NRT_SUCCESS;
}

NRT_STATUS add_page(tpb_t *tpb) {
  dmem_t *page = nullptr;
  NRT_STATUS status = alloc_page(tpb, &page);
  if (status != NRT_SUCCESS)
    return status;
  status = check_page(tpb, page);
  if (status != NRT_SUCCESS) {
    dmem_free(page);
    return status;
  }
  tpb->scratchpad.pages[tpb->scratchpad.num_pages++] = {page, 0};
  return NRT_SUCCESS;
}

// Grows the arena of one core to `pages` and references them. What this call added goes away again
// when it fails.
NRT_STATUS reserve(tpb_t *tpb, uint32_t pages) {
  tdrv_scratchpad_t *scratchpad = &tpb->scratchpad;
  lock_guard_t lock(&scratchpad->lock);
  uint32_t before = scratchpad->num_pages;
  while (scratchpad->num_pages < pages) {
    NRT_STATUS status = add_page(tpb);
    if (status != NRT_SUCCESS) {
      free_pages_down_to(scratchpad, before);
      return status;
    }
  }
  for (uint32_t i = 0; i < pages; ++i)
    ++scratchpad->pages[i].refs;
  return NRT_SUCCESS;
}

void unreserve(tpb_t *tpb, uint32_t pages) {
  tdrv_scratchpad_t *scratchpad = &tpb->scratchpad;
  lock_guard_t lock(&scratchpad->lock);
  for (uint32_t i = 0; i < pages; ++i)
    --scratchpad->pages[i].refs;
  // Every model references a prefix, so the unreferenced pages are the last ones.
  uint32_t keep = scratchpad->num_pages;
  while (keep > 0 && scratchpad->pages[keep - 1].refs == 0)
    --keep;
  free_pages_down_to(scratchpad, keep);
}

// Arenas that several cores use, or that grow from one frontier per HBM, need the whole HBM.
NRT_STATUS check_ownership(tpb_t *const *tpbs, uint32_t num_tpbs) {
  const physical_core_t *first = &tpbs[0]->pcore;
  uint32_t owned = 0;
  for (uint32_t i = 0; i < num_tpbs; ++i)
    owned +=
        tpbs[i]->pcore.device_id == first->device_id && tpbs[i]->pcore.hbm_index == first->hbm_index
            ? 1
            : 0;
  if (owned == num_tpbs && owned == first->arch->cores_per_hbm)
    return NRT_SUCCESS;
  NLOG_ERROR(NLOG_TDRV,
             "scratchpad: the logical core of ND {} NC {} has {} of its {} cores on HBM {}, whose "
             "{} cores it must own",
             first->device_id, first->nc_id, owned, num_tpbs, first->hbm_index,
             first->arch->cores_per_hbm);
  return NRT_INVALID;
}

struct layout_t {
  uint64_t end[TDRV_MAX_LNC];  // running offset per core
};

NRT_STATUS place_arena(tpb_t *const *tpbs, uint32_t core, uint64_t size, layout_t *layout,
                       tdrv_scratchpad_info_t *out) {
  const tdrv_scratchpad_t *scratchpad = &tpbs[core]->scratchpad;
  *out = {};
  out->tpb = tpbs[core];
  out->size = size;
  if (!tdrv_scratchpad_layout(layout->end[core], size, scratchpad->page_size,
                              scratchpad->is_contiguous, &out->offset, &layout->end[core])) {
    NLOG_ERROR(NLOG_TDRV, "scratchpad arenas of ND {} NC {} do not fit 64 bits: {} bytes more",
               tpbs[core]->pcore.device_id, tpbs[core]->pcore.nc_id, size);
    return NRT_RESOURCE;
  }
  return NRT_SUCCESS;
}

NRT_STATUS page_count(const tpb_t *tpb, uint64_t bytes, uint32_t *out) {
  uint64_t page_size = tpb->scratchpad.page_size;
  uint64_t pages = bytes / page_size + (bytes % page_size != 0 ? 1 : 0);
  if (pages > TDRV_SCRATCHPAD_MAX_PAGES) {
    NLOG_ERROR(NLOG_TDRV,
               "scratchpad of ND {} NC {} would need {} pages of {} bytes for {} bytes, the limit "
               "is {}",
               tpb->pcore.device_id, tpb->pcore.nc_id, pages, page_size, bytes,
               TDRV_SCRATCHPAD_MAX_PAGES);
    return NRT_RESOURCE;
  }
  *out = static_cast<uint32_t>(pages);
  return NRT_SUCCESS;
}

// One mapping over all pages of the model: variables may cross pages, and the last page of the
// model's prefix is the lowest in memory.
NRT_STATUS map_reserved(tdrv_scratchpad_model_t *model, uint32_t entry) {
  auto *reserved = &model->reserved[entry];
  const tdrv_scratchpad_t *scratchpad = &reserved->tpb->scratchpad;
  if (!scratchpad->is_contiguous || reserved->pages == 0)
    return NRT_SUCCESS;
  uint64_t length = reserved->pages * scratchpad->page_size;
  NRT_STATUS status =
      dmem_map_region(scratchpad->pages[reserved->pages - 1].mem, length, &reserved->va);
  if (status != NRT_SUCCESS) {
    reserved->va = nullptr;
    return status;
  }
  reserved->va_size = length;
  return NRT_SUCCESS;
}

void finish_arena(const tdrv_scratchpad_model_t *model, tdrv_scratchpad_info_t *arena) {
  for (uint32_t i = 0; i < model->num_reserved; ++i) {
    if (model->reserved[i].tpb != arena->tpb)
      continue;
    arena->model_pages = model->reserved[i].pages;
    if (model->reserved[i].va != nullptr)
      arena->va = static_cast<char *>(model->reserved[i].va) + arena->offset;
  }
}

}  // namespace

NRT_STATUS tdrv_scratchpad_init(tdrv_scratchpad_t *scratchpad, uint64_t page_size,
                                bool contiguous) {
  if (page_size == 0 || page_size > UINT32_MAX) {
    NLOG_ERROR(NLOG_TDRV, "scratchpad page size {} is outside 1..{}", page_size, UINT32_MAX);
    return NRT_INVALID;
  }
  *scratchpad = {};
  if (pthread_mutex_init(&scratchpad->lock, nullptr) != 0) {
    NLOG_ERROR(NLOG_TDRV, "the scratchpad's lock cannot be set up");
    return NRT_FAILURE;
  }
  scratchpad->is_contiguous = contiguous;
  scratchpad->page_size = contiguous ? TDRV_SCRATCHPAD_CONTIGUOUS_PAGE : page_size;
  return NRT_SUCCESS;
}

void tdrv_scratchpad_fini(tdrv_scratchpad_t *scratchpad) {
  free_pages_down_to(scratchpad, 0);
  pthread_mutex_destroy(&scratchpad->lock);
}

NRT_STATUS tdrv_scratchpad_model_init(tpb_t *const *tpbs, uint32_t num_tpbs,
                                      const uint64_t *local_sizes, const uint64_t *shared_sizes,
                                      uint32_t num_subgraphs, tdrv_scratchpad_model_t *out) {
  *out = {};
  if (num_subgraphs == 0 || num_subgraphs > num_tpbs || num_tpbs > TDRV_MAX_LNC) {
    NLOG_ERROR(NLOG_TDRV, "scratchpad: {} subgraphs on {} cores, the limit is {} each",
               num_subgraphs, num_tpbs, TDRV_MAX_LNC);
    return NRT_INVALID;
  }
  uint64_t shared_size = 0, total = 0;
  for (uint32_t i = 0; i < num_subgraphs; ++i) {
    shared_size = shared_sizes[i] > shared_size ? shared_sizes[i] : shared_size;
    total |= local_sizes[i] | shared_sizes[i];
  }
  bool contiguous = tpbs[0]->scratchpad.is_contiguous;
  if (total != 0 && (contiguous || (shared_size != 0 && num_subgraphs > 1))) {
    NRT_STATUS status = check_ownership(tpbs, num_tpbs);
    if (status != NRT_SUCCESS)
      return status;
  }

  // Shared first on the first core, then each local arena on its own core, or all of them on the
  // first where one frontier serves the whole HBM.
  tdrv_scratchpad_model_t model = {};
  model.num_subgraphs = num_subgraphs;
  layout_t layout = {};
  NRT_STATUS status = place_arena(tpbs, 0, shared_size, &layout, &model.shared);
  for (uint32_t i = 0; status == NRT_SUCCESS && i < num_subgraphs; ++i)
    status = place_arena(tpbs, contiguous ? 0 : i, local_sizes[i], &layout, &model.local[i]);
  uint32_t pages[TDRV_MAX_LNC] = {};
  for (uint32_t core = 0; status == NRT_SUCCESS && core < num_tpbs; ++core)
    status = page_count(tpbs[core], layout.end[core], &pages[core]);
  if (status != NRT_SUCCESS)
    return status;

  for (uint32_t core = 0; core < num_tpbs; ++core) {
    if (pages[core] == 0)
      continue;
    status = reserve(tpbs[core], pages[core]);
    if (status == NRT_SUCCESS) {
      model.reserved[model.num_reserved++] = {tpbs[core], pages[core], nullptr, 0};
      status = map_reserved(&model, model.num_reserved - 1);
    }
    if (status != NRT_SUCCESS) {
      tdrv_scratchpad_cleanup(&model);
      return status;
    }
  }
  finish_arena(&model, &model.shared);
  for (uint32_t i = 0; i < num_subgraphs; ++i)
    finish_arena(&model, &model.local[i]);
  *out = model;
  return NRT_SUCCESS;
}

void tdrv_scratchpad_cleanup(tdrv_scratchpad_model_t *model) {
  while (model->num_reserved > 0) {
    auto *reserved = &model->reserved[--model->num_reserved];
    if (reserved->va != nullptr)
      dmem_unmap_region(&reserved->tpb->pcore, reserved->va, reserved->va_size);
    unreserve(reserved->tpb, reserved->pages);
  }
  *model = {};
}

NRT_STATUS tdrv_scratchpad_get_mem(tdrv_scratchpad_t *scratchpad, uint32_t model_pages,
                                   uint64_t offset, uint64_t size, dmem_t **mem,
                                   uint64_t *in_page_offset) {
  uint64_t page_size = scratchpad->page_size;
  uint64_t page = offset / page_size;
  uint64_t in_page = offset % page_size;
  if (page >= model_pages)
    return NRT_INVALID;
  // No lock: the pages of the caller's prefix are referenced, so their slots do not change.
  if (scratchpad->is_contiguous) {
    if (!range_within(offset, size, model_pages * page_size))
      return NRT_INVALID;
    page = model_pages - 1 - page;
  } else if (!range_within(in_page, size, page_size)) {
    return NRT_INVALID;
  }
  *mem = scratchpad->pages[page].mem;
  *in_page_offset = in_page;
  return NRT_SUCCESS;
}

bool tdrv_scratchpad_layout(uint64_t current, uint64_t size, uint64_t page_size, bool contiguous,
                            uint64_t *start, uint64_t *next) {
  uint64_t place = current;
  uint64_t used = current % page_size;
  if (!contiguous && used != 0 && page_size - used < size &&
      !checked_add(current, page_size - used, &place))
    return false;
  uint64_t end = 0;
  if (!checked_add(place, size, &end))
    return false;
  *start = place;
  *next = end;
  return true;
}
