// `ulplab show VALUE`: what a number becomes in each format.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "experiments/cli/command.hpp"
#include "experiments/cli/product_options.hpp"
#include "softfloat/describe.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/names.hpp"

namespace ulp {
namespace {

struct ShowOptions {
    std::string value;
    std::vector<std::string> formats;
    bool json = false;
    std::string rounding = "nearest_even", saturate;
    std::optional<OptionParser> app;
};

/// Those that were named, or all.
std::vector<NamedFormat> formats_of(const ShowOptions& options) {
    std::vector<NamedFormat> formats;
    for (const std::string& name : options.formats) formats.push_back(named_format(name));
    if (formats.empty()) formats.assign(named_formats().begin(), named_formats().end());
    return formats;
}

/// The value; a negative one looks like an option to the parser and is left over.
std::string value_of(const ShowOptions& options) {
    std::vector<std::string> values = options.app->remaining();
    if (const auto end = std::ranges::find(values, "--"); end != values.end()) values.erase(end);  // ends options
    if (!options.value.empty()) values.insert(values.begin(), options.value);
    if (values.empty()) throw UsageError("show needs a VALUE, such as 0.1, -0x1.8p-10, inf or bits:3C00");
    if (values.size() > 1) throw UsageError("show takes one VALUE, not also '" + values[1] + "'");
    constexpr std::string_view bits = "bits:";
    const std::string& value = values.front();
    if (value.starts_with(bits) && (value.size() == bits.size() ||
                                    value.find_first_not_of("0123456789abcdefABCDEF_'", bits.size()) != value.npos)) {
        throw UsageError("'" + value + "': give hexadecimal digits behind bits:, such as bits:3C00");
    }
    // A hexadecimal integer is a number here; who means a storage word is told so.
    if ((value.starts_with("0x") || value.starts_with("0X")) && value.find_first_of(".pP") == value.npos) {
        fmt::print(stderr, "ulplab: {} is read as the number; bits:{} is the storage word\n", value, value.substr(2));
    }
    return value;
}

/// Descriptions in the formats that can hold the text: one that cannot is passed over if several were asked for.
std::vector<Description> describe_all(const std::vector<NamedFormat>& formats, const std::string& text,
                                      const Context& how) {
    std::vector<Description> rows;
    std::string complaint;
    for (const NamedFormat& format : formats) {
        try {
            rows.push_back(describe(format, text, how));
        } catch (const std::invalid_argument& error) {
            if (complaint.empty()) complaint = error.what();
        }
    }
    if (rows.empty()) throw UsageError(complaint);
    return rows;
}

nlohmann::ordered_json to_json(const Description& row) {
    nlohmann::ordered_json json = {{"format", row.format.name}, {"bits", "0x" + row.value.hex},
                                   {"fields", row.fields},      {"hex", row.hex_float},
                                   {"value", row.exact},        {"shortest", row.value.decimal},
                                   {"class", row.number_class}};
    if (row.below) json.update({{"below", row.below->decimal}, {"below_bits", "0x" + row.below->hex}});
    if (row.above) json.update({{"above", row.above->decimal}, {"above_bits", "0x" + row.above->hex}});
    if (row.ulp) json["ulp"] = std::ldexp(1.0, row.ulp_exponent);
    if (row.error) json["error"] = *row.error;
    if (row.error_in_ulps) json["error_in_ulps"] = *row.error_in_ulps;
    json["flags"] = row.flags;
    return json;
}

void print_table(const std::vector<Description>& rows) {
    fmt::print("{:<9} {:<18}  {:<22} {:<12} {}\n", "format", "bits", "value", "error/ulp", "flags");
    for (const Description& row : rows) {
        const std::string error = row.error_in_ulps ? row.error_in_ulps->substr(0, 10) : "";
        fmt::print("{:<9} {:<18}  {:<22} {:<12} {}\n", row.format.name, "0x" + row.value.hex, row.as_fp64, error,
                   fmt::join(row.flags, ", "));
    }
}

void print_details(const Description& row) {
    const auto line = [](std::string_view name, const std::string& text) { fmt::print("  {:<10} {}\n", name, text); };
    fmt::print("{}: {}\n", row.format.name, row.format.description);
    line("value", row.value.decimal + (row.exact != row.value.decimal ? "  = " + row.exact : ""));
    line("bits", "0x" + row.value.hex + "  = " + row.fields);
    line("hex float", row.hex_float);
    line("class", row.number_class);
    if (row.below) line("below", row.below->decimal + "  (0x" + row.below->hex + ")");
    if (row.above) line("above", row.above->decimal + "  (0x" + row.above->hex + ")");
    if (row.ulp) line("ulp", *row.ulp);
    if (row.error) line("error", *row.error + "  (" + *row.error_in_ulps + " ulp)");
    line("flags", row.flags.empty() ? "none" : fmt::format("{}", fmt::join(row.flags, ", ")));
}

/// The mode of that name. Throws UsageError for another name, and for the mode that needs random bits.
Rounding deterministic_rounding(const std::string& name) {
    try {
        const Rounding rounding = rounding_by_name(name);
        if (!is_stochastic(rounding)) return rounding;
    } catch (const std::invalid_argument&) {
    }
    throw UsageError(fmt::format(
        "show has no rounding mode '{}'; choose one of nearest_even, nearest_away, toward_zero, down, up, odd", name));
}

ExitCode show(const ShowOptions& options) {
    const std::vector<NamedFormat> formats = formats_of(options);
    const std::string text = value_of(options);
    const Rounding rounding = deterministic_rounding(options.rounding);
    const std::vector<Description> rows =
        describe_all(formats, text, {.rounding = rounding, .saturate = saturation_of_option(options.saturate)});
    if (options.json) {
        auto list = nlohmann::ordered_json::array();
        for (const Description& row : rows) list.push_back(to_json(row));
        fmt::print("{}\n", list.dump(2));
        return ExitCode::good;
    }
    if (formats.size() == named_formats().size()) {
        print_table(rows);
        return ExitCode::good;
    }
    for (const Description& row : rows) print_details(row);
    return ExitCode::good;
}

Action declare_show(OptionParser& app) {
    const auto options = std::make_shared<ShowOptions>();
    options->app = app;
    app.allow_extras();
    app.add_option("VALUE", options->value, "a number, as 0.1, -1.5e-3, 0x1.8p-10, inf, or bits:3C00");
    app.add_option(
           "--format", options->formats,
           "number format by name or file (see `ulplab formats`); may be repeated; by default those of hardware")
        .repeated();
    app.add_flag("--json", options->json, "prints JSON");
    app.add_option("--rounding", options->rounding,
                   "rounding mode: nearest_even, nearest_away, toward_zero, down, up or odd");
    app.add_flag(
        "--saturate", options->saturate,
        "overflow and infinity become the largest finite number (PTX: cvt with .satfinite); =SatPropagate leaves "
        "infinities as they are");
    return [options] { return show(*options); };
}

}  // namespace

Command show_command() {
    return {"show", "the bits of a value in every format, its neighbours, ulp and error", declare_show};
}

}  // namespace ulp
