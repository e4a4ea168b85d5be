// SPDX-License-Identifier: Apache-2.0
// A machine with files loaded on it, as an application would have it, and what it looks like
// afterwards. Nothing here works out an address: all come from the tables of the load.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kmgr/kmgr.h"
#include "tools/commands.h"
#include "tools/tool.h"

struct loaded_file {
  std::string path;
  std::string name;  // model name of the header
  std::string uuid;
  kmgr_model_t *model = nullptr;
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

  const std::vector<loaded_file> &files() const { return files_; }
  hal_t *hal() const { return hal_; }
  const hal_identity_t &identity() const { return *hal_identity(hal_); }
  // Absolute number of a logical core of this process.
  uint32_t logical_core(uint32_t vnc) const { return tdrv_options(tdrv_)->first_vnc + vnc; }
  uint32_t lnc() const { return tdrv_options(tdrv_)->lnc; }

 private:
  NRT_STATUS open(const loaded_file &first, std::span<const uint8_t> bytes,
                  const machine_arguments &arguments, finding_sink &findings);

  hal_t *hal_ = nullptr;
  tdrv_t *tdrv_ = nullptr;
  kmgr_t *kmgr_ = nullptr;
  std::vector<loaded_file> files_;
};

// "mock trn2.3xlarge", "kernel trn2.3xlarge (driver 2.24.7.0)".
std::string machine_text(const machine &m);
