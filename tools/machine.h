// SPDX-License-Identifier: Apache-2.0
// A machine with files loaded on it, as an application would have it, and what it looks like
// afterwards. Nothing here works out an address: all come from the tables of the load.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kmgr/checks.h"
#include "kmgr/kmgr.h"
#include "tdrv/tensor.h"
#include "tools/commands.h"
#include "tools/tool.h"

struct loaded_file {
  std::string path;
  std::string name;  // model name of the header
  std::string uuid;
  kmgr_model_t *model = nullptr;
};

// A file and the logical core it goes to; -1: where the fewest models are.
struct placed_file {
  std::string path;
  int32_t core = 0;
};

class machine {
 public:
  machine() = default;
  machine(const machine &) = delete;
  machine &operator=(const machine &) = delete;
  ~machine();

  // Opens a machine that fits the first file and loads all of them, in order. Failures become
  // findings; `failed` names the file they belong to.
  NRT_STATUS load(const std::vector<std::string> &paths, const machine_arguments &arguments,
                  finding_sink &findings, std::string *failed);

  // One file after the other. The first one opens the machine; `arguments` is the same each time.
  NRT_STATUS add(const placed_file &file, const machine_arguments &arguments,
                 finding_sink &findings);
  // Opens the machine like `add`, checks the file against it and hands out what is in it; nothing
  // is placed.
  NRT_STATUS inspect(const placed_file &file, const machine_arguments &arguments,
                     finding_sink &findings, std::shared_ptr<const kelf_nn_t> *out);

  // A device tensor on logical core `vnc` of this process, kept until the machine goes.
  NRT_STATUS add_tensor(uint32_t vnc, uint64_t size, finding_sink &findings);

  // Device memory on a core of this machine, kept until the machine goes. NRT_RESOURCE: no room.
  NRT_STATUS add_memory(const tpb_t &tpb, uint64_t size, uint64_t alignment,
                        dma_mem_usage_type_t usage, finding_sink &findings);

  bool is_open() const { return kmgr_ != nullptr; }
  const std::vector<loaded_file> &files() const { return files_; }
  tdrv_t *tdrv() const { return tdrv_; }
  hal_t *hal() const { return hal_; }
  const hal_identity_t &identity() const { return *hal_identity(hal_); }
  // Absolute number of a logical core of this process.
  uint32_t logical_core(uint32_t vnc) const { return tdrv_options(tdrv_)->first_vnc + vnc; }
  // The way back: how this process counts a logical core that it has.
  uint32_t vnc_of(int32_t logical_core) const {
    return static_cast<uint32_t>(logical_core) - tdrv_options(tdrv_)->first_vnc;
  }
  uint32_t lnc() const { return tdrv_options(tdrv_)->lnc; }

 private:
  NRT_STATUS read(const std::string &path, const machine_arguments &arguments,
                  finding_sink &findings, neff_file_bytes *bytes);
  NRT_STATUS open(const std::string &first, std::span<const uint8_t> bytes,
                  const machine_arguments &arguments, finding_sink &findings);

  kmgr_options_t options_;
  hal_t *hal_ = nullptr;
  tdrv_t *tdrv_ = nullptr;
  kmgr_t *kmgr_ = nullptr;
  std::vector<loaded_file> files_;
  std::vector<tensor_t *> tensors_;
  dmem_list_t *memory_ = nullptr;
};

// An instance the file could have been compiled for.
std::string machine_instance_for(std::span<const uint8_t> bytes,
                                 const kmgr_options_t &options = {});

// "mock trn2.3xlarge", "kernel trn2.3xlarge (driver 2.24.7.0)".
std::string machine_text(const machine &m);
std::string machine_text(const hal_t *hal, uint32_t lnc);
