// fp64 mode's products: no backend holds its numbers.
#include "engine/tape/scaled_matmul.hpp"

namespace ulp::inline ULPLAB_MODE {

ByteCount scaled_matmul(const Engine&, Run&, const ProductTypes&, ProductPurpose,
                        std::span<const MatrixProduct> products) {
    for (const auto& [a, b, d] : products) {
        for (Index i = 0; i < a.rows; ++i) {
            for (Index j = 0; j < b.cols; ++j) {
                double sum = 0;
                for (Index k = 0; k < a.cols; ++k) sum += a(i, k) * b(k, j);
                d(i, j) = sum;
            }
        }
    }
    return {};
}

}  // namespace ulp::inline ULPLAB_MODE
