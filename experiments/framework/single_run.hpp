// One run of one experiment into its folder: record and figures, or nothing where the folder holds them already.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiments/framework/experiment.hpp"

namespace ulp {

/// What decides a result: two requests that are equal give the same bits.
struct Request {
    const Experiment* experiment;
    std::uint64_t seed;
    RunSize size;
    std::string backend;
    Settings settings;
};

struct RunPolicy {
    bool force = false;   // run again what is complete
    bool figures = true;  // draw them
};

struct Finding {
    std::vector<Claim> claims;
    std::vector<UnitProducts> products;
    std::string record;    // result.json
    std::string note;      // about figures that were not drawn
    bool skipped = false;  // complete already
    bool undrawn = false;  // a figure could not be drawn
};

/// The context of the request, with a function that is told the progress from 0 to 1.
RunContext context_of(const Request& request, std::function<void(double)> progress);

/// Whether the folder holds a whole result of this very request.
bool is_complete(const std::filesystem::path& folder, const Request& request);

/// Runs into <parent>/<name>, which appears whole or not at all, and then draws its figures; `parent` must exist. Files
/// there that are not an earlier result's stay. Throws DataError.
Finding run_single(const Request& request, const std::filesystem::path& parent, const std::string& name,
                   const RunPolicy& policy, const std::function<void(double)>& progress);

}  // namespace ulp
