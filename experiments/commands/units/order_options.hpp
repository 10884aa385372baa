// The option --order: in which order a product is added (softfloat/matrix_units/product.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "experiments/program/options.hpp"
#include "softfloat/matrix_units/product.hpp"

namespace ulp {

struct OrderOptions {
    int split_k = 1;
    std::int64_t piece_k = 0, slice_k = 0, tile_k = 0, promote = 0;
    bool narrow_sums = false;

    void declare(OptionParser& app);
    /// Takes "split=4,slice=32". Throws UsageError that lists the words.
    void take(const std::string& text);
    /// Without an epilogue. Throws UsageError for numbers out of range and orders that exclude each other.
    [[nodiscard]] ProductOrder order() const;
    /// Throws UsageError where there are more pieces than instructions in k.
    void require_pieces(std::int64_t k, int instruction_k) const;
};

}  // namespace ulp
