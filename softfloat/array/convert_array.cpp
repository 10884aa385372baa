#include <algorithm>

#include "softfloat/array/environment.hpp"
#include "softfloat/array/path.hpp"
#include "softfloat/array/stages.hpp"
#include "softfloat/array/steps.hpp"
#include "softfloat/array/words.hpp"
#include "softfloat/round.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp::array {
namespace {

void convert_each(const FloatFormat& to, const FloatFormat& from, const void* in, void* out, std::size_t count,
                  const Context& context) {
    for (std::size_t i = 0; i < count; ++i) {
        Context scalar = scalar_context(context, i);
        const std::uint64_t bits = load_word(in, bytes_of(from), i);
        store_word(out, bytes_of(to), i, convert_bits(to, from, bits, scalar));
    }
}

/// Calls f(words, begin, count) with the fp32 words of each chunk.
template <class Function>
void each_chunk(const Reader& reader, const void* in, std::size_t count, const Function& f) {
    alignas(64) std::uint32_t buffer[chunk_size];
    for (std::size_t begin = 0; begin < count; begin += chunk_size) {
        const std::size_t now = std::min(chunk_size, count - begin);
        f(reader.read(in, begin, now, buffer), begin, now);
    }
}

/// By way of fp32 numbers rounded to odd.
void convert_by_odd(const void* in, Writer writer, void* out, std::size_t count, const KernelTable& kernels) {
    alignas(64) std::uint32_t buffer[chunk_size];
    const auto* from = static_cast<const double*>(in);
    for (std::size_t begin = 0; begin < count; begin += chunk_size) {
        const std::size_t now = std::min(chunk_size, count - begin);
        kernels.narrow_odd({}, from + begin, buffer, now);
        writer.write(buffer, begin, now, out);
    }
}

/// To fp64 every fp32 number is exact; only an infinity may become another number.
void widen(const Reader& reader, const void* in, void* out, std::size_t count, const Context& context,
           const KernelTable& kernels) {
    auto* to = static_cast<double*>(out);
    auto writer = Writer64::make(formats::fp64, of_results(context), kernels);
    each_chunk(reader, in, count, [&](const void* words, std::size_t begin, std::size_t now) {
        kernels.widen({}, words, to + begin, now);
        if (context.saturate) writer->write(to + begin, begin, now, to);
    });
}

}  // namespace

void convert_words(const FloatFormat& to, const FloatFormat& from, const void* in, void* out, std::size_t count,
                   const Context& context, Simd simd) {
    const Path path = choose_path(to, from, context, simd);
    if (path.kernel == Kernel::scalar_loop) return convert_each(to, from, in, out, count, context);
    if (path.kernel == Kernel::steps) {
        return from == formats::fp32 ? steps_to(to, context)->encode(static_cast<const float*>(in), out, count)
                                     : decode_by_table(from, context, in, static_cast<float*>(out), count);
    }
    const KernelTable& kernels = kernels_of<KernelTable>(path.simd);
    const FloatEnvironment environment(Rounding::nearest_even);
    if (from == formats::fp64 && path.kernel == Kernel::fp32_words) {
        return convert_by_odd(in, *Writer::make(to, context, kernels), out, count, kernels);
    }
    if (from == formats::fp64) return Writer64::make(to, context, kernels)->write(in, 0, count, out);
    const auto reader = Reader::make(from, context, kernels);
    if (path.kernel == Kernel::fp64_words) return widen(*reader, in, out, count, context, kernels);
    auto writer = Writer::make(to, of_results(context), kernels);
    each_chunk(*reader, in, count,
               [&](const void* words, std::size_t begin, std::size_t now) { writer->write(words, begin, now, out); });
}

}  // namespace ulp::array
