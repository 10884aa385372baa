// The options of the commands that train a net.
#pragma once

#include <memory>
#include <string>

#include "engine/nets/net_options.hpp"
#include "engine/products/matmul.hpp"
#include "experiments/framework/options.hpp"

namespace ulp {

/// --net and what is behind it: data, optimizer, steps, weights and seed.
void declare_net(OptionParser& app, NetOptions& options);
/// --recipe, --level, --set, --fp32, --low, --loss-scale and --statistics.
void declare_arithmetic(OptionParser& app, NetOptions& options);
void declare_backend(OptionParser& app, NetOptions& options);
/// "Recipes:" and a line for each.
std::string recipe_lines();
/// "a, b, c" of the names of rows.
template <class Rows, class Name>
std::string names_of(const Rows& rows, const Name& name_of_row) {
    std::string names;
    for (const auto& row : rows) {
        const std::string name(name_of_row(row));
        if (!name.empty()) names += (names.empty() ? "" : ", ") + name;
    }
    return names;
}
/// The recipe of the options; prints the level's table where there is one.
Recipe announced_recipe(const NetOptions& options);
/// The way back. Throws UsageError for an option that is not one of a training.
NetOptions net_options_of(const std::vector<std::pair<std::string, std::string>>& words);

// Where two training runs of one net part that differ in what multiplies.

/// Trains the options' net on both backends in step. Empty if they do not differ; else in words: the step and the
/// product that differ first (its place in the step, layer, pass, types and shapes), the element of it with both
/// results, the first parameter and element that differ later, after which step, and the product's operands; or the
/// parameter alone, if no product differs before it.
std::string first_training_difference(std::unique_ptr<MatmulBackend> a, std::unique_ptr<MatmulBackend> b,
                                      const NetOptions& options);

}  // namespace ulp
