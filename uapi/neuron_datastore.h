/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics a process leaves in its datastore and the driver adds up when the store is given
 * back (mock-device-semantics.md 13 and 16). A store is an array of u64 counters behind a header.
 *
 * Where the counters of a core lie is the driver's. Which of them counts what is not public: the
 * numbering below is the project's own, in this one place (rulings.md 20).
 */
#ifndef UAPI_NEURON_DATASTORE_H
#define UAPI_NEURON_DATASTORE_H

#include "uapi/neuron_shared.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NEURON_NDS_DEVICE_COUNTERS 8u /* offset, after struct nds_header */
#define NEURON_NDS_DEVICE_COUNTER_COUNT 31u
#define NEURON_NDS_CORES 16u
#define NEURON_NDS_CORE_COUNTER_COUNT 31u
#define NEURON_NDS_EXTRA_COUNTER_COUNT 64u /* of a core, after the first 31 */
#define NEURON_NDS_USED 67200u             /* bytes of a store the driver knows */

/* Offset of counter `counter` (below 95) of core `core` (below 16) in a datastore: cores 0 to 3
 * keep their first 31 and their other 64 apart, later cores have 95 in a row and one word of
 * padding. */
static inline uint32_t neuron_nds_core_counter(uint32_t core, uint32_t counter) {
  if (core >= 4)
    return 57984u + (core - 4) * 96u * 8u + counter * 8u;
  if (counter < NEURON_NDS_CORE_COUNTER_COUNT)
    return 256u + core * NEURON_NDS_CORE_COUNTER_COUNT * 8u + counter * 8u;
  return 55936u + core * NEURON_NDS_EXTRA_COUNTER_COUNT * 8u +
         (counter - NEURON_NDS_CORE_COUNTER_COUNT) * 8u;
}

/* Counters of a core: first the execution results, in the order of the files below stats/status/
 * (uapi.md 11). */
enum neuron_nds_core_counter_id {
  NEURON_NDS_SUCCESS = 0,
  NEURON_NDS_FAILURE = 1,
  NEURON_NDS_TIMEOUT = 2,
  NEURON_NDS_EXEC_BAD_INPUT = 3,
  NEURON_NDS_HW_ERROR = 4,
  NEURON_NDS_EXECUTE_COMPLETED_WITH_ERROR = 5,
  NEURON_NDS_EXECUTE_COMPLETED_WITH_NUM_ERROR = 6,
  NEURON_NDS_GENERIC_ERROR = 7,
  NEURON_NDS_RESOURCE_ERROR = 8,
  NEURON_NDS_RESOURCE_NC_ERROR = 9,
  NEURON_NDS_EXECUTE_FAILED_TO_QUEUE = 10,
  NEURON_NDS_INVALID_ERROR = 11,
  NEURON_NDS_UNSUPPORTED_NEFF_VERSION = 12,
  NEURON_NDS_OOB_ERROR = 13,
  NEURON_NDS_HW_COLLECTIVES_ERROR = 14,
  NEURON_NDS_HW_HBM_UE_ERROR = 15,
  NEURON_NDS_HW_NC_UE_ERROR = 16,
  NEURON_NDS_HW_DMA_ABORT_ERROR = 17,
  NEURON_NDS_EXECUTE_SW_NQ_OVERFLOW = 18,
  NEURON_NDS_EXECUTE_SW_SEMAPHORE_ERROR = 19,
  NEURON_NDS_EXECUTE_SW_EVENT_ERROR = 20,
  NEURON_NDS_EXECUTE_SW_PSUM_COLLISION = 21,
  NEURON_NDS_EXECUTE_SW_SEQUENCER_FATAL = 22,
  NEURON_NDS_HW_REPAIRABLE_HBM_UE_ERROR = 23,
  NEURON_NDS_MODEL_LOAD_COUNT = 24,
  NEURON_NDS_INFERENCE_COUNT = 25,
  NEURON_NDS_MAC_COUNT = 26, /* multiply-accumulates; shown as twice as many operations */
  NEURON_NDS_NC_TIME_IN_USE = 27,
};
#define NEURON_NDS_STATUS_COUNT 24u

#ifdef __cplusplus
}
#endif

#endif
