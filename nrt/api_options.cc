// SPDX-License-Identifier: Apache-2.0
// Option objects of profiling and tracing (nrt-api.md 5.7, 5.8). They need no runtime and outlive
// nrt_close; whoever captures one day reads them.
#include <array>

#include "nrt/nrt_profile.h"
#include "nrt/nrt_sys_trace.h"
#include "nrt/options.h"
#include "nrt/runtime.h"

namespace {

struct option_tables {
  handle_table<inspect_config_t> inspect;
  handle_table<trace_filter_t> trace;
  handle_table<fetch_options_t> fetch;
  handle_table<continuous_options_t> continuous;
};

option_tables &tables() {
  static option_tables *t = new option_tables;
  return *t;
}

constexpr std::array<std::string_view, ACTIVITY_COUNT> kActivities = {
    "system_profile", "device_profile", "host_memory", "cpu_util"};

template <typename T, typename Handle>
NRT_STATUS allocate(const char *api, handle_table<T> &table, Handle **out) {
  return api_call(api, [&]() -> NRT_STATUS {
    if (out == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    *out = nullptr;
    *out = static_cast<Handle *>(table.insert(std::make_shared<T>()));
    return NRT_SUCCESS;
  });
}

// NULL is fine, as with free().
template <typename T>
NRT_STATUS release(const char *api, handle_table<T> &table, void *handle) {
  return api_call(api, [&]() -> NRT_STATUS {
    if (handle == nullptr || table.remove(handle) != nullptr)
      return NRT_SUCCESS;
    return api_fail(api, NRT_INVALID_HANDLE, "handle {} names no live options", handle);
  });
}

// Runs `body` on the object behind a handle.
template <typename T, typename Body>
NRT_STATUS with(const char *api, handle_table<T> &table, const void *handle, Body body) {
  return api_call(api, [&]() -> NRT_STATUS {
    NRT_STATUS status;
    std::shared_ptr<T> object = api_find(api, table, handle, "options", &status);
    return object == nullptr ? status : api_invoke(api, body, *object);
  });
}

NRT_STATUS set_text(const char *api, const char *value, std::string *out) {
  if (value == nullptr || value[0] == '\0')
    return api_fail(api, NRT_INVALID, "directory is {}", value == nullptr ? "NULL" : "empty");
  *out = value;
  return NRT_SUCCESS;
}

NRT_STATUS set_core(const char *api, trace_filter_t &filter, uint32_t core, bool enabled) {
  if (core >= OPTIONS_MAX_CORES)
    return api_fail(api, NRT_INVALID, "core {}; at most {} are known", core, OPTIONS_MAX_CORES);
  filter.cores.set(core, enabled);
  return NRT_SUCCESS;
}

NRT_STATUS set_event(const char *api, trace_filter_t &filter, const char *name, bool enabled) {
  int index = name != nullptr ? event_type_index(name) : -1;
  if (index < 0)
    return api_fail(api, NRT_INVALID, "'{}' is no event type", name != nullptr ? name : "NULL");
  filter.events.set(static_cast<size_t>(index), enabled);
  return NRT_SUCCESS;
}

NRT_STATUS hand_out(const char *api, const std::vector<std::string_view> &names, const char ***out,
                    size_t *count) {
  if (out == nullptr || count == nullptr)
    return api_fail(api, NRT_INVALID, "result pointer is NULL");
  *out = names_to_c(names);
  *count = names.size();
  return NRT_SUCCESS;
}

}  // namespace

extern "C" {

// --- inspect -------------------------------------------------------------------------------------

NRT_STATUS nrt_inspect_config_allocate(nrt_inspect_config_t **options) {
  return allocate(__func__, tables().inspect, options);
}

NRT_STATUS nrt_inspect_config_set_defaults(nrt_inspect_config_t *options) {
  return with(__func__, tables().inspect, options, [](inspect_config_t &c) {
    c = inspect_config_t();
    return NRT_SUCCESS;
  });
}

NRT_STATUS nrt_inspect_config_free(nrt_inspect_config_t *options) {
  return release(__func__, tables().inspect, options);
}

NRT_STATUS nrt_inspect_config_set_session_id(nrt_inspect_config_t *options, int session_id) {
  return with(__func__, tables().inspect, options, [&](inspect_config_t &c) {
    c.session_id = session_id;
    return NRT_SUCCESS;
  });
}

NRT_STATUS nrt_inspect_config_set_output_dir(nrt_inspect_config_t *options,
                                             const char *output_dir) {
  return with(__func__, tables().inspect, options, [&](const char *api, inspect_config_t &c) {
    return set_text(api, output_dir, &c.output_dir);
  });
}

NRT_STATUS nrt_inspect_config_set_sys_trace_max_events_per_nc(
    nrt_inspect_config_t *options, uint64_t sys_trace_max_events_per_nc) {
  return with(__func__, tables().inspect, options, [&](inspect_config_t &c) {
    c.trace.max_events_per_nc = sys_trace_max_events_per_nc;
    return NRT_SUCCESS;
  });
}

NRT_STATUS nrt_inspect_config_set_capture_enabled_for_nc(nrt_inspect_config_t *options,
                                                         uint32_t nc_idx, bool enabled) {
  return with(__func__, tables().inspect, options, [&](const char *api, inspect_config_t &c) {
    return set_core(api, c.trace, nc_idx, enabled);
  });
}

NRT_STATUS nrt_inspect_config_set_capture_enabled_for_event_type_string(
    nrt_inspect_config_t *options, const char *event_type, bool enabled) {
  return with(__func__, tables().inspect, options, [&](const char *api, inspect_config_t &c) {
    return set_event(api, c.trace, event_type, enabled);
  });
}

NRT_STATUS nrt_inspect_config_set_enable_inspect(nrt_inspect_config_t *options,
                                                 bool enable_inspect) {
  return with(__func__, tables().inspect, options, [&](inspect_config_t &c) {
    c.enable_inspect = enable_inspect;
    return NRT_SUCCESS;
  });
}

NRT_STATUS nrt_inspect_config_set_enable_inspect_on_fail(nrt_inspect_config_t *options,
                                                         bool enable_inspect_on_fail) {
  return with(__func__, tables().inspect, options, [&](inspect_config_t &c) {
    c.enable_inspect_on_fail = enable_inspect_on_fail;
    return NRT_SUCCESS;
  });
}

NRT_STATUS nrt_inspect_config_set_inspect_device_profile_mode(
    nrt_inspect_config_t *options, nrt_inspect_device_profile_mode_t mode) {
  return with(__func__, tables().inspect, options,
              [&](const char *api, inspect_config_t &c) -> NRT_STATUS {
                int value = static_cast<int>(mode);
                if (value < NRT_INSPECT_DEVICE_PROFILE_MODE_DISABLED ||
                    value > NRT_INSPECT_DEVICE_PROFILE_MODE_SESSION)
                  return api_fail(api, NRT_INVALID, "mode {}; modes are 0 to 2", value);
                c.device_profile_mode = value;
                return NRT_SUCCESS;
              });
}

NRT_STATUS nrt_inspect_config_set_activity(nrt_inspect_config_t *options, const char *activity_type,
                                           bool enabled) {
  return with(__func__, tables().inspect, options,
              [&](const char *api, inspect_config_t &c) -> NRT_STATUS {
                std::string_view name = activity_type != nullptr ? activity_type : "NULL";
                uint32_t bits = name == "all" ? ACTIVITY_ALL : 0;
                for (uint32_t i = 0; i < ACTIVITY_COUNT; ++i) {
                  if (kActivities[i] == name)
                    bits = 1u << i;
                }
                if (bits == 0)
                  return api_fail(api, NRT_INVALID, "'{}' is no activity", name);
                c.activities = enabled ? c.activities | bits : c.activities & ~bits;
                return NRT_SUCCESS;
              });
}

NRT_STATUS nrt_inspect_config_get_all_activity_types(const char ***activity_types, size_t *count) {
  return api_call(__func__, [&](const char *api) {
    return hand_out(api, {kActivities.begin(), kActivities.end()}, activity_types, count);
  });
}

NRT_STATUS nrt_inspect_config_get_enabled_activity_types(nrt_inspect_config_t *options,
                                                         const char ***activity_types,
                                                         size_t *count) {
  return with(__func__, tables().inspect, options, [&](const char *api, inspect_config_t &c) {
    std::vector<std::string_view> names;
    for (uint32_t i = 0; i < ACTIVITY_COUNT; ++i) {
      if ((c.activities & (1u << i)) != 0)
        names.push_back(kActivities[i]);
    }
    return hand_out(api, names, activity_types, count);
  });
}

void nrt_inspect_config_free_activity_types(const char **activity_types, size_t count) {
  names_free(activity_types, count);
}

// --- continuous profile --------------------------------------------------------------------------

NRT_STATUS nrt_profile_continuous_options_allocate(nrt_profile_continuous_options_t **options) {
  return allocate(__func__, tables().continuous, options);
}

NRT_STATUS nrt_profile_continuous_options_free(nrt_profile_continuous_options_t *options) {
  return release(__func__, tables().continuous, options);
}

NRT_STATUS nrt_profile_continuous_options_set_output_dir(nrt_profile_continuous_options_t *options,
                                                         const char *output_dir) {
  return with(__func__, tables().continuous, options,
              [&](const char *api, continuous_options_t &c) {
                return set_text(api, output_dir, &c.output_dir);
              });
}

// --- system trace --------------------------------------------------------------------------------

NRT_STATUS nrt_sys_trace_config_allocate(nrt_sys_trace_config_t **options) {
  return allocate(__func__, tables().trace, options);
}

void nrt_sys_trace_config_set_defaults(nrt_sys_trace_config_t *options) {
  (void)with(__func__, tables().trace, options, [](trace_filter_t &f) {
    f = trace_filter_t();
    return NRT_SUCCESS;
  });
}

void nrt_sys_trace_config_free(nrt_sys_trace_config_t *options) {
  (void)release(__func__, tables().trace, options);
}

void nrt_sys_trace_config_set_max_events_per_nc(nrt_sys_trace_config_t *options,
                                                uint64_t max_events_per_nc) {
  (void)with(__func__, tables().trace, options, [&](trace_filter_t &f) {
    f.max_events_per_nc = max_events_per_nc;
    return NRT_SUCCESS;
  });
}

void nrt_sys_trace_config_set_capture_enabled_for_nc(nrt_sys_trace_config_t *options,
                                                     uint32_t nc_idx, bool enabled) {
  (void)with(__func__, tables().trace, options,
             [&](const char *api, trace_filter_t &f) { return set_core(api, f, nc_idx, enabled); });
}

NRT_STATUS nrt_sys_trace_config_set_capture_enabled_for_event_type(nrt_sys_trace_config_t *options,
                                                                   const char *event_type,
                                                                   bool enabled) {
  return with(__func__, tables().trace, options, [&](const char *api, trace_filter_t &f) {
    return set_event(api, f, event_type, enabled);
  });
}

NRT_STATUS nrt_sys_trace_get_event_types(const char ***event_types, size_t *count) {
  return api_call(__func__, [&](const char *api) {
    return hand_out(api, event_type_names(), event_types, count);
  });
}

NRT_STATUS nrt_sys_trace_config_get_enabled_event_types(nrt_sys_trace_config_t *options,
                                                        const char ***event_types, size_t *count) {
  return with(__func__, tables().trace, options, [&](const char *api, trace_filter_t &f) {
    std::vector<std::string_view> names;
    const auto &all = event_type_names();
    for (size_t i = 0; i < all.size(); ++i) {
      if (f.events.test(i))
        names.push_back(all[i]);
    }
    return hand_out(api, names, event_types, count);
  });
}

void nrt_sys_trace_free_event_types(const char **event_types, size_t count) {
  names_free(event_types, count);
}

NRT_STATUS nrt_sys_trace_fetch_options_allocate(nrt_sys_trace_fetch_options_t **options) {
  return allocate(__func__, tables().fetch, options);
}

void nrt_sys_trace_fetch_options_set_defaults(nrt_sys_trace_fetch_options_t *options) {
  (void)with(__func__, tables().fetch, options, [](fetch_options_t &f) {
    f = fetch_options_t();
    return NRT_SUCCESS;
  });
}

void nrt_sys_trace_fetch_options_free(nrt_sys_trace_fetch_options_t *options) {
  (void)release(__func__, tables().fetch, options);
}

void nrt_sys_trace_fetch_options_set_max_events_per_nc(nrt_sys_trace_fetch_options_t *options,
                                                       uint64_t max_events_per_nc) {
  (void)with(__func__, tables().fetch, options, [&](fetch_options_t &f) {
    f.max_events_per_nc = max_events_per_nc;
    return NRT_SUCCESS;
  });
}

void nrt_sys_trace_fetch_options_set_nc_idx(nrt_sys_trace_fetch_options_t *options,
                                            uint64_t nc_idx) {
  (void)with(__func__, tables().fetch, options, [&](fetch_options_t &f) {
    f.nc_idx = nc_idx;
    return NRT_SUCCESS;
  });
}

}  // extern "C"
