// `ulplab formats`: the table of number formats with their derived quantities.
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/framework/values.hpp"
#include "softfloat/describe.hpp"
#include "softfloat/names.hpp"

namespace ulp {
namespace {

nlohmann::ordered_json to_json(const FormatDescription& row) {
    const FloatFormat& format = row.format.format;
    return {{"name", row.format.name},
            {"description", row.format.description},
            {"storage_bits", format.storage_bits()},
            {"sign_bits", format.has_sign ? 1 : 0},
            {"exponent_bits", format.exponent_bits},
            {"fraction_bits", format.fraction_bits},
            {"precision", format.precision()},
            {"bias", format.bias},
            {"emin", format.emin()},
            {"emax", format.emax()},
            {"largest", row.largest},
            {"smallest_normal", row.smallest_normal},
            {"smallest_positive", row.smallest_positive},
            {"epsilon", row.epsilon},
            {"specials", row.specials}};
}

ExitCode print_formats(const std::string& name, bool json) {
    std::vector<NamedFormat> chosen(named_formats().begin(), named_formats().end());
    if (!name.empty()) {
        const FloatFormat& format = format_by_name(name);
        std::erase_if(chosen, [&](const NamedFormat& row) { return row.format != format; });
    }
    if (json) {
        auto list = nlohmann::ordered_json::array();
        for (const NamedFormat& format : chosen) list.push_back(to_json(describe(format)));
        fmt::print("{}\n", list.dump(2));
        return ExitCode::good;
    }
    fmt::print("{:<9} {:>4} {:>3} {:>4} {:>5} {:>5}  {:<15} {:<15} {:<15} {:<15} {}\n", "format", "bits", "exp", "frac",
               "emin", "emax", "largest", "smallest normal", "smallest", "epsilon", "specials");
    for (const NamedFormat& named : chosen) {
        const FormatDescription row = describe(named);
        const FloatFormat& format = named.format;
        fmt::print("{:<9} {:>4} {:>3} {:>4} {:>5} {:>5}  {:<15.8g} {:<15.8g} {:<15.8g} {:<15.8g} {}\n", named.name,
                   format.code_bits(), format.exponent_bits, format.fraction_bits, format.emin(), format.emax(),
                   row.largest, row.smallest_normal, row.smallest_positive, row.epsilon, row.specials);
    }
    return ExitCode::good;
}

struct FormatsOptions {
    std::string name;
    bool json = false;
};

Action declare_formats(OptionParser& app) {
    const auto options = std::make_shared<FormatsOptions>();
    app.add_option("NAME", options->name, "this number format alone; else all");
    app.add_flag("--json", options->json, "prints JSON");
    return [options] { return print_formats(options->name, options->json); };
}

}  // namespace

std::string formats_page() {
    std::vector<std::vector<std::string>> rows;
    for (const NamedFormat& named : named_formats()) {
        const FormatDescription row = describe(named);
        const FloatFormat& format = named.format;
        const auto number = [](double value) { return fmt::format("{:.8g}", value); };
        rows.push_back({fmt::format("`{}`", named.name), std::string(named.description),
                        std::to_string(format.code_bits()), std::to_string(format.exponent_bits),
                        std::to_string(format.fraction_bits), std::to_string(format.bias),
                        std::to_string(format.emin()), std::to_string(format.emax()), number(row.largest),
                        number(row.smallest_normal), number(row.smallest_positive), number(row.epsilon), row.specials});
    }
    const std::string explanation =
        "Bits without padding; emin and emax: exponents of the smallest normal and the largest finite number; epsilon: "
        "the next number after 1, minus 1. All but the first columns are derived from the row in "
        "[softfloat/format.hpp](../../softfloat/format.hpp).\n\n";
    return generated_document(
        "Number formats", "ulplab dev page formats",
        explanation + markdown_table({"name", "what", "bits", "exponent", "fraction", "bias", "emin", "emax", "largest",
                                      "smallest normal", "smallest", "epsilon", "specials"},
                                     rows));
}

Command formats_command() {
    return {"formats", "the number formats with their ranges and precisions", declare_formats};
}

// `ulplab codes FORMAT`: every code of a small format, a line each, for other programs to compare with.

namespace {

std::string hex_or_none(const std::optional<NumberText>& number) { return number ? number->hex : ""; }

std::string line_of(const NamedFormat& named, std::uint64_t code) {
    const std::string hex = fmt::format("{:0{}X}", code, (named.format.code_bits() + 3) / 4);
    const Description row = describe(named, "bits:" + hex);
    return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", row.value.hex, row.fields, row.number_class,
                       row.value.decimal, row.exact, row.hex_float, hex_or_none(row.below), hex_or_none(row.above),
                       row.ulp ? std::to_string(row.ulp_exponent) : "");
}

nlohmann::ordered_json json_of(const NamedFormat& named, std::uint64_t code) {
    const Description row = describe(named, fmt::format("bits:{:X}", code));
    const auto neighbour = [](const std::optional<NumberText>& number) {
        return number ? nlohmann::ordered_json(number->hex) : nlohmann::ordered_json(nullptr);
    };
    return {{"bits", row.value.hex},
            {"fields", row.fields},
            {"class", row.number_class},
            {"shortest", row.value.decimal},
            {"exact", row.exact},
            {"hex_float", row.hex_float},
            {"below", neighbour(row.below)},
            {"above", neighbour(row.above)},
            {"ulp_exponent", row.ulp ? nlohmann::ordered_json(row.ulp_exponent) : nlohmann::ordered_json(nullptr)}};
}

ExitCode print_codes(const std::string& name, bool json) {
    const FloatFormat& format = format_by_name(name);
    if (format.code_bits() > 16 || format.padding_bits > 0) {
        throw UsageError(fmt::format("{} has 2^{} codes, too many to list; choose a format of at most 16 bits", name,
                                     format.code_bits()));
    }
    if (json) {
        auto list = nlohmann::ordered_json::array();
        for (std::uint64_t code = 0; code >> format.code_bits() == 0; ++code) {
            list.push_back(json_of({name, format, ""}, code));
        }
        fmt::print("{}\n", list.dump(1));
        return ExitCode::good;
    }
    fmt::print("bits\tfields\tclass\tshortest\texact\thex float\tbelow\tabove\tulp exponent\n");
    for (std::uint64_t code = 0; code >> format.code_bits() == 0; ++code) {
        fmt::print("{}", line_of({name, format, ""}, code));
    }
    return ExitCode::good;
}

struct CodesOptions {
    std::string format;
    bool json = false;
};

Action declare_codes(OptionParser& app) {
    const auto options = std::make_shared<CodesOptions>();
    app.add_option("FORMAT", options->format, "a number format of at most 16 bits; see `ulplab formats`").required();
    app.add_flag("--json", options->json, "prints JSON");
    return [options] { return print_codes(options->format, options->json); };
}

}  // namespace

Command codes_command() { return {"codes", "every code of a small format, as a table with tabs", declare_codes}; }

// `ulplab show VALUE`: what a number becomes in each format.

namespace {

struct ShowOptions {
    std::string value;
    std::vector<std::string> formats;
    bool json = false;
    std::string rounding = "nearest_even";
    bool saturate = false;
    std::optional<OptionParser> app;
};

/// Those that were named, or all.
std::vector<NamedFormat> formats_of(const ShowOptions& options) {
    std::vector<NamedFormat> formats;
    for (const std::string& name : options.formats) {
        const FloatFormat& format = format_by_name(name);
        for (const NamedFormat& row : named_formats()) {
            if (row.format == format) formats.push_back(row);
        }
    }
    if (formats.empty()) formats.assign(named_formats().begin(), named_formats().end());
    return formats;
}

/// The value; a negative one looks like an option to the parser and is left over.
std::string value_of(const ShowOptions& options) {
    std::vector<std::string> values = options.app->remaining();
    std::erase(values, "--");  // what is behind it is no option
    if (!options.value.empty()) values.insert(values.begin(), options.value);
    if (values.empty()) throw UsageError("show needs a VALUE, such as 0.1, -0x1.8p-10, inf or bits:3C00");
    if (values.size() > 1) throw UsageError("show takes one VALUE, not also '" + values[1] + "'");
    constexpr std::string_view bits = "bits:";
    const std::string& value = values.front();
    if (value.starts_with(bits) && (value.size() == bits.size() ||
                                    value.find_first_not_of("0123456789abcdefABCDEF_'", bits.size()) != value.npos)) {
        throw UsageError("'" + value + "': give hexadecimal digits behind bits:, such as bits:3C00");
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
        if (rounding != Rounding::stochastic) return rounding;
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
        describe_all(formats, text, {.rounding = rounding, .saturate = options.saturate});
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
    app.add_option("--format", options->formats,
                   "number format (see `ulplab formats`); may be repeated; all by default")
        .repeated();
    app.add_flag("--json", options->json, "prints JSON");
    app.add_option("--rounding", options->rounding,
                   "rounding mode: nearest_even, nearest_away, toward_zero, down, up or odd");
    app.add_flag("--saturate", options->saturate,
                 "overflow and infinity become the largest finite number (PTX: cvt with .satfinite)");
    return [options] { return show(*options); };
}

}  // namespace

Command show_command() {
    return {"show", "the bits of a value in every format, its neighbours, ulp and error", declare_show};
}

}  // namespace ulp
