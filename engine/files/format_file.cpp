#include "engine/files/format_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "engine/files/checked_json.hpp"
#include "engine/files/whole_file.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/names.hpp"
#include "softfloat/value_table.hpp"

namespace ulp {
namespace {

using Json = nlohmann::json;

struct NamedSpecials {
    std::string_view name;
    Specials value;
};
constexpr std::array specials_names{
    NamedSpecials{"ieee", Specials::ieee}, NamedSpecials{"all_ones_nan", Specials::all_ones_nan},
    NamedSpecials{"negative_zero_nan", Specials::negative_zero_nan}, NamedSpecials{"none", Specials::none},
    NamedSpecials{"one_nan_infinity", Specials::one_nan_infinity}};

/// The members of an object that are looked for one after the other; another one is refused.
class Members {
  public:
    explicit Members(const Json& json) : json_(json) {}
    /// A whole number, or what it is without the member.
    int number(const char* key, int least, int most, std::optional<int> without = {}) {
        const Json* const found = find(key);
        if (found == nullptr && without) return *without;
        const bool huge = found != nullptr && found->is_number_unsigned() && found->get<std::uint64_t>() >> 62 != 0;
        if (found != nullptr && found->is_number_integer() && !huge) {
            const auto value = found->get<std::int64_t>();
            if (value >= least && value <= most) return static_cast<int>(value);
        }
        throw std::invalid_argument(fmt::format("give \"{}\" as a whole number from {} to {}", key, least, most));
    }
    bool truth(const char* key, bool without) {
        const Json* const found = find(key);
        if (found == nullptr) return without;
        if (found->is_boolean()) return found->get<bool>();
        throw std::invalid_argument(fmt::format("give \"{}\" as true or false", key));
    }
    std::string text(const char* key, std::string without) {
        const Json* const found = find(key);
        if (found == nullptr) return without;
        if (found->is_string()) return found->get<std::string>();
        throw std::invalid_argument(fmt::format("give \"{}\" as a text", key));
    }
    /// Numbers, and "nan", "inf", "-inf"; one alone without brackets.
    std::vector<double> numbers(const char* key) {
        const Json* const found = find(key);
        std::vector<double> values;
        const auto fail = [&] {
            throw std::invalid_argument(
                fmt::format("give \"{}\" as a list of numbers, \"nan\", \"inf\" and \"-inf\"", key));
        };
        if (found == nullptr) return values;
        for (const Json& each : found->is_array() ? *found : Json::array({*found})) {
            constexpr double infinity = std::numeric_limits<double>::infinity();
            if (each.is_number()) {
                values.push_back(each.get<double>());
            } else if (each == "nan") {
                values.push_back(std::numeric_limits<double>::quiet_NaN());
            } else if (each == "inf" || each == "-inf") {
                values.push_back(each == "inf" ? infinity : -infinity);
            } else {
                fail();
            }
        }
        return values;
    }
    void refuse_others() const {
        for (const auto& [key, value] : json_.items()) {
            if (known_.contains(key)) continue;
            throw std::invalid_argument(fmt::format("a format has no \"{}\"; it has {}", key, fmt::join(known_, ", ")));
        }
    }

  private:
    const Json* find(const char* key) {
        known_.insert(key);
        const auto found = json_.find(key);
        return found == json_.end() ? nullptr : &*found;
    }
    const Json& json_;
    std::set<std::string> known_;
};

Specials specials_of(const std::string& name) {
    const auto found = std::ranges::find(specials_names, name, &NamedSpecials::name);
    if (found != specials_names.end()) return found->value;
    std::vector<std::string_view> known;
    for (const NamedSpecials& each : specials_names) known.push_back(each.name);
    throw std::invalid_argument(fmt::format("give \"specials\" as one of {}", fmt::join(known, ", ")));
}

/// Throws where the fields make no format.
void require_sensible(const FloatFormat& format) {
    const auto fail = [](const std::string& what) { throw std::invalid_argument(what); };
    if (format.exponent_bits + format.fraction_bits > 63)
        fail(fmt::format("a format has at most 64 bits, not {}", format.code_bits()));
    if (format.specials == Specials::ieee && (format.fraction_bits == 0 || format.exponent_bits < 2)) {
        fail(
            "\"specials\" ieee needs at least 2 exponent bits, and a fraction bit to tell NaN from infinity; "
            "all_ones_nan and one_nan_infinity need none");
    }
    if (format.specials == Specials::negative_zero_nan && !format.has_sign) {
        fail("without a sign there is no -0 that could be NaN; give \"specials\" as all_ones_nan");
    }
    if (format.even_codes && format.fraction_bits != 0) {
        fail("\"even_codes\" is of formats without fraction bits: with them the even code is the even significand");
    }
    if (format.specials == Specials::one_nan_infinity && !format.has_sign && format.magnitude_mask() < 3) {
        fail("no code is left for a number; give more bits");
    }
    if (format.largest_for_infinity && format.has_infinity()) {
        fail("\"largest_for_infinity\" is of formats without infinities; give \"saturate\" as SatFinite");
    }
    if (format.has_subnormals && format.max_finite_magnitude() <= format.fraction_mask()) {
        fail("no code is left for a normal number; give more exponent bits");
    }
    const bool in_fp64 = format.precision() <= 53 && format.emax() <= formats::fp64.emax() &&
                         format.smallest_exponent() >= formats::fp64.smallest_exponent();
    if (!in_fp64 && format.code_bits() > 16) {
        fail(fmt::format("formats of more than 16 bits lie within fp64; this one spans 2^{} to 2^{}",
                         format.smallest_exponent(), format.emax()));
    }
}

FloatFormat fields_from(const Json& json) {
    Members members(json);
    FloatFormat format{members.number("exponent_bits", 1, 16), members.number("fraction_bits", 0, 52), 0};
    format.bias = members.number("bias", -100000, 100000, (1 << (format.exponent_bits - 1)) - 1);
    format.specials = specials_of(members.text("specials", "ieee"));
    format.has_sign = members.truth("sign", true);
    format.has_subnormals = members.truth("subnormals", true);
    format.even_codes = members.truth("even_codes", false);
    format.saturation = saturation_by_name(members.text("saturate", "OvfInf"));
    format.largest_for_infinity = members.truth("largest_for_infinity", false);
    members.text("name", "");
    members.refuse_others();
    require_sensible(format);
    return format;
}

FloatFormat table_from(const Json& json) {
    Members members(json);
    ValueTable table{.name = members.text("name", "table"), .values = members.numbers("values")};
    for (double& x : table.values) x = static_cast<double>(static_cast<float>(x));
    const std::vector<double> overflow = members.numbers("overflow");
    table.middles = members.numbers("middles");
    table.saturation = saturation_by_name(members.text("saturate", "OvfInf"));
    if (!overflow.empty()) table.overflow = overflow.front();
    members.refuse_others();
    return table_format(table);
}

}  // namespace

FloatFormat format_from_json(const Json& json) {
    if (json.is_string()) return format_by_name(json.get<std::string>());
    if (json.is_array()) return table_from(Json{{"values", json}});
    if (json.is_object()) return json.contains("values") ? table_from(json) : fields_from(json);
    throw std::invalid_argument(
        "give the name of a format, an object of exponent_bits, fraction_bits, bias, sign, subnormals, specials "
        "(ieee, all_ones_nan, negative_zero_nan, one_nan_infinity, none), even_codes, saturate and "
        "largest_for_infinity, or a list of values");
}

nlohmann::ordered_json format_json(const FloatFormat& format) {
    const std::string name = name_of(format);
    try {
        if (format_by_name(name) == format) return name;
    } catch (const std::invalid_argument&) {
    }
    nlohmann::ordered_json json;
    if (format.is_table()) {
        const ValueTable& table = table_of(format);
        const auto numbers = [](const std::vector<double>& values) {
            auto list = nlohmann::ordered_json::array();
            for (const double x : values) {
                list.push_back(std::isfinite(x) ? nlohmann::ordered_json(x)
                               : std::isnan(x)  ? nlohmann::ordered_json("nan")
                               : x > 0          ? nlohmann::ordered_json("inf")
                                                : nlohmann::ordered_json("-inf"));
            }
            return list;
        };
        json = {{"name", table.name}, {"values", numbers(table.values)}};
        if (table.overflow != 0) json["overflow"] = table.overflow;
        if (!table.middles.empty()) json["middles"] = numbers(table.middles);
    } else {
        json = {{"exponent_bits", format.exponent_bits},
                {"fraction_bits", format.fraction_bits},
                {"bias", format.bias},
                {"specials", std::ranges::find(specials_names, format.specials, &NamedSpecials::value)->name}};
        if (!format.has_sign) json["sign"] = false;
        if (!format.has_subnormals) json["subnormals"] = false;
        if (format.even_codes) json["even_codes"] = true;
        if (format.largest_for_infinity) json["largest_for_infinity"] = true;
    }
    if (format.saturation) json["saturate"] = name_of(format.saturation);
    return json;
}

FloatFormat format_of_file(std::string_view path) {
    const std::filesystem::path file(path);
    try {
        nlohmann::json json = checked_json(MappedFile(file).bytes());
        if (json.is_string()) throw std::invalid_argument("a file describes a format by its fields or values");
        if (json.is_array()) json = Json{{"values", json}};
        if (json.is_object() && !json.contains("name")) json["name"] = file.stem().string();
        return format_from_json(json);
    } catch (const std::invalid_argument& error) {
        throw DataError(fmt::format("{}: {}", file.string(), error.what()));
    }
}

}  // namespace ulp
