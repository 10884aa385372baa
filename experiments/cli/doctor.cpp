// `ulplab doctor`: what this machine has, and what is missing.
#include <map>
#include <nlohmann/json.hpp>

#include "experiments/cli/command.hpp"
#include "experiments/framework/card_evidence.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "experiments/framework/record.hpp"

namespace ulp {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The first line that `command` prints, or `otherwise`.
std::string answer(const std::vector<std::string>& command, const std::string& otherwise) {
    const auto output = output_of(command);
    return output && !output->empty() ? first_line(*output) : otherwise;
}

std::string packages() {
    std::string missing;
    for (const char* name : {ULPLAB_PACKAGES}) {
        const auto status = output_of({"dpkg-query", "-W", "-f=${Status}", name});
        if (!status || status->find("install ok installed") == std::string::npos) missing += fmt::format(" {}", name);
    }
    if (!find_program("dpkg-query")) return "unknown: this is not a Debian system";
    return missing.empty() ? "all there" : "missing; apt-get install" + missing;
}

/// Which of the results' products no card has computed yet.
std::string waiting_for_cards(const std::string& out) {
    std::vector<StoredResult> results;
    try {
        results = read_results(out);
    } catch (const DataError&) {
        return fmt::format("no results in {}: `ulplab run all` tells which products no card has computed", out);
    }
    const std::vector<CardEvidence> evidence = committed_card_evidence();
    std::map<std::string, std::vector<std::string>> waiting;  // by architecture: experiments
    for (const StoredResult& result : results) {
        for (const UnitProducts& row : result.products) {
            if (is_seen_on_card(evidence, result.experiment, row)) continue;
            std::vector<std::string>& names = waiting[row.unit.substr(0, row.unit.find(':'))];
            if (names.empty() || names.back() != result.experiment) names.push_back(result.experiment);
        }
    }
    std::string text;
    for (const auto& [architecture, names] : waiting) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", architecture, fmt::join(names, " "));
    }
    return text.empty() ? "nothing" : text + " (`ulplab gpu experiments` on such a card)";
}

ExitCode doctor(const std::string& out, bool json) {
    make_writable_folder(out);
    const std::vector<std::pair<std::string, std::string>> found = {
        {"ulplab", program_version()},
        {"compiler", fmt::format("{} {}", compiler_name(), compiler_flags())},
        {"processor", fmt::format("{}, {} threads", cpu_name(), hardware_threads())},
        {"features", fmt::format("{}", fmt::join(cpu_features(), " "))},
        {"packages", packages()},
        {"gnuplot", answer({"gnuplot", "--version"}, "none: no figures; apt-get install gnuplot-nox")},
        {"nvcc", answer({"nvcc", "--version"}, "none: no CUDA backend; the soft: models do the same arithmetic")},
        {"GPU", answer({"nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"}, "none found")},
        {"output", fmt::format("{} is writable", out)},
        {"waits for", waiting_for_cards(out)}};
    if (json) {
        nlohmann::ordered_json object;
        for (const auto& [what, value] : found) object[what] = value;
        fmt::print("{}\n", object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
        return ExitCode::good;
    }
    for (const auto& [what, value] : found) fmt::print("{:<10} {}\n", what, value);
    return ExitCode::good;
}

struct DoctorOptions {
    std::string out = "out";
    bool json = false;
};

Action declare_doctor(OptionParser& app) {
    const auto options = std::make_shared<DoctorOptions>();
    app.add_option("--out", options->out, "output folder to try").capture_default_str().type_name("DIR");
    app.add_flag("--json", options->json, "prints JSON");
    return [options] { return doctor(options->out, options->json); };
}

}  // namespace

Command doctor_command() { return {"doctor", "what this machine has, and what is missing", declare_doctor}; }

}  // namespace ulp
