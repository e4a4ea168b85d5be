// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/dma.h"

neuron_ioctl_dma_queue_init queue_entry(const rings_t &r) {
  neuron_ioctl_dma_queue_init arg = {};
  arg.eng_id = r.engine;
  arg.qid = r.queue;
  arg.tx_desc_count = r.tx_count;
  arg.rx_desc_count = r.rx_count;
  arg.tx_handle = r.tx;
  arg.rx_handle = r.rx;
  arg.rxc_handle = r.rxc;
  return arg;
}

long queue_init(const fd_t &fd, const rings_t &r) {
  neuron_ioctl_dma_queue_init arg = queue_entry(r);
  return fd.io(NEURON_IOCTL_DMA_QUEUE_INIT, &arg);
}

queue_t queue_state(const fd_t &fd, uint32_t engine, uint32_t queue) {
  queue_t out = {};
  neuron_ioctl_dma_queue_get_state arg = {engine, queue, &out.tx, &out.rx};
  out.rc = fd.io(NEURON_IOCTL_DMA_QUEUE_GET_STATE, &arg);
  return out;
}

long copy_start(const fd_t &fd, uint32_t engine, uint32_t queue, uint32_t tx, uint32_t rx) {
  neuron_ioctl_dma_queue_copy_start arg = {engine, queue, tx, rx};
  return fd.io(NEURON_IOCTL_DMA_QUEUE_COPY_START, &arg);
}

descriptor_t tx_descriptor(uint64_t address, uint32_t length) {
  return {(length & 0xffff) | 1u << 24 | 1u << 26 | 1u << 27, 0x01080003, address};
}

descriptor_t rx_descriptor(uint64_t address, uint32_t length) {
  return {(length & 0xffff) | 1u << 24, 0, address};
}

long write_descriptors(const fd_t &fd, uint64_t handle, uint64_t offset, const void *descriptors,
                       uint32_t count, uint32_t type) {
  neuron_ioctl_dma_copy_descriptors64 arg = {};
  arg.mem_handle = handle;
  arg.buffer = const_cast<void *>(descriptors);
  arg.num_descs = count;
  arg.offset = offset;
  arg.queue_type = static_cast<decltype(arg.queue_type)>(type);
  return fd.io(NEURON_IOCTL_DMA_COPY_DESCRIPTORS64, &arg);
}
