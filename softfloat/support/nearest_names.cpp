#include "softfloat/support/nearest_names.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace ulp {

namespace {

bool alike(char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
}

/// The edit distance with weights: 1 for a character that `wrong` lacks, 3 for one too many, 2 for another one.
int changes(std::string_view wrong, std::string_view name) {
    std::vector<int> row(name.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (const char c : wrong) {
        int diagonal = row[0];
        row[0] += 3;
        for (std::size_t j = 0; j < name.size(); ++j) {
            const int replaced = diagonal + (alike(c, name[j]) ? 0 : 2);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j + 1] + 3, row[j] + 1});
        }
    }
    return row.back();
}

}  // namespace

bool equal_ignoring_case(std::string_view x, std::string_view y) { return std::equal(x.begin(), x.end(), y.begin(), y.end(), alike); }

std::string nearest_names(std::string_view wrong, std::span<const std::string> names, std::size_t most) {
    std::vector<std::pair<int, std::string_view>> ranked;
    for (const std::string& name : names) ranked.emplace_back(changes(wrong, name), name);
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    std::string text;
    for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) {
        text += (i == 0 ? "" : ", ") + std::string(ranked[i].second);
    }
    return text;
}

}  // namespace ulp
