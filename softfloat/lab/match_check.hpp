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

/// How a unit compares with a model. Every dot product is given to the unit twice.
struct MatchCheck {
    std::int64_t blocks = 0;  // dot products that were compared
    std::int64_t differ = 0;  // of these
    std::vector<std::int64_t> differ_by_class = std::vector<std::int64_t>(std::size(all_classes));
    std::int64_t unstable = 0;           // dot products to which the unit gave two different results
    std::optional<Contradiction> first;  // the first that differs

    [[nodiscard]] bool agrees() const { return differ == 0 && unstable == 0; }
};

/// Compares about `blocks` random dot products of unit.k products each, the classes in turn. A quarter of them have at
/// most two nonzero products, a quarter a zero c. The same operands for the same seed. The unit is asked once for all
/// models; the answer has one entry for each. Formats of the unit and the models must be equal.
std::vector<MatchCheck> check_matches(const DotUnit& unit, std::span<const TensorCoreModel* const> models,
                                      std::int64_t blocks, std::uint64_t seed);

/// The same for one model.
MatchCheck check_match(const DotUnit& unit, const TensorCoreModel& model, std::int64_t blocks, std::uint64_t seed);

}  // namespace ulp
