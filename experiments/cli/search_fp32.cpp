// `ulplab search fp32`: delta debugging over the operations of a net.
#include "engine/recipes/recipe.hpp"
#include "experiments/cli/search_parts.hpp"
#include "experiments/shared/delta_debugging.hpp"

namespace ulp {
namespace {

using Operations = std::vector<std::string>;

std::string listed_operations(const Operations& names) {
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

/// One search: lists of operations in fp32, and whether the net trains with them.
class Fp32Search {
  public:
    Fp32Search(const SearchOptions& options, const NetDescription& net)
        : options_(options),
          trials_(trials_of(options, net)),
          recipe_(announced_recipe(options)),
          operations_(without(operations_of(net, task_of(net, options, options.seed)), options.fp32)) {
        require_operations(options, operations_of(net, task_of(net, options, options.seed)));
        if (recipe_.low == formats::fp32) {
            throw UsageError(fmt::format(
                "recipe {} has everything in fp32; choose one with narrower formats, as mixed_fp16", recipe_.name));
        }
    }
    ExitCode run();

  private:
    [[nodiscard]] Recipe with(const Operations& list) const {
        return with_fp32_operations(with_low_operations(recipe_, operations_), list);
    }
    [[nodiscard]] Arithmetic arithmetic(const Operations& list) const {
        Recipe recipe = with(list);
        const std::string backend = backend_for(options_, recipe);
        return {"fp32 list: " + listed_operations(list), std::move(recipe), backend};
    }
    double difference(const Operations& list) {
        const std::vector<Trial> runs = trials_.over_seeds({arithmetic(list)}, options_.seeds);
        return worst_difference(trials_.results(runs), *reference_);
    }
    bool passes(const Operations& list) { return difference(list) <= reference_->room; }
    void print_costs(const Operations& list);

    const SearchOptions options_;
    Trials trials_;
    const Recipe recipe_;
    const Operations operations_;
    std::optional<SearchReference> reference_;
};

void Fp32Search::print_costs(const Operations& list) {
    const std::int64_t bytes = trials_.bytes_of_step(arithmetic(list));
    fmt::print("  {:<20} {:>24} {:>22}\n", "operation", "loss - fp32 without it", "bytes that fp32 costs");
    for (const std::string& operation : list) {
        const Operations rest = without(list, {operation});
        fmt::print("  {:<20} {:>24} {:>22}\n", operation, difference_text(difference(rest)),
                   bytes - trials_.bytes_of_step(arithmetic(rest)));
    }
}

ExitCode Fp32Search::run() {
    fmt::print("operations: {}\n", listed_operations(operations_));
    reference_ = reference_of(trials_, options_, false);
    if (!reference_) return ExitCode::claim_failed;
    const double all = difference(operations_);
    if (!(all <= reference_->room)) {
        fmt::print(
            "Nothing found: with all operations in fp32 the loss of {} still differs from fp32's by {} (margin {}). "
            "What is left in {} are weights and inputs; `ulplab search scale` or another --recipe may help.\n",
            recipe_.name, difference_text(all), room_text(options_, *reference_), recipe_.name);
        return ExitCode::claim_failed;
    }
    if (passes({})) {
        fmt::print("{} trains with every operation in low precision: no operation must stay in fp32.\n", recipe_.name);
        return ExitCode::good;
    }
    const Operations found = smallest_passing(operations_, [this](const Operations& list) { return passes(list); });
    fmt::print("fp32 must stay: {} ({} of {} operations); loss - fp32 is {} (margin {}, worst of {} seeds)\n",
               listed_operations(found), found.size(), operations_.size(), difference_text(difference(found)),
               room_text(options_, *reference_), options_.seeds);
    print_costs(found);
    fmt::print(
        "The list is minimal: without any one of its operations the net misses the margin.\n"
        "To train with it, give ulplab train the same options and --fp32 {} --low {}\n",
        fmt::join(found, ","), fmt::join(without(operations_, found), ","));
    return ExitCode::good;
}

}  // namespace

ExitCode search_fp32(const SearchOptions& options) { return Fp32Search(options, net_of(options.net)).run(); }

Action declare_search_fp32(OptionParser& app) {
    const auto options = std::make_shared<SearchOptions>();
    declare_search(app, *options);
    declare_arithmetic(app, *options);
    return [options] { return search_fp32(*options); };
}

}  // namespace ulp
