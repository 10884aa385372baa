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

}  // namespace ulp
