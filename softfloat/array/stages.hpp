// Array operations are put together from kernels by way of a block of fp32 words that stays in the first-level cache:
// read (decode), perhaps operate, write (round and encode).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "softfloat/array/context.hpp"
#include "softfloat/array/kernels/kernel_table.hpp"
#include "softfloat/array/make_plan.hpp"
#include "softfloat/format.hpp"

namespace ulp::array {

/// Elements of a block.
inline constexpr std::size_t block_size = 1024;

/// Bytes of the word that holds a value: 1, 2, 4 or 8.
constexpr std::size_t bytes_of(const FloatFormat& format) {
    const int bits = format.storage_bits();
    return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

/// Storage words to fp32 words.
class Reader {
  public:
    /// Nothing if there is no kernel for the format. fp64 comes out rounded to odd.
    static std::optional<Reader> make(const FloatFormat& format, const KernelTable& kernels);
    /// `count` elements from the element `begin` on: the words, in `buffer` or where they were.
    const void* read(const void* from, std::size_t begin, std::size_t count, void* buffer) const;

  private:
    Reader() = default;
    RoundKernel kernel_ = nullptr;  // null: the words are fp32 already
    RoundingPlan plan_{};
    std::size_t bytes_ = 4;
};

/// fp32 words, rounded, to storage words.
class Writer {
  public:
    /// Nothing if there is no kernel for the format and context.
    static std::optional<Writer> make(const FloatFormat& format, const ArrayContext& context,
                                      const KernelTable& kernels);
    /// `count` elements to the element `begin` and on. With stochastic rounding, calls are made in order of `begin`.
    void write(const void* words, std::size_t begin, std::size_t count, void* to);
    [[nodiscard]] const RoundingPlan& plan() const { return plan_.constants; }

  private:
    Writer(const Plan& plan, const ArrayContext& context) : plan_(plan), context_(context) {}
    RoundKernel kernel_ = nullptr;
    RoundKernel widen_ = nullptr;  // fp64: after kernel_
    Plan plan_;
    ArrayContext context_;
    std::size_t bytes_ = 4;
};

/// Whether fp64 numbers, rounded to odd in fp32, can be rounded to the format from there: one of fp32's 24 digits tells
/// only that something was dropped.
bool by_odd_fp32(const FloatFormat& format, const ArrayContext& context);

}  // namespace ulp::array
