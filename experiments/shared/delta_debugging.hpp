// The shortest list of names with which something still passes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace ulp {

inline std::vector<std::string> without(std::vector<std::string> names, const std::vector<std::string>& dropped) {
    std::erase_if(names,
                  [&](const std::string& n) { return std::find(dropped.begin(), dropped.end(), n) != dropped.end(); });
    return names;
}

/// Delta debugging (Zeller and Hildebrandt, 2002): drops chunks of the list, coarse ones first, as long as the rest
/// still passes. What remains is minimal: without any one of its elements it fails.
template <class Passes>
std::vector<std::string> smallest_passing(std::vector<std::string> list, const Passes& passes) {
    std::size_t chunks = 2;
    while (!list.empty()) {
        chunks = std::min(chunks, list.size());
        bool reduced = false;
        for (std::size_t c = 0; c < chunks && !reduced; ++c) {
            const auto first = list.begin() + static_cast<std::ptrdiff_t>(c * list.size() / chunks);
            const auto last = list.begin() + static_cast<std::ptrdiff_t>((c + 1) * list.size() / chunks);
            const std::vector<std::string> rest = without(list, {first, last});
            if (!passes(rest)) continue;
            list = rest;
            chunks = std::max<std::size_t>(chunks - 1, 2);
            reduced = true;
        }
        if (reduced) continue;
        if (chunks == list.size()) break;
        chunks *= 2;
    }
    return list;
}

}  // namespace ulp
