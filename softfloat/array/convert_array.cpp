#include <algorithm>

#include "softfloat/array/environment.hpp"
#include "softfloat/array/stages.hpp"
#include "softfloat/array/words.hpp"
#include "softfloat/round.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp::array {
namespace {

/// Whether conversion by way of fp32 gives the bits of the direct one.
bool by_way_of_fp32(const FloatFormat& to, const FloatFormat& from, const ArrayContext& context) {
    if (context.flush_inputs && !(from == formats::fp32)) return false;  // the plan knows only fp32's subnormals
    if (to == formats::fp64) return !context.saturate && !context.flush_outputs && !(from == formats::fp64);
    return !(from == formats::fp64) || by_odd_fp32(to, context);
}

void convert_each(const FloatFormat& to, const FloatFormat& from, const void* in, void* out, std::size_t count,
                  const ArrayContext& context) {
    for (std::size_t i = 0; i < count; ++i) {
        Context scalar = scalar_context(context, i);
        const std::uint64_t bits = load_word(in, bytes_of(from), i);
        store_word(out, bytes_of(to), i, convert_bits(to, from, bits, scalar));
    }
}

}  // namespace

void convert_words(const FloatFormat& to, const FloatFormat& from, const void* in, void* out, std::size_t count,
                   const ArrayContext& context, Simd simd) {
    require_sensible(context);
    const KernelTable& kernels = kernels_of<KernelTable>(simd);
    const auto reader = Reader::make(from, kernels);
    auto writer = Writer::make(to, context, kernels);
    if (!reader || !writer || !by_way_of_fp32(to, from, context)) {
        convert_each(to, from, in, out, count, context);
        return;
    }
    const FloatEnvironment environment(Rounding::nearest_even);
    alignas(64) std::uint32_t buffer[block_size];
    for (std::size_t begin = 0; begin < count; begin += block_size) {
        const std::size_t now = std::min(block_size, count - begin);
        writer->write(reader->read(in, begin, now, buffer), begin, now, out);
    }
}

}  // namespace ulp::array
