#include "softfloat/lab/match_check.hpp"

#include <algorithm>
#include <tuple>

#include "softfloat/matrix_units/chain_dot.hpp"

namespace ulp {

BlockSource::BlockSource(const DotUnit& unit, std::uint64_t seed)
    : a_format_(unit.a_format), b_format_(unit.b_format), accumulator_(unit.accumulator), seed_(seed) {
    block_.a.resize(static_cast<std::size_t>(unit.k));
    block_.b.resize(static_cast<std::size_t>(unit.k));
}

/// Leaves at most two products: beside many, tiny terms and a tiny c are always cut. The other lanes keep one operand.
void BlockSource::thin_out() {
    const std::uint64_t kept = word() % 3;
    for (std::size_t i = kept; i < block_.a.size(); ++i) (word() % 2 == 0 ? block_.a : block_.b)[i] = 0;
}

const RandomBlock& BlockSource::next() {
    block_.data = all_classes[static_cast<std::size_t>(count_++) % std::size(all_classes)];
    for (std::size_t i = 0; i < block_.a.size(); ++i) {
        block_.a[i] = random_code(a_format_, block_.data, word());
        block_.b[i] = random_code(b_format_, block_.data, word());
    }
    if (word() % 4 == 0) thin_out();
    const bool zero = word() % 4 == 0;
    block_.c = zero ? 0 : random_code(accumulator_, block_.data, word());
    return block_;
}

std::vector<RandomBlock> deciding_blocks(const DotUnit& unit) {
    using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
    std::vector<RandomBlock> blocks;
    const auto count = static_cast<std::size_t>(unit.k);
    const auto add = [&](const Pairs& lanes, std::uint64_t c) {
        RandomBlock block{DataClass::subnormal, std::vector<std::uint64_t>(count), std::vector<std::uint64_t>(count),
                          c};
        for (std::size_t i = 0; i < std::min(lanes.size(), count); ++i) std::tie(block.a[i], block.b[i]) = lanes[i];
        blocks.push_back(std::move(block));
    };
    const FloatFormat &a = unit.a_format, &b = unit.b_format, &accumulator = unit.accumulator;
    const std::uint64_t big_a = pack(a, false, a.max_finite_magnitude());
    const std::uint64_t big_b = pack(b, false, b.max_finite_magnitude());
    const std::uint64_t least_a = pack(a, false, 1);
    const std::uint64_t least_b = pack(b, false, 1);
    const std::uint64_t normal_a = pack(a, false, std::uint64_t{1} << a.fraction_bits);
    const std::uint64_t normal_b = pack(b, false, std::uint64_t{1} << b.fraction_bits);
    for (std::uint64_t c = 0; c <= 4; ++c) {
        add({{0, big_b}}, c);
        add({{0, big_b}, {least_a, least_b}}, c);
        add({{normal_a, normal_b}, {least_a, least_b}}, c);
        add({{normal_a, least_b}, {least_a, least_b}}, c);
        add({{big_a, 0}}, pack(accumulator, false, std::uint64_t{10} << accumulator.fraction_bits) + c);
        add({{pack(a, true, 1), least_b}}, c == 0 ? 0 : pack(accumulator, false, c));
    }
    return blocks;
}

std::optional<std::uint64_t> constant_answer(const DotUnit& unit) {
    constexpr int questions = 200;
    BlockSource source(unit, 1);
    std::optional<std::uint64_t> answer;
    for (int i = 0; i < questions; ++i) {
        const RandomBlock& block = source.next();
        const std::uint64_t d = unit.dot(block.a, block.b, 0);
        if (answer && *answer != d) return std::nullopt;
        answer = d;
    }
    return answer;
}

std::vector<MatchCheck> check_matches(const DotUnit& unit, std::span<const TensorCoreModel* const> models,
                                      std::int64_t blocks, std::uint64_t seed) {
    std::vector<MatchCheck> checks(models.size());
    const auto compare = [&](const RandomBlock& block) {
        const std::uint64_t answer = unit.dot(block.a, block.b, block.c);
        const bool repeats = unit.dot(block.a, block.b, block.c) == answer;
        for (std::size_t m = 0; m < models.size(); ++m) {
            MatchCheck& check = checks[m];
            check.unstable += repeats ? 0 : 1;
            const std::uint64_t expected = chain_dot(*models[m], block.a.data(), block.b.data(), block.c, unit.k);
            if (answer == expected) continue;
            ++check.differ;
            const Contradiction found{block.data, block.a, block.b, block.c, answer, expected};
            std::int64_t& of_class = check.differ_by_class[static_cast<std::size_t>(block.data)];
            if (++of_class <= MatchCheck::most_examples) check.examples.push_back(found);
            if (!check.first) check.first = found;
        }
    };
    if (blocks > 0) {
        for (const RandomBlock& block : deciding_blocks(unit)) compare(block);
    }
    BlockSource source(unit, seed);
    for (std::int64_t i = 0; i < blocks; ++i) compare(source.next());
    for (MatchCheck& check : checks) check.blocks = blocks;
    return checks;
}

MatchCheck check_match(const DotUnit& unit, const TensorCoreModel& model, std::int64_t blocks, std::uint64_t seed) {
    const TensorCoreModel* const one[] = {&model};
    return check_matches(unit, one, blocks, seed).front();
}

}  // namespace ulp
