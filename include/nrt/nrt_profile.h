/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiling (nrt-api.md 1.7, 1.11, 5.7). Option objects are plain data and work without nrt_init.
 * Capturing is not implemented yet: start, stop, save and begin answer NRT_INVALID.
 *
 * Strings given are copied. Arrays of names handed out are malloc'd, array and strings.
 */
#ifndef NRT_NRT_PROFILE_H
#define NRT_NRT_PROFILE_H

#include "nrt/nrt.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct nrt_profile_continuous_options nrt_profile_continuous_options_t;
typedef struct nrt_inspect_config nrt_inspect_config_t;

/* Device profile of a model's runs between the two calls, written to `filename` at stop. */
NRT_STATUS nrt_profile_start(nrt_model_t *model, const char *filename);
NRT_STATUS nrt_profile_stop(const char *filename);

/* Rolling capture. The default directory is "./output". */
NRT_STATUS nrt_profile_continuous_options_allocate(nrt_profile_continuous_options_t **options);
NRT_STATUS nrt_profile_continuous_options_free(nrt_profile_continuous_options_t *options);
NRT_STATUS nrt_profile_continuous_options_set_output_dir(nrt_profile_continuous_options_t *options,
                                                         const char *output_dir);
NRT_STATUS nrt_profile_continuous_start(nrt_profile_continuous_options_t *options);
NRT_STATUS nrt_profile_continuous_save(uint32_t vnc, nrt_profile_continuous_options_t *options);
NRT_STATUS nrt_profile_continuous_stop(void);

/* Sessions on a logical core. */
NRT_STATUS nrt_profile_session_start(int32_t vnc);
NRT_STATUS nrt_profile_session_stop(int32_t vnc, uint64_t *session_id);
NRT_STATUS nrt_profile_session_serialize(uint64_t session_id, const char *filename);
NRT_STATUS nrt_profile_session_drop(uint64_t session_id);
NRT_STATUS nrt_profile_session_drop_all(int32_t vnc); /* succeeds: there is nothing to drop */

typedef enum {
  NRT_INSPECT_DEVICE_PROFILE_MODE_DISABLED = 0,
  NRT_INSPECT_DEVICE_PROFILE_MODE_MODEL = 1,
  NRT_INSPECT_DEVICE_PROFILE_MODE_SESSION = 2,
} nrt_inspect_device_profile_mode_t;

/* Captures configured by NEURON_RT_INSPECT_* or by a config object (NULL: defaults). */
NRT_STATUS nrt_inspect_begin(void);
NRT_STATUS nrt_inspect_begin_with_options(nrt_inspect_config_t *options);
NRT_STATUS nrt_inspect_stop(void);

/*
 * A config with its defaults: session 1, directory "./output", all activities, cores and event
 * types, 1,000,000 events per core, no automatic captures. Setters: NRT_INVALID for NULL, an empty
 * string, an unknown name or core 128 and up.
 */
NRT_STATUS nrt_inspect_config_allocate(nrt_inspect_config_t **options);
NRT_STATUS nrt_inspect_config_set_defaults(nrt_inspect_config_t *options);
NRT_STATUS nrt_inspect_config_free(nrt_inspect_config_t *options);
NRT_STATUS nrt_inspect_config_set_session_id(nrt_inspect_config_t *options, int session_id);
NRT_STATUS nrt_inspect_config_set_output_dir(nrt_inspect_config_t *options, const char *output_dir);
NRT_STATUS nrt_inspect_config_set_sys_trace_max_events_per_nc(nrt_inspect_config_t *options,
                                                              uint64_t sys_trace_max_events_per_nc);
NRT_STATUS nrt_inspect_config_set_capture_enabled_for_nc(nrt_inspect_config_t *options,
                                                         uint32_t nc_idx, bool enabled);
NRT_STATUS nrt_inspect_config_set_capture_enabled_for_event_type_string(
    nrt_inspect_config_t *options, const char *event_type, bool enabled);
NRT_STATUS nrt_inspect_config_set_enable_inspect(nrt_inspect_config_t *options,
                                                 bool enable_inspect);
NRT_STATUS nrt_inspect_config_set_enable_inspect_on_fail(nrt_inspect_config_t *options,
                                                         bool enable_inspect_on_fail);
NRT_STATUS nrt_inspect_config_set_inspect_device_profile_mode(
    nrt_inspect_config_t *options, nrt_inspect_device_profile_mode_t mode);

/* Activities: system_profile, device_profile, host_memory, cpu_util, and all. */
NRT_STATUS nrt_inspect_config_set_activity(nrt_inspect_config_t *options, const char *activity_type,
                                           bool enabled);
NRT_STATUS nrt_inspect_config_get_all_activity_types(const char ***activity_types, size_t *count);
NRT_STATUS nrt_inspect_config_get_enabled_activity_types(nrt_inspect_config_t *options,
                                                         const char ***activity_types,
                                                         size_t *count);
void nrt_inspect_config_free_activity_types(const char **activity_types, size_t count);

/* Directory a capture writes to. Not implemented yet: NRT_INVALID. */
NRT_STATUS nrt_inspect_get_instance_output_dir(const char *output_dir, char *out, size_t out_len);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
