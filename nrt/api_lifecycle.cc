// SPDX-License-Identifier: Apache-2.0
// Lifecycle and identity (nrt-api.md 4).
#include <algorithm>
#include <cstring>
#include <string_view>

#include "nrt/core_choice.h"
#include "nrt/nec.h"
#include "nrt/nrt.h"
#include "nrt/nrt_version.h"
#include "nrt/runtime.h"
#include "nrt_build.h"

namespace {

// The release whose ABI this library follows (rulings.md 10).
constexpr uint64_t kVersion[4] = {2, 31, 24, 0};

struct name_value_t {
  std::string_view name;
  uint32_t value;
};

constexpr name_value_t kFamilies[] = {
    {"inf1", NRT_INSTANCE_INF1},           {"trn1", NRT_INSTANCE_TRN1},
    {"trn1n", NRT_INSTANCE_TRN1N},         {"inf2", NRT_INSTANCE_INF2},
    {"trn2", NRT_INSTANCE_TRN2},           {"trn2n", NRT_INSTANCE_TRN2N},
    {"inf2e", NRT_INSTANCE_INF2E},         {"trn2p", NRT_INSTANCE_TRN2P},
    {"trn2u", NRT_INSTANCE_TRN2U},         {"trn2e", NRT_INSTANCE_TRN2E},
    {"trn2eu", NRT_INSTANCE_TRN2EU},       {"trn2ac", NRT_INSTANCE_TRN2AC},
    {"trn2uac", NRT_INSTANCE_TRN2UAC},     {"trn3", NRT_INSTANCE_TRN3},
    {"trn3pds98", NRT_INSTANCE_TRN3PDS98},
};

constexpr name_value_t kSizes[] = {
    {"xlarge", NRT_INSTANCE_SIZE_1XL},    {"2xlarge", NRT_INSTANCE_SIZE_2XL},
    {"3xlarge", NRT_INSTANCE_SIZE_3XL},   {"4xlarge", NRT_INSTANCE_SIZE_4XL},
    {"6xlarge", NRT_INSTANCE_SIZE_6XL},   {"8xlarge", NRT_INSTANCE_SIZE_8XL},
    {"24xlarge", NRT_INSTANCE_SIZE_24XL}, {"32xlarge", NRT_INSTANCE_SIZE_32XL},
    {"48xlarge", NRT_INSTANCE_SIZE_48XL},
};

template <size_t N>
uint32_t value_of(const name_value_t (&table)[N], std::string_view name, uint32_t fallback) {
  for (const name_value_t &row : table) {
    if (row.name == name)
      return row.value;
  }
  return fallback;
}

void copy_text(char *out, size_t size, std::string_view text) {
  size_t n = std::min(text.size(), size - 1);
  memcpy(out, text.data(), n);
  out[n] = '\0';
}

NRT_STATUS total_count(const char *api, uint32_t *out) {
  return api_with_machine(api, [&](hal_t *hal, runtime_t *runtime) -> NRT_STATUS {
    if (out == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    uint32_t lnc = 0;
    if (runtime != nullptr) {
      lnc = tdrv_options(runtime->tdrv)->lnc;
    } else if (NRT_STATUS s = core_choice_lnc_from_env(hal_arch(hal), &lnc); s != NRT_SUCCESS) {
      return s;
    }
    *out = hal_identity(hal)->device_count * hal_arch(hal)->cores_per_device / lnc;
    return NRT_SUCCESS;
  });
}

NRT_STATUS visible_count(const char *api, uint32_t *out) {
  return api_with_machine(api, [&](hal_t *hal, runtime_t *runtime) -> NRT_STATUS {
    if (out == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    if (runtime != nullptr) {
      *out = tdrv_vnc_count(runtime->tdrv);
      return NRT_SUCCESS;
    }
    core_choice_t choice;
    NRT_STATUS status =
        core_choice_from_env(hal_arch(hal), hal_identity(hal)->device_count, &choice);
    if (status == NRT_SUCCESS)
      *out = choice.num_vncs;
    return status;
  });
}

}  // namespace

extern "C" {

NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version,
                    const char *fal_version) {
  (void)framework;  // for tools; nothing reads it yet
  return api_call(__func__, [&](const char *api) {
    return runtime_init(api, fw_version != nullptr ? fw_version : "",
                        fal_version != nullptr ? fal_version : "");
  });
}

NRT_STATUS nrt_get_version(nrt_version_t *ver, size_t size) {
  return api_call(__func__, [&](const char *api) -> NRT_STATUS {
    if (ver == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    if (size < offsetof(nrt_version_t, git_hash))
      return api_fail(api, NRT_FAILURE, "room for {} bytes; at least {} are needed", size,
                      offsetof(nrt_version_t, git_hash));
    nrt_version_t full{};
    full.rt_major = kVersion[0];
    full.rt_minor = kVersion[1];
    full.rt_patch = kVersion[2];
    full.rt_maintenance = kVersion[3];
    copy_text(full.rt_detail, sizeof(full.rt_detail),
              fmt::format("libnrt version {}.{}.{}.{} (opennrt {})", kVersion[0], kVersion[1],
                          kVersion[2], kVersion[3], OPENNRT_VERSION));
    copy_text(full.git_hash, sizeof(full.git_hash), OPENNRT_GIT_HASH);
    memcpy(ver, &full, std::min(size, sizeof(full)));
    return NRT_SUCCESS;
  });
}

NRT_STATUS nrt_get_instance_info(nrt_instance_info_t *info, size_t instance_info_len) {
  return api_with_machine(__func__, [&](const char *api, hal_t *hal, runtime_t *) -> NRT_STATUS {
    if (info == nullptr || instance_info_len == 0)
      return api_fail(api, NRT_INVALID, "result pointer {}, room for {} bytes",
                      static_cast<const void *>(info), instance_info_len);
    const hal_identity_t *identity = hal_identity(hal);
    std::string_view type = identity->instance_type;
    size_t dot = type.find('.');
    nrt_instance_info_t full{};
    full.family = value_of(kFamilies, type.substr(0, dot), NRT_INSTANCE_UNKNOWN);
    full.size = dot == std::string_view::npos
                    ? static_cast<uint32_t>(NRT_INSTANCE_SIZE_UNKNOWN)
                    : value_of(kSizes, type.substr(dot + 1), NRT_INSTANCE_SIZE_UNKNOWN);
    copy_text(full.arch_name, sizeof(full.arch_name), hal_arch(hal)->nc_name);
    copy_text(full.device_revision, sizeof(full.device_revision),
              fmt::format("{}", identity->revision));
    memcpy(info, &full, std::min(instance_info_len, sizeof(full)));
    return NRT_SUCCESS;
  });
}

NRT_STATUS nrt_get_total_vnc_count(uint32_t *vnc_count) {
  return total_count(__func__, vnc_count);
}

NRT_STATUS nrt_get_total_nc_count(uint32_t *vnc_count) {
  return total_count(__func__, vnc_count);
}

NRT_STATUS nrt_get_visible_vnc_count(uint32_t *vnc_count) {
  return visible_count(__func__, vnc_count);
}

NRT_STATUS nrt_get_visible_nc_count(uint32_t *vnc_count) {
  return visible_count(__func__, vnc_count);
}

NRT_STATUS nec_get_virtual_core_size(uint32_t *virtual_core_size) {
  return api_with_machine(__func__,
                          [&](const char *api, hal_t *hal, runtime_t *runtime) -> NRT_STATUS {
                            if (virtual_core_size == nullptr)
                              return api_fail(api, NRT_INVALID, "result pointer is NULL");
                            if (runtime == nullptr)
                              return core_choice_lnc_from_env(hal_arch(hal), virtual_core_size);
                            *virtual_core_size = tdrv_options(runtime->tdrv)->lnc;
                            return NRT_SUCCESS;
                          });
}

NRT_STATUS nrt_host_device_id_get(int neuron_dev, uint32_t *host_device_id) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (host_device_id == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    const hal_identity_t *identity = hal_identity(r.hal);
    const uint32_t *end = identity->device_index + identity->device_count;
    const uint32_t *found = std::find_if(identity->device_index, end, [&](uint32_t index) {
      return neuron_dev >= 0 && index == static_cast<uint32_t>(neuron_dev);
    });
    if (found == end)
      return api_fail(api, NRT_INVALID, "there is no device {}", neuron_dev);
    hal_device_t *device = nullptr;
    NRT_STATUS status =
        hal_device_open(r.hal, static_cast<uint32_t>(found - identity->device_index), &device);
    if (status != NRT_SUCCESS)
      return status;
    int rc = hal_host_device_id(device, host_device_id);
    hal_device_close(device);
    return rc == 0 ? NRT_SUCCESS
                   : api_fail(api, NRT_FAILURE,
                              "the driver does not tell the number of device {}: "
                              "error {}",
                              neuron_dev, -rc);
  });
}

NRT_STATUS nrt_host_device_id_rid_map_get(uint32_t *count, uint32_t *host_did_to_rid_map) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (count == nullptr || host_did_to_rid_map == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    uint32_t ids[HAL_MAX_DEVICES];
    uint32_t devices = 0;
    if (int rc = hal_routing_ids(r.hal, &devices, ids); rc != 0)
      return api_fail(api, NRT_FAILURE, "the driver does not tell routing ids: error {}", -rc);
    if (*count < devices)
      return api_fail(api, NRT_INVALID, "room for {} devices; there are {}", *count, devices);
    std::copy_n(ids, devices, host_did_to_rid_map);
    *count = devices;
    return NRT_SUCCESS;
  });
}

NRT_STATUS nrt_get_vnc_memory_stats(uint32_t vnc, nrt_vnc_memory_stats_t *stats,
                                    size_t stats_size_in, size_t *stats_size_out) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (stats == nullptr || stats_size_out == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    const vcore_t *vcore = tdrv_vcore(r.tdrv, vnc);
    if (vcore == nullptr)
      return api_fail(api, NRT_INVALID, "core {} of {}", vnc, tdrv_vnc_count(r.tdrv));
    // The physical cores of a logical one sit on one device.
    const physical_core_t *first = &vcore->tpbs[0]->pcore;
    dmem_usage_table_t usage;
    dmem_device_snapshot(first->stats, &usage);
    nrt_vnc_memory_stats_t full{};
    for (uint32_t i = 0; i < vcore->num_tpbs; ++i)
      full.bytes_used += usage.core_total[vcore->tpbs[i]->pcore.nc_id];
    // Two logical cores that share an HBM both have it as their limit (device-memory.md 2.7).
    uint64_t hbm_size = 0;
    if (int rc = hal_hbm_size(first->device, first->hbm_index, &hbm_size); rc != 0)
      return api_fail(api, NRT_FAILURE, "the driver does not tell the size of HBM {}: error {}",
                      first->hbm_index, -rc);
    full.bytes_limit = hbm_size;
    *stats_size_out = std::min(stats_size_in, sizeof(full));
    memcpy(stats, &full, *stats_size_out);
    return NRT_SUCCESS;
  });
}

}  // extern "C"
