// Array operations on storage words, for formats known at run time. array.hpp has them for typed spans.
//
// Words are 1, 2, 4 or 8 bytes (bytes_of in stages.hpp), padding bits zero, in any alignment. Input and output are the
// same array, of words of the same size, or do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "softfloat/array/context.hpp"
#include "softfloat/array/operation.hpp"
#include "softfloat/format.hpp"
#include "softfloat/vector/simd_choice.hpp"

namespace ulp::array {

/// out[i] = convert_bits(to, from, in[i]).
void convert_words(const FloatFormat& to, const FloatFormat& from, const void* in, void* out, std::size_t count,
                   const Context& context, Simd simd);

/// a[i] op b[i], sqrt(a[i]), a[i] * b[i] + c[i]; operands that the operation has not are null.
struct Operands {
    const void* a;
    const void* b = nullptr;
    const void* c = nullptr;
};
void operate_words(const FloatFormat& format, Operation operation, const Operands& operands, void* out,
                   std::size_t count, const Context& context, Simd simd);

/// Throws std::invalid_argument that names the function and both sizes if they differ.
void require_same_size(std::string_view function, std::size_t from, std::size_t to);

/// Throws std::invalid_argument if the context's random_bits make no sense.
void require_sensible(const Context& context);

/// One element's storage word, for what has no kernel.
std::uint64_t load_word(const void* words, std::size_t bytes, std::size_t element);
void store_word(void* words, std::size_t bytes, std::size_t element, std::uint64_t word);

}  // namespace ulp::array
