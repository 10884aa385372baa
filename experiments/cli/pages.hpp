// The pages of docs/reference that the program writes of itself, as Markdown: `ulplab dev page NAME`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/analysis/comparison.hpp"
#include "engine/analysis/inspection_json.hpp"
#include "engine/analysis/token_mismatch.hpp"

namespace ulp {

std::string claims_page();
std::string commands_page();
/// The table of README.md alone.
std::string experiments_table();
std::string formats_page();
std::string models_page();
std::string quantizations_page();
std::string trainings_page();
/// The tables that no file of docs/reference holds: name to Markdown.
std::map<std::string, std::string> reference_tables();

// What `ulplab inspect` and `ulplab compare` found, as one page without a network.

/// `title` names the files.
std::string inspection_page(const Inspection& inspection, const std::string& title);
/// The same as parts of another page: the losses and the loss scales `scale`, without tensors.
std::string inspection_summary_html(const Inspection& inspection, const ScaleRange& scale);

/// Two dumps, step by step and tensor by tensor.
std::string drift_page(const std::vector<TensorDifference>& differences, const std::vector<StepDrift>& drift,
                       const std::string& title);
/// The log-probabilities of two engines: how far apart and which causes are possible, growth, outliers.
std::string mismatch_page(const TokenMismatch& found, const std::string& title);

}  // namespace ulp
