// How much slower each option of the array operations is than the default.
#pragma once

#include <string>

namespace ulp::bench {

/// Markdown: a table with a line for each operation and format, a column for each option, and what the table says.
/// Every time is the minimum of several turns of processor time on 64K elements, the turns of all options interleaved.
std::string option_table();

}  // namespace ulp::bench
