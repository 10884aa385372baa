#include "experiments/framework/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <tuple>

#include "softfloat/errors.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp {
namespace {

struct ChapterText {
    std::string_view name;
    std::string_view text;
};

constexpr std::array<ChapterText, 9> chapters = {{
    {"Formats",
     "A float is a sign, an exponent and a fraction. The exponent bits say how far a format reaches, the fraction bits "
     "how close its numbers lie. fp16 has more fraction than bf16 and less reach; tf32 takes the fraction of the one "
     "and the reach of the other; FP8 has little of both. All that follows comes from these two counts."},
    {"Overflow",
     "What leaves the range upwards becomes infinity, and infinity does not come back: a sum of squares, an "
     "exponential, a loss that was multiplied by too large a scale. See which operations leave fp16's range at what "
     "size, and that it matters in which format a sum is kept, not in which it is stored at the end."},
    {"Swamping",
     "What is too small beside the number it is added to vanishes without a sign. See the bound below which an update "
     "has no effect, how sums stop growing, and what a matrix unit keeps of small products beside a large one. "
     "Averages of weights and the running statistics of batch normalisations meet the same bound in ordinary training "
     "runs."},
    {"Underflow",
     "Gradients are small numbers, and what is too small for the format becomes zero. See where the threshold lies, "
     "how many gradients of a real net lie below it, and that a loss scale moves it by exactly its power of two."},
    {"Remedies",
     "Three things make fp16 training work: a copy of the weights in fp32, sums in fp32, and a scaled loss; for "
     "narrower formats, scales for blocks and other roundings. See each remedy taken away alone, and what then goes "
     "wrong: in nets made to show it, and in ordinary ones that are fine-tuned or whose learning rate decays."},
    {"Systems",
     "The same remedies in whole systems: nets that read, tell, find, fill and make pictures, trained in fp32 and in "
     "mixed precision with the same settings. See how large the difference is beside what another seed would change."},
    {"Language",
     "The same remedies in nets for text, speech and translation. See how large the difference between fp32 and mixed "
     "precision is beside what another seed would change, and how a loss scale that moves finds its place."},
    {"Hardware",
     "Matrix units of different generations add in different ways, so the same training gives other bits on each. See "
     "the first bit that differs, what an accumulator's width does to long sums, how much memory and time the formats "
     "save, and which published numbers follow from the arithmetic."},
    {"Agreement",
     "A sampler and a trainer, two batches, many ranks: the same weights and numbers, added in other orders, give "
     "other results. See how far apart they are, which of the differences is the format's and which the order's, and "
     "what it costs to make them equal."},
}};

}  // namespace

WordList::WordList(const char* text) {
    std::istringstream words(text);
    assign(std::istream_iterator<std::string>(words), {});
}

std::string_view chapter_name(Chapter chapter) { return chapters.at(static_cast<std::size_t>(chapter)).name; }
std::string_view chapter_text(Chapter chapter) { return chapters.at(static_cast<std::size_t>(chapter)).text; }

Chapter chapter_by_name(std::string_view name) {
    const auto found = std::find_if(chapters.begin(), chapters.end(), [&](const auto& c) { return c.name == name; });
    if (found == chapters.end()) throw DataError(fmt::format("there is no chapter \"{}\"", name));
    return static_cast<Chapter>(found - chapters.begin());
}

std::vector<Experiment> in_order_of_argument(std::vector<Experiment> experiments) {
    const auto place = [](const Experiment& e) { return std::tuple(e.place.chapter, e.place.number, e.name); };
    std::ranges::sort(experiments, {}, place);
    return experiments;
}

std::vector<const Experiment*> counterparts_of(const Experiment& experiment) {
    std::vector<const Experiment*> found;
    const auto names = [](const Experiment& one, const Experiment& other) {
        return one.effect && std::ranges::find(one.effect->natural, other.name) != one.effect->natural.end();
    };
    for (const Experiment& other : experiments()) {
        if (names(experiment, other) || names(other, experiment)) found.push_back(&other);
    }
    return found;
}

std::string origin_text(const Effect& effect) {
    return effect.inserted.empty() ? "Natural: nothing is inserted." : fmt::format("Constructed: {}.", effect.inserted);
}

std::vector<std::string> controls_of(std::string_view claim_id) {
    const std::size_t dot = claim_id.find('.');
    const auto all = experiments();
    const auto owner =
        std::find_if(all.begin(), all.end(), [&](const Experiment& e) { return e.name == claim_id.substr(0, dot); });
    std::vector<std::string> found;
    if (owner == all.end() || dot == std::string_view::npos) return found;
    for (const Control& control : owner->controls) {
        const bool names =
            std::find(control.fail.begin(), control.fail.end(), claim_id.substr(dot + 1)) != control.fail.end();
        const std::string off = fmt::format("{}", fmt::join(control.off, " "));
        if (names && std::ranges::find(found, off) == found.end()) found.push_back(off);
    }
    return found;
}

const Experiment& experiment_by_name(std::string_view name) {
    const auto all = experiments();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Experiment& e) { return e.name == name; });
    if (found != all.end()) return *found;
    std::vector<std::string> names;
    for (const Experiment& experiment : all) names.push_back(experiment.name);
    throw UsageError(fmt::format("there is no experiment \"{}\"; did you mean {}? choose from {}, or all", name,
                                 nearest_names(name, names, 1), fmt::join(names, ", ")));
}

Setting control_setting(const std::string& help, std::vector<std::string> controls) {
    controls.insert(controls.begin(), "none");
    return text_setting("control", help + ", to see the claims fail", "none", std::move(controls));
}

bool has_control(const RunContext& context, std::string_view control) {
    return context.settings.text("control") == control;
}

Setting wide_control() { return control_setting("wide uses fp32 instead of the 16-bit formats", {"wide"}); }

}  // namespace ulp
