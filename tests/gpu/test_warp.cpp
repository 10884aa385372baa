// A warp in software: fragments are loaded from memory word by word as the kernels do (gpu/warp_gemm.cuh), an
// instruction that knows only the PTX manual's layouts multiplies them, and the result is stored as the kernels do. The
// product must come out in the right places.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "gpu/executor.hpp"
#include "gpu/fragment_layout.hpp"
#include "gpu/reference.hpp"
#include "tests/gpu/manual_layouts.hpp"

namespace {

using namespace ulp::gpu;

using Registers = std::vector<std::vector<std::uint64_t>>;  // [lane][register]

/// What the kernels load: register r of each lane from the packed matrix, as a word of the register's size.
template <class WordOf>
Registers load(const PackedMatrix& matrix, int count, int word_bits, WordOf&& word_of) {
    Registers registers(32, std::vector<std::uint64_t>(static_cast<std::size_t>(count)));
    const auto elements_per_word = static_cast<std::uint64_t>(word_bits / matrix.bits());
    for (int lane = 0; lane < 32; ++lane) {
        for (int r = 0; r < count; ++r) {
            const Place word = word_of(lane, r);
            std::uint64_t value = 0;
            for (std::uint64_t e = 0; e < elements_per_word; ++e) {
                const auto column = static_cast<std::uint64_t>(word.column) * elements_per_word + e;
                value |= matrix.get(static_cast<std::uint64_t>(word.row), column)
                         << (e * static_cast<std::uint64_t>(matrix.bits()));
            }
            registers[static_cast<std::size_t>(lane)][static_cast<std::size_t>(r)] = value;
        }
    }
    return registers;
}

/// Element i of a lane's fragment, as the manual packs them: lowest bits first.
std::uint64_t element(const std::vector<std::uint64_t>& registers, int bits, int word_bits, int i) {
    const int per_word = word_bits / bits;
    const std::uint64_t word = registers[static_cast<std::size_t>(i / per_word)];
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    return (word >> (i % per_word * bits)) & mask;
}

const ulp::test::ManualLayout& manual_for(const Instruction& row) {
    static const auto layouts = ulp::test::manual_layouts();
    for (const auto& manual : layouts) {
        if (manual.shape == row.shape && manual.element_bits == bits_of(row.a)) return manual;
    }
    throw std::logic_error("no layout for " + row.name());
}

/// The instruction as the manual defines it: gathers A, B and C from the registers by the manual's formulas, multiplies
/// by the reference, and leaves D in registers.
Registers execute(const Instruction& row, const Registers& a, const Registers& b, const Registers& c) {
    const auto& manual = manual_for(row);
    const auto [m, n, k] = row.shape;
    const int bits = bits_of(row.a);
    const int word_bits = layout::word_bits(bits);
    const int accumulator_bits = bits_of(row.accumulator);
    HostProduct product(row);
    const auto at = [](int x) { return static_cast<std::uint64_t>(x); };
    for (int lane = 0; lane < 32; ++lane) {
        const auto l = static_cast<std::size_t>(lane);
        for (int i = 0; i < m * k / 32; ++i) {
            const Place place = manual.a(lane / 4, lane % 4, i);
            product.a.set(at(place.row), at(place.column), element(a[l], bits, word_bits, i));
        }
        for (int i = 0; i < n * k / 32; ++i) {
            const Place place = manual.b(lane / 4, lane % 4, i);
            product.b.set(at(place.column), at(place.row), element(b[l], bits, word_bits, i));
        }
        for (int i = 0; i < m * n / 32; ++i) {
            const Place place = ulp::test::manual_accumulator(lane / 4, lane % 4, i);
            product.c.set(at(place.row), at(place.column),
                          element(c[l], accumulator_bits, accumulator_bits == 64 ? 64 : 32, i));
        }
    }
    expected_product(product, 90);
    Registers d(32, std::vector<std::uint64_t>(c[0].size()));
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < m * n / 32; ++i) {
            const Place place = ulp::test::manual_accumulator(lane / 4, lane % 4, i);
            const int per_word = accumulator_bits == 16 ? 2 : 1;
            d[static_cast<std::size_t>(lane)][static_cast<std::size_t>(i / per_word)] |=
                product.d.get(at(place.row), at(place.column)) << (i % per_word * 16);
        }
    }
    return d;
}

/// What the kernels store.
PackedMatrix store(const Instruction& row, const Registers& d) {
    const int bits = bits_of(row.accumulator);
    const int per_word = bits == 16 ? 2 : 1;
    PackedMatrix matrix(static_cast<std::uint64_t>(row.shape.m), static_cast<std::uint64_t>(row.shape.n), bits);
    for (int lane = 0; lane < 32; ++lane) {
        for (int r = 0; r < layout::c_words(row.shape, bits); ++r) {
            const Place word = layout::c_word(bits, lane, r);
            for (int e = 0; e < per_word; ++e) {
                const std::uint64_t code = d[static_cast<std::size_t>(lane)][static_cast<std::size_t>(r)] >> (16 * e);
                matrix.set(static_cast<std::uint64_t>(word.row), static_cast<std::uint64_t>(word.column * per_word + e),
                           bits == 16 ? code & 0xFFFF : code);
            }
        }
    }
    return matrix;
}

void fill(PackedMatrix& matrix, std::uint64_t& state) {
    for (std::uint32_t& word : matrix.words()) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        word = static_cast<std::uint32_t>(state >> 32);
    }
}

}  // namespace

TEST_CASE("a warp that loads and stores by words computes the product of every mma instruction") {
    std::uint64_t state = 1;
    for (const Instruction& row : instructions()) {
        if (row.family != Family::mma || !has_reference(row, 90)) continue;
        CAPTURE(row.name());
        HostProduct product(row);
        fill(product.a, state);
        fill(product.b, state);
        fill(product.c, state);
        const int bits = bits_of(row.a);
        const int accumulator_bits = bits_of(row.accumulator);
        const int word_bits = layout::word_bits(bits);
        const auto a = load(product.a, layout::a_words(row.shape, bits), word_bits,
                            [&](int lane, int r) { return layout::a_word(row.shape, lane, r); });
        const auto b = load(product.b, layout::b_words(row.shape, bits), word_bits, layout::b_word);
        const auto c = load(product.c, layout::c_words(row.shape, accumulator_bits), accumulator_bits == 64 ? 64 : 32,
                            [&](int lane, int r) { return layout::c_word(accumulator_bits, lane, r); });
        expected_product(product, 90);
        CHECK(store(row, execute(row, a, b, c)) == product.d);
    }
}

TEST_CASE("a wrong layout does not pass: registers 1 and 2 of A swapped") {
    const Instruction& row = instruction_by_name("mma.m16n8k16.fp16.fp32");
    HostProduct product(row);
    std::uint64_t state = 2;
    fill(product.a, state);
    fill(product.b, state);
    const auto swapped = [&](int lane, int r) { return layout::a_word(row.shape, lane, r == 1 || r == 2 ? 3 - r : r); };
    const auto a = load(product.a, 4, 32, swapped);
    const auto b = load(product.b, 2, 32, layout::b_word);
    const auto c = load(product.c, 4, 32, [](int lane, int r) { return layout::c_word(32, lane, r); });
    expected_product(product, 90);
    CHECK_FALSE(store(row, execute(row, a, b, c)) == product.d);
}
