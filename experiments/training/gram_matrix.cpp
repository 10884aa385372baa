#include "experiments/training/gram_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "experiments/training/texture_features.hpp"
#include "softfloat/round.hpp"

namespace ulp {
namespace {

double sum_of_squares(std::span<const float> values) {
    return std::accumulate(values.begin(), values.end(), 0.0,
                           [](double sum, float f) { return sum + static_cast<double>(f) * static_cast<double>(f); });
}

}  // namespace

Var style_maps_of(Var images, const Tensor& kernel, double range) {
    const Var pixels = scaled(images, range);
    const Var found = texture_maps(pixels, images.tape->input(kernel));
    return reshape(found, {found.dim(0), found.dim(1), found.dim(2) * found.dim(3)});
}

Var gram_of(Var maps, Division division) {
    const auto pixels = static_cast<double>(maps.dim(2));
    if (division == Division::after_product) return scaled(matmul(maps, maps, true), 1 / pixels);
    const Var divided = scaled(maps, 1 / std::sqrt(pixels));
    return matmul(divided, divided, true);
}

std::vector<float> largest_map(const std::vector<Tensor>& pictures) {
    std::vector<std::vector<float>> maps(static_cast<std::size_t>(pictures.front().dim(1)));
    for (const Tensor& found : pictures) {
        const Index pixels = found.size() / found.dim(0) / found.dim(1);
        for (Index i = 0; i < found.size(); ++i) {
            maps[static_cast<std::size_t>(i / pixels % found.dim(1))].push_back(round_to(formats::fp16, found[i]));
        }
    }
    return *std::max_element(maps.begin(), maps.end(),
                             [](const auto& a, const auto& b) { return sum_of_squares(a) < sum_of_squares(b); });
}

double GramEntry::exact(std::size_t pixels) const { return sum_of_squares(map.first(pixels)); }

float GramEntry::summed(std::size_t pixels, const ProductTypes& types) const {
    return dot(*unit, types, map.first(pixels), map.first(pixels));
}

float GramEntry::in_storage(std::size_t pixels) const { return round_to(stored, summed(pixels)); }

std::size_t GramEntry::first(const std::function<bool(std::size_t)>& large) const {
    std::size_t below = 0;
    std::size_t above = map.size() + 1;
    while (above - below > 1) {
        const std::size_t middle = (below + above) / 2;
        (large(middle) ? above : below) = middle;
    }
    return above;
}

std::size_t GramEntry::first_infinite() const {
    return first([&](std::size_t pixels) { return std::isinf(in_storage(pixels)); });
}

}  // namespace ulp
