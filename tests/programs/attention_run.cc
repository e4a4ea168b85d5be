// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/attention_run.h"

#include <cmath>
#include <mutex>

#include "isa/project.h"
#include "mock_dev/host.h"
#include "mock_dev/semaphore.h"
#include "tests/reference/floats.h"

struct attention_models {
  attention_inputs in;
  std::vector<float> step, textbook;
  std::vector<double> exact;
};

// Each once: they take as long as a run.
static std::shared_ptr<const attention_models> models_of(const attention_inputs &in) {
  static std::mutex lock;
  static std::vector<std::shared_ptr<const attention_models>> known;
  std::lock_guard guard(lock);
  for (const auto &models : known)
    if (models->in == in)
      return models;
  known.push_back(std::make_shared<attention_models>(
      attention_models{in, attention_step(in), attention_textbook(in), attention_exact(in)}));
  return known.back();
}

void attention_run::fill(const attention_inputs &in) {
  for (int i = 0; i <= 10; i++) {
    std::string name = "input" + std::to_string(i);
    std::vector<uint8_t> bytes = attention_tensor(in, name);
    p.write(name, bytes.data(), 0, bytes.size());
  }
  models_ = models_of(in);
}

NRT_STATUS attention_run::run() {
  p.spoil("output0");
  return p.run();
}

std::vector<float> attention_run::output() {
  std::vector<float> out;
  for (uint16_t bits : p.read_as<uint16_t>("output0"))
    out.push_back(bf16_value(bits));
  return out;
}

namespace {

// NaN wins: a difference that is no number is larger than every limit.
void keep_largest(double *largest, double value) {
  if (!(value <= *largest))
    *largest = std::isnan(value) ? INFINITY : value;
}

int order_of(float value) {  // neighbours differ by 1
  int bits = bf16_bits(value);
  return bits < 0x8000 ? bits : 0x8000 - bits;
}

}  // namespace

attention_figures attention_run::figures() {
  std::vector<float> out = output();
  const std::vector<float> &step = models_->step, &textbook = models_->textbook;
  const std::vector<double> &exact = models_->exact;
  attention_figures f{};
  double largest_step = 0, largest_exact = 0, error = 0, total = 0;
  for (size_t i = 0; i < out.size(); i++) {
    keep_largest(&largest_step, std::fabs(step[i]));
    keep_largest(&largest_exact, std::fabs(exact[i]));
    keep_largest(&f.step, std::fabs(double{out[i]} - step[i]));
    keep_largest(&f.exact, std::fabs(double{out[i]} - exact[i]));
    keep_largest(&f.textbook, std::fabs(double{out[i]} - textbook[i]));
    error += std::pow(double{out[i]} - exact[i], 2);
    total += std::pow(exact[i], 2);
    if (out[i] != step[i]) {
      f.differ++;
      f.units = std::max(f.units, std::abs(order_of(out[i]) - order_of(step[i])));
    }
  }
  f.step /= largest_step;
  f.exact /= largest_exact;
  f.rms = std::isnan(error) ? INFINITY : std::sqrt(error / total);
  return f;
}

namespace {

// At every step of the runtime's barrier until the first record that clears semaphores: the last
// look is after all engines have come.
struct semaphore_watch {
  const uint8_t *block;
  uint32_t core;
  bool cleared = false;
  std::vector<uint32_t> values;

  static void on_event(void *user, const mock_exec_event_t *event) {
    auto *self = static_cast<semaphore_watch *>(user);
    if (event->core != self->core || event->engine >= ISA_ENGINE_COUNT)
      return;
    isa_event_semaphore record;
    memcpy(&record, event->record, sizeof(record));
    if (record.h.opcode == ISA_SEM_RANGE_CLEAR)
      self->cleared = true;
    bool barrier =
        record.h.opcode == ISA_EVENT_SEMAPHORE &&
        (record.h.wait_index == PROJECT_SEM_BARRIER || record.update_index == PROJECT_SEM_BARRIER ||
         record.h.update_index == PROJECT_SEM_BARRIER);
    if (self->cleared || !barrier)
      return;
    self->values.resize(256);
    for (uint32_t i = 0; i < 256; i++)
      self->values[i] = mock_semaphore_read(self->block, NEURON_SEMAPHORE_READ + 4ull * i);
  }
};

}  // namespace

std::vector<uint32_t> attention_run::run_for_semaphores(mock_host_t *host) {
  semaphore_watch watch;
  watch.core = p.core(0);
  watch.block = mock_memory_bytes(host, &host->device_memory[0]) +
                mock_memory_core_offset(host->state, watch.core) + NEURON_BAR0_EVENT_OFFSET;
  mock_exec_trace(host, semaphore_watch::on_event, &watch);
  EXPECT_EQ(run(), NRT_SUCCESS);
  mock_exec_trace(host, nullptr, nullptr);
  EXPECT_TRUE(watch.cleared);
  return watch.values;
}
