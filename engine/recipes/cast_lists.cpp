#include "engine/recipes/cast_lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace ulp {
namespace {

constexpr Cast low = Cast::low;
constexpr Cast fp32 = Cast::single;
constexpr Cast pass = Cast::as_stored;
constexpr Cast banned = Cast::banned;

struct CastListRow {
    std::string_view op;
    Cast apex;
    Cast pytorch_cuda;
    Cast pytorch_cpu;
};
constexpr std::array table = {
    //                              apex    CUDA    CPU
    CastListRow{"linear", low, low, low},           CastListRow{"matmul", low, low, low},
    CastListRow{"conv1d", low, low, low},           CastListRow{"conv2d", low, low, low},
    CastListRow{"conv_transpose2d", low, low, low}, CastListRow{"prelu", low, low, pass},
    CastListRow{"exp", fp32, fp32, pass},           CastListRow{"expm1", fp32, fp32, pass},
    CastListRow{"log", fp32, fp32, pass},           CastListRow{"log1p", fp32, fp32, pass},
    CastListRow{"pow", fp32, fp32, pass},           CastListRow{"reciprocal", fp32, fp32, pass},
    CastListRow{"rsqrt", fp32, fp32, pass},         CastListRow{"sinh", fp32, fp32, pass},
    CastListRow{"cosh", fp32, fp32, pass},          CastListRow{"tan", fp32, fp32, pass},
    CastListRow{"acos", fp32, fp32, pass},          CastListRow{"asin", fp32, fp32, pass},
    CastListRow{"softplus", fp32, fp32, pass},      CastListRow{"sum", fp32, fp32, pass},
    CastListRow{"prod", fp32, fp32, fp32},          CastListRow{"cumsum", fp32, fp32, pass},
    CastListRow{"cumprod", fp32, fp32, pass},       CastListRow{"norm", fp32, fp32, pass},
    CastListRow{"std", fp32, pass, pass},           CastListRow{"var", fp32, pass, pass},
    CastListRow{"softmax", fp32, fp32, pass},       CastListRow{"log_softmax", fp32, fp32, pass},
    CastListRow{"gelu", fp32, pass, pass},          CastListRow{"layer_norm", fp32, fp32, pass},
    CastListRow{"group_norm", fp32, fp32, pass},    CastListRow{"cross_entropy", fp32, fp32, fp32},
    CastListRow{"rms_norm", pass, fp32, pass},      CastListRow{"top_k_softmax", fp32, fp32, pass},
    CastListRow{"mse", fp32, fp32, fp32},           CastListRow{"bce_with_logits", fp32, fp32, fp32},
    CastListRow{"ctc", fp32, fp32, fp32},           CastListRow{"binary_cross_entropy", banned, banned, fp32},
};

}  // namespace

CastList cast_list_by_name(std::string_view name) {
    if (name == "apex") return CastList::apex;
    if (name == "pytorch_cuda") return CastList::pytorch_cuda;
    if (name == "pytorch_cpu") return CastList::pytorch_cpu;
    throw std::invalid_argument(fmt::format("no cast list '{}'; there are apex, pytorch_cuda, pytorch_cpu", name));
}

std::vector<CastRule> cast_rules_of(CastList list) {
    std::vector<CastRule> rules;
    for (const CastListRow& row : table) {
        const Cast cast = list == CastList::apex           ? row.apex
                          : list == CastList::pytorch_cuda ? row.pytorch_cuda
                                                           : row.pytorch_cpu;
        if (cast != Cast::as_stored) rules.push_back({std::string(row.op), cast});
    }
    return rules;
}

std::span<const std::string_view> product_operations() {
    static constexpr std::string_view rows[] = {"linear", "matmul", "conv2d", "conv_transpose2d"};
    return rows;
}

Recipe with_fp32_operations(Recipe recipe, const std::vector<std::string>& operations) {
    const auto products = product_operations();
    for (const std::string& op : operations) {
        std::erase_if(recipe.cast_rules, [&](const CastRule& rule) { return rule.op == op; });
        recipe.cast_rules.push_back({op, Cast::single});
        if (op == "batch_norm") recipe.keep_batchnorm_fp32 = true;
        if (std::ranges::find(products, op) == products.end()) continue;
        std::erase_if(recipe.excluded, [&](const Exclusion& exclusion) { return exclusion.kind == op; });
        recipe.excluded.push_back({.kind = op, .recipe = "fp32"});
    }
    return recipe;
}

Recipe with_low_operations(Recipe recipe, const std::vector<std::string>& operations) {
    for (const std::string& op : operations) {
        std::erase_if(recipe.cast_rules, [&](const CastRule& rule) { return rule.op == op; });
        recipe.cast_rules.push_back({op, Cast::low});
        if (op == "batch_norm") recipe.keep_batchnorm_fp32 = false;
    }
    return recipe;
}

}  // namespace ulp
