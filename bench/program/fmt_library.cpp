// SPDX-License-Identifier: MIT
// The compiled part of fmt (versions 9 and 10), as in its own src/format.cc. Not linked as the
// shared library of Debian and Ubuntu, because that is not on every machine to which a program is
// copied; without this file, every source would compile it from fmt's headers.
#ifndef FMT_HEADER_ONLY
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template FMT_API dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template FMT_API locale_ref::locale_ref(const std::locale&);
template FMT_API std::locale locale_ref::get<std::locale>() const;
template FMT_API thousands_sep_result<char> thousands_sep_impl(locale_ref);
template FMT_API char decimal_point_impl(locale_ref);
template FMT_API void buffer<char>::append(const char*, const char*);
template FMT_API void vformat_to(buffer<char>&, string_view, format_args, locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
#endif
