// `ulplab codes FORMAT`: every code of a small format, a line each, for other programs to compare with.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "experiments/cli/command.hpp"
#include "softfloat/describe.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
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
