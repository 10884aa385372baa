// `ulplab formats`: the table of number formats with their derived quantities.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/framework/values.hpp"
#include "softfloat/describe.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/text.hpp"

namespace ulp {

namespace {

/// Whether fp64 holds the format's numbers; P3109 has wider ranges.
bool is_within_fp64(const FloatFormat& format) {
    return format.emax() <= formats::fp64.emax() && format.smallest_exponent() >= formats::fp64.smallest_exponent();
}

/// A number of the format; beyond fp64 as a hexadecimal float.
nlohmann::ordered_json format_number_json(double value, const FloatFormat& format, std::uint64_t magnitude) {
    if (is_within_fp64(format)) return value;
    return to_hex_float(format, pack(format, false, magnitude));
}
std::string format_number_text(double value, const FloatFormat& format, std::uint64_t magnitude) {
    return is_within_fp64(format) ? fmt::format("{:.8g}", value) : to_hex_float(format, pack(format, false, magnitude));
}

nlohmann::ordered_json to_json(const FormatDescription& row) {
    const FloatFormat& format = row.format.format;
    if (format.is_table()) {
        return {{"name", row.format.name},
                {"description", row.format.description},
                {"storage_bits", format.storage_bits()},
                {"largest", row.largest},
                {"smallest_positive", row.smallest_positive},
                {"epsilon", row.epsilon},
                {"specials", row.specials}};
    }
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
            {"largest", format_number_json(row.largest, format, format.max_finite_magnitude())},
            {"smallest_normal", format_number_json(row.smallest_normal, format, format.fraction_mask() + 1)},
            {"smallest_positive", format_number_json(row.smallest_positive, format, 1)},
            {"epsilon", row.epsilon},
            {"specials", row.specials}};
}

std::vector<NamedFormat> listed_formats() {
    std::vector<NamedFormat> all(named_formats().begin(), named_formats().end());
    all.insert(all.end(), further_formats().begin(), further_formats().end());
    return all;
}

ExitCode print_formats(const std::string& name, bool json) {
    const std::vector<NamedFormat> chosen = name.empty() ? listed_formats() : std::vector{named_format(name)};
    if (json) {
        auto list = nlohmann::ordered_json::array();
        for (const NamedFormat& format : chosen) list.push_back(to_json(describe(format)));
        fmt::print("{}\n", list.dump(2));
        return ExitCode::good;
    }
    fmt::print("{:<11} {:>4} {:>3} {:>4} {:>6} {:>5}  {:<15} {:<15} {:<15} {:<15} {}\n", "format", "bits", "exp",
               "frac", "emin", "emax", "largest", "smallest normal", "smallest", "epsilon", "specials");
    for (const NamedFormat& named : chosen) {
        const FormatDescription row = describe(named);
        const FloatFormat& format = named.format;
        const bool table = format.is_table();
        const auto field = [&](int value) { return table ? std::string("-") : std::to_string(value); };
        fmt::print("{:<11} {:>4} {:>3} {:>4} {:>6} {:>5}  {:<15} {:<15} {:<15} {:<15.8g} {}\n", named.name,
                   format.code_bits(), field(format.exponent_bits), field(format.fraction_bits), field(format.emin()),
                   field(format.emax()), format_number_text(row.largest, format, format.max_finite_magnitude()),
                   format_number_text(row.smallest_normal, format, format.fraction_mask() + 1),
                   format_number_text(row.smallest_positive, format, 1), row.epsilon, row.specials);
    }
    return ExitCode::good;
}

struct FormatsOptions {
    std::string name;
    bool json = false;
};

Action declare_formats(OptionParser& app) {
    const auto options = std::make_shared<FormatsOptions>();
    app.add_option("NAME", options->name, "this number format alone, by name or file; else all");
    app.add_flag("--json", options->json, "prints JSON");
    return [options] { return print_formats(options->name, options->json); };
}

}  // namespace

std::string formats_page() {
    std::vector<std::vector<std::string>> rows;
    for (const NamedFormat& named : listed_formats()) {
        const FormatDescription row = describe(named);
        const FloatFormat& format = named.format;
        const auto number = [](double value) { return fmt::format("{:.8g}", value); };
        const auto field = [&](int value) { return format.is_table() ? "-" : std::to_string(value); };
        rows.push_back({fmt::format("`{}`", named.name), std::string(named.description),
                        std::to_string(format.code_bits()), field(format.exponent_bits), field(format.fraction_bits),
                        field(format.bias), field(format.emin()), field(format.emax()), number(row.largest),
                        number(row.smallest_normal), number(row.smallest_positive), number(row.epsilon), row.specials});
    }
    const std::string explanation =
        "Bits without padding; emin and emax: exponents of the smallest normal and the largest finite number; epsilon: "
        "the next number after 1, minus 1. All but the first columns are derived from the row in "
        "[softfloat/format.hpp](../../softfloat/format.hpp) or [softfloat/names.cpp](../../softfloat/names.cpp), those "
        "of tables from their values. P3109's formats and your own: [format_files.md](../format_files.md).\n\n";
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

ExitCode print_codes(const std::string& name, bool json, bool exact) {
    const NamedFormat named = named_format(name);
    const FloatFormat& format = named.format;
    if (format.code_bits() > 16 || format.padding_bits > 0) {
        throw UsageError(fmt::format("{} has 2^{} codes, too many to list; choose a format of at most 16 bits", name,
                                     format.code_bits()));
    }
    if (exact && json)
        throw UsageError("--exact prints lines, and --json JSON with each value's exact decimal; leave one out");
    if (exact) {
        for (std::uint64_t code = 0; code >> format.code_bits() == 0; ++code) {
            fmt::print("{}\n", to_exact_code(format, code));
        }
        return ExitCode::good;
    }
    if (json) {
        auto list = nlohmann::ordered_json::array();
        for (std::uint64_t code = 0; code >> format.code_bits() == 0; ++code) {
            list.push_back(json_of(named, code));
        }
        fmt::print("{}\n", list.dump(1));
        return ExitCode::good;
    }
    fmt::print("bits\tfields\tclass\tshortest\texact\thex float\tbelow\tabove\tulp exponent\n");
    for (std::uint64_t code = 0; code >> format.code_bits() == 0; ++code) {
        fmt::print("{}", line_of(named, code));
    }
    return ExitCode::good;
}

struct CodesOptions {
    std::string format;
    bool json = false;
    bool exact = false;
};

Action declare_codes(OptionParser& app) {
    const auto options = std::make_shared<CodesOptions>();
    app.add_option("FORMAT", options->format,
                   "a number format of at most 16 bits, by name or file; see `ulplab formats`")
        .required();
    app.add_flag("--json", options->json, "prints JSON");
    app.add_flag("--exact", options->exact,
                 "prints each code's value alone, an odd integer times a power of two: +3p-2 for 3 * 2^-2");
    return [options] { return print_codes(options->format, options->json, options->exact); };
}

}  // namespace

Command codes_command() { return {"codes", "every code of a small format, as a table with tabs", declare_codes}; }

}  // namespace ulp
