// SPDX-License-Identifier: Apache-2.0
// Models: loading, descriptions, runs (nrt-api.md 5.1, 5.4).
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unordered_set>

#include "base/checked.h"
#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "nrt/runtime.h"

namespace {

struct model_put {
  kmgr_t *kmgr;
  void operator()(kmgr_model_t *model) const { kmgr_model_put(kmgr, model); }
};
using model_ref = std::unique_ptr<kmgr_model_t, model_put>;

// Keeps a model from being unloaded; a failure is logged and stands in *status.
model_ref hold_model(const char *api, runtime_t &r, const model_object_t &object,
                     NRT_STATUS *status) {
  model_ref model(kmgr_model_get(r.kmgr, object.h_nn), model_put{r.kmgr});
  if (model == nullptr)
    *status = api_fail(api, NRT_INVALID_HANDLE, "model {} is being unloaded", object.h_nn);
  return model;
}

// The loaded model behind a handle, likewise.
model_ref find_model(const char *api, runtime_t &r, const nrt_model_t *handle, NRT_STATUS *status) {
  std::shared_ptr<model_object_t> object = api_find(api, r.models, handle, "model", status);
  return object != nullptr ? hold_model(api, r, *object, status)
                           : model_ref(nullptr, model_put{r.kmgr});
}

NRT_STATUS load(const char *api, runtime_t &r, const void *bytes, size_t size, int32_t vnc,
                nrt_model_t **model) {
  *model = nullptr;
  if (bytes == nullptr || size == 0)
    return api_fail(api, NRT_INVALID, "no NEFF given: address {}, {} bytes", bytes, size);
  auto object = std::make_shared<model_object_t>();
  if (NRT_STATUS s = kmgr_load(r.kmgr, bytes, size, vnc, &object->h_nn); s != NRT_SUCCESS)
    return s;
  try {
    *model = static_cast<nrt_model_t *>(r.models.insert(object));
  } catch (...) {
    kmgr_unload(r.kmgr, object->h_nn);
    throw;
  }
  return NRT_SUCCESS;
}

NRT_STATUS model_vnc_count(const char *api, const nrt_model_t *model, uint32_t *out) {
  return api_guarded(api, [&](runtime_t &r) -> NRT_STATUS {
    if (out == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    NRT_STATUS status;
    if (find_model(api, r, model, &status) != nullptr)
      *out = 1;
    return status;
  });
}

// Arrays handed out and not yet freed: a second free must do no harm.
struct info_arrays {
  std::mutex mutex;
  std::unordered_set<void *> live;
};

info_arrays &arrays() {
  static info_arrays *a = new info_arrays;
  return *a;
}

// Shape extents to store; 0 when one does not fit the ABI's 32 bits, so that none is wrong.
size_t shape_length(const kelf_io_tensor_t &tensor) {
  bool fits = std::all_of(tensor.shape.begin(), tensor.shape.end(),
                          [](uint64_t extent) { return extent <= UINT32_MAX; });
  return fits ? tensor.shape.size() : 0;
}

uint32_t *fill_info(const kelf_io_tensor_t &tensor, nrt_tensor_usage_t usage, uint32_t *shape,
                    nrt_tensor_info_t *info) {
  size_t length = std::min(tensor.name.size(), sizeof(info->name) - 1);
  memcpy(info->name, tensor.name.data(), length);
  info->usage = usage;
  info->size = tensor.size;
  info->dtype = static_cast<nrt_dtype_t>(tensor.dtype);
  info->ndim = static_cast<uint32_t>(shape_length(tensor));
  if (info->ndim == 0)
    return shape;
  info->shape = shape;
  return std::transform(tensor.shape.begin(), tensor.shape.end(), shape,
                        [](uint64_t extent) { return static_cast<uint32_t>(extent); });
}

// One block: header, rows, extents.
nrt_tensor_info_array_t *build_info(const kelf_nn_t &nn) {
  size_t extents = 0;
  for (const auto *list : {&nn.inputs, &nn.outputs}) {
    for (const kelf_io_tensor_t &tensor : *list)
      extents += shape_length(tensor);
  }
  size_t count = nn.inputs.size() + nn.outputs.size();
  size_t rows_end = sizeof(nrt_tensor_info_array_t) + count * sizeof(nrt_tensor_info_t);
  auto *block = static_cast<uint8_t *>(calloc(1, rows_end + extents * sizeof(uint32_t)));
  if (block == nullptr)
    throw std::bad_alloc();
  auto *array = reinterpret_cast<nrt_tensor_info_array_t *>(block);
  array->tensor_count = count;
  auto *row = reinterpret_cast<nrt_tensor_info_t *>(block + sizeof(nrt_tensor_info_array_t));
  auto *shape = reinterpret_cast<uint32_t *>(block + rows_end);
  for (const kelf_io_tensor_t &tensor : nn.inputs)
    shape = fill_info(tensor, NRT_TENSOR_USAGE_INPUT, shape, row++);
  for (const kelf_io_tensor_t &tensor : nn.outputs)
    shape = fill_info(tensor, NRT_TENSOR_USAGE_OUTPUT, shape, row++);
  return array;
}

NRT_STATUS run(const char *api, nrt_model_t *handle, const nrt_tensor_set_t *input_set,
               nrt_tensor_set_t *output_set, int count) {
  return api_guarded(api, [&](runtime_t &r) -> NRT_STATUS {
    NRT_STATUS status;
    std::shared_ptr<model_object_t> object = api_find(api, r.models, handle, "model", &status);
    if (object == nullptr)
      return status;
    model_ref model = hold_model(api, r, *object, &status);
    if (model == nullptr)
      return status;
    auto inputs = api_find(api, r.sets, input_set, "input tensor set", &status);
    if (inputs == nullptr)
      return status;
    auto outputs = api_find(api, r.sets, output_set, "output tensor set", &status);
    if (outputs == nullptr)
      return status;
    if (count < 1)
      return api_fail(api, NRT_INVALID, "{} runs asked for; at least 1", count);
    return execute(api, r, model->exec, object->executions, *inputs, *outputs,
                   static_cast<uint32_t>(count));
  });
}

}  // namespace

extern "C" {

NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                    nrt_model_t **model) {
  (void)vnc_count;  // deprecated; clients pass -1, 1 and real counts
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (model == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    return load(api, r, neff_bytes, size, vnc, model);
  });
}

NRT_STATUS nrt_load_collectives(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                                uint32_t ctx_device_id, uint32_t ctx_device_count,
                                nrt_model_t **model) {
  (void)vnc_count;
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (model == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    *model = nullptr;
    if (ctx_device_id >= ctx_device_count)
      return api_fail(api, NRT_INVALID, "rank {} in a world of {}", ctx_device_id,
                      ctx_device_count);
    if (ctx_device_count != 1)
      return api_fail(api, NRT_INVALID,
                      "a world of {} ranks: collectives between cores are not implemented yet",
                      ctx_device_count);
    return load(api, r, neff_bytes, size, vnc, model);
  });
}

NRT_STATUS nrt_unload(nrt_model_t *model) {
  if (runtime_status() == NRT_CLOSED)
    return NRT_CLOSED;  // nrt_close has unloaded it
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    NRT_STATUS status;
    if (api_find(api, r.models, model, "model", &status) == nullptr)
      return status;
    std::shared_ptr<model_object_t> object = r.models.remove(model);
    if (object == nullptr)
      return api_fail(api, NRT_INVALID_HANDLE, "model is being unloaded by another call");
    status = kmgr_unload(r.kmgr, object->h_nn);
    if (status != NRT_SUCCESS && status != NRT_INVALID_HANDLE)
      r.models.put_back(reinterpret_cast<uintptr_t>(model), object);
    return status;
  });
}

NRT_STATUS nrt_get_model_vnc_count(const nrt_model_t *model, uint32_t *vnc_count) {
  return model_vnc_count(__func__, model, vnc_count);
}

NRT_STATUS nrt_get_model_nc_count(const nrt_model_t *model, uint32_t *vnc_count) {
  return model_vnc_count(__func__, model, vnc_count);
}

NRT_STATUS nrt_get_model_instance_count(nrt_model_t *model, uint32_t *instance_count) {
  return model_vnc_count(__func__, model, instance_count);
}

NRT_STATUS nrt_get_model_info(const nrt_model_t *model, nrt_model_info_t *info, size_t info_size_in,
                              size_t *info_size_out) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (info == nullptr || info_size_out == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    if (info_size_in < sizeof(info->vnc))
      return api_fail(api, NRT_INVALID, "room for {} bytes; at least {} are needed", info_size_in,
                      sizeof(info->vnc));
    NRT_STATUS status;
    model_ref loaded = find_model(api, r, model, &status);
    if (loaded == nullptr)
      return status;
    nrt_model_info_t full{loaded->vnc};
    *info_size_out = std::min(info_size_in, sizeof(full));
    memcpy(info, &full, *info_size_out);
    return NRT_SUCCESS;
  });
}

NRT_STATUS nrt_get_model_tensor_info(nrt_model_t *model, nrt_tensor_info_array_t **tensor_info) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (tensor_info == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    *tensor_info = nullptr;
    NRT_STATUS status;
    model_ref loaded = find_model(api, r, model, &status);
    if (loaded == nullptr)
      return status;
    std::unique_ptr<nrt_tensor_info_array_t, decltype(&free)> array(build_info(*loaded->nn), free);
    std::lock_guard lock(arrays().mutex);
    arrays().live.insert(array.get());
    *tensor_info = array.release();
    return NRT_SUCCESS;
  });
}

NRT_STATUS nrt_free_model_tensor_info(nrt_tensor_info_array_t *tensor_info) {
  return api_call(__func__, [&](const char *api) -> NRT_STATUS {
    if (tensor_info == nullptr)
      return NRT_SUCCESS;
    {
      std::lock_guard lock(arrays().mutex);
      if (arrays().live.erase(tensor_info) == 0)
        return api_fail(api, NRT_INVALID, "{} is no live tensor information",
                        static_cast<const void *>(tensor_info));
    }
    free(tensor_info);
    return NRT_SUCCESS;
  });
}

NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                       nrt_tensor_set_t *output_set) {
  return run(__func__, model, input_set, output_set, 1);
}

NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                              nrt_tensor_set_t *output_set, int repeat_count) {
  return run(__func__, model, input_set, output_set, repeat_count);
}

}  // extern "C"
