// Exercise: what an optimisation level of apex means, with overrides.
#include <stdexcept>

#include "engine/recipes/levels.hpp"
#include "experiments/course/exercises/common.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "level_table";
constexpr Word not_given = 0xFFFFFFFF;  // -1
constexpr std::size_t properties = 5;

constexpr const char* property_names[properties] = {"cast_model_type", "patch_functions", "keep_batchnorm_fp32",
                                                    "master_weights", "loss_scale"};
const std::vector<std::string>& values_of(std::size_t property) {
    static const std::vector<std::string> casts = {"none", "fp32", "fp16"};
    static const std::vector<std::string> flags = {"false", "true"};
    static const std::vector<std::string> choices = {"none", "false", "true"};
    static const std::vector<std::string> scales = {"dynamic", "1.0", "128"};
    static const std::vector<std::string>* const table[properties] = {&casts, &flags, &choices, &choices, &scales};
    return *table[property];
}
Word code_of(std::size_t property, const std::string& value) {
    const auto& values = values_of(property);
    for (Word i = 0; i < values.size(); ++i) {
        if (values[i] == value) return i;
    }
    throw std::logic_error("level_table: no code for " + value);
}

/// Question: level, then an override for each property or -1. Answer: 1 and the effective properties, or 0 (refused).
Words right_answer(const Words& question) {
    LevelProperties overrides;
    for (std::size_t i = 0; i < properties; ++i) {
        if (question[i + 1] != not_given) overrides[property_names[i]] = values_of(i)[question[i + 1]];
    }
    try {
        const Level level("O" + std::to_string(question[0]), overrides);
        Words answer{1};
        for (std::size_t i = 0; i < properties; ++i) {
            answer.push_back(code_of(i, level.effective().at(property_names[i])));
        }
        return answer;
    } catch (const std::invalid_argument&) {
        return {0};
    }
}

Words solve(const Words& question, std::string_view mistake) {
    Words asked = question;
    const Word level = question[0];
    const auto override_with = [&](std::size_t property, Word value) {
        if (asked[property + 1] == not_given) asked[property + 1] = value;
    };
    if (mistake == "overrides_ignored") asked = {level, not_given, not_given, not_given, not_given, not_given};
    if (mistake == "o2_batchnorm" && level == 2) override_with(2, 0);
    if (mistake == "o2_no_masters" && level == 2) override_with(3, 1);
    if (mistake == "o3_dynamic" && level == 3) override_with(4, 0);
    if (mistake == "o1_static" && level == 1) override_with(4, 1);
    const Words right = right_answer(asked);
    if (right[0] == 0 && mistake == "senseless_accepted") {
        Words answer = right_answer({level, not_given, not_given, not_given, not_given, not_given});
        for (std::size_t i = 0; i < properties; ++i) {
            if (question[i + 1] != not_given) answer[i + 1] = question[i + 1];
        }
        return answer;
    }
    bool overridden = false;
    for (std::size_t i = 0; i < properties; ++i) overridden = overridden || question[i + 1] != not_given;
    if (mistake == "o1_refuses_all" && level == 1 && overridden) return {0};
    if (mistake == "patch_anywhere" && right[0] == 0 && level != 1) {
        asked[2] = not_given;
        Words answer = right_answer(asked);
        answer[2] = question[2];
        return answer;
    }
    return right;
}

std::vector<Group> all_combinations() {
    const int counts[properties] = {3, 2, 3, 3, 3};
    const Ideas ideas(name, 0);
    Group defaults{"the defaults", 2, {"o2_batchnorm", "o2_no_masters", "o1_static", "o3_dynamic"}};
    Group overrides{"overrides", 2, {"overrides_ignored", "o1_refuses_all"}};
    Group refused{"combinations that are refused", 1, {"overrides_ignored", "senseless_accepted", "patch_anywhere"}};
    for (Word level = 0; level < 4; ++level) {
        Words question{level, 0, 0, 0, 0, 0};
        for (int code = 0; code < 4 * 3 * 4 * 4 * 4; ++code) {
            int rest = code;
            for (std::size_t i = 0; i < properties; ++i) {
                const int value = rest % (counts[i] + 1);
                rest /= counts[i] + 1;
                question[i + 1] = value == 0 ? not_given : static_cast<Word>(value - 1);
            }
            const bool accepted = right_answer(question)[0] == 1;
            ideas.add(code == 0 ? defaults : accepted ? overrides : refused, question);
            if (accepted && code % 7 == 1) ideas.add(refused, question);  // that not all are refused
        }
    }
    return {defaults, overrides, refused};
}

std::vector<Group> hidden(std::uint64_t /*seed: these are all combinations*/) {
    static const std::vector<Group> groups = all_combinations();
    return groups;
}

}  // namespace

Exercise level_table_exercise() {
    return {name,
            "The table of optimisation levels",
            "i",
            "i",
            {{"overrides_ignored", "ignores the overrides"},
             {"senseless_accepted", "accepts combinations that make no sense"},
             {"patch_anywhere", "lets other levels than O1 patch functions"},
             {"o1_refuses_all", "refuses every override of O1; its loss scale, for one, may be chosen"},
             {"o2_batchnorm", "does not keep batch normalisation in fp32 at O2"},
             {"o2_no_masters", "gives O2 no master weights"},
             {"o1_static", "gives O1 a static loss scale; it is dynamic"},
             {"o3_dynamic", "gives O3 a dynamic loss scale; it is 1"}},
            solve,
            hidden,
            "level! cast_model_type! patch_functions! keep_batchnorm_fp32! master_weights! loss_scale!",
            "accepted cast_model_type patch_functions keep_batchnorm_fp32 master_weights loss_scale",
            {},
            true};
}

}  // namespace ulp::course
