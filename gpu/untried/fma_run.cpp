#include "gpu/untried/fma_run.hpp"

#include <algorithm>

#include "gpu/untried/fma_classes.hpp"
#include "softfloat/arithmetic.hpp"

namespace ulp::gpu {

std::uint32_t fma_by_definition(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    Context context;
    const std::uint64_t code = fma_bits<std::uint64_t>(formats::fp16, a, b, c, context);
    return is_nan(formats::fp16, code) ? fma_classes::nan : static_cast<std::uint32_t>(code);
}

FmaAnswers ask_fma(const FmaOnCodes& fma, std::uint64_t first, std::uint64_t count) {
    using namespace fma_classes;
    FmaAnswers answers;
    for (std::uint64_t index = first; index < first + count; ++index) {
        const Pair pair = pair_of(index);
        const Product product = product_of(pair.a, pair.b);
        for (std::uint32_t segment = 0; segment < 65536 / c_of_segment; ++segment) {
            std::uint64_t chain = 0;
            for (std::uint32_t i = 0; i < c_of_segment; ++i) {
                const std::uint32_t c = segment * c_of_segment + i;
                const std::uint32_t answer = fma(pair.a, pair.b, c ^ pair.c_sign);
                chain = next_in_segment(chain, answer);
                if (answer == fma_classes::fma(product, c ^ pair.c_sign)) continue;
                ++answers.differ;
                answers.first = std::min(answers.first, index << 16 | c);
            }
            answers.digest += segment_digest(index, segment, chain);
        }
    }
    return answers;
}

FmaAnswers ask_fma(const Executor& device, std::uint64_t first, std::uint64_t count) {
    return device.info().hardware ? ask_fma_on_cuda(first, count) : ask_fma(fma_by_definition, first, count);
}

}  // namespace ulp::gpu
