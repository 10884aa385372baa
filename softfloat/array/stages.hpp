// Array operations are put together from kernels by way of a chunk of fp32 or fp64 words that stays in the first-level
// cache: read (decode), perhaps operate, write (round and encode).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "softfloat/array/context.hpp"
#include "softfloat/array/kernels/kernel_table.hpp"
#include "softfloat/array/make_plan.hpp"
#include "softfloat/format.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::array {

/// Elements of a chunk.
inline constexpr std::size_t chunk_size = 1024;

/// Bytes of the word that holds a value: 1, 2, 4 or 8.
constexpr std::size_t bytes_of(const FloatFormat& format) {
    const int bits = format.storage_bits();
    return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

/// Storage words to fp32 words; subnormals to zeros if the context flushes inputs.
class Reader {
  public:
    /// Nothing if there is no kernel for the format.
    static std::optional<Reader> make(const FloatFormat& format, const Context& context, const KernelTable& kernels);
    /// `count` elements from the element `begin` on: the words, in `buffer` or where they were.
    const void* read(const void* from, std::size_t begin, std::size_t count, void* buffer) const;

  private:
    Reader() = default;
    RoundKernel decode_ = nullptr;  // null: the words are fp32 already
    RoundKernel flush_ = nullptr;
    RoundingPlan plan_{};
    std::size_t bytes_ = 4;
};

/// Without flush_inputs, which is the reader's: what is written may be smaller than an operand's subnormals.
constexpr Context of_results(Context context) {
    context.flush_inputs = false;
    return context;
}

/// Words of the container (fp32 or fp64), rounded, to storage words.
template <class Word>
class BasicWriter {
  public:
    using RoundingPlan = BasicRoundingPlan<Word>;
    using Kernel = void (*)(const RoundingPlan&, const void* in, void* out, std::size_t count);
    /// Nothing if there is no kernel for the format and context.
    static std::optional<BasicWriter> make(const FloatFormat& format, const Context& context,
                                           const KernelTable& kernels);
    /// `count` elements to the element `begin` and on. With stochastic rounding, calls are made in order of `begin`.
    void write(const void* words, std::size_t begin, std::size_t count, void* to);
    [[nodiscard]] const RoundingPlan& plan() const { return plan_.constants; }

  private:
    BasicWriter(const BasicPlan<Word>& plan, const Context& context) : plan_(plan), context_(context) {}
    Kernel kernel_ = nullptr;
    BasicPlan<Word> plan_;
    Context context_;
    std::size_t bytes_ = 4;
};
using Writer = BasicWriter<std::uint32_t>;
using Writer64 = BasicWriter<std::uint64_t>;

/// How the kernels of kernels_truncated.hpp store the format; nothing where there are none.
std::optional<Storage> truncated_storage(const FloatFormat& format);

/// How many elements from `element` on have random numbers from blocks whose numbers have the same upper half.
constexpr std::uint64_t elements_of_upper_half(const Context& context, std::size_t element) {
    constexpr std::uint64_t positions = std::uint64_t{1} << 34;
    return positions - (context.first + element) % positions;
}
/// The random numbers of `count` elements from `begin` on, in the upper bits of words.
void make_random_words(const Context& context, std::size_t begin, std::size_t count, std::uint32_t* words,
                       const KernelTable& kernels);

/// Sets what the plan says of operands: flushed or not.
void plan_operands(RoundingPlan& plan, const FloatFormat& format, const Context& context);

}  // namespace ulp::array
#pragma GCC visibility pop
