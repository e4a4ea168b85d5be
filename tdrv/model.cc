// SPDX-License-Identifier: Apache-2.0
#include "tdrv/model.h"

#include <pthread.h>

#include <cstdlib>

#include "base/nlog.h"
#include "dmem/neffs.h"
#include "tdrv/io.h"

namespace {

constexpr size_t kMinBuckets = 1024;

NRT_STATUS check_subgraphs(const vcore_t *vcore, const kelf_nn_t *nn) {
  size_t wanted = nn->kbins.size();
  if (wanted > vcore->num_tpbs) {
    NLOG_ERROR(NLOG_TDRV, "the model needs {} physical cores, logical core {} has {} available",
               wanted, vcore->vnc, vcore->num_tpbs);
    return NRT_LOAD_NOT_ENOUGH_NC;
  }
  if (wanted != 1 && wanted != vcore->num_tpbs) {
    NLOG_ERROR(NLOG_TDRV, "the model has {} subgraphs; logical core {} takes 1 or {}", wanted,
               vcore->vnc, vcore->num_tpbs);
    return NRT_INVALID;
  }
  for (const auto &kbin : nn->kbins) {
    if (kbin->mem_ref_set == nullptr) {
      NLOG_ERROR(NLOG_TDRV, "subgraph {} has no variable plan", kbin->sg_name);
      return NRT_INVALID;
    }
  }
  return NRT_SUCCESS;
}

NRT_STATUS init_mr_set(vtpb_info_shared_mr_set_t *set, const kbin_t *kbin, tpb_t *tpb) {
  set->kbin = kbin;
  set->tpb = tpb;
  NRT_STATUS status =
      dmem_allocator_create(dmem_allocator_type_t::MODEL, &tpb->pcore, &set->model_allocator);
  if (status != NRT_SUCCESS)
    return status;
  // Sized for the whole plan, so that staging never rehashes.
  size_t buckets = kMinBuckets;
  if (size_t{2} * kbin->mem_ref_set->nmem > buckets)
    buckets = size_t{2} * kbin->mem_ref_set->nmem;
  status = ht_init(&set->mem_ref_set, buckets, mem_ref_free_one);
  set->gc_tracker = dmem_list_create();
  if (status != NRT_SUCCESS || set->gc_tracker == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "no host memory for the variable table of subgraph {} ({} variables)",
               kbin->sg_name, kbin->mem_ref_set->nmem);
    return NRT_RESOURCE;
  }
  return NRT_SUCCESS;
}

void free_mr_set(vtpb_info_shared_mr_set_t *set) {
  ht_destroy(set->mem_ref_set);
  mem_ref_tables_free(&set->tables);
  dmem_list_destroy(set->gc_tracker);
}

struct stage_job_t {
  mem_ref_stage_ctx_t ctx;
  tdrv_scratchpad_placement_t placement;
  const kbin_mem_ref_set_t *records;
  NRT_STATUS status;
  nlog_held_error error;
  pthread_t thread;
  bool threaded;
};

void *run_upload_job(void *user) {
  auto *job = static_cast<stage_job_t *>(user);
  nlog_held_error *previous = nlog_hold_errors(&job->error);
  job->status = mem_ref_upload_mr(&job->ctx, job->records);
  nlog_hold_errors(previous);
  return nullptr;
}

stage_job_t make_job(vtpb_info_shared_t *info, uint32_t k) {
  vtpb_info_shared_mr_set_t *set = &info->mr_sets[k];
  stage_job_t job = {};
  job.ctx.pcore = &set->tpb->pcore;
  job.ctx.mr_set = set->mem_ref_set;
  job.ctx.allocator = set->model_allocator;
  job.ctx.gc_tracker = set->gc_tracker;
  job.ctx.tables = &set->tables;
  job.placement = {&info->scratchpad.shared, &info->scratchpad.local[k]};
  job.records = set->kbin->mem_ref_set;
  return job;
}

// Places one subgraph after the other, then uploads with one thread each. When several uploads
// fail, the first subgraph's failure is the call's.
NRT_STATUS stage_all(vtpb_info_shared_t *info, stage_job_t *jobs) {
  for (uint32_t k = 0; k < info->num_kbins; ++k) {
    jobs[k] = make_job(info, k);
    jobs[k].ctx.scratchpad = &jobs[k].placement;
    NRT_STATUS status = mem_ref_place_mr(&jobs[k].ctx, jobs[k].records);
    if (status != NRT_SUCCESS)
      return status;
  }
  // The calling thread takes the first subgraph; one that gets no thread is filled here as well.
  for (uint32_t k = 1; k < info->num_kbins; ++k)
    jobs[k].threaded = pthread_create(&jobs[k].thread, nullptr, run_upload_job, &jobs[k]) == 0;
  for (uint32_t k = 0; k < info->num_kbins; ++k) {
    if (!jobs[k].threaded)
      run_upload_job(&jobs[k]);
  }
  for (uint32_t k = 0; k < info->num_kbins; ++k) {
    if (jobs[k].threaded)
      pthread_join(jobs[k].thread, nullptr);
  }
  for (uint32_t k = 0; k < info->num_kbins; ++k) {
    if (jobs[k].status == NRT_SUCCESS)
      continue;
    nlog_write_held(jobs[k].error);
    return jobs[k].status;
  }
  return NRT_SUCCESS;
}

// The passes that look across variables. Slots come before remote variables, because those may
// alias another subgraph's input or output; pointers and tables come when everything has its
// address.
NRT_STATUS link_all(vtpb_info_shared_t *info, const kelf_nn_t *nn, const stage_job_t *jobs,
                    bool allocate_io) {
  NRT_STATUS status = io_slots_init(info, nn, allocate_io);
  ht_t *sets[TDRV_MAX_LNC] = {};
  for (uint32_t k = 0; k < info->num_kbins; ++k)
    sets[k] = info->mr_sets[k].mem_ref_set;
  for (uint32_t k = 0; status == NRT_SUCCESS && k < info->num_kbins; ++k)
    status = mem_ref_create_remote_mrs(sets[k], jobs[k].records, sets, info->num_kbins);
  for (uint32_t k = 0; status == NRT_SUCCESS && k < info->num_kbins; ++k)
    status = mr_pointer_init_pointer_vars(sets[k], jobs[k].records);
  for (uint32_t k = 0; status == NRT_SUCCESS && k < info->num_kbins; ++k)
    status = mem_ref_init_ptr_tables(&jobs[k].ctx, jobs[k].records);
  return status;
}

NRT_STATUS build(vtpb_info_shared_t *info, const kelf_nn_t *nn, const tdrv_options_t *options,
                 const tdrv_neff_t *neff) {
  uint64_t local_sizes[TDRV_MAX_LNC] = {}, shared_sizes[TDRV_MAX_LNC] = {};
  for (uint32_t k = 0; k < info->num_kbins; ++k) {
    const kbin_t *kbin = nn->kbins[k].get();
    NRT_STATUS status = init_mr_set(&info->mr_sets[k], kbin, info->vcore->tpbs[k]);
    if (status == NRT_SUCCESS && neff != nullptr)
      status = dmem_allocator_set_neff(info->mr_sets[k].model_allocator, neff->ids[k], neff->name);
    if (status != NRT_SUCCESS)
      return status;
    local_sizes[k] = kbin->mem_ref_set->local_scratchpad_size;
    shared_sizes[k] = kbin->mem_ref_set->shared_scratchpad_size;
  }
  NRT_STATUS status =
      tdrv_scratchpad_model_init(info->vcore->tpbs, info->vcore->num_tpbs, local_sizes,
                                 shared_sizes, info->num_kbins, &info->scratchpad);
  if (status != NRT_SUCCESS)
    return status;
  stage_job_t jobs[TDRV_MAX_LNC] = {};
  status = stage_all(info, jobs);
  if (status != NRT_SUCCESS)
    return status;
  return link_all(info, nn, jobs, options->io_placement_at_load);
}

}  // namespace

NRT_STATUS vtpb_info_shared_init_vtpb(vcore_t *vcore, const kelf_nn_t *nn,
                                      const tdrv_options_t *options, const tdrv_neff_t *neff,
                                      vtpb_info_shared_t **out) {
  *out = nullptr;
  NRT_STATUS status = check_subgraphs(vcore, nn);
  if (status != NRT_SUCCESS)
    return status;
  auto *info = static_cast<vtpb_info_shared_t *>(calloc(1, sizeof(vtpb_info_shared_t)));
  if (info == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "no host memory for the model's record");
    return NRT_RESOURCE;
  }
  info->vcore = vcore;
  info->num_kbins = static_cast<uint32_t>(nn->kbins.size());
  status = build(info, nn, options, neff);
  if (status != NRT_SUCCESS) {
    vtpb_info_shared_free(info);
    return status;
  }
  *out = info;
  return NRT_SUCCESS;
}

void vtpb_info_shared_free(vtpb_info_shared_t *info) {
  if (info == nullptr)
    return;
  // Records first (they point into everything else), then memory, then who accounts for it.
  for (uint32_t k = 0; k < info->num_kbins; ++k)
    free_mr_set(&info->mr_sets[k]);
  io_slots_free(info);
  tdrv_scratchpad_cleanup(&info->scratchpad);
  for (uint32_t k = 0; k < info->num_kbins; ++k) {
    if (info->mr_sets[k].model_allocator != nullptr)
      dmem_allocator_destroy(info->mr_sets[k].model_allocator);
  }
  free(info);
}
