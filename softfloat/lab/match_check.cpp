#include "softfloat/lab/match_check.hpp"

#include "softfloat/matrix_units/chain_dot.hpp"

namespace ulp {

namespace {

/// Random operands of one dot product, drawn in order.
class Draw {
  public:
    explicit Draw(std::uint64_t seed) : seed_(seed) {}
    std::uint64_t word() { return random_word(seed_, next_++); }
    std::uint64_t code(const FloatFormat& format, DataClass data) { return random_code(format, data, word()); }

  private:
    std::uint64_t seed_;
    std::uint64_t next_ = 0;
};

/// Leaves at most two products: beside many, tiny terms and a tiny c are always cut. The other lanes keep one operand.
void thin_out(Draw& draw, std::vector<std::uint64_t>& a, std::vector<std::uint64_t>& b) {
    const std::uint64_t kept = draw.word() % 3;
    for (std::size_t i = kept; i < a.size(); ++i) (draw.word() % 2 == 0 ? a : b)[i] = 0;
}

}  // namespace

std::vector<MatchCheck> check_matches(const DotUnit& unit, std::span<const TensorCoreModel* const> models,
                                      std::int64_t blocks, std::uint64_t seed) {
    std::vector<MatchCheck> checks(models.size());
    Draw draw(seed);
    const auto k = static_cast<std::size_t>(unit.k);
    std::vector<std::uint64_t> a(k), b(k);
    for (std::int64_t block = 0; block < blocks; ++block) {
        const auto which = static_cast<std::size_t>(block) % std::size(all_classes);
        const DataClass data = all_classes[which];
        for (std::size_t i = 0; i < k; ++i) {
            a[i] = draw.code(unit.a_format, data);
            b[i] = draw.code(unit.b_format, data);
        }
        if (draw.word() % 4 == 0) thin_out(draw, a, b);
        const bool zero = draw.word() % 4 == 0;
        const std::uint64_t c = zero ? 0 : draw.code(unit.accumulator, data);
        const std::uint64_t answer = unit.dot(a, b, c);
        const bool repeats = unit.dot(a, b, c) == answer;
        for (std::size_t i = 0; i < models.size(); ++i) {
            MatchCheck& check = checks[i];
            ++check.blocks;
            check.unstable += repeats ? 0 : 1;
            const std::uint64_t expected = chain_dot(*models[i], a.data(), b.data(), c, unit.k);
            if (answer == expected) continue;
            ++check.differ;
            ++check.differ_by_class[which];
            if (!check.first) check.first = Contradiction{data, a, b, c, answer, expected};
        }
    }
    return checks;
}

MatchCheck check_match(const DotUnit& unit, const TensorCoreModel& model, std::int64_t blocks, std::uint64_t seed) {
    const TensorCoreModel* const one[] = {&model};
    return check_matches(unit, one, blocks, seed).front();
}

}  // namespace ulp
