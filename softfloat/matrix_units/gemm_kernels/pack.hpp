// Operands in the order in which the kernels read them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "softfloat/format.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/gemm_kernels/panel.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::gemm_kernels {

// Arrays that begin on a cache line: a vector load that crosses lines costs two.

inline constexpr std::size_t cache_line = 64;

template <class T>
struct LineAllocator {
    using value_type = T;
    LineAllocator() = default;
    template <class U>
    LineAllocator(const LineAllocator<U>&) {}  // NOLINT: allocators convert

    T* allocate(std::size_t count) {
        return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{cache_line}));
    }
    void deallocate(T* p, std::size_t) { ::operator delete (p, std::align_val_t{cache_line}); }
    template <class U>
    bool operator==(const LineAllocator<U>&) const {
        return true;
    }
};

template <class T>
using AlignedVector = std::vector<T, LineAllocator<T>>;

/// How one operand's format lies in fp32. Throws nothing; formats without a grid here have no fast path.
Grid grid_of(const FloatFormat& format);

/// A format's largest finite number as an fp32 word.
std::uint32_t fp32_word_of_largest(const FloatFormat& format);

/// A c that no kernel with aligned sums may start from: not finite, huge, or so small that it could decide the largest
/// exponent.
inline bool is_suspect_addend(float c) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(c) & 0x7FFFFFFFU;
    return magnitude != 0 && (magnitude < (std::uint32_t{lowest_field} << 23) || magnitude >= (227U << 23));
}

/// In which order k is packed: ascending, or as the emulation of FP8 takes it (chain_dot.hpp).
struct KOrder {
    std::int64_t k = 0;            // of the problem
    std::int64_t groups = 0;       // packed groups, the last one filled with zeros
    int group = 0;                 // products of a group
    int emulated_instruction = 0;  // k of the emulated instruction, or 0

    /// The k that stands at position `place` of packed group g; from `k` on: a zero.
    [[nodiscard]] std::int64_t source(std::int64_t g, int place) const;
};

/// Some rows of A: values and exponent codes [group][row][k], in memory that the caller gives, packed_row_count of
/// each. Rows that hold what the kernels do not handle (infinities, NaNs, values beyond word_codes_limit) are special;
/// their entries count as zeros here.
struct PackedRows {
    float* values = nullptr;
    std::uint32_t* exponents = nullptr;
    std::uint64_t special = 0;  // bit i: row i
    bool crowded = false;       // whether the significands of a group of 16 add up to 31 or more
};
std::int64_t packed_row_count(const Kernels& kernels, const KOrder& order, std::int64_t rows);
void pack_rows(const Kernels& kernels, const FloatFormat& format, const Grid& grid, const KOrder& order,
               const MatrixView& a, PackedRows& packed);

/// A panel of B's columns, at most 4 vectors wide and filled up with zeros to what kernels compute: values
/// [group][k][column] and exponent codes, in memory that the caller gives.
struct PackedPanel {
    float* values = nullptr;
    std::uint32_t* exponents = nullptr;
    std::uint64_t special = 0;  // bit j: column j
};
struct PanelCounts {
    std::int64_t values, exponents;
};
PanelCounts packed_panel_counts(const Kernels& kernels, const Grid& grid, const KOrder& order);
void pack_panel(const Kernels& kernels, const FloatFormat& format, const Grid& grid, const KOrder& order,
                const MatrixView& b, PackedPanel& packed);

/// The packed operands of a piece of a product. Their memory stays from product to product: fresh pages would cost a
/// tenth of one.
class PackedMemory {
  public:
    std::vector<PackedRows> rows;     // [tile], rows_per_tile each
    std::vector<PackedPanel> panels;  // as many as were asked for

    /// Makes room for m rows and some panels that are packed in this order; for all pieces that are no larger.
    void fit(const Kernels& kernels, const Grid& b_grid, const KOrder& order, std::int64_t m, std::int64_t panel_count);

  private:
    AlignedVector<std::byte> memory_;  // values, then exponents
};

}  // namespace ulp::gemm_kernels
#pragma GCC visibility pop
