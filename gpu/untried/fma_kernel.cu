// fma.rn.f16 for all c of many pairs: a block a pair, a thread 256 c one after the other.
#include "gpu/untried/fma_classes.hpp"
#include "gpu/untried/function_kernels.hpp"

namespace ulp::gpu {
namespace {

constexpr int threads = 65536 / fma_classes::c_of_segment;

__device__ std::uint32_t fma_of_device(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    std::uint16_t result;
    asm("fma.rn.f16 %0, %1, %2, %3;"
        : "=h"(result)
        : "h"(static_cast<std::uint16_t>(a)), "h"(static_cast<std::uint16_t>(b)), "h"(static_cast<std::uint16_t>(c)));
    return result;
}

__global__ void __launch_bounds__(threads) ask_classes(std::uint64_t first, std::uint64_t count, FmaOnDevice* answers) {
    using namespace fma_classes;
    const std::uint32_t segment = threadIdx.x;
    FmaOnDevice own{0, 0, ~0ULL};
    for (std::uint64_t index = first + blockIdx.x; index < first + count; index += gridDim.x) {
        const Pair pair = pair_of(index);
        const Product product = product_of(pair.a, pair.b);
        std::uint64_t chain = 0;
        for (std::uint32_t i = 0; i < c_of_segment; ++i) {
            const std::uint32_t c = segment * c_of_segment + i;
            const std::uint32_t answer = fma_of_device(pair.a, pair.b, c ^ pair.c_sign);
            chain = next_in_segment(chain, answer);
            if (answer != fma(product, c ^ pair.c_sign)) {
                own.differ += 1;
                const unsigned long long place = index << 16 | c;
                if (place < own.first) own.first = place;
            }
        }
        own.digest += segment_digest(index, segment, chain);
    }
    atomicAdd(&answers->digest, own.digest);
    if (own.differ == 0) return;
    atomicAdd(&answers->differ, own.differ);
    atomicMin(&answers->first, own.first);
}

}  // namespace

void launch_fma_classes(std::uint64_t first, std::uint64_t count, FmaOnDevice* answers) {
    const auto blocks = static_cast<unsigned>(count < 65536 ? count : 65536);
    ask_classes<<<blocks, threads>>>(first, count, answers);
}

}  // namespace ulp::gpu
