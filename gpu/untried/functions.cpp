#include "gpu/untried/functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "gpu/instructions/input_classes.hpp"
#include "gpu/untried/fma_classes.hpp"
#include "gpu/untried/function_models.hpp"
#include "softfloat/arithmetic.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {
namespace {

/// The kinds of function_models.hpp.
enum class Operands : std::uint8_t {
    fp32_to_fp32,
    fp32_to_word,
    half_to_half,
    fp32_to_half,
    half_to_fp32,
    two_halves,
    three_halves,
    fp32_to_halves,
    fp32_to_pair,
    fp32_to_nibbles,
    halves_to_pair,
    pair_to_halves,
    nibbles_to_halves,
    two_stochastic,
    four_stochastic,
    four_stochastic_nibbles,
    words_of_warp,
    floats_of_warp,
    shared_atomic_of_warp,
    global_atomic_of_warp
};

constexpr int operand_bits(Operands kind) {
    switch (kind) {
        case Operands::half_to_half:
        case Operands::half_to_fp32:
        case Operands::halves_to_pair: return 16;
        case Operands::pair_to_halves: return 8;
        case Operands::nibbles_to_halves: return 4;
        default: return 32;
    }
}

}  // namespace

std::span<const HardwareFunction> hardware_functions() {
#define ULPLAB_ROW(minimum, exact, kind, name, Model)      \
    {name,                                                 \
     operand_bits(Operands::kind),                         \
     {minimum, exact},                                     \
     models::Model::known ? models::Model::bits : nullptr, \
     models::Model::stated},
#define ULPLAB_ROW_SM80(Type, ...) ULPLAB_ROW(80, false, __VA_ARGS__)
#define ULPLAB_ROW_SM90(Type, ...) ULPLAB_ROW(90, false, __VA_ARGS__)
#define ULPLAB_ROW_SM100(Type, ...) ULPLAB_ROW(100, false, __VA_ARGS__)
#define ULPLAB_ROW_SM100_ONLY(Type, ...) ULPLAB_ROW(100, true, __VA_ARGS__)
    static const HardwareFunction table[] = {ULPLAB_HARDWARE_FUNCTIONS_SM80(ULPLAB_ROW_SM80)
                                                 ULPLAB_HARDWARE_FUNCTIONS_SM90(ULPLAB_ROW_SM90)
                                                     ULPLAB_HARDWARE_FUNCTIONS_SM100(ULPLAB_ROW_SM100)
                                                         ULPLAB_HARDWARE_FUNCTIONS_SM100_ONLY(ULPLAB_ROW_SM100_ONLY)};
    return table;
}

const HardwareFunction& hardware_function_by_name(std::string_view name) {
    const auto found = std::ranges::find(hardware_functions(), name, &HardwareFunction::name);
    if (found != hardware_functions().end()) return *found;
    std::string names;
    for (const HardwareFunction& each : hardware_functions()) names += fmt::format(" {}", each.name);
    throw UsageError(fmt::format("there is no function \"{}\"; choose from{}", name, names));
}

FunctionAnswers ask_function(const Executor& device, const HardwareFunction& function, std::uint32_t first,
                             std::uint64_t count, bool keep) {
    if (!function.availability.on(device.info().architecture)) {
        throw UsageError(fmt::format("{} has no {}, which needs {}", device.info().name, function.name,
                                     architecture_name(function.availability.minimum)));
    }
    if (device.info().hardware) return ask_function_on_cuda(function, first, count, keep);
    if (function.model == nullptr) {
        throw UsageError(fmt::format("nothing says which bits {} gives: only a GPU can be asked", function.name));
    }
    FunctionAnswers answers;
    for (std::uint64_t i = first; i < first + count; ++i) {
        const std::uint32_t result = function.model(static_cast<std::uint32_t>(i));
        answers.digest += digest_term(i, result);
        if (keep) answers.results.push_back(result);
    }
    return answers;
}

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
