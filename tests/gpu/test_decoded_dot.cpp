// The decoded path, by which a GPU checks billions of groups, equals the plain block dot.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "gpu/devices/bulk.hpp"
#include "gpu/devices/executor.hpp"
#include "gpu/devices/reference.hpp"
#include "gpu/instructions/instruction.hpp"
#include "gpu/kernels/bulk_inputs.hpp"
#include "gpu/kernels/decoded_dot.hpp"
#include "softfloat/matrix_units/policies.hpp"

namespace {

using namespace ulp::gpu;
using Codes = std::vector<std::uint32_t>;

struct Comparison {
    int decoded = 0;  // cases that the decoded path took
    int plain = 0;    // cases that it left: infinities and NaNs
    int differences = 0;
};

/// The decoded path on one instruction; false where it leaves the case to the plain one.
bool decoded_answer(const DecodedModel& m, const Codes& a, const Codes& b, std::uint32_t& c) {
    std::array<Int32Operand, ulp::max_instruction_k> x{};
    std::array<Int32Operand, ulp::max_instruction_k> y{};
    for (int k = 0; k < m.k; ++k) {
        const auto at = static_cast<std::size_t>(decoded_position(m, k));
        x[at] = decode_a(m, a[static_cast<std::size_t>(k)]);
        y[at] = decode_b(m, b[static_cast<std::size_t>(k)]);
    }
    switch (m.model.group_size) {
        case 4: return decoded_instruction<4>(m, x.data(), y.data(), c);
        case 8: return decoded_instruction<8>(m, x.data(), y.data(), c);
        case 16: return decoded_instruction<16>(m, x.data(), y.data(), c);
        case 32: return decoded_instruction<32>(m, x.data(), y.data(), c);
        default: throw std::logic_error("no decoded path for a group of " + std::to_string(m.model.group_size));
    }
}

void compare_tile(const ulp::TensorCoreModel& model, const HostProduct& p, Comparison& result) {
    const DecodedModel decoded = decoded_model(model);
    const auto k = p.a.columns();
    Codes a(k);
    Codes b(k);
    // 128 elements of a tile are enough, however large it is.
    for (std::uint64_t row = 0; row < std::min<std::uint64_t>(p.d.rows(), 16); ++row) {
        for (std::uint64_t column = 0; column < std::min<std::uint64_t>(p.d.columns(), 8); ++column) {
            for (std::uint64_t i = 0; i < k; ++i) {
                a[i] = static_cast<std::uint32_t>(p.a.get(row, i));
                b[i] = static_cast<std::uint32_t>(p.b.get(column, i));
            }
            const auto c = static_cast<std::uint32_t>(p.c.get(row, column));
            std::uint32_t d = c;
            if (!decoded_answer(decoded, a, b, d)) {
                ++result.plain;
                result.differences += d == c ? 0 : 1;  // a case left to the other path leaves c alone
                continue;
            }
            ++result.decoded;
            result.differences += d == ulp::instruction_dot(model, a.data(), b.data(), c) ? 0 : 1;
        }
    }
}

}  // namespace

TEST_CASE("the decoded path equals the plain one for every model, policy set and class of inputs") {
    Comparison total;
    for (const int architecture : {80, 89, 90, 100, 120}) {
        for (const Instruction& row : instructions()) {
            if (!row.availability.on(architecture)) continue;
            const auto claimed = promised_model(row, architecture);
            if (!claimed) continue;
            CHECK(has_decoded_path(claimed->model));
            for (const ulp::PolicySet& policies : ulp::policy_sets) {
                const auto model = ulp::with_policies(claimed->model, policies);
                for (const InputClass input_class : input_classes) {
                    if (input_class == InputClass::chain) continue;  // a chain is instructions one after the other
                    CAPTURE(claimed->key);
                    CAPTURE(std::string(policies.name));
                    CAPTURE(std::string(name_of(input_class)));
                    Comparison result;
                    compare_tile(model, make_tiles(row, input_class, 7, 1), result);
                    CHECK(result.differences == 0);
                    total.decoded += result.decoded;
                    total.plain += result.plain;
                }
            }
        }
    }
    CHECK(total.decoded > 100000);
    CHECK(total.plain > 10000);
}

TEST_CASE("models that the decoded path does not know are not taken for ones it knows") {
    ulp::TensorCoreModel model;
    CHECK(has_decoded_path(model));
    model.summation = ulp::Summation::fma_chain;
    CHECK_FALSE(has_decoded_path(model));
    model = {};
    model.variation.normalise_products = true;
    CHECK_FALSE(has_decoded_path(model));
    model = {};
    model.fraction_bits = 18;  // products of fp16 have 20
    CHECK_FALSE(has_decoded_path(model));
}

TEST_CASE("inputs made by shifts are those made by divisions, for every instruction, operand and class") {
    for (const Instruction& row : instructions()) {
        for (const InputClass input_class : input_classes) {
            CAPTURE(row.name());
            CAPTURE(std::string(name_of(input_class)));
            const auto steps = static_cast<int>(steps_of(input_class));
            const auto differences = [&](OperandName operand, int columns) {
                int column_bits = 0;
                while (1 << column_bits < columns) ++column_bits;
                if (1 << column_bits != columns) return 1;
                int found = 0;
                for (const std::uint64_t index : {0ULL, 1ULL, 7ULL, 64ULL, 1023ULL}) {
                    const auto by_shifts = with_input_kind(row, operand, [&]<InputKind Kind, Element E>() {
                        return input_word_by_shifts<Kind, E>(row, input_class, 9, operand, column_bits, index);
                    });
                    const auto columns_given = static_cast<std::uint64_t>(columns);
                    found += by_shifts == input_word(row, input_class, 9, operand, columns_given, index) ? 0 : 1;
                }
                return found;
            };
            CHECK(differences(OperandName::a, row.shape.k * steps) == 0);
            CHECK(differences(OperandName::b, row.shape.k * steps) == 0);
            const auto extents = bulk_extents(row, input_class, 1);
            CHECK(differences(OperandName::c, static_cast<int>(extents.tiles_n) * row.shape.n) == 0);
            if (row.scales() > 0) CHECK(differences(OperandName::b_scales, row.scales() * steps) == 0);
        }
    }
}

TEST_CASE("a launch of a bulk run is 2048 elements a matrix, or a tile where that is larger, and fits a block") {
    for (const Instruction& row : instructions()) {
        CAPTURE(row.name());
        const auto extents = bulk_extents(row, InputClass::ordinary, 3);
        const auto rows = static_cast<std::size_t>(extents.tiles_m) * static_cast<std::size_t>(row.shape.m);
        const auto columns = static_cast<std::size_t>(extents.tiles_n) * static_cast<std::size_t>(row.shape.n);
        CHECK(rows * columns == 2048);
        if (!is_float(row.a) || bits_of(row.a) < 8 || row.a == Element::fp64) continue;
        const auto stride = static_cast<std::size_t>(row.shape.k + 1);
        const std::size_t bytes = (rows + columns) * (stride * sizeof(Int32Operand) + 4) + rows * columns * 4;
        CHECK(bytes <= 48 * 1024);  // of dynamic shared memory without asking for more
    }
}

TEST_CASE("the emulated FP8 instruction sorts its products: k mod 4 in {0, 1} first") {
    const auto model = decoded_model(promised_model(instruction_by_name("mma.m16n8k16.e4m3.fp32"), 90)->model);
    const std::array<int, 16> expected{0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};
    for (int k = 0; k < 16; ++k) CHECK(decoded_position(model, k) == expected[static_cast<std::size_t>(k)]);
}

TEST_CASE("whole products: the reference by decoded operands is the plain one, chains included") {
    for (const Instruction& row : instructions()) {
        if (!is_float(row.a) || row.a == Element::fp64 || !has_reference(row, 90)) continue;
        for (const InputClass input_class : input_classes) {
            CAPTURE(row.name());
            CAPTURE(std::string(name_of(input_class)));
            HostProduct product(row, {.tiles_m = 1, .tiles_n = 2, .steps_k = 3, .batch = 2}, true);
            fill_inputs(product, input_class, 5);
            HostProduct plain = product;
            expected_product(product, 90);
            expected_product(plain, 90, true);
            CHECK(product.d == plain.d);
        }
    }
}
