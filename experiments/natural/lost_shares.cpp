#include "experiments/natural/lost_shares.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/framework/values.hpp"

namespace ulp {

Shares shares_of_zeros(const std::vector<const StepHistograms*>& seeds, std::optional<int> exponent) {
    Shares shares;
    for (const StepHistograms* steps : seeds) {
        for (const auto& [step, h] : *steps) {
            const std::int64_t zeros = h.zeros() + (exponent ? h.below(-25 - *exponent) : 0);
            shares[step] += h.share(zeros) / static_cast<double>(seeds.size());
        }
    }
    return shares;
}

double largest_difference(const Shares& a, const Shares& b) {
    double largest = 0;
    for (const auto& [step, share] : a) largest = larger(largest, std::fabs(share - b.at(step)));
    return largest;
}

Series series_of(std::string name, const Shares& shares) {
    Series series{std::move(name)};
    for (const auto& [step, share] : shares) series.points.push_back({static_cast<double>(step), share});
    return series;
}

void draw_predicted_shares(Figure& figure, std::string label) {
    figure.axes = {{.label = "step"}, share_axis(std::move(label))};
    for (int i = 0; i < static_cast<int>(figure.series.size()); ++i) {
        figure.looks.push_back(i % 2 == 0 ? Look{.colour = i / 2 + 1, .width = 4}
                                          : Look{.mark = Mark::points, .colour = i / 2 + 1, .size = 1.6});
    }
}

}  // namespace ulp
