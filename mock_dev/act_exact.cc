// SPDX-License-Identifier: Apache-2.0
// Activation functions in double precision (neuroncore-isa.md 4.3: ids and reference forms).
#include <cmath>

#include "mock_dev/act.h"

namespace {

// 0 wins over infinity: the tails of the gated forms go to 0.
double gated(double x, double gate) {
  return gate == 0 ? 0 : x * gate;
}
double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double softplus(double x) {
  return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}
double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}
double normal_pdf(double x) {
  return std::exp(-0.5 * x * x) / std::sqrt(2 * M_PI);
}
double gelu_tanh(double x) {
  return gated(x, 0.5 * (1 + std::tanh(0.79788456 * (x + 0.044715 * x * x * x))));
}
double gelu_sigmoid_derivative(double x) {
  double s = sigmoid(1.702 * x);
  return s + gated(1.702 * x, s * (1 - s));
}
double silu_derivative(double x) {
  double s = sigmoid(x);
  return s + gated(x, s * (1 - s));
}
double sign(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : x;
}
double leaky(double x, double slope) {
  return x < 0 ? x * slope : x;
}
double leaky_derivative(double x, double slope) {
  return std::isnan(x) ? x : x < 0 ? slope : 1;
}

template <typename F>
bool map(const float *in, size_t n, float *out, F f) {
  for (size_t i = 0; i < n; i++)
    out[i] = static_cast<float>(f(static_cast<double>(in[i])));
  return true;
}

}  // namespace

bool mock_act_exact(uint8_t id, float slope, const float *in, size_t n, float *out) {
  switch (id) {
    case 1:  // identity
    case 128:
      return map(in, n, out, [](double x) { return x; });
    case 2:
      return map(in, n, out, [](double x) { return x < 0 ? 0 : x; });
    case 3:
    case 4:
      return map(in, n, out, [=](double x) { return leaky(x, slope); });
    case 5:
      return map(in, n, out, sigmoid);
    case 6:
      return map(in, n, out, [](double x) { return std::tanh(x); });
    case 7:
      return map(in, n, out, [](double x) { return std::exp(x); });
    case 8:
      return map(in, n, out, [](double x) { return std::sqrt(x); });
    case 9:
      return map(in, n, out, softplus);
    case 10:
      return map(in, n, out, [](double x) { return std::log(x); });
    case 11:  // derivative of identity
      return map(in, n, out, [](double x) { return std::isnan(x) ? x : 1.0; });
    case 12:  // of relu
      return map(in, n, out, [](double x) { return leaky_derivative(x, 0); });
    case 13:  // of leaky relu
      return map(in, n, out, [=](double x) { return leaky_derivative(x, slope); });
    case 19:
      return map(in, n, out, [](double x) { return std::sin(x); });
    case 21:
      return map(in, n, out, [](double x) { return std::erf(x); });
    case 22:
      return map(in, n, out, [](double x) { return 2 / std::sqrt(M_PI) * std::exp(-x * x); });
    case 23:  // gelu
      return map(in, n, out, [](double x) { return gated(x, normal_cdf(x)); });
    case 24:  // mish
      return map(in, n, out, [](double x) { return gated(x, std::tanh(softplus(x))); });
    case 25:
      return map(in, n, out, gelu_tanh);
    case 26:  // gelu by sigmoid
      return map(in, n, out, [](double x) { return gated(x, sigmoid(1.702 * x)); });
    case 28:
      return map(in, n, out, [](double x) { return std::atan(x); });
    case 29:
      return map(in, n, out, [](double x) { return 1 / std::sqrt(x); });
    case 30:
      return map(in, n, out, [](double x) { return x * x; });
    case 31:
      return map(in, n, out, sign);
    case 32:  // derivative of gelu
      return map(in, n, out, [](double x) { return normal_cdf(x) + gated(x, normal_pdf(x)); });
    case 33:
      return map(in, n, out, [](double x) { return std::fabs(x); });
    case 34:
      return map(in, n, out, [](double x) { return 1 / std::sqrt(std::fabs(x)); });
    case 35:
      return map(in, n, out, [](double x) { return std::isfinite(x) ? 1.0 : 0.0; });
    case 36:  // silu
      return map(in, n, out, [](double x) { return gated(x, sigmoid(x)); });
    case 37:
      return map(in, n, out, silu_derivative);
    case 38:
      return map(in, n, out, gelu_sigmoid_derivative);
    case 129:
      return map(in, n, out, [](double x) { return 1 / x; });
    case 130:
      return map(in, n, out, [](double) { return 0.0; });
    default:
      return false;
  }
}
