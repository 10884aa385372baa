#include "softfloat/matrix_units/policies.hpp"

#include <stdexcept>
#include <string>

#include "softfloat/support/nearest_names.hpp"

namespace ulp {

const PolicySet& policy_set(std::string_view name) {
    std::string names;
    for (const PolicySet& set : policy_sets) {
        if (equal_ignoring_case(set.name, name)) return set;
        names += (names.empty() ? "" : ", ") + std::string(set.name);
    }
    throw std::invalid_argument("there is no policy set '" + std::string(name) + "'; choose one of " + names);
}

std::string policy_words() {
    std::string words;
    for (const PolicySet& set : policy_sets) words += (words.empty() ? "" : ", ") + std::string(set.word);
    return words;
}

const PolicySet& policy_set_by_word(std::string_view word) {
    for (const PolicySet& set : policy_sets) {
        if (set.word == word) return set;
        if (equal_ignoring_case(set.name, word)) {
            throw std::invalid_argument("policy " + std::string(word) + " is now: " + std::string(set.word));
        }
    }
    throw std::invalid_argument("there is no policy set '" + std::string(word) + "'; choose one of " + policy_words());
}

}  // namespace ulp
