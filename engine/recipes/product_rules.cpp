#include "engine/recipes/product_rules.hpp"

#include <fmt/format.h>

#include "softfloat/format_names.hpp"

namespace ulp {

// Each list of names is all fields of its struct: a new one does not compile until it is here, too.
std::string text_of(const OperandRule& rule) {
    const auto& [how, history] = rule;
    if (!how) return "as it is";
    const auto& [length, most_recent, key] = history;
    return fmt::format("{}, history {} {} {}", text_of(*how), length, most_recent, static_cast<int>(key));
}

std::string text_of(const ProductRule& rule) {
    const auto& [a, b, promote_every, promote_to, output] = rule;
    return fmt::format("a: {}; b: {}; promote {} {}; output {}", text_of(a), text_of(b), promote_every,
                       name_of(promote_to), output ? name_of(*output) : "none");
}

std::string text_of(const Exclusion& exclusion) {
    const auto& [layer, kind, first, last, recipe] = exclusion;
    return fmt::format("layer '{}' kind '{}' first {} last {}: {}", layer, kind, first, last, recipe);
}

}  // namespace ulp
