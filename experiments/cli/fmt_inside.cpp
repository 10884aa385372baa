// fmt, compiled into the statically linked ulplab-grade: Debian has it as a shared library only.
#include <fmt/format-inl.h>

namespace fmt::detail {
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template auto locale_ref::get<std::locale>() const -> std::locale;
}  // namespace fmt::detail
