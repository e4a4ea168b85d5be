// SPDX-License-Identifier: Apache-2.0
// Whole programs through the C API on the mocked device, with its switches in reach, and files with
// records changed on purpose.
#pragma once

#include <gtest/gtest.h>
#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "isa/isa.h"
#include "mock_dev/exec.h"
#include "mock_dev/mock_dev.h"
#include "neff/neff_write.h"
#include "tests/support/corpus.h"

// The runtime, initialised on a mocked trn2.3xlarge from construction to destruction.
class session {
 public:
  session();
  ~session();
  session(const session &) = delete;
  session &operator=(const session &) = delete;

  mock_host_t *host() const { return host_; }
  void configure(const mock_exec_options_t &options) { mock_exec_configure(host_, &options); }
  // What races and strict mode found since the last call.
  std::vector<std::string> findings();

 private:
  mock_host_t *host_ = nullptr;
};

// A loaded model with tensors for all inputs and outputs. Not loaded when status() says why.
class program {
 public:
  program(const std::vector<uint8_t> &file, int vnc = 0,
          nrt_tensor_placement_t placement = NRT_TENSOR_PLACEMENT_DEVICE);
  ~program();
  program(const program &) = delete;
  program &operator=(const program &) = delete;

  NRT_STATUS status() const { return status_; }
  nrt_model_t *model() const { return model_; }
  nrt_tensor_t *tensor(const std::string &name) { return tensors_.at(name); }
  uint64_t size(const std::string &name) const { return sizes_.at(name); }
  // New tensors in place of the old ones.
  void renew();

  void write(const std::string &name, const void *data, uint64_t offset, uint64_t bytes);
  std::vector<uint8_t> read(const std::string &name);
  template <typename T>
  std::vector<T> read_as(const std::string &name) {
    std::vector<uint8_t> bytes = read(name);
    const T *values = reinterpret_cast<const T *>(bytes.data());
    return {values, values + bytes.size() / sizeof(T)};
  }
  void spoil(const std::string &name);  // all ones: NaN of every float
  NRT_STATUS run();

  // Where the load put things: a variable, a record of an image (slot of the loaded image).
  uint64_t variable(uint32_t subgraph, const std::string &name);
  std::vector<std::string> scratch(uint32_t subgraph);  // its virtual variables
  std::vector<std::string> weights(uint32_t subgraph);  // its variables with contents in the file
  uint64_t image(uint32_t subgraph, isa_engine_t engine, uint32_t slot);
  // Everything a subgraph holds in device memory: variables, tables, images, rings by their queue.
  struct range_t {
    std::string name;
    uint64_t address, size;
  };
  std::vector<range_t> memory(uint32_t subgraph);
  // Slots of the program in its image, without what the runtime adds.
  uint32_t main_slots(uint32_t subgraph, isa_engine_t engine, uint32_t *first);
  uint32_t core(uint32_t subgraph);  // physical core

 private:
  void allocate();

  int vnc_;
  nrt_tensor_placement_t placement_;
  NRT_STATUS status_ = NRT_SUCCESS;
  nrt_model_t *model_ = nullptr;
  nrt_tensor_set_t *inputs_ = nullptr, *outputs_ = nullptr;
  std::map<std::string, uint64_t> sizes_;
  std::map<std::string, bool> is_input_;
  std::map<std::string, nrt_tensor_t *> tensors_;
  std::vector<nrt_tensor_t *> old_;
};

#define SKIP_WITHOUT(file)                \
  if ((file).empty()) {                   \
    printf("skipped: no corpus\n");       \
    GTEST_SKIP() << "skipped: no corpus"; \
  }

// The same NEFF with changed members; its digest and identity follow.
std::vector<uint8_t> edit_file(const std::vector<uint8_t> &file,
                               const std::function<void(neff_write_members &)> &edit);
// The records of one engine of one subgraph ("sg00/PE.bin"), changed in place or in number.
using records_t = std::vector<isa_record>;
std::vector<uint8_t> edit_stream(const std::vector<uint8_t> &file, const std::string &member,
                                 const std::function<void(records_t &)> &edit);
// The records of every engine of every subgraph, likewise.
std::vector<uint8_t> edit_streams(const std::vector<uint8_t> &file,
                                  const std::function<void(records_t &)> &edit);
// Every record of every engine of every subgraph; the number of those `edit` says it changed.
std::vector<uint8_t> edit_records(const std::vector<uint8_t> &file,
                                  const std::function<bool(isa_record &)> &edit, uint32_t *changed);
// A record as its structure, copied in and out.
template <typename T>
bool edit_as(isa_record &record, const std::function<void(T &)> &edit) {
  static_assert(sizeof(T) == sizeof(record));
  T typed;
  memcpy(&typed, &record, sizeof(typed));
  edit(typed);
  memcpy(&record, &typed, sizeof(typed));
  return true;
}

// An edit of the records with this opcode; `edit` says whether it changed one.
template <typename T>
std::function<bool(isa_record &)> for_opcode(uint8_t opcode, std::function<bool(T &)> edit) {
  return [=](isa_record &record) {
    if (record.h.opcode != opcode)
      return false;
    bool changed = false;
    edit_as<T>(record, [&](T &typed) { changed = edit(typed); });
    return changed;
  };
}
// Every transfer of an engine's own (D4) raises its semaphore when it is issued, not when it is
// done.
std::vector<uint8_t> raise_at_issue(const std::vector<uint8_t> &file, uint32_t *changed);
// The pattern of the weights from its first element on: what reading them without "last column
// first" gives. Always true.
bool mirror_weights(isa_ldweights &record);
