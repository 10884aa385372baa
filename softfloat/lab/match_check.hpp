// What discovery finds are parameters; whether a unit with these parameters is the model's is asked here, on random
// dot products of all classes. A unit can agree in every parameter that discovery asks for and still be another: one
// that ignores c beside products, say, or flushes a subnormal c.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "softfloat/lab/discovery.hpp"
#include "softfloat/lab/random_codes.hpp"

namespace ulp {

/// A dot product on which unit and model differ: storage words.
struct Contradiction {
    DataClass data;
    std::vector<std::uint64_t> a, b;
    std::uint64_t c, unit, model;
};

/// Operands of one dot product.
struct RandomBlock {
    DataClass data;
    std::vector<std::uint64_t> a, b;
    std::uint64_t c;
};

/// Random dot products of unit.k products each, the classes in turn. A quarter of them have at most two nonzero
/// products, a quarter a zero c. The same ones for the same seed.
class BlockSource {
  public:
    BlockSource(const DotUnit& unit, std::uint64_t seed);
    /// Valid until the next call.
    const RandomBlock& next();

  private:
    std::uint64_t word() { return random_word(seed_, next_++); }
    void thin_out();

    FloatFormat a_format_, b_format_, accumulator_;
    RandomBlock block_;
    std::uint64_t seed_;
    std::uint64_t next_ = 0;
    std::int64_t count_ = 0;
};

/// Dot products on which units differ that treat zeros, small exponents or subnormal numbers in other ways: the points
/// of policies.hpp.
std::vector<RandomBlock> deciding_blocks(const DotUnit& unit);

/// The unit's answer where it gives the same one to 200 random dot products of all classes, c zero: it does not depend
/// on its operands, and there is nothing to discover.
std::optional<std::uint64_t> constant_answer(const DotUnit& unit);

/// How a unit compares with a model. Every dot product is given to the unit twice.
struct MatchCheck {
    std::int64_t blocks = 0;  // dot products that were compared
    std::int64_t differ = 0;  // of these
    std::vector<std::int64_t> differ_by_class = std::vector<std::int64_t>(std::size(all_classes));
    std::int64_t unstable = 0;              // dot products to which the unit gave two different results
    std::optional<Contradiction> first;     // the first that differs
    std::vector<Contradiction> examples{};  // of each class the first ones that differ, up to most_examples
    static constexpr int most_examples = 40;

    [[nodiscard]] bool agrees() const { return differ == 0 && unstable == 0; }
};

/// Compares `blocks` dot products of a BlockSource, after the deciding ones, which `blocks` does not count. The unit is
/// asked twice for all models; the answer has one entry for each. Formats of the unit and the models must be equal.
std::vector<MatchCheck> check_matches(const DotUnit& unit, std::span<const TensorCoreModel* const> models,
                                      std::int64_t blocks, std::uint64_t seed);

/// The same for one model.
MatchCheck check_match(const DotUnit& unit, const TensorCoreModel& model, std::int64_t blocks, std::uint64_t seed);

}  // namespace ulp
