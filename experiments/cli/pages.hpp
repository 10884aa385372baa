// The pages of docs/reference that the program writes of itself, as Markdown: `ulplab dev page NAME`.
#pragma once

#include <string>

namespace ulp {

std::string claims_page();
std::string commands_page();
/// The table of README.md alone.
std::string experiments_table();
std::string formats_page();
std::string models_page();
std::string quantizations_page();
std::string trainings_page();

}  // namespace ulp
