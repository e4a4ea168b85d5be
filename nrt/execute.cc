// SPDX-License-Identifier: Apache-2.0
#include "nrt/execute.h"

#include <algorithm>

#include "nrt/runtime.h"

namespace {

// An execution on loan. Accesses of its tensors end and references go when the call ends.
class execution_loan {
 public:
  execution_loan(execution_pool &pool, size_t num_io)
      : pool_(pool), execution_(pool.take(num_io)) {}
  execution_loan(const execution_loan &) = delete;
  execution_loan &operator=(const execution_loan &) = delete;
  ~execution_loan() {
    for (exec_io_t &io : execution_->io) {
      tensor_access_end(&io.access);
      io = {};
    }
    std::fill(execution_->tensors.begin(), execution_->tensors.end(), nullptr);
    std::fill(execution_->copies.begin(), execution_->copies.end(), nullptr);
    pool_.give_back(std::move(execution_));
  }
  execution_t &operator*() const { return *execution_; }

 private:
  execution_pool &pool_;
  std::unique_ptr<execution_t> execution_;
};

struct call_t {
  const char *api;
  runtime_t &r;
  const vtpb_info_shared_t *info;
};

const char *direction(const io_slot_t &slot) {
  return slot.is_output ? "output" : "input";
}

// The device memory of a set that stands for a host tensor, where the model has none of its own
// (NEURON_RT_IO_PLACEMENT=bind). Made once and kept with the set. The set's lock is held.
std::shared_ptr<tensor_object_t> device_copy(const call_t &call, const io_slot_t &slot,
                                             tensor_set_object_t &set, NRT_STATUS *status) {
  uint32_t vnc = call.info->vcore->vnc;
  auto &by_name = set.copies[slot.is_output ? 1 : 0];
  auto entry = by_name.find(std::string_view(slot.name));
  if (entry == by_name.end())
    entry = by_name.emplace(slot.name, tensor_set_object_t::copies_t()).first;
  auto &copies = entry->second;
  auto it = std::find_if(copies.begin(), copies.end(),
                         [&](const auto &copy) { return copy.first == vnc; });
  if (it != copies.end() && tensor_get_size(it->second->tensor) >= slot.size)
    return it->second;
  tensor_t *tensor = nullptr;
  *status = tensor_allocate(call.r.tdrv, tensor_placement_t::DEVICE, static_cast<int>(vnc),
                            slot.size, slot.name, &tensor);
  if (*status != NRT_SUCCESS)
    return nullptr;
  auto object = std::make_shared<tensor_object_t>(tensor);
  if (it != copies.end())
    it->second = object;
  else
    copies.emplace_back(vnc, object);
  return object;
}

bool on_core(const vcore_t *vcore, const physical_core_t *pcore) {
  return std::any_of(vcore->tpbs, vcore->tpbs + vcore->num_tpbs,
                     [pcore](const tpb_t *tpb) { return &tpb->pcore == pcore; });
}

// Finds, checks and locks up the tensor of slot `i`.
NRT_STATUS resolve(const call_t &call, uint32_t i, tensor_set_object_t &set, execution_t &out) {
  const io_slot_t &slot = call.info->io_slots[i];
  std::lock_guard lock(set.mutex);
  auto it = set.tensors.find(std::string_view(slot.name));
  if (it == set.tensors.end())
    return api_fail(call.api, NRT_INVALID, "{} '{}' is not among the {} tensors of the set",
                    direction(slot), slot.name, set.tensors.size());
  out.tensors[i] = call.r.tensors.find(it->second);
  if (out.tensors[i] == nullptr)
    return api_fail(call.api, NRT_INVALID_HANDLE, "the tensor of {} '{}' has been freed",
                    direction(slot), slot.name);
  exec_io_t &io = out.io[i];
  NRT_STATUS status = tensor_access_begin(out.tensors[i]->tensor, slot.is_output, &io.access);
  if (status != NRT_SUCCESS)
    return status;
  if (io.access.size < slot.size)
    return api_fail(call.api, NRT_INVALID, "{} '{}' takes {} bytes, its tensor has {}",
                    direction(slot), slot.name, slot.size, io.access.size);
  if (const physical_core_t *core = tensor_access_core(&io.access); core != nullptr) {
    if (on_core(call.info->vcore, core))
      return NRT_SUCCESS;
    return api_fail(call.api, NRT_INVALID,
                    "{} '{}' is in memory of nc{}, its model runs on logical core {}",
                    direction(slot), slot.name, core->core_index, call.info->vcore->vnc);
  }
  io.copy = slot.mem;
  if (io.copy == nullptr) {
    out.copies[i] = device_copy(call, slot, set, &status);
    if (out.copies[i] != nullptr)
      io.copy = tensor_get_memory(out.copies[i]->tensor);
  }
  return status;
}

}  // namespace

std::unique_ptr<execution_t> execution_pool::take(size_t num_io) {
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<execution_t> execution = std::move(free_.back());
      free_.pop_back();
      return execution;
    }
    free_.reserve(++made_);  // giving it back must not fail
  }
  auto execution = std::make_unique<execution_t>();
  execution->io.resize(num_io);
  execution->tensors.resize(num_io);
  execution->copies.resize(num_io);
  return execution;
}

void execution_pool::give_back(std::unique_ptr<execution_t> execution) {
  std::lock_guard lock(mutex_);
  free_.push_back(std::move(execution));
}

NRT_STATUS execute(const char *api, runtime_t &r, exec_model_t *model, execution_pool &pool,
                   tensor_set_object_t &inputs, tensor_set_object_t &outputs, uint32_t count) {
  call_t call = {api, r, exec_model_info(model)};
  execution_loan loan(pool, call.info->num_io_slots);
  for (uint32_t i = 0; i < call.info->num_io_slots; ++i) {
    NRT_STATUS status =
        resolve(call, i, call.info->io_slots[i].is_output ? outputs : inputs, *loan);
    if (status != NRT_SUCCESS)
      return status;
  }
  NRT_STATUS status = NRT_SUCCESS;
  for (uint32_t run = 0; run < count && status == NRT_SUCCESS; ++run) {
    status = exec_model_run(model, (*loan).io.data());
    if (status != NRT_SUCCESS && status != NRT_EXEC_COMPLETED_WITH_NUM_ERR)
      break;
    for (uint32_t i = 0; i < call.info->num_io_slots; ++i) {
      if (call.info->io_slots[i].is_output)
        tensor_output_completed((*loan).tensors[i]->tensor);
    }
  }
  return status;
}
