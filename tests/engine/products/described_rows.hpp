// Every row of the table as a file and back: the same model, and the same bits on random blocks of all classes.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <variant>
#include <vector>

#include "engine/products/unit_file.hpp"
#include "tests/softfloat/matrix_units/unit_blocks.hpp"

namespace ulp::test {

/// How many of the blocks two models answer differently.
inline std::int64_t differing_integers(const IntegerModel& x, const IntegerModel& y, std::int64_t blocks) {
    const auto k = static_cast<std::size_t>(x.instruction_k);
    std::vector<std::int32_t> a(k), b(k);
    std::int64_t differ = 0;
    std::uint64_t index = 0;
    for (std::int64_t block = 0; block < blocks; ++block) {
        const auto fill = [&](std::vector<std::int32_t>& values, bool is_signed) {
            const IntegerRange range = operand_range(x, is_signed);
            const auto span = static_cast<unsigned>(range.greatest - range.least + 1);
            for (std::int32_t& value : values) value = range.least + static_cast<int>(random_word(1, index++) % span);
        };
        fill(a, x.a_signed);
        fill(b, x.b_signed);
        const auto c = static_cast<std::int32_t>(random_word(1, index++));
        differ += integer_dot(x, a.data(), b.data(), c, x.instruction_k) ==
                          integer_dot(y, a.data(), b.data(), c, y.instruction_k)
                      ? 0
                      : 1;
    }
    return differ;
}

inline std::int64_t differing_blocks(const UnitModel& x, const UnitModel& y, std::int64_t blocks) {
    if (x.index() != y.index()) return blocks;
    if (const auto* integers = std::get_if<IntegerModel>(&x)) {
        return differing_integers(*integers, std::get<IntegerModel>(y), blocks);
    }
    constexpr int together = 50;
    constexpr auto classes = static_cast<std::int64_t>(std::size(all_classes));
    const UnitFormats formats = formats_of(x);
    std::int64_t differ = 0;
#pragma omp parallel for reduction(+ : differ)
    for (std::int64_t part = 0; part < (blocks + together - 1) / together; ++part) {
        const DataClass data = all_classes[static_cast<std::size_t>(part % classes)];
        for (const UnitBlock& block : random_blocks(formats, data, together, static_cast<std::uint64_t>(part))) {
            differ += result_of(x, block) == result_of(y, block) ? 0 : 1;
        }
    }
    return differ;
}

inline void check_described_rows(std::int64_t blocks) {
    for (const UnitRow& row : unit_table()) {
        CAPTURE(row.key());
        const DescribedUnit unit = unit_from_json(unit_json({row.key(), row.model}));
        CHECK(unit.name == row.key());
        CHECK(unit.model == row.model);
        CHECK(differing_blocks(row.model, unit.model, blocks) == 0);
    }
}

}  // namespace ulp::test
