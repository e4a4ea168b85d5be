// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/attention.h"

#include <array>
#include <bit>
#include <cmath>

#include "tests/reference/floats.h"
#include "tests/reference/random.h"

namespace {

constexpr size_t kHidden = 2048, kHead = 128, kHeads = 8, kKvHeads = 4, kTiles = 5;
constexpr size_t kPositions = kTiles * kHead;

std::vector<uint16_t> to_bf16(const std::vector<float> &x, float scale, float offset = 0) {
  std::vector<uint16_t> out(x.size());
  for (size_t i = 0; i < x.size(); i++)
    out[i] = bf16_bits(bf16_round(offset + x[i] * scale));
  return out;
}

void fill_rotary(attention_inputs *in) {
  for (size_t i = 0; i < kHead; i++) {
    double angle = 640 * std::pow(10000.0, -2.0 * static_cast<double>(i % 64) / 128);
    in->cos.push_back(bf16_bits(bf16_round(std::cos(angle))));
    in->sin.push_back(bf16_bits(bf16_round(std::sin(angle))));
  }
}

template <typename T>
using head = std::array<T, kHead>;

// The formulas, once for all three models. T: type of every value; `rounding`: b16() of the sheet
// rounds; `transposed`: each 128 x 128 block is used as the program does.
template <typename T>
class model {
 public:
  model(const attention_inputs &in, bool rounding, bool transposed)
      : in_(in), rounding_(rounding), transposed_(transposed) {}

  std::vector<T> run() const {
    std::vector<T> out;
    for (size_t a = 0; a < kHeads; a++) {
      head<T> result = attend(a);
      out.insert(out.end(), result.begin(), result.end());
    }
    return out;
  }

 private:
  T b16(T x) const { return rounding_ ? static_cast<T>(bf16_round(x)) : x; }
  static T at(const std::vector<uint16_t> &tensor, size_t i) {
    return static_cast<T>(bf16_value(tensor[i]));
  }

  // Line p of a 128 x 128 block as the formulas use it: row p, or column p of the usual reading.
  struct line_t {
    const uint16_t *first;
    size_t step;
  };
  line_t block_at(const std::vector<uint16_t> &tensor, size_t first, size_t row, size_t p) const {
    return transposed_ ? line_t{&tensor[first + p * row], 1} : line_t{&tensor[first + p], row};
  }
  static void add_scaled(const line_t &line, T factor, head<T> *sum) {
    T *to = sum->data();
    for (size_t m = 0; m < kHead; m++)
      to[m] += static_cast<T>(bf16_value(line.first[m * line.step])) * factor;
  }

  head<T> project(const std::vector<uint16_t> &w, size_t a) const {
    head<T> y{};
    for (size_t t = 0; t < kHidden / kHead; t++) {
      head<T> part{};
      for (size_t p = 0; p < kHead; p++)
        add_scaled(block_at(w, a * kHead * kHidden + t * kHead, kHidden, p),
                   at(in_.hidden, kHead * t + p), &part);
      for (size_t m = 0; m < kHead; m++)
        y[m] += part[m];
    }
    return y;
  }

  // Norm and rotary embedding.
  head<T> embed(const head<T> &y, const std::vector<uint16_t> &weight) const {
    T squares = 0;
    for (T value : y)
      squares += b16(value * value);
    T r = 1 / std::sqrt(squares * static_cast<T>(1.0 / 128) + static_cast<T>(1e-6f));
    head<T> x{}, out{};
    for (size_t i = 0; i < kHead; i++)
      x[i] = y[i] * r * at(weight, i);
    for (size_t i = 0; i < kHead; i++) {
      T turned = i < 64 ? -x[i + 64] : x[i - 64];
      out[i] = x[i] * at(in_.cos, i) + turned * at(in_.sin, i);
    }
    return out;
  }

  struct running {
    T max = static_cast<T>(-1e9f), sum = 0;
    head<T> value{};
  };

  void add_tile(size_t g, size_t t, const head<T> &q, running *state) const {
    head<T> score{}, e{};
    size_t base = (g * kPositions + t * kHead) * kHead;
    for (size_t p = 0; p < kHead; p++)
      add_scaled(block_at(in_.k, base, kHead, p), b16(q[p]), &score);
    T top = state->max;
    for (T s : score)
      top = std::fmax(top, s);
    T alpha = std::exp(state->max - top), sum = 0;
    head<T> value{};
    for (size_t m = 0; m < kHead; m++) {
      e[m] = b16(std::exp(score[m] - top));
      sum += e[m];
    }
    for (size_t d = 0; d < kHead; d++) {
      // The probabilities are the other operand here: the usual reading goes by rows.
      line_t line =
          transposed_ ? line_t{&in_.v[base + d], kHead} : line_t{&in_.v[base + d * kHead], 1};
      add_scaled(line, e[d], &value);
    }
    for (size_t m = 0; m < kHead; m++)
      state->value[m] = state->value[m] * alpha + value[m];
    state->sum = state->sum * alpha + sum;
    state->max = top;
  }

  head<T> attend(size_t a) const {
    size_t g = a / (kHeads / kKvHeads);
    head<T> q = embed(project(in_.wq, a), in_.q_norm);
    for (T &value : q)
      value *= static_cast<T>(std::bit_cast<float>(0x3DB504F3u));
    head<T> k = embed(project(in_.wk, g), in_.k_norm), v = project(in_.wv, g);
    running state;
    for (size_t t = 0; t < kTiles; t++)
      add_tile(g, t, q, &state);

    T score = 0;  // of the current token
    for (size_t i = 0; i < kHead; i++)
      score += b16(k[i] * q[i]);
    T top = std::fmax(state.max, score);
    T alpha = std::exp(state.max - top), e = std::exp(score - top);
    state.sum = state.sum * alpha + e;
    T r = 1 / std::sqrt(state.sum + static_cast<T>(1e-9f));
    head<T> out{};
    for (size_t m = 0; m < kHead; m++)
      out[m] = b16((state.value[m] * alpha + v[m] * e) * (r * r));
    return out;
  }

  const attention_inputs &in_;
  bool rounding_, transposed_;
};

}  // namespace

attention_inputs attention_recipe_a() {
  torch_random random(42);
  attention_inputs in;
  in.hidden = to_bf16(random.normal(kHidden), 0.05f);
  in.wq = to_bf16(random.normal(kHeads * kHead * kHidden), 0.05f);
  in.wk = to_bf16(random.normal(kKvHeads * kHead * kHidden), 0.05f);
  in.wv = to_bf16(random.normal(kKvHeads * kHead * kHidden), 0.05f);
  in.k = to_bf16(random.normal(kKvHeads * kPositions * kHead), 0.05f);
  in.v = to_bf16(random.normal(kKvHeads * kPositions * kHead), 0.05f);
  in.q_norm.assign(kHead, bf16_bits(1));
  in.k_norm.assign(kHead, bf16_bits(1));
  fill_rotary(&in);
  return in;
}

attention_inputs attention_recipe_b(uint32_t seed) {
  torch_random random(seed);
  attention_inputs in;
  in.hidden = to_bf16(random.normal(kHidden), 1);
  in.wq = to_bf16(random.normal(kHeads * kHead * kHidden), 0.05f);
  in.wk = to_bf16(random.normal(kKvHeads * kHead * kHidden), 0.05f);
  in.wv = to_bf16(random.normal(kKvHeads * kHead * kHidden), 0.05f);
  in.k = to_bf16(random.normal(kKvHeads * kPositions * kHead), 8);
  in.v = to_bf16(random.normal(kKvHeads * kPositions * kHead), 1);
  in.q_norm = to_bf16(random.normal(kHead), 0.25f, 1);
  in.k_norm = to_bf16(random.normal(kHead), 0.25f, 1);
  fill_rotary(&in);
  return in;
}

std::vector<uint8_t> attention_tensor(const attention_inputs &in, const std::string &name) {
  const std::vector<uint16_t> *tensors[] = {&in.sin,    &in.cos, &in.v,  &in.k,  &in.k_norm,
                                            &in.q_norm, &in.wv,  &in.wk, &in.wq, &in.hidden};
  if (name == "input0")  // the position, which is never read
    return {0x80, 0x02, 0, 0};
  size_t index = std::stoul(name.substr(5)) - 1;
  const auto *bytes = reinterpret_cast<const uint8_t *>(tensors[index]->data());
  return {bytes, bytes + 2 * tensors[index]->size()};
}

std::vector<float> attention_step(const attention_inputs &in) {
  return model<float>(in, true, true).run();
}

std::vector<double> attention_exact(const attention_inputs &in) {
  return model<double>(in, false, true).run();
}

std::vector<float> attention_textbook(const attention_inputs &in) {
  std::vector<float> out;
  for (double value : model<double>(in, false, false).run())
    out.push_back(bf16_round(value));
  return out;
}
