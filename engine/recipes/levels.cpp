#include "engine/recipes/levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include "softfloat/names.hpp"
#include "softfloat/round.hpp"
#include "softfloat/support/read_number.hpp"

namespace ulp {
namespace {

const std::vector<std::pair<std::string, LevelProperties>>& levels() {
    static const std::vector<std::pair<std::string, LevelProperties>> rows = {
        {"O0",
         {{"cast_model_type", "fp32"},
          {"patch_functions", "false"},
          {"keep_batchnorm_fp32", "none"},
          {"master_weights", "false"},
          {"loss_scale", "1.0"},
          {"cast_list", "apex"}}},
        {"O1",
         {{"cast_model_type", "none"},
          {"patch_functions", "true"},
          {"keep_batchnorm_fp32", "none"},
          {"master_weights", "none"},
          {"loss_scale", "dynamic"},
          {"cast_list", "apex"}}},
        {"O2",
         {{"cast_model_type", "fp16"},
          {"patch_functions", "false"},
          {"keep_batchnorm_fp32", "true"},
          {"master_weights", "true"},
          {"loss_scale", "dynamic"},
          {"cast_list", "apex"}}},
        {"O3",
         {{"cast_model_type", "fp16"},
          {"patch_functions", "false"},
          {"keep_batchnorm_fp32", "false"},
          {"master_weights", "false"},
          {"loss_scale", "1.0"},
          {"cast_list", "apex"}}},
    };
    return rows;
}

/// The values that a property takes; empty for the loss scale, which also takes numbers.
const std::vector<std::string>& values_of(const std::string& property) {
    static const std::map<std::string, std::vector<std::string>> rows = {
        {"cast_model_type", {"none", "fp32", "fp16", "bf16"}},
        {"patch_functions", {"true", "false"}},
        {"keep_batchnorm_fp32", {"none", "true", "false"}},
        {"master_weights", {"none", "true", "false"}},
        {"loss_scale", {}},
        {"cast_list", {"apex", "pytorch_cuda", "pytorch_cpu"}},
    };
    const auto row = rows.find(property);
    if (row != rows.end()) return row->second;
    std::string known;
    for (const auto& [name, values] : rows) known += (known.empty() ? "" : ", ") + name;
    throw std::invalid_argument(fmt::format("no property '{}'; a level has {}", property, known));
}

std::optional<double> number_of(const std::string& text) {
    const std::optional<double> value = read_number<double>(text);
    return value && *value > 0 && !std::isinf(*value) ? value : std::nullopt;
}

void require_value(const std::string& property, const std::string& value) {
    const std::vector<std::string>& values = values_of(property);
    if (property == "loss_scale") {
        if (value == "dynamic" || number_of(value)) return;
        throw std::invalid_argument(fmt::format("loss_scale is 'dynamic' or a positive number, not '{}'", value));
    }
    if (std::find(values.begin(), values.end(), value) != values.end()) return;
    std::string known;
    if (property == "cast_model_type") {
        std::optional<FloatFormat> format;
        try {
            format = format_by_name(value);
        } catch (const std::invalid_argument&) {
            known = "a number format by name or file";
        }
        if (format) return require_kept(property, *format);
    }
    for (const std::string& v : values) known += (known.empty() ? "" : ", ") + v;
    throw std::invalid_argument(fmt::format("{} cannot be '{}'; it is one of {}", property, value, known));
}

}  // namespace

void require_kept(const std::string& what, const FloatFormat& format, bool computes) {
    const bool within_fp32 = format.precision() <= 24 && format.emax() <= formats::fp32.emax() &&
                             format.smallest_exponent() >= formats::fp32.smallest_exponent();
    const bool plain = format.has_subnormals && format.fraction_bits > 0 && format.specials <= Specials::none &&
                       !format.even_codes && format.saturation.mode != Saturation::sat_propagate;
    Context exact;
    const bool table = !computes && format.is_table();
    if (table && decode(format, zero_bits(format, false, exact)).kind == Kind::zero) return;
    if (within_fp32 && plain && format.has_sign) return;
    throw std::invalid_argument(fmt::format(
        "{} is a {}format with a sign, subnormals and fraction bits, within fp32, no one_nan_infinity, since the "
        "trainer computes by fields; {} is not: ulplab quantize rounds tensors to it",
        what, computes ? "" : "table of values with a zero, or a ", name_of(format)));
}

const LevelProperties& level_defaults(std::string_view level) {
    for (const auto& [name, properties] : levels()) {
        if (name == level) return properties;
    }
    throw std::invalid_argument(
        fmt::format("no optimisation level '{}'; there are O0, O1, O2, O3 (a letter O and a digit)", level));
}

Level::Level(std::string_view name, LevelProperties overrides)
    : name_(name), defaults_(level_defaults(name)), overrides_(std::move(overrides)), effective_(defaults_) {
    for (const auto& [property, value] : overrides_) {
        require_value(property, value);
        effective_[property] = value;
    }
    require_sensible();
}

void Level::require_sensible() const {
    const auto now = [this](const char* property) { return effective_.at(property); };
    if (name_ != "O1") {
        const std::string cast = now("cast_model_type");
        if (cast != "none" && now("master_weights") != "true") {
            require_kept("without master_weights=true cast_model_type", format_by_name(cast), true);
        }
        if (now("patch_functions") != "true") return;
        throw std::invalid_argument(fmt::format("{} converts the model; only O1 patches functions: choose O1", name_));
    }
    const auto refuse = [](const std::string& why) {
        throw std::invalid_argument("O1 inserts casts around functions and leaves the model in fp32, so " + why);
    };
    if (now("cast_model_type") != "none" && now("cast_model_type") != "fp32") {
        refuse("cast_model_type cannot be " + now("cast_model_type") + ": choose O2 or O3");
    }
    if (now("keep_batchnorm_fp32") != "none")
        refuse("keep_batchnorm_fp32 has no meaning: its batchnorm is in fp32 anyway");
    if (now("master_weights") != "none") refuse("master_weights has no meaning: its weights are the masters");
}

std::string Level::table() const {
    std::string text = fmt::format("{:<22}{:<14}{}\n", "level " + name_, "default", "effective");
    for (const auto& [property, value] : defaults_) {
        const std::string& now = effective_.at(property);
        text += fmt::format("{:<22}{:<14}{}{}\n", property, value, now,
                            overrides_.contains(property) ? "  (override)" : "");
    }
    return text;
}

LossScaleOptions Level::loss_scale() const {
    const std::string& text = effective_.at("loss_scale");
    return text == "dynamic" ? loss_scale_dialect("apex") : constant_loss_scale(*number_of(text));
}

Recipe Level::recipe() const {
    const std::string& cast = effective_.at("cast_model_type");
    Recipe recipe{.name = name_, .loss_scale = loss_scale()};
    if (effective_.at("patch_functions") == "true") {
        const CastList list = cast_list_by_name(effective_.at("cast_list"));
        recipe.low = list == CastList::pytorch_cpu ? formats::bf16 : formats::fp16;
        recipe.cast_rules = cast_rules_of(list);
        recipe.keep_batchnorm_fp32 = true;
        return recipe;
    }
    if (cast == "none" || cast == "fp32") return recipe;
    const FloatFormat format = format_by_name(cast);
    recipe.low = recipe.weights = recipe.inputs = recipe.operand = format;
    recipe.keep_batchnorm_fp32 = effective_.at("keep_batchnorm_fp32") == "true";
    recipe.master_weights = effective_.at("master_weights") == "true";
    if (recipe.master_weights) {
        // O2 casts the model's outputs to fp32, so what follows them, the loss, runs in fp32.
        for (const CastRule& rule : cast_rules_of(CastList::pytorch_cpu)) {
            if (rule.cast == Cast::single) recipe.cast_rules.push_back(rule);
        }
    } else {
        recipe.update = format;  // half-precision tensor arithmetic on the weights themselves
    }
    return recipe;
}

}  // namespace ulp
