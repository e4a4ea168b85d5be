// SPDX-License-Identifier: Apache-2.0
#include "tests/kmgr/fakes.h"

#include <cstring>
#include <sstream>

#include "base/nlog.h"

fake_machine_t fake;
static vcore_t g_cores[16];

void fake_machine_t::reset() {
  arch = AL_HAL_TPB_ARCH_TYPE_CAYMAN;
  arch_name = "cayman";
  lnc = 2;
  num_vncs = 4;
  on_parse = nullptr;
  on_stage = nullptr;
  on_ready = nullptr;
  placements = 0;
  executables = 0;
  unstaged.clear();
  neff_name.clear();
  neff_ids.clear();
  for (uint32_t i = 0; i < 16; i++) {
    g_cores[i].vnc = i;
    g_cores[i].num_tpbs = lnc;
  }
}

std::vector<uint8_t> fake_file(const std::string &payload, uint8_t uuid, uint64_t feature_bits,
                               uint32_t lnc_size) {
  neff_header_t header{};
  header.pkg_version = 2;
  header.header_size = NEFF_HEADER_SIZE;
  header.data_size = payload.size();
  header.uuid[0] = uuid;
  header.feature_bits = feature_bits;
  header.lnc_size = lnc_size;
  strcpy(header.name, "fake");
  std::vector<uint8_t> file(NEFF_HEADER_SIZE + payload.size());
  memcpy(file.data(), &header, sizeof(header));
  memcpy(file.data() + NEFF_HEADER_SIZE, payload.data(), payload.size());
  return file;
}

// --- neff ----------------------------------------------------------------------------------------

std::string neff_uuid_text(const uint8_t uuid[16]) {
  return fmt::format("{:02x}", uuid[0]);
}

NRT_STATUS neff_header_check(std::span<const uint8_t> file, finding_sink &findings,
                             neff_header_t *out) {
  if (file.size() < NEFF_HEADER_SIZE)
    return findings.add(NRT_INVALID, "header", "too short");
  memcpy(out, file.data(), sizeof(*out));
  return NRT_SUCCESS;
}

static const char kPayload[] = "payload";

NRT_STATUS neff_open(std::span<const uint8_t> file, const neff_open_options &, finding_sink &,
                     std::shared_ptr<const neff> *out) {
  auto opened = std::make_shared<neff>();
  memcpy(&opened->header, file.data(), sizeof(opened->header));
  // The fake parser reads the payload at once, so a view of the caller's bytes is enough.
  opened->members[kPayload] = file.subspan(NEFF_HEADER_SIZE);
  *out = std::move(opened);
  return NRT_SUCCESS;
}

// --- kelf ----------------------------------------------------------------------------------------

kbin_t::~kbin_t() = default;

NRT_STATUS kelf_load_nn(std::shared_ptr<const neff> source, const kelf_options &,
                        finding_sink &findings, std::unique_ptr<kelf_nn_t> *out) {
  const std::span<const uint8_t> *bytes = source->find(kPayload);
  std::string payload(bytes->begin(), bytes->end());
  NRT_STATUS status = fake.on_parse ? fake.on_parse(payload) : NRT_SUCCESS;
  if (status != NRT_SUCCESS)
    return findings.add(status, kPayload, "refused by the test");
  auto nn = std::make_unique<kelf_nn_t>();
  std::istringstream words(payload);
  size_t subgraphs = 0;
  words >> nn->target_name >> subgraphs;
  nn->source = source;  // for its header; the members are not read again
  nn->kelf_member = "kelf-0.json";
  nn->target = nn->target_name == "sunda"    ? AL_HAL_TPB_ARCH_TYPE_SUNDA
               : nn->target_name == "cayman" ? AL_HAL_TPB_ARCH_TYPE_CAYMAN
                                             : KBIN_TARGET_ANY;
  for (size_t i = 0; i < subgraphs; i++)
    nn->kbins.push_back(std::make_unique<kbin_t>());
  *out = std::move(nn);
  return NRT_SUCCESS;
}

NRT_STATUS kelf_resolve_vtpb_remote_variables(kelf_nn_t &, finding_sink &) {
  return NRT_SUCCESS;
}

// --- hal and tdrv --------------------------------------------------------------------------------

const hal_arch_t *hal_arch(const hal_t *) {
  static thread_local hal_arch_t arch;
  arch.arch = static_cast<al_hal_tpb_arch_type>(fake.arch);
  arch.name = fake.arch_name;
  return &arch;
}

uint32_t tdrv_vnc_count(const tdrv_t *) {
  return fake.num_vncs;
}

vcore_t *tdrv_vcore(tdrv_t *, uint32_t vnc) {
  return &g_cores[vnc];
}

const tdrv_options_t *tdrv_options(const tdrv_t *) {
  static thread_local tdrv_options_t options;
  options.lnc = fake.lnc;
  options.num_vncs = fake.num_vncs;
  return &options;
}

hal_t *tdrv_hal(const tdrv_t *) {
  return nullptr;
}

NRT_STATUS vtpb_info_shared_init_vtpb(vcore_t *vcore, const kelf_nn_t *nn, const tdrv_options_t *,
                                      const tdrv_neff_t *neff, vtpb_info_shared_t **out) {
  {
    std::lock_guard lock(fake.mutex);
    fake.neff_name = neff->name;
    fake.neff_ids.assign(neff->ids, neff->ids + nn->kbins.size());
  }
  NRT_STATUS status = fake.on_stage ? fake.on_stage(vcore) : NRT_SUCCESS;
  if (status != NRT_SUCCESS) {
    NLOG_ERROR(NLOG_TDRV, "placement refused by the test");
    return status;
  }
  auto *placement = new vtpb_info_shared_t{};
  placement->vcore = vcore;
  placement->num_kbins = static_cast<uint32_t>(nn->kbins.size());
  fake.placements++;
  *out = placement;
  return NRT_SUCCESS;
}

void vtpb_info_shared_free(vtpb_info_shared_t *placement) {
  if (placement == nullptr)
    return;
  {
    std::lock_guard lock(fake.mutex);
    fake.unstaged.push_back(placement->vcore->vnc);
  }
  fake.placements--;
  delete placement;
}

NRT_STATUS exec_model_load(vtpb_info_shared_t *info, const tdrv_neff_t *, exec_model_t **out) {
  NRT_STATUS status = fake.on_ready ? fake.on_ready(info->vcore) : NRT_SUCCESS;
  if (status != NRT_SUCCESS) {
    NLOG_ERROR(NLOG_TDRV, "execution refused by the test");
    return status;
  }
  fake.executables++;
  *out = reinterpret_cast<exec_model_t *>(info);  // never looked into
  return NRT_SUCCESS;
}

void exec_model_unload(exec_model_t *model) {
  if (model != nullptr)
    fake.executables--;
}
