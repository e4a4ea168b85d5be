// SPDX-License-Identifier: Apache-2.0
// fmt's own functions, compiled once into libbase. Debian has no fmt archive to link into
// libnrt.so.1, and the header-only form costs every file that formats several seconds of compile
// time.
#include <fmt/format-inl.h>

namespace fmtd = fmt::detail;

template void fmtd::buffer<char>::append(const char *, const char *);
template void fmtd::vformat_to(fmtd::buffer<char> &, fmt::string_view, fmt::format_args,
                               fmtd::locale_ref);
template fmtd::thousands_sep_result<char> fmtd::thousands_sep_impl(fmtd::locale_ref);
template char fmtd::decimal_point_impl(fmtd::locale_ref);
template fmtd::dragonbox::decimal_fp<float> fmtd::dragonbox::to_decimal(float) noexcept;
template fmtd::dragonbox::decimal_fp<double> fmtd::dragonbox::to_decimal(double) noexcept;
