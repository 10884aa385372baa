#include "softfloat/quantization/layout.hpp"

#include <algorithm>

namespace ulp {

std::vector<float> gathered(const MatrixView& view, std::int64_t width) {
    std::vector<float> numbers(static_cast<std::size_t>(view.rows * width));
    constexpr std::int64_t tile = 16;  // rows whose cache lines are written side by side
    each_part((view.rows + tile - 1) / tile, tile * view.cols, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first * tile; i < std::min(last * tile, view.rows); i += tile) {
            const std::int64_t count = std::min(tile, view.rows - i);
            float* to = numbers.data() + i * width;
            if (view.col_stride == 1) {
                for (std::int64_t r = 0; r < count; ++r) std::copy_n(&view(i + r, 0), view.cols, to + r * width);
                continue;
            }
            for (std::int64_t j = 0; j < view.cols; ++j) {
                for (std::int64_t r = 0; r < count; ++r) to[r * width + j] = view(i + r, j);
            }
        }
    });
    return numbers;
}

}  // namespace ulp
