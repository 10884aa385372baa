#include "engine/products/unit_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <stdexcept>

#include "engine/files/format_file.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/model_names.hpp"
#include "softfloat/names.hpp"

namespace ulp::unit_fields {
namespace {

using namespace model_names;

// ---- Types of fields ----

template <class Model, class At>
Field<Model> whole_number(std::string_view key, unsigned kinds, int least, int most, At at) {
    return {key, kinds, false, [at](const Model& m) { return Written(at(m)); },
            [=](Model& m, const Json& json) {
                const bool fits =
                    json.is_number_integer() && json.get<std::int64_t>() >= least && json.get<std::int64_t>() <= most;
                if (!fits) throw std::invalid_argument(fmt::format("give a whole number from {} to {}", least, most));
                at(m) = json.get<int>();
            }};
}

template <class Model, class At>
Field<Model> flag(std::string_view key, unsigned kinds, At at, bool optional = true) {
    return {key, kinds, optional, [at](const Model& m) { return Written(at(m)); },
            [at](Model& m, const Json& json) {
                if (!json.is_boolean()) throw std::invalid_argument("give true or false");
                at(m) = json.get<bool>();
            }};
}

template <class Model, class Value, class At>
Field<Model> choice(std::string_view key, unsigned kinds, std::span<const Named<Value>> names, At at,
                    bool optional = false) {
    return {key, kinds, optional,
            [=](const Model& m) { return Written(std::ranges::find(names, at(m), &Named<Value>::value)->name); },
            [=](Model& m, const Json& json) {
                const auto found = std::ranges::find_if(names, [&](const auto& each) { return json == each.name; });
                if (found == names.end()) {
                    std::vector<std::string_view> known;
                    for (const auto& each : names) known.push_back(each.name);
                    throw std::invalid_argument(fmt::format("choose one of {}", fmt::join(known, ", ")));
                }
                at(m) = found->value;
            }};
}

template <class Model, class At>
Field<Model> number_format(std::string_view key, unsigned kinds, At at) {
    return {key, kinds, false, [at](const Model& m) { return format_json(at(m)); },
            [at](Model& m, const Json& json) { at(m) = format_from_json(json); }};
}

// ---- The fields ----

constexpr Named<Rounding> roundings[] = {{"nearest_even", Rounding::nearest_even},
                                         {"nearest_away", Rounding::nearest_away},
                                         {"toward_zero", Rounding::toward_zero},
                                         {"down", Rounding::down},
                                         {"up", Rounding::up},
                                         {"odd", Rounding::odd}};
using Model = TensorCoreModel;

/// Where subnormal numbers are flushed. A chain of operations flushes all of them.
Field<Model> flushes() {
    constexpr const char* form = "give a list of those of operands, c, results that are flushed";
    const auto write = [](const Model& m) {
        Written list = Written::array();
        if (m.flush_subnormals || m.variation.flush_operands) list.push_back("operands");
        if (m.flush_subnormals || m.variation.flush_addend) list.push_back("c");
        if (m.flush_subnormals || m.variation.flush_results) list.push_back("results");
        return list;
    };
    const auto read = [=](Model& m, const Json& json) {
        const auto has = [&](const char* name) { return std::ranges::count(json, Json(name)); };
        if (!json.is_array()) throw std::invalid_argument(form);
        const auto operands = has("operands"), c = has("c"), results = has("results");
        const bool once = operands <= 1 && c <= 1 && results <= 1;
        if (!once || static_cast<std::size_t>(operands + c + results) != json.size()) throw std::invalid_argument(form);
        if (kind_of(m.summation) == fused) {
            m.variation.flush_operands = operands > 0;
            m.variation.flush_addend = c > 0;
            m.variation.flush_results = results > 0;
        } else if (json.empty() || json.size() == 3) {
            m.flush_subnormals = !json.empty();
        } else {
            throw std::invalid_argument("a chain of operations flushes operands, c and results, or nothing");
        }
    };
    return {"flush", fused | chained, true, write, read};
}

Field<Model> product_format() {
    return {"product_format", fused, true,
            [](const Model& m) {
                return m.variation.rounds_products() ? format_json(m.variation.product_format) : Written(nullptr);
            },
            [](Model& m, const Json& json) {
                m.variation.product_format = json.is_null() ? FloatFormat{0, 0, 0} : format_from_json(json);
            }};
}

Field<Model> exponent_floor() {
    return {"exponent_floor", fused | by_hmma | late | scaled, false,
            [](const Model& m) {
                const int floor = m.policies.exponent_floor;
                return floor == no_exponent_floor ? Written(nullptr) : Written(floor);
            },
            [](Model& m, const Json& json) {
                const bool fits =
                    json.is_number_integer() && json.get<std::int64_t>() >= -2000 && json.get<std::int64_t>() <= 2000;
                if (!fits && !json.is_null()) {
                    throw std::invalid_argument("give a whole number from -2000 to 2000, or null for none");
                }
                m.policies.exponent_floor = json.is_null() ? no_exponent_floor : json.get<int>();
            }};
}

}  // namespace

Kinds kind_of(Summation summation) {
    switch (summation) {
        case Summation::fused: return fused;
        case Summation::fp8_by_hmma: return by_hmma;
        case Summation::late_addend:
        case Summation::late_addend_even_odd: return late;
        default: return chained;
    }
}

const std::vector<Field<TensorCoreModel>>& floating_fields() {
    constexpr unsigned any = all_floating | scaled;
    constexpr unsigned grouped = fused | by_hmma | scaled;
    constexpr unsigned aligned = grouped | late;
    static const std::vector<Field<Model>> fields = {
        choice<Model, Summation>(
            "summation", all_floating, summations, [](auto& m) -> auto& { return m.summation; }),
        number_format<Model>(
            "a_format", any, [](auto& m) -> auto& { return m.a_format; }),
        number_format<Model>(
            "b_format", any, [](auto& m) -> auto& { return m.b_format; }),
        number_format<Model>(
            "accumulator", any, [](auto& m) -> auto& { return m.accumulator; }),
        whole_number<Model>(
            "instruction_k", any, 1, max_instruction_k, [](auto& m) -> auto& { return m.instruction_k; }),
        whole_number<Model>(
            "group_size", any, 1, max_group, [](auto& m) -> auto& { return m.group_size; }),
        whole_number<Model>(
            "fraction_bits", aligned, 1, 1000, [](auto& m) -> auto& { return m.fraction_bits; }),
        choice<Model, Rounding>(
            "rounding", grouped, roundings, [](auto& m) -> auto& { return m.rounding; }),
        choice<Model, Rounding>(
            "rounding", chained, roundings, [](auto& m) -> auto& { return m.rounding; }, true),
        whole_number<Model>(
            "output_fraction_bits", grouped, 1, 52, [](auto& m) -> auto& { return m.output_fraction_bits; }),
        choice<Model, NanStyle>(
            "nan", any, nan_styles, [](auto& m) -> auto& { return m.nan; }),
        choice<Model, ZeroProduct>(
            "zero_product", aligned, zero_products, [](auto& m) -> auto& { return m.policies.zero_product; }),
        choice<Model, ZeroAddend>(
            "zero_c", aligned, zero_addends, [](auto& m) -> auto& { return m.policies.zero_addend; }),
        choice<Model, SubnormalAddend>(
            "subnormal_c", aligned, subnormal_addends, [](auto& m) -> auto& { return m.policies.subnormal_addend; }),
        choice<Model, UnderflowSign>(
            "underflow_sign", grouped, underflow_signs, [](auto& m) -> auto& { return m.policies.underflow_sign; }),
        exponent_floor(),
        choice<Model, LaneOrder>(
            "k_order", fused | late | chained, lane_orders, [](auto& m) -> auto& { return m.variation.order; }, true),
        choice<Model, AddendEntry>(
            "c_enters", fused, addend_entries, [](auto& m) -> auto& { return m.variation.addend; }, true),
        choice<Model, Rounding>(
            "alignment", fused, roundings, [](auto& m) -> auto& { return m.variation.alignment; }, true),
        flag<Model>(
            "sticky", fused, [](auto& m) -> auto& { return m.variation.sticky; }),
        flag<Model>(
            "invert_opposing", fused, [](auto& m) -> auto& { return m.variation.invert_opposing; }),
        flag<Model>(
            "normalise_products", fused, [](auto& m) -> auto& { return m.variation.normalise_products; }),
        product_format(),
        flushes(),
        flag<Model>(
            "saturate", fused, [](auto& m) -> auto& { return m.variation.saturate; }),
        flag<Model>(
            "negative_zeros", fused | chained, [](auto& m) -> auto& { return m.variation.negative_zeros; }),
        flag<Model>(
            "positive_input_zeros", chained, [](auto& m) -> auto& { return m.positive_input_zeros; }),
    };
    return fields;
}

const std::vector<Field<IntegerModel>>& integer_fields() {
    using Integers = IntegerModel;
    static const std::vector<Field<Integers>> fields = {
        whole_number<Integers>(
            "bits", 1, 1, 8, [](auto& m) -> auto& { return m.bits; }),
        flag<Integers>(
            "a_signed", 1, [](auto& m) -> auto& { return m.a_signed; }, false),
        flag<Integers>(
            "b_signed", 1, [](auto& m) -> auto& { return m.b_signed; }, false),
        choice<Integers, IntegerProduct>(
            "product", 1, integer_products, [](auto& m) -> auto& { return m.product; }),
        flag<Integers>(
            "saturates", 1, [](auto& m) -> auto& { return m.saturates; }, false),
        whole_number<Integers>(
            "instruction_k", 1, 1, 1024, [](auto& m) -> auto& { return m.instruction_k; })};
    return fields;
}

const std::vector<Field<BlockScaledModel>>& scale_fields() {
    using Scaled = BlockScaledModel;
    static const std::vector<Field<Scaled>> fields = {
        number_format<Scaled>(
            "scale_format", 1, [](auto& m) -> auto& { return m.scale_format; }),
        whole_number<Scaled>(
            "scale_block", 1, 1, max_instruction_k, [](auto& m) -> auto& { return m.scale_block; }),
        whole_number<Scaled>(
            "exact_products", 1, 1, max_instruction_k, [](auto& m) -> auto& { return m.exact_products; })};
    return fields;
}

}  // namespace ulp::unit_fields
