#include "tests/softfloat/matrix_units/unit_blocks.hpp"

#include <algorithm>

#include "softfloat/matrix_units/chain_dot.hpp"

namespace ulp::test {

namespace {

using Words = std::vector<std::uint64_t>;

/// fp64 numbers with exponents from -20 to 20.
Words random_doubles(std::int64_t count, std::uint64_t seed) {
    Words words;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t bits = random_word(seed, static_cast<std::uint64_t>(i));
        const std::uint64_t exponent = 1003 + (bits >> 52 & 0x7FF) % 41;
        words.push_back((bits & ~(std::uint64_t{0x7FF} << 52)) | exponent << 52);
    }
    return words;
}

Words random_words(const FloatFormat& format, DataClass data, std::int64_t count, std::uint64_t seed) {
    if (format == formats::fp64) return random_doubles(count, seed);
    const std::vector<std::uint32_t> codes = random_codes(format, data, count, seed);
    return {codes.begin(), codes.end()};
}

/// Up to three binades from 1.
Words random_scales(const FloatFormat& format, std::int64_t count, std::uint64_t seed) {
    const std::uint64_t one = static_cast<std::uint64_t>(format.bias) << format.fraction_bits;
    const std::uint64_t span = std::uint64_t{3} << format.fraction_bits;
    Words words;
    for (std::int64_t i = 0; i < count; ++i) {
        words.push_back(one - span + random_word(seed, static_cast<std::uint64_t>(i)) % (2 * span + 1));
    }
    return words;
}

Words part(const Words& words, int index, int size) {
    return {words.begin() + static_cast<std::ptrdiff_t>(index) * size,
            words.begin() + (static_cast<std::ptrdiff_t>(index) + 1) * size};
}

std::vector<std::uint32_t> narrow(const Words& words) {
    std::vector<std::uint32_t> codes(words.size());
    std::transform(words.begin(), words.end(), codes.begin(),
                   [](std::uint64_t w) { return static_cast<std::uint32_t>(w); });
    return codes;
}

}  // namespace

UnitFormats formats_of(const UnitModel& model) {
    if (const auto* scaled = std::get_if<BlockScaledModel>(&model)) {
        const TensorCoreModel& m = scaled->unscaled;
        return {m.a_format,           m.b_format,      m.accumulator,
                scaled->scale_format, m.instruction_k, m.instruction_k / scaled->scale_block};
    }
    const auto& m = std::get<TensorCoreModel>(model);
    return {m.a_format, m.b_format, m.accumulator, formats::e8m0, m.instruction_k, 0};
}

std::vector<UnitBlock> random_blocks(const UnitFormats& formats, DataClass data, int count, std::uint64_t seed) {
    const std::uint64_t first = 8 * seed;
    const std::int64_t elements = std::int64_t{count} * formats.k;
    const std::int64_t scales = std::int64_t{count} * formats.scales;
    const Words a = random_words(formats.a, data, elements, first);
    const Words b = random_words(formats.b, data, elements, first + 1);
    const Words c = random_words(formats.c, data, count, first + 2);
    const Words x = random_scales(formats.scale, scales, first + 3);
    const Words y = random_scales(formats.scale, scales, first + 4);
    std::vector<UnitBlock> blocks;
    for (int i = 0; i < count; ++i) {
        blocks.push_back({part(a, i, formats.k), part(b, i, formats.k), part(x, i, formats.scales),
                          part(y, i, formats.scales), c[static_cast<std::size_t>(i)]});
    }
    return blocks;
}

std::uint64_t result_of(const UnitModel& model, const UnitBlock& block) {
    if (const auto* scaled = std::get_if<BlockScaledModel>(&model)) {
        return block_scaled_dot(*scaled, narrow(block.a).data(), narrow(block.b).data(), narrow(block.a_scales).data(),
                                narrow(block.b_scales).data(), static_cast<std::uint32_t>(block.c));
    }
    return instruction_dot(std::get<TensorCoreModel>(model), block.a.data(), block.b.data(), block.c);
}

}  // namespace ulp::test
