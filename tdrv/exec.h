// SPDX-License-Identifier: Apache-2.0
// Execution (dma-and-exec.md 3.6, 4). One execution unit per logical core runs one program at a
// time on the core's physical cores; a model that is ready to run has one program per subgraph.
#pragma once

#include "tdrv/model.h"
#include "tdrv/program.h"
#include "tdrv/tensor.h"

struct exec_unit_t;   // one per logical core, part of vcore_t
struct exec_model_t;  // one per loaded model

// Only host memory: the engines of the cores are set going when the first model comes and halted
// when the last one goes. nullptr: no host memory.
exec_unit_t *exec_unit_create(vcore_t *vcore, const tdrv_options_t *options);
void exec_unit_destroy(exec_unit_t *unit);  // its models are gone; NULL is fine

// Makes a placed model ready to run: images, rings and tables of every subgraph in device memory.
// On a real device nothing of this happens unless options allow it
// (NEURON_RT_EXPERIMENTAL_HW_EXEC); the result then only refuses to run. NRT_INVALID: a record that
// cannot run; NRT_RESOURCE: memory; NRT_FAILURE: the device. Everything is undone on failure.
// `neff` says what lines call the model and may be NULL; a named model's memory is logged per core
// at INFO.
NRT_STATUS exec_model_load(vtpb_info_shared_t *info, const tdrv_neff_t *neff, exec_model_t **out);
// The model is not running. NULL is fine.
void exec_model_unload(exec_model_t *model);

// One input or output of a run: a tensor, and for one in host memory the device memory that stands
// for it (the slot's own, when it has some, else the caller's).
struct exec_io_t {
  tensor_access_t access;  // begun by the caller
  dmem_t *copy;            // NULL: the tensor is in device memory and used in place
};

// Runs the model once and waits for it; runs on one logical core follow one another. `io` has one
// entry per io_slots entry of the model, in that order. Outputs in host memory are written when the
// status is NRT_SUCCESS or NRT_EXEC_COMPLETED_WITH_NUM_ERR. After warm-up no host memory is
// allocated, and the number of driver requests is the same each time: two per physical core, if
// all tensors are in device memory and bound already.
//
// NRT_TIMEOUT; NRT_EXEC_COMPLETED_WITH_NUM_ERR, _WITH_ERR, NRT_EXEC_OOB, NRT_EXEC_HW_ERR_DMA_ABORT,
// NRT_EXEC_SW_NQ_OVERFLOW: as reported by the device, the worst of the cores; the cores are set
// going again. NRT_EXEC_UNIT_UNRECOVERABLE: an earlier failure to hand work over, or to set a core
// going again, has ended the unit. NRT_INVALID: a real device without leave to use it.
NRT_STATUS exec_model_run(exec_model_t *model, const exec_io_t *io);

// The placement, for its io_slots.
const vtpb_info_shared_t *exec_model_info(const exec_model_t *model);
