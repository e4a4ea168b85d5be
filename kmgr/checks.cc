// SPDX-License-Identifier: Apache-2.0
#include "kmgr/checks.h"

// A file says in its header how many physical cores it was compiled for; its subgraphs must be one
// or as many (neff-format.md 6). No logical core could take any other combination.
static NRT_STATUS check_subgraph_count(const kelf_nn_t &nn, finding_sink &findings) {
  const neff_header_t &header = nn.source->header;
  size_t count = nn.kbins.size();
  if ((header.feature_bits & NEFF_FEATURE_VNC) == 0 || count == 1 || count == header.lnc_size)
    return NRT_SUCCESS;
  return findings.add(NRT_INVALID, nn.kelf_member + ": graphs",
                      "{} subgraphs, but the header asks for logical cores of {} (header+0x{:x}); "
                      "accepted: 1 or as many",
                      count, header.lnc_size, offsetof(neff_header_t, lnc_size));
}

NRT_STATUS kmgr_parse(std::span<const uint8_t> file, const kmgr_options_t &options,
                      finding_sink &findings, std::shared_ptr<const kelf_nn_t> *out) {
  std::shared_ptr<const neff> source;
  NRT_STATUS status = neff_open(file, options.neff, findings, &source);
  if (source == nullptr || (status != NRT_SUCCESS && !findings.collect()))
    return status;
  std::unique_ptr<kelf_nn_t> nn;
  NRT_STATUS lowered = kelf_load_nn(std::move(source), options.kelf, findings, &nn);
  if (status == NRT_SUCCESS)
    status = lowered;
  if (nn != nullptr && lowered == NRT_SUCCESS) {
    NRT_STATUS counted = check_subgraph_count(*nn, findings);
    if (status == NRT_SUCCESS)
      status = counted;
    NRT_STATUS resolved = kelf_resolve_vtpb_remote_variables(*nn, findings);
    if (status == NRT_SUCCESS)
      status = resolved;
  }
  if (status == NRT_SUCCESS)
    *out = std::move(nn);
  return status;
}

static std::string lnc_where() {
  return fmt::format("header+0x{:x} (lnc_size)", offsetof(neff_header_t, lnc_size));
}

NRT_STATUS kmgr_check_lnc_size(const neff_header_t &header, finding_sink &findings) {
  if ((header.feature_bits & NEFF_FEATURE_VNC) == 0)
    return NRT_SUCCESS;
  uint32_t lnc_size = header.lnc_size;
  if (lnc_size == 0 || lnc_size > KMGR_MAX_LNC_SIZE)
    return findings.add(NRT_INVALID, lnc_where(),
                        "logical core size {} with feature bit 10 set; accepted: 1 to {}", lnc_size,
                        KMGR_MAX_LNC_SIZE);
  return NRT_SUCCESS;
}

NRT_STATUS kmgr_check_lnc(const neff_header_t &header, uint32_t lnc, finding_sink &findings) {
  if ((header.feature_bits & NEFF_FEATURE_VNC) == 0)
    return NRT_SUCCESS;
  NRT_STATUS status = kmgr_check_lnc_size(header, findings);
  if (status != NRT_SUCCESS)
    return status;
  uint32_t lnc_size = header.lnc_size;
  if (lnc_size > lnc)
    return findings.add(NRT_LOAD_NOT_ENOUGH_NC, lnc_where(),
                        "the NEFF needs logical cores of {} physical cores, here they have {}",
                        lnc_size, lnc);
  if (lnc_size < lnc)
    return findings.add(NRT_INVALID, lnc_where(),
                        "the NEFF was compiled for logical cores of {} physical cores, here they "
                        "have {}; NEURON_LOGICAL_NC_CONFIG={} makes them fit",
                        lnc_size, lnc, lnc_size);
  return NRT_SUCCESS;
}

NRT_STATUS kmgr_check_target(const kelf_nn_t &nn, const hal_arch_t &arch, bool allow_legacy,
                             finding_sink &findings) {
  if (nn.target == KBIN_TARGET_ANY || nn.target == arch.arch)
    return NRT_SUCCESS;
  bool older = nn.target < arch.arch;
  if (older && allow_legacy)
    return NRT_SUCCESS;
  const char *name = nn.target_name.empty() ? "sunda" : nn.target_name.c_str();
  return findings.add(NRT_INVALID, nn.kelf_member + ": target",
                      "the NEFF was compiled for {}, this machine is {}{}", name, arch.name,
                      older ? "; NEURON_RT_ALLOW_LEGACY_NEFF=1 lets older ones load" : "");
}

NRT_STATUS kmgr_verify(std::span<const uint8_t> file, const kmgr_options_t &options,
                       const kmgr_machine_t *machine, finding_sink &findings,
                       std::shared_ptr<const kelf_nn_t> *out) {
  // kmgr_parse reports what is wrong with the header; here it only has to be readable.
  finding_sink unread;
  neff_header_t header{};
  if (neff_header_check(file, unread, &header) == NRT_SUCCESS) {
    NRT_STATUS status = machine != nullptr ? kmgr_check_lnc(header, machine->lnc, findings)
                                           : kmgr_check_lnc_size(header, findings);
    if (status != NRT_SUCCESS && !findings.collect())
      return status;
  }
  std::shared_ptr<const kelf_nn_t> nn;
  NRT_STATUS status = kmgr_parse(file, options, findings, &nn);
  if (status == NRT_SUCCESS && machine != nullptr)
    (void)kmgr_check_target(*nn, *machine->arch, options.kelf.allow_legacy_neff, findings);
  if (out != nullptr && status == NRT_SUCCESS)
    *out = std::move(nn);
  return findings.empty() ? status : findings.status();
}
