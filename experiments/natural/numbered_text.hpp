// A text as numbers of its characters, for language models.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace ulp::natural {

struct NumberedText {
    std::vector<int> characters{};
    int classes = 0;

    explicit NumberedText(const std::string& text) {
        std::string seen = text;
        std::ranges::sort(seen);
        seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
        classes = static_cast<int>(seen.size());
        for (const char c : text)
            characters.push_back(static_cast<int>(std::ranges::lower_bound(seen, c) - seen.begin()));
    }
};

}  // namespace ulp::natural
