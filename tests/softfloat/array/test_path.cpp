// The choice of a kernel: every combination of options takes a vector kernel, or says why it does not.
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "operands.hpp"
#include "softfloat/array/array.hpp"
#include "softfloat/names.hpp"

namespace {

using ulp::Context;
using ulp::FloatFormat;
using ulp::Rounding;
using ulp::Simd;
using ulp::array::Kernel;
using ulp::array::Path;

std::vector<Context> all_contexts() {
    std::vector<Context> contexts;
    auto roundings = ulp::test::deterministic_roundings();
    roundings.push_back(Rounding::stochastic);
    for (const Rounding rounding : roundings) {
        for (int options = 0; options < 16; ++options) {
            Context context{.rounding = rounding};
            if ((options & 1) != 0) context.tininess = ulp::Tininess::before_rounding;
            context.flush_inputs = (options & 2) != 0;
            context.flush_outputs = (options & 4) != 0;
            context.saturate = (options & 8) != 0;
            for (const int bits : {1, 16, 27, 28, 32}) {
                context.random_bits = bits;
                contexts.push_back(context);
                if (rounding != Rounding::stochastic) break;
            }
        }
    }
    return contexts;
}

/// Counts the paths that are a vector kernel where none is expected, or the other way round.
struct Tally {
    std::size_t wrong = 0;
    std::string first;
    void count(const Path& path, bool vectorised, const std::string& what) {
        const bool speaks = !path.reason.empty() && !name_of(path.kernel).empty();
        if ((path.kernel != Kernel::scalar_loop) == vectorised && speaks) return;
        if (wrong++ == 0) first = what + ": " + std::string(name_of(path.kernel)) + ", " + std::string(path.reason);
    }
};

const char* const vectorised_formats[] = {"fp32",     "tf32",     "bf16", "fp16", "e5m2", "e4m3",
                                          "e5m2fnuz", "e4m3fnuz", "e3m2", "e2m3", "e2m1"};

}  // namespace

TEST_CASE("rounding and conversion take a vector kernel with every option") {
    Tally tally;
    for (const char* const name : vectorised_formats) {
        const FloatFormat format = ulp::format_by_name(name);
        for (const Context& context : all_contexts()) {
            for (const Simd simd : ulp::supported_simd()) {
                for (const FloatFormat& container : {ulp::formats::fp32, ulp::formats::fp64}) {
                    tally.count(ulp::array::choose_round_path(format, container, context, simd), true, name);
                    tally.count(ulp::array::choose_path(format, container, context, simd), true, name);
                    tally.count(ulp::array::choose_path(container, format, context, simd), true, name);
                }
            }
        }
    }
    CAPTURE(tally.first);
    CHECK(tally.wrong == 0);
}

TEST_CASE("arithmetic takes a vector kernel with every option") {
    Tally tally;
    for (const char* const name : vectorised_formats) {
        const FloatFormat format = ulp::format_by_name(name);
        for (const Context& context : all_contexts()) {
            for (const Simd simd : ulp::supported_simd()) {
                for (int i = 0; i < ulp::array::operations; ++i) {
                    const auto operation = static_cast<ulp::array::Operation>(i);
                    tally.count(choose_path(operation, format, context, simd), true, name);
                }
            }
        }
    }
    CAPTURE(tally.first);
    CHECK(tally.wrong == 0);
}

TEST_CASE("the scalar loop says why") {
    const Path scale = ulp::array::choose_path(ulp::array::op_add, ulp::formats::e8m0, {});
    CHECK(scale.kernel == Kernel::scalar_loop);
    CHECK(scale.reason == "no kernel reads the format's storage words as fp32 numbers");
    const Path wide = ulp::array::choose_path(ulp::array::op_add, ulp::formats::fp64, {});
    CHECK(wide.kernel == Kernel::scalar_loop);
    CHECK_THROWS_AS(
        choose_path(ulp::array::op_add, ulp::formats::fp16, {.rounding = Rounding::stochastic, .random_bits = 0}),
        std::invalid_argument);
}

TEST_CASE("the default of each format is the kernel that the page of speeds names") {
    const auto kernel = [](const FloatFormat& format) {
        return ulp::array::choose_path(ulp::array::op_add, format, {}, Simd::portable).kernel;
    };
    CHECK(kernel(ulp::formats::fp32) == Kernel::processor);
    CHECK(kernel(ulp::formats::fp16) == Kernel::half_nearest);
    CHECK(kernel(ulp::formats::bf16) == Kernel::bfloat_nearest);
    CHECK(kernel(ulp::formats::e4m3) == Kernel::odd_in_single);
    CHECK(kernel(ulp::formats::tf32) == Kernel::odd_by_double);
}

TEST_CASE("fp64 numbers become short ones by way of fp32, but where more digits or the operands' own size decide") {
    const auto kernel = [](const FloatFormat& format, const Context& context) {
        return ulp::array::choose_path(format, ulp::formats::fp64, context, Simd::portable).kernel;
    };
    CHECK(kernel(ulp::formats::fp16, {}) == Kernel::fp32_words);
    CHECK(kernel(ulp::formats::e4m3, {.rounding = Rounding::up}) == Kernel::fp32_words);
    CHECK(kernel(ulp::formats::fp16, {.flush_inputs = true}) == Kernel::fp64_words);
    CHECK(kernel(ulp::formats::fp16, {.rounding = Rounding::stochastic, .random_bits = 1}) == Kernel::fp64_words);
    CHECK(kernel(ulp::formats::fp32, {}) == Kernel::fp64_words);
}

TEST_CASE("fp32 is rounded to fp16 by the processor's conversions where it has them and no option is set") {
    const auto kernel = [](const FloatFormat& format, const Context& context, Simd simd) {
        return ulp::array::choose_round_path(format, ulp::formats::fp32, context, simd).kernel;
    };
    for (const Simd simd : ulp::supported_simd()) {
        const bool converts = simd != Simd::portable;
        CHECK(kernel(ulp::formats::fp16, {}, simd) == (converts ? Kernel::half_nearest : Kernel::fp32_words));
        CHECK(kernel(ulp::formats::fp16, {.saturate = true}, simd) == Kernel::fp32_words);
        CHECK(kernel(ulp::formats::fp16, {.flush_outputs = true}, simd) == Kernel::fp32_words);
        CHECK(kernel(ulp::formats::fp16, {.rounding = Rounding::up}, simd) == Kernel::fp32_words);
        CHECK(kernel(ulp::formats::e5m2, {}, simd) == Kernel::fp32_words);
    }
}

TEST_CASE("functions are looked up, computed in vectors or by the scalar function, and say why") {
    using ulp::array::Function;
    const Context chance{.rounding = Rounding::stochastic, .random_bits = 8};
    const auto path = [](const FloatFormat& format, const Context& context) {
        return ulp::array::choose_path(Function::exp, format, context, Simd::portable);
    };
    CHECK(path(ulp::formats::fp16, {}).kernel == Kernel::table_of_results);
    CHECK(path(ulp::formats::e4m3, {.rounding = Rounding::up}).kernel == Kernel::table_of_results);
    CHECK(path(ulp::formats::fp32, {.flush_outputs = true}).kernel == Kernel::quick_phase);
    CHECK(path(ulp::formats::tf32, {.rounding = Rounding::odd}).kernel == Kernel::quick_phase);
    CHECK(path(ulp::formats::fp32, chance).kernel == Kernel::quick_phase);
    CHECK(path(ulp::formats::fp16, chance).kernel == Kernel::table_of_results);
    const Path other = path(ulp::ieee_format(7, 14), {});
    CHECK(other.kernel == Kernel::scalar_loop);
    CHECK(other.reason == "the format's storage words have 32 bits and are not fp32 words");
    CHECK(name_of(Kernel::quick_phase) == "quick_phase");
    CHECK_THROWS_AS(path(ulp::formats::fp64, {}), std::invalid_argument);
}

TEST_CASE("rounding that is an addition has kernels of its own, also where something is flushed") {
    const auto kernel = [](const FloatFormat& format, const Context& context) {
        return ulp::array::choose_path(ulp::array::op_fma, format, context, Simd::portable).kernel;
    };
    const Context chance{.rounding = Rounding::stochastic, .random_bits = 32};
    for (const Context& context : {chance, Context{.rounding = Rounding::nearest_away}}) {
        CHECK(kernel(ulp::formats::fp32, context) == Kernel::truncated);
        CHECK(kernel(ulp::formats::tf32, context) == Kernel::truncated);
        CHECK(kernel(ulp::formats::bf16, context) == Kernel::truncated);
        Context flushing = context;
        flushing.flush_inputs = flushing.flush_outputs = true;
        CHECK(kernel(ulp::formats::fp32, flushing) == Kernel::truncated);
    }
}
