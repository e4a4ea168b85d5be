// SPDX-License-Identifier: Apache-2.0
// Selection of the back end, discovery, identity and version negotiation.
#include "hal/hal.h"

#include <strings.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "base/env.h"
#include "base/nlog.h"
#include "hal/hal_impl.h"
#include "hal/kernel.h"
#include "hal/mock.h"
#include "hal/sysfs.h"
#include "uapi/neuron_ioctl.h"

NRT_STATUS hal_options_from_env(hal_options_t *out) {
  *out = hal_options_t{};
  std::string mode = env_string("NEURON_RT_MOCK", "auto");
  if (strcasecmp(mode.c_str(), "never") == 0) {
    out->mock = HAL_MOCK_NEVER;
  } else if (strcasecmp(mode.c_str(), "auto") == 0) {
    out->mock = HAL_MOCK_AUTO;
  } else if (strcasecmp(mode.c_str(), "always") == 0) {
    out->mock = HAL_MOCK_ALWAYS;
  } else {
    NLOG_ERROR(NLOG_HAL, "NEURON_RT_MOCK='{}' is not known; accepted: never, auto, always", mode);
    return NRT_INVALID;
  }
  return NRT_SUCCESS;
}

namespace {

// Copies the first line of a small file; "unknown" when it cannot be read.
void read_identity(const hal_t *hal, std::initializer_list<const char *> paths, char (&out)[64]) {
  for (const char *path : paths) {
    ssize_t got = hal->ops->read_file(hal->be, path, out, sizeof(out) - 1);
    if (got <= 0)
      continue;
    out[got] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    if (out[0] != '\0')
      return;
  }
  snprintf(out, sizeof(out), "unknown");
}

const char *arch_label(uint32_t arch) {
  static const char *const labels[] = {"invalid", "v1, Inferentia", "v2", "v3", "v4, Trainium3"};
  return arch < sizeof(labels) / sizeof(labels[0]) ? labels[arch] : "unknown";
}

NRT_STATUS find_devices(hal_t *hal) {
  hal_identity_t &id = hal->identity;
  for (uint32_t index = 0; index < HAL_MAX_DEVICES; ++index) {
    if (hal->ops->device_present(hal->be, index))
      id.device_index[id.device_count++] = index;
  }
  if (id.device_count == 0) {
    NLOG_ERROR(NLOG_HAL, "no Neuron device: none of /dev/neuron0 to /dev/neuron{} exists ({})",
               HAL_MAX_DEVICES - 1, hal->ops->name);
    return NRT_INVALID;
  }
  return NRT_SUCCESS;
}

NRT_STATUS misc_failure(const hal_t *hal, const char *request, int result) {
  NLOG_ERROR(NLOG_HAL, "nd{}: {} failed: {}", hal->identity.device_index[0], request,
             hal_error_name(result));
  return NRT_FAILURE;
}

// Architecture, revision and features; an old driver knows only the first two.
NRT_STATUS query_driver(hal_t *hal, uint32_t *arch) {
  hal_identity_t &id = hal->identity;
  struct neuron_ioctl_device_driver_info info = {};
  info.size = sizeof(info);
  int result = hal_request(hal->ops, hal->be, hal->misc_fd, NEURON_IOCTL_DRIVER_INFO_GET, &info);
  if (result == 0) {
    *arch = info.architecture;
    id.revision = info.revision;
    id.features = info.feature_flags1;
    return NRT_SUCCESS;
  }
  if (result != -EINVAL)
    return misc_failure(hal, "DRIVER_INFO_GET", result);
  struct neuron_ioctl_device_basic_info basic = {};
  result = hal_request(hal->ops, hal->be, hal->misc_fd, NEURON_IOCTL_DEVICE_BASIC_INFO, &basic);
  if (result != 0)
    return misc_failure(hal, "DEVICE_BASIC_INFO", result);
  *arch = basic.architecture;
  id.revision = basic.revision;
  id.features = 0;
  return NRT_SUCCESS;
}

NRT_STATUS negotiate_version(hal_t *hal) {
  hal_identity_t &id = hal->identity;
  struct neuron_ioctl_compatible_version version = {};
  int result =
      hal_request(hal->ops, hal->be, hal->misc_fd, NEURON_IOCTL_COMPATIBLE_VERSION, &version);
  if (result != 0)
    return misc_failure(hal, "COMPATIBLE_VERSION", result);
  id.api_min = version.min;
  id.api_max = version.max;
  const hal_arch_t *arch = hal->arch;
  if (version.min <= version.max && version.min <= arch->api_level_max &&
      version.max >= arch->api_level_min)
    return NRT_SUCCESS;
  NLOG_ERROR(NLOG_HAL,
             "driver {} takes runtime API levels {} to {}, this library speaks {} to {} on {}: "
             "{}",
             id.driver_version, version.min, version.max, arch->api_level_min, arch->api_level_max,
             arch->name,
             version.max < arch->api_level_min
                 ? "the driver is too old, update the package aws-neuronx-dkms"
                 : "the driver is too new for this library, update opennrt or install an older "
                   "aws-neuronx-dkms");
  return NRT_INVALID;
}

NRT_STATUS discover(hal_t *hal) {
  NRT_STATUS status = find_devices(hal);
  if (status != NRT_SUCCESS)
    return status;
  hal_identity_t &id = hal->identity;
  read_identity(hal, {"/sys/module/neuron/version"}, id.driver_version);
  read_identity(hal, {"/sys/class/dmi/id/product_name", "/sys/devices/virtual/dmi/id/product_name"},
                id.instance_type);

  hal->misc_fd = hal_seam_open(hal->ops, hal->be, id.device_index[0], HAL_LANE_MISC);
  if (hal->misc_fd < 0) {
    NLOG_ERROR(NLOG_HAL, "could not open nd{} (/dev/neuron{}) for queries: {}", id.device_index[0],
               id.device_index[0], hal_error_name(hal->misc_fd));
    return NRT_FAILURE;
  }
  uint32_t arch = 0;
  status = query_driver(hal, &arch);
  if (status != NRT_SUCCESS)
    return status;
  hal->arch = hal_arch_get(arch);
  if (hal->arch == nullptr) {
    NLOG_ERROR(NLOG_HAL,
               "nd{}: architecture {} ({}) is not supported; supported: 2 (v2, Trn1 and "
               "Inf2), 3 (v3, Trn2)",
               id.device_index[0], arch, arch_label(arch));
    return NRT_INVALID;
  }
  return negotiate_version(hal);
}

bool kernel_devices_exist() {
  const hal_syscalls_t *sys = hal_libc_syscalls();
  for (uint32_t index = 0; index < HAL_MAX_DEVICES; ++index) {
    char path[32];
    snprintf(path, sizeof(path), "/dev/neuron%u", index);
    if (sys->exists(sys->ctx, path))
      return true;
  }
  return false;
}

// The user must learn that nothing here runs on silicon, whatever the log level (rulings.md 19).
// Once per process: counting calls open and close the machine several times.
void announce_mock(const hal_t *hal) {
  static std::atomic_flag announced = ATOMIC_FLAG_INIT;
  if (announced.test_and_set())
    return;
  fprintf(stderr,
          "opennrt: no /dev/neuron* on this machine; using the mocked device %s "
          "(NEURON_RT_MOCK=always: same without this line, never: fail instead)\n",
          hal->identity.instance_type);
}

}  // namespace

NRT_STATUS hal_open_with(const hal_ops_t *ops, void *be, hal_t **out) {
  *out = nullptr;
  auto *hal = new (std::nothrow) hal_t{};
  if (hal == nullptr) {
    ops->destroy(be);
    NLOG_ERROR(NLOG_HAL, "out of memory");
    return NRT_RESOURCE;
  }
  hal->ops = ops;
  hal->be = be;
  hal->misc_fd = -1;
  hal->identity.backend = ops->name;
  NRT_STATUS status = discover(hal);
  if (status != NRT_SUCCESS) {
    hal_close(hal);
    return status;
  }
  const hal_identity_t &id = hal->identity;
  NLOG_INFO(NLOG_HAL,
            "{} back end: {} with {} device(s), {} revision {}, driver {}, API {} to {}, "
            "features {:#x}",
            id.backend, id.instance_type, id.device_count, hal->arch->name, id.revision,
            id.driver_version, id.api_min, id.api_max, id.features);
  *out = hal;
  return NRT_SUCCESS;
}

NRT_STATUS hal_open(const hal_options_t *options, hal_t **out) {
  *out = nullptr;
  bool kernel =
      options->mock == HAL_MOCK_NEVER || (options->mock == HAL_MOCK_AUTO && kernel_devices_exist());
  void *be = nullptr;
  if (kernel) {
    std::string root;
    NRT_STATUS status = hal_sysfs_root_from_env(&root);
    if (status != NRT_SUCCESS)
      return status;
    be = hal_kernel_create(hal_libc_syscalls(), root.c_str());
    if (be == nullptr) {
      NLOG_ERROR(NLOG_HAL, "out of memory");
      return NRT_RESOURCE;
    }
    return hal_open_with(hal_kernel_ops(), be, out);
  }
  NRT_STATUS status = hal_mock_create_from_env(options->mock_instance, &be);
  if (status != NRT_SUCCESS)
    return status;
  status = hal_open_with(hal_mock_ops(), be, out);
  if (status == NRT_SUCCESS && options->mock == HAL_MOCK_AUTO)
    announce_mock(*out);
  return status;
}

void hal_close(hal_t *hal) {
  if (hal == nullptr)
    return;
  // Devices still open are the caller's bug; their descriptors must not outlive the machine.
  for (hal_device_t *device : hal->devices) {
    if (device == nullptr)
      continue;
    NLOG_WARN(NLOG_HAL, "nd{} is still open when its machine is closed", device->index);
    hal->ops->close(hal->be, device->fd);
    delete device;
  }
  if (hal->misc_fd >= 0)
    hal->ops->close(hal->be, hal->misc_fd);
  hal->ops->destroy(hal->be);
  delete hal;
}

const hal_identity_t *hal_identity(const hal_t *hal) {
  return &hal->identity;
}

const hal_arch_t *hal_arch(const hal_t *hal) {
  return hal->arch;
}

mock_host *hal_mock_host(const hal_t *hal) {
  return hal->ops == hal_mock_ops() ? hal_mock_host_of(hal->be) : nullptr;
}
