// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/session.h"

#include "neff/neff.h"
#include "nrt/runtime.h"
#include "tdrv/dma_ring.h"
#include "tdrv/exec_unit.h"

session::session() {
  setenv("NEURON_RT_LOG_LEVEL", "ERROR", 0);
  EXPECT_EQ(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
  runtime_lease lease;
  host_ = hal_mock_host((*lease).hal);
}

session::~session() {
  nrt_close();
}

std::vector<std::string> session::findings() {
  std::vector<std::string> all;
  char text[1024];
  int length;
  while ((length = mock_exec_finding(host_, text, sizeof(text), nullptr)) >= 0)
    all.emplace_back(text);
  return all;
}

program::program(const std::vector<uint8_t> &file, int vnc, nrt_tensor_placement_t placement)
    : vnc_(vnc), placement_(placement) {
  status_ = nrt_load(file.data(), file.size(), vnc, 1, &model_);
  if (status_ != NRT_SUCCESS)
    return;
  nrt_tensor_info_array_t *info = nullptr;
  EXPECT_EQ(nrt_get_model_tensor_info(model_, &info), NRT_SUCCESS);
  for (uint64_t i = 0; i < info->tensor_count; i++) {
    sizes_[info->tensor_array[i].name] = info->tensor_array[i].size;
    is_input_[info->tensor_array[i].name] = info->tensor_array[i].usage == NRT_TENSOR_USAGE_INPUT;
  }
  nrt_free_model_tensor_info(info);
  EXPECT_EQ(nrt_allocate_tensor_set(&inputs_), NRT_SUCCESS);
  EXPECT_EQ(nrt_allocate_tensor_set(&outputs_), NRT_SUCCESS);
  allocate();
}

program::~program() {
  nrt_destroy_tensor_set(&inputs_);
  nrt_destroy_tensor_set(&outputs_);
  for (auto &[name, tensor] : tensors_)
    nrt_tensor_free(&tensor);
  for (nrt_tensor_t *&tensor : old_)
    nrt_tensor_free(&tensor);
  if (model_ != nullptr) {
    EXPECT_EQ(nrt_unload(model_), NRT_SUCCESS);
  }
}

void program::allocate() {
  for (const auto &[name, size] : sizes_) {
    nrt_tensor_t *&tensor = tensors_[name];
    int vnc = placement_ == NRT_TENSOR_PLACEMENT_VIRTUAL ? -1 : vnc_;
    ASSERT_EQ(nrt_tensor_allocate(placement_, vnc, size, name.c_str(), &tensor), NRT_SUCCESS);
    ASSERT_EQ(
        nrt_add_tensor_to_tensor_set(is_input_[name] ? inputs_ : outputs_, name.c_str(), tensor),
        NRT_SUCCESS);
  }
}

void program::renew() {
  for (auto &[name, tensor] : tensors_)
    old_.push_back(tensor);
  allocate();
}

void program::write(const std::string &name, const void *data, uint64_t offset, uint64_t bytes) {
  EXPECT_EQ(nrt_tensor_write(tensor(name), data, offset, bytes), NRT_SUCCESS) << name;
}

std::vector<uint8_t> program::read(const std::string &name) {
  std::vector<uint8_t> bytes(size(name));
  EXPECT_EQ(nrt_tensor_read(tensor(name), bytes.data(), 0, bytes.size()), NRT_SUCCESS) << name;
  return bytes;
}

void program::spoil(const std::string &name) {
  EXPECT_EQ(nrt_tensor_memset(tensor(name), 0, 0xFF, size(name)), NRT_SUCCESS) << name;
}

NRT_STATUS program::run() {
  return nrt_execute(model_, inputs_, outputs_);
}

// Looks at the loaded model below the API.
template <typename Use>
static void look(nrt_model_t *handle, Use use) {
  runtime_lease lease;
  auto object = (*lease).models.find(handle);
  ASSERT_NE(object, nullptr);
  kmgr_model_t *model = kmgr_model_get((*lease).kmgr, object->h_nn);
  ASSERT_NE(model, nullptr);
  use(*model);
  kmgr_model_put((*lease).kmgr, model);
}

uint64_t program::variable(uint32_t subgraph, const std::string &name) {
  uint64_t address = MEM_REF_NOT_STAGED;
  look(model_, [&](kmgr_model_t &m) {
    const vtpb_info_shared_mr_set_t &set = m.placement->mr_sets[subgraph];
    for (uint32_t i = 0; i < set.kbin->mem_ref_set->nmem; i++) {
      const kbin_mem_ref &record = set.kbin->mem_ref_set->mem[i];
      if (name == record.name) {
        EXPECT_EQ(mem_ref_to_addr(lookup_memref_by_idx(set.mem_ref_set, record.var_id), 0,
                                  record.size, &address),
                  NRT_SUCCESS);
      }
    }
  });
  EXPECT_NE(address, MEM_REF_NOT_STAGED) << name;
  return address;
}

static std::vector<std::string> names_of_kind(nrt_model_t *model, uint32_t subgraph,
                                              kbin_mr_type_t kind) {
  std::vector<std::string> names;
  look(model, [&](kmgr_model_t &m) {
    const kbin_mem_ref_set_t *records = m.placement->mr_sets[subgraph].kbin->mem_ref_set;
    for (uint32_t i = 0; i < records->nmem; i++)
      if (records->mem[i].mr_type == kind)
        names.emplace_back(records->mem[i].name);
  });
  return names;
}

std::vector<std::string> program::scratch(uint32_t subgraph) {
  return names_of_kind(model_, subgraph, MR_VIRTUAL_TMP_BUF);
}

std::vector<std::string> program::weights(uint32_t subgraph) {
  return names_of_kind(model_, subgraph, MR_BUFFER);
}

uint64_t program::image(uint32_t subgraph, isa_engine_t engine, uint32_t slot) {
  uint64_t address = 0;
  look(model_, [&](kmgr_model_t &m) {
    address = program_image(m.exec->programs[subgraph], engine)->pa + uint64_t{64} * slot;
  });
  return address;
}

std::vector<program::range_t> program::memory(uint32_t subgraph) {
  std::vector<range_t> all;
  look(model_, [&](kmgr_model_t &m) {
    program_for_each_range(
        m.exec->programs[subgraph],
        [](void *user, const program_range_t *range) {
          static_cast<std::vector<range_t> *>(user)->push_back(
              {range->name, range->address, range->size});
        },
        &all);
  });
  return all;
}

uint32_t program::main_slots(uint32_t subgraph, isa_engine_t engine, uint32_t *first) {
  uint32_t slots = 0;
  look(model_, [&](kmgr_model_t &m) {
    const program_image_t *image = program_image(m.exec->programs[subgraph], engine);
    *first = image->main_first;
    slots = image->main_slots;
  });
  return slots;
}

uint32_t program::core(uint32_t subgraph) {
  uint32_t core = 0;
  look(model_, [&](kmgr_model_t &m) { core = m.placement->mr_sets[subgraph].tpb->pcore.nc_id; });
  return core;
}

std::vector<uint8_t> edit_file(const std::vector<uint8_t> &file,
                               const std::function<void(neff_write_members &)> &edit) {
  finding_sink findings;
  std::shared_ptr<const neff> source;
  EXPECT_EQ(neff_open(file, {}, findings, &source), NRT_SUCCESS);
  neff_write_members members;
  for (const auto &[name, bytes] : source->members)
    members[name].assign(bytes.begin(), bytes.end());
  edit(members);
  neff_write_options options;
  options.name = "edited.neff";
  options.version_major = source->header.neff_version_major;
  options.feature_bits = source->header.feature_bits;
  options.lnc_size = source->header.lnc_size;
  options.num_tpb = source->header.num_tpb;
  options.compress = false;
  std::vector<uint8_t> out;
  EXPECT_EQ(neff_write(members, options, findings, &out), NRT_SUCCESS);
  for (const finding &f : findings.all())
    ADD_FAILURE() << f.where << ": " << f.what;
  return out;
}

static void edit_bytes(std::vector<uint8_t> &bytes, const std::function<void(records_t &)> &edit) {
  records_t records(bytes.size() / sizeof(isa_record));
  memcpy(records.data(), bytes.data(), bytes.size());
  edit(records);
  const auto *raw = reinterpret_cast<const uint8_t *>(records.data());
  bytes.assign(raw, raw + records.size() * sizeof(isa_record));
}

std::vector<uint8_t> edit_stream(const std::vector<uint8_t> &file, const std::string &member,
                                 const std::function<void(records_t &)> &edit) {
  return edit_file(file, [&](neff_write_members &members) {
    ASSERT_TRUE(members.contains(member)) << member;
    edit_bytes(members[member], edit);
  });
}

std::vector<uint8_t> edit_streams(const std::vector<uint8_t> &file,
                                  const std::function<void(records_t &)> &edit) {
  return edit_file(file, [&](neff_write_members &members) {
    for (const char *subgraph : {"sg00/", "sg01/"})
      for (const char *engine : {"PE", "Activation", "Pool", "DVE", "SP"}) {
        auto it = members.find(std::string(subgraph) + engine + ".bin");
        if (it != members.end())
          edit_bytes(it->second, edit);
      }
  });
}

std::vector<uint8_t> edit_records(const std::vector<uint8_t> &file,
                                  const std::function<bool(isa_record &)> &edit,
                                  uint32_t *changed) {
  *changed = 0;
  return edit_streams(file, [&](records_t &records) {
    for (isa_record &record : records)
      *changed += edit(record) ? 1 : 0;
  });
}

std::vector<uint8_t> raise_at_issue(const std::vector<uint8_t> &file, uint32_t *changed) {
  *changed = 0;
  return edit_streams(file, [&](records_t &records) {
    records_t out;
    for (isa_record &record : records) {
      isa_dma dma;
      memcpy(&dma, &record, sizeof(dma));
      bool mine = dma.h.opcode == ISA_PSEUDO_DMA_DIRECT2D && dma.increment != 0;
      isa_record raise = {};
      raise.h = {ISA_EVENT_SEMAPHORE, ISA_HEADER_WORDS, 0, 0, ISA_WAIT_NONE, 0, ISA_UPDATE_SEM_ADD,
                 dma.semaphore,       dma.increment};
      if (mine)
        edit_as<isa_dma>(record, [](isa_dma &r) { r.increment = 0; });
      out.push_back(record);
      if (mine)
        out.push_back(raise);
      *changed += mine ? 1 : 0;
    }
    records = out;
  });
}

bool mirror_weights(isa_ldweights &record) {
  int last = 0;
  for (int d = 0; d < 3; d++) {
    last += record.src.step[d] * (record.src.count[d] - 1);
    record.src.step[d] = static_cast<int16_t>(-record.src.step[d]);
  }
  record.src.addr4 += static_cast<uint32_t>(last * static_cast<int>(isa_dtype_size(record.dtype)));
  return true;
}
