#include "softfloat/quantization/layout.hpp"

#include <algorithm>

#include "softfloat/support/copy_matrix.hpp"

namespace ulp {

std::pmr::vector<float> gathered(const MatrixView& view, std::int64_t width, std::pmr::memory_resource* memory) {
    const std::int64_t size = view.rows * width;
    if (view.row_major() && view.row_stride == width && view.cols == width) {
        return {view.data, view.data + size, memory};  // without zeros first
    }
    std::pmr::vector<float> numbers(static_cast<std::size_t>(size), memory);
    constexpr std::int64_t tile = 16;  // rows whose cache lines are written side by side
    each_part((view.rows + tile - 1) / tile, tile * view.cols, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first * tile; i < std::min(last * tile, view.rows); i += tile) {
            const std::int64_t count = std::min(tile, view.rows - i);
            support::copy_matrix(view.part(i, 0, count, view.cols),
                                 MutableMatrixView(numbers.data() + i * width, count, view.cols, width, 1));
        }
    });
    return numbers;
}

}  // namespace ulp
