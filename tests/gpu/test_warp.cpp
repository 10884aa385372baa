// A warp in software: fragments are loaded from memory word by word as the kernels do (gpu/kernels/warp_gemm.cuh), an
// instruction that knows only the PTX manual's layouts multiplies them, and the result is stored as the kernels do. The
// product must come out in the right places.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gpu/devices/executor.hpp"
#include "gpu/devices/reference.hpp"
#include "gpu/instructions/fragment_layout.hpp"
#include "tests/gpu/manual_layouts.hpp"

namespace {

using namespace ulp::gpu;

using Registers = std::vector<std::vector<std::uint64_t>>;  // [lane][register]

std::uint64_t word_at(const PackedMatrix& matrix, std::uint64_t index, int word_bits) {
    const auto& words = matrix.words();
    if (word_bits == 32) return words.at(static_cast<std::size_t>(index));
    return words.at(static_cast<std::size_t>(2 * index)) |
           std::uint64_t{words.at(static_cast<std::size_t>(2 * index + 1))} << 32;
}

/// What the kernels load: register r of each lane is the word at index_of(lane, r).
template <class IndexOf>
Registers load(const PackedMatrix& matrix, int count, int word_bits, IndexOf&& index_of) {
    Registers registers(32, std::vector<std::uint64_t>(static_cast<std::size_t>(count)));
    for (int lane = 0; lane < 32; ++lane) {
        for (int r = 0; r < count; ++r) {
            registers[static_cast<std::size_t>(lane)][static_cast<std::size_t>(r)] =
                word_at(matrix, index_of(lane, r), word_bits);
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

const ulp::test::ManualLayout& manual_layout_of(const Instruction& row) {
    static const auto layouts = ulp::test::manual_layouts();
    for (const auto& manual : layouts) {
        if (manual.shape == row.shape && manual.element_bits == bits_of(row.a)) return manual;
    }
    throw std::logic_error("no layout for " + row.name());
}

/// One that has the instruction and a model of it.
int architecture_with(const Instruction& row) { return row.availability.on(90) ? 90 : row.availability.minimum; }

/// The instruction as the manual defines it: gathers A, B and C from the registers by the manual's formulas, multiplies
/// by the reference, and leaves D in registers.
Registers execute(const Instruction& row, const Registers& a, const Registers& b, const Registers& c,
                  const Registers& a_scales, const Registers& b_scales) {
    const auto& manual = manual_layout_of(row);
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
    const auto scale = [](const Registers& registers, int lane, int i) {
        return element(registers[static_cast<std::size_t>(lane)], 8, 32, i);
    };
    for (int i = 0; i < row.scales(); ++i) {
        for (int l = 0; l < m; ++l) {
            product.a_scales.set(at(l), at(i), scale(a_scales, ulp::test::manual_lane_of_a_scale(l), i));
        }
        for (int l = 0; l < n; ++l) {
            product.b_scales.set(at(l), at(i), scale(b_scales, ulp::test::manual_lane_of_b_scale(l), i));
        }
    }
    expected_product(product, architecture_with(row));
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

/// What the kernels load of the scales: a lane's bytes for one step, of the row that scale_row gives.
template <class ScaleRow>
Registers load_scales(const PackedMatrix& matrix, std::uint64_t first_row, int count, std::uint32_t step,
                      ScaleRow&& scale_row) {
    Registers registers(32, std::vector<std::uint64_t>(1));
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < count; ++i) {
            const auto row = first_row + static_cast<std::uint64_t>(scale_row(lane));
            const auto column = step * static_cast<std::uint64_t>(count) + static_cast<std::uint64_t>(i);
            registers[static_cast<std::size_t>(lane)][0] |= matrix.get(row, column) << (8 * i);
        }
    }
    return registers;
}

/// What the kernels store: each word of D once.
template <class IndexOf>
void store(PackedMatrix& matrix, const Registers& d, int word_bits, IndexOf&& index_of) {
    for (int lane = 0; lane < 32; ++lane) {
        for (std::size_t r = 0; r < d[0].size(); ++r) {
            const std::uint64_t value = d[static_cast<std::size_t>(lane)][r];
            const auto index = static_cast<std::size_t>(index_of(lane, static_cast<int>(r)));
            if (word_bits == 32) {
                matrix.words().at(index) = static_cast<std::uint32_t>(value);
            } else {
                matrix.words().at(2 * index) = static_cast<std::uint32_t>(value);
                matrix.words().at(2 * index + 1) = static_cast<std::uint32_t>(value >> 32);
            }
        }
    }
}

/// The kernel of gpu/kernels/warp_gemm.cuh, step by step. Mutants: registers 1 and 2 of A change places; the rows of
/// A's scales are those of its elements.
enum class Mutant { none, registers_swapped, scales_by_elements };
PackedMatrix warp_gemm(const HostProduct& p, Mutant mutant = Mutant::none) {
    const bool swap_a = mutant == Mutant::registers_swapped;
    const Instruction& row = *p.instruction;
    const int bits = bits_of(row.a);
    const int accumulator_bits = bits_of(row.accumulator);
    const int word_bits = layout::word_bits(bits);
    const int d_word_bits = accumulator_bits == 64 ? 64 : 32;
    const ProductIndex index{p.extents, row.shape, bits, accumulator_bits};
    PackedMatrix result(p.d.rows(), p.d.columns(), accumulator_bits);
    for (std::uint64_t tile = 0; tile < p.extents.tiles(); ++tile) {
        const auto d_index = [&](int lane, int r) {
            return index.d_word(tile, layout::c_word(accumulator_bits, lane, r));
        };
        Registers d = load(p.c, layout::c_words(row.shape, accumulator_bits), d_word_bits, d_index);
        for (std::uint32_t step = 0; step < p.extents.steps_k; ++step) {
            const auto a = load(p.a, layout::a_words(row.shape, bits), word_bits, [&](int lane, int r) {
                const int place = swap_a && (r == 1 || r == 2) ? 3 - r : r;
                return index.a_word(tile, step, layout::a_word(row.shape, lane, place));
            });
            const auto b = load(p.b, layout::b_words(row.shape, bits), word_bits,
                                [&](int lane, int r) { return index.b_word(tile, step, layout::b_word(lane, r)); });
            const auto a_scales = load_scales(p.a_scales, index.a_row(tile), row.scales(), step, [&](int lane) {
                return mutant == Mutant::scales_by_elements ? lane / 4 : layout::a_scale_row(lane);
            });
            const auto b_scales =
                load_scales(p.b_scales, index.b_row(tile), row.scales(), step, layout::b_scale_column);
            d = execute(row, a, b, d, a_scales, b_scales);
        }
        store(result, d, d_word_bits, d_index);
    }
    return result;
}

void fill(PackedMatrix& matrix, std::uint64_t& state) {
    for (std::uint32_t& word : matrix.words()) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        word = static_cast<std::uint32_t>(state >> 32);
    }
}

}  // namespace

TEST_CASE("a warp that loads and stores by words computes products of every mma instruction") {
    std::uint64_t state = 1;
    int products = 0;
    for (const Instruction& row : instructions()) {
        if (row.family != Family::mma || !has_reference(row, architecture_with(row))) continue;
        CAPTURE(row.name());
        HostProduct product(row, {.tiles_m = 2, .tiles_n = 2, .steps_k = 2, .batch = 2}, true);
        fill(product.a, state);
        fill(product.b, state);
        fill(product.c, state);
        fill(product.a_scales, state);
        fill(product.b_scales, state);
        expected_product(product, architecture_with(row));
        CHECK(warp_gemm(product) == product.d);
        ++products;
    }
    CHECK(products > 90);
}

TEST_CASE("a wrong layout does not pass: registers 1 and 2 of A swapped") {
    HostProduct product(instruction_by_name("mma.m16n8k16.fp16.fp32"));
    std::uint64_t state = 2;
    fill(product.a, state);
    fill(product.b, state);
    expected_product(product, 90);
    CHECK(warp_gemm(product) == product.d);
    CHECK_FALSE(warp_gemm(product, Mutant::registers_swapped) == product.d);
}

TEST_CASE("nor do scales in the wrong lanes") {
    for (const char* name :
         {"mma.m16n8k32.mxf8f6f4.e4m3.fp32", "mma.m16n8k64.mxf4.e2m1.fp32", "mma.m16n8k64.nvf4.e2m1.fp32"}) {
        HostProduct product(instruction_by_name(name), {.tiles_m = 2, .steps_k = 2}, true);
        fill_inputs(product, InputClass::ordinary, 4);
        expected_product(product, 120);
        CHECK(warp_gemm(product) == product.d);
        CHECK_FALSE(warp_gemm(product, Mutant::scales_by_elements) == product.d);
    }
}

TEST_CASE("wgmma: operands reach shared memory whole, and every element of D has one thread") {
    for (const Instruction& row : instructions()) {
        if (row.family != Family::wgmma) continue;
        CAPTURE(row.name());
        HostProduct p(row, {.tiles_m = 2, .tiles_n = 3, .steps_k = 2, .batch = 2}, true);
        std::uint64_t state = 3;
        fill(p.a, state);
        fill(p.b, state);
        const int bits = bits_of(row.a);
        const int accumulator_bits = bits_of(row.accumulator);
        const ProductIndex index{p.extents, row.shape, bits, accumulator_bits};
        CHECK(index.step_words() == 8);
        std::vector<int> written(p.d.words().size());
        int wrong = 0;
        for (std::uint64_t tile = 0; tile < p.extents.tiles(); ++tile) {
            // Core matrices: element (row, k) of the tile at its bit of the word that the layout gives.
            std::vector<std::uint32_t> shared(64 * 8);
            for (int i = 0; i < 64; ++i) {
                for (int w = 0; w < 8; ++w) {
                    shared.at(static_cast<std::size_t>(layout::core_matrix_word(64, i, w))) =
                        p.a.words().at(index.a_word(tile, 1, {i, w}));
                }
            }
            const std::uint64_t matrix = tile / 3 / 2;
            const std::uint64_t tile_row = tile / 3 % 2;
            const int per_word = 32 / bits;
            for (int i = 0; i < 64; ++i) {
                for (int k = 0; k < row.shape.k; ++k) {
                    // 16 bytes of k by 8 rows: (PTX ISA) byte = k-block * 1024 + row-block * 128 + row * 16 + byte of k
                    const int byte = k * bits / 8;
                    const int place = byte / 16 * 1024 + i / 8 * 128 + i % 8 * 16 + byte % 16;
                    const std::uint32_t word = shared.at(static_cast<std::size_t>(place / 4));
                    const std::uint32_t mask = bits == 32 ? ~0U : (1U << bits) - 1;
                    const std::uint32_t code = (word >> (k % per_word * bits)) & mask;
                    const std::uint64_t expected = p.a.get((matrix * 2 + tile_row) * 64 + static_cast<unsigned>(i),
                                                           static_cast<unsigned>(row.shape.k + k));
                    wrong += code == expected ? 0 : 1;
                }
            }
            for (int thread = 0; thread < 128; ++thread) {
                for (int r = 0; r < (accumulator_bits == 16 ? 2 : 4); ++r) {
                    const Place word = layout::wgmma_d_word(accumulator_bits, thread, r);
                    ++written.at(static_cast<std::size_t>(index.d_word(tile, word)));
                }
            }
        }
        CHECK(wrong == 0);
        CHECK(std::count(written.begin(), written.end(), 1) == static_cast<std::ptrdiff_t>(written.size()));
    }
}
