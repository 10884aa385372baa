#include "engine/data/dataset.hpp"

#include <numeric>
#include <utility>

#include "engine/files/sha256.hpp"
#include "engine/tensor/random.hpp"

namespace ulp {

Dataset Dataset::slice(Index first, Index count) const {
    Dataset part{channels, height, width, classes, {}, {}};
    const Index each = features();
    part.pixels.assign(pixels.begin() + first * each, pixels.begin() + (first + count) * each);
    part.labels.assign(labels.begin() + first, labels.begin() + first + count);
    return part;
}

std::string Dataset::digest() const {
    return Sha256().add(std::span<const std::uint8_t>(pixels)).add(std::span<const std::uint8_t>(labels)).hex();
}

Batch batch_of(const Dataset& data, const std::vector<Index>& which) {
    Batch batch{Matrix(static_cast<Index>(which.size()), data.features()), {}};
    for (Index i = 0; i < batch.images.rows(); ++i) {
        const Index image = which[static_cast<std::size_t>(i)];
        const std::uint8_t* pixel = data.pixels.data() + image * data.features();
        for (Index j = 0; j < data.features(); ++j) batch.images(i, j) = static_cast<float>(pixel[j]) / 255.0F;
        batch.labels.push_back(data.labels[static_cast<std::size_t>(image)]);
    }
    return batch;
}

std::vector<Index> index_range(Index first, Index end) {
    std::vector<Index> numbers(static_cast<std::size_t>(end - first));
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
}

}  // namespace ulp
