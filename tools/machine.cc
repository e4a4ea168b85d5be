// SPDX-License-Identifier: Apache-2.0
#include "tools/machine.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "base/env.h"
#include "mock_dev/mock_dev.h"

namespace {

NRT_STATUS explain(NRT_STATUS status, const std::string &where, finding_sink &findings) {
  if (status == NRT_SUCCESS)
    return status;
  return findings.add(status, where, "{}", tool_take_error("failed without a word"));
}

NRT_STATUS check_instance(const std::string &instance, finding_sink &findings) {
  std::string known;
  for (const char *const *name = mock_instance_names(); *name != nullptr; name++) {
    if (instance == *name)
      return NRT_SUCCESS;
    known += (known.empty() ? "" : ", ") + std::string(*name);
  }
  return findings.add(NRT_INVALID, "instance", "unknown instance '{}'; known are {}", instance,
                      known);
}

NRT_STATUS read_options(kmgr_options_t *out) {
  NRT_STATUS status = neff_open_options_from_env(&out->neff);
  return status == NRT_SUCCESS ? kelf_options_from_env(&out->kelf) : status;
}

}  // namespace

std::string machine_instance_for(std::span<const uint8_t> bytes, const kmgr_options_t &options) {
  finding_sink ignored;
  std::shared_ptr<const kelf_nn_t> nn;
  if (kmgr_parse(bytes, options, ignored, &nn) != NRT_SUCCESS)
    return "trn2.3xlarge";
  return nn->target == KELF_TARGET_SUNDA ? "trn1.2xlarge" : "trn2.3xlarge";
}

machine::~machine() {
  for (tensor_t *tensor : tensors_)
    tensor_free(tensor);
  if (memory_ != nullptr)
    dmem_list_destroy(memory_);
  for (const loaded_file &file : files_)
    if (file.model != nullptr)
      kmgr_model_put(kmgr_, file.model);
  if (kmgr_ != nullptr)
    kmgr_destroy(kmgr_);
  if (tdrv_ != nullptr)
    tdrv_close(tdrv_);
  if (hal_ != nullptr)
    hal_close(hal_);
}

NRT_STATUS machine::open(const std::string &first, std::span<const uint8_t> bytes,
                         const machine_arguments &arguments, finding_sink &findings) {
  // A shortage is one line of the tool's own; reports and files are for who asks for them.
  setenv("NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", "0", 0);
  tdrv_options_t placement{};
  NRT_STATUS status = read_options(&options_);
  if (status == NRT_SUCCESS)
    status = tdrv_options_from_env(&placement);
  if (status != NRT_SUCCESS)
    return explain(status, "environment", findings);

  if (!arguments.instance.empty() && !arguments.device) {
    status = check_instance(arguments.instance, findings);
    if (status != NRT_SUCCESS)
      return status;
  }
  hal_options_t device;
  device.mock = arguments.device ? HAL_MOCK_NEVER : HAL_MOCK_ALWAYS;
  std::string instance = arguments.instance;
  if (instance.empty() && !env_is_set("NEURON_MOCK_INSTANCE"))
    instance = machine_instance_for(bytes, options_);
  if (!instance.empty())
    device.mock_instance = instance.c_str();
  status = hal_open(&device, &hal_);
  if (status != NRT_SUCCESS)
    return explain(status, "device", findings);

  const hal_arch_t *arch = hal_arch(hal_);
  neff_header_t header{};
  finding_sink unread;
  bool readable = neff_header_check(bytes, unread, &header) == NRT_SUCCESS;
  placement.lnc = arguments.lnc != 0 ? arguments.lnc : arch->default_lnc;
  bool asks = readable && (header.feature_bits & NEFF_FEATURE_VNC) != 0;
  if (arguments.lnc == 0 && asks && header.lnc_size != 0 && header.lnc_size <= arch->max_lnc)
    placement.lnc = header.lnc_size;
  if (placement.lnc > arch->max_lnc || arch->cores_per_device % placement.lnc != 0)
    return findings.add(NRT_INVALID, "--lnc", "{} physical cores do not make a logical core of {}",
                        placement.lnc, arch->name);
  uint32_t cores = hal_identity(hal_)->device_count * arch->cores_per_device / placement.lnc;
  int64_t last = int64_t{arguments.core} + arguments.num_cores - 1;
  if (last >= static_cast<int64_t>(cores))
    return findings.add(NRT_INVALID, "logical core", "{} is not in 0..{}, those of {}", last,
                        cores - 1, hal_identity(hal_)->instance_type);
  placement.first_vnc = arguments.core < 0 ? 0 : static_cast<uint32_t>(arguments.core);
  placement.num_vncs = arguments.core < 0 ? cores : arguments.num_cores;
  status = tdrv_init(hal_, &placement, &tdrv_);
  if (status == NRT_SUCCESS)
    status = kmgr_create(tdrv_, &options_, &kmgr_);
  return explain(status, first, findings);
}

NRT_STATUS machine::read(const std::string &path, const machine_arguments &arguments,
                         finding_sink &findings, neff_file_bytes *bytes) {
  NRT_STATUS status = tool_read(path, findings, bytes);
  if (status == NRT_SUCCESS && kmgr_ == nullptr)
    status = open(path, bytes->span(), arguments, findings);
  return status;
}

NRT_STATUS machine::inspect(const placed_file &file, const machine_arguments &arguments,
                            finding_sink &findings, std::shared_ptr<const kelf_nn_t> *out) {
  neff_file_bytes bytes;
  NRT_STATUS status = read(file.path, arguments, findings, &bytes);
  if (status != NRT_SUCCESS)
    return status;
  kmgr_machine_t here{hal_arch(hal_), lnc()};
  return kmgr_verify(bytes.span(), options_, &here, findings, out);
}

NRT_STATUS machine::add(const placed_file &placed, const machine_arguments &arguments,
                        finding_sink &findings) {
  loaded_file file;
  file.path = placed.path;
  neff_file_bytes bytes;
  NRT_STATUS status = read(placed.path, arguments, findings, &bytes);
  if (status != NRT_SUCCESS)
    return status;
  H_NN handle = 0;
  int32_t vnc = placed.core < 0 ? -1 : static_cast<int32_t>(vnc_of(placed.core));
  status = kmgr_load(kmgr_, bytes.data.get(), bytes.size, vnc, &handle);
  if (status != NRT_SUCCESS)
    return explain(status, "load", findings);
  file.model = kmgr_model_get(kmgr_, handle);
  const neff_header_t &header = file.model->nn->source->header;
  file.name = std::string(header.name, strnlen(header.name, sizeof(header.name)));
  file.uuid = neff_uuid_text(header.uuid);
  files_.push_back(std::move(file));
  return NRT_SUCCESS;
}

NRT_STATUS machine::add_tensor(uint32_t vnc, uint64_t size, finding_sink &findings) {
  tensor_t *tensor = nullptr;
  NRT_STATUS status = tensor_allocate(tdrv_, tensor_placement_t::DEVICE, static_cast<int>(vnc),
                                      size, nullptr, &tensor);
  if (status == NRT_SUCCESS)
    tensors_.push_back(tensor);
  return explain(status, "tensor", findings);
}

NRT_STATUS machine::add_memory(const tpb_t &tpb, uint64_t size, uint64_t alignment,
                               dma_mem_usage_type_t usage, finding_sink &findings) {
  if (memory_ == nullptr)
    memory_ = dmem_list_create();
  if (memory_ == nullptr)
    return findings.add(NRT_FAIL_HOST_MEM_ALLOC, "memory", "no host memory left");
  dmem_t *mem = nullptr;
  return explain(dmem_alloc_aligned(tpb.global_allocator, size, dma_mem_location_t::TONGA_DRAM,
                                    tpb.pcore.hbm_index, memory_, usage, nullptr, alignment, &mem),
                 "memory", findings);
}

NRT_STATUS machine::load(const std::vector<std::string> &paths, const machine_arguments &arguments,
                         finding_sink &findings, std::string *failed) {
  for (const std::string &path : paths) {
    *failed = path;
    NRT_STATUS status = add({path, arguments.core}, arguments, findings);
    if (status != NRT_SUCCESS)
      return status;
  }
  return NRT_SUCCESS;
}

std::string machine_text(const hal_t *hal, uint32_t lnc) {
  const hal_identity_t &id = *hal_identity(hal);
  return fmt::format("{} {} ({}, {} device(s), driver {}, logical cores of {})", id.backend,
                     id.instance_type, hal_arch(hal)->name, id.device_count, id.driver_version,
                     lnc);
}

std::string machine_text(const machine &m) {
  return machine_text(m.hal(), m.lnc());
}
