// The fragment layouts are right before any GPU sees them.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "gpu/instructions/fragment_layout.hpp"
#include "gpu/instructions/instruction.hpp"
#include "tests/gpu/manual_layouts.hpp"

namespace {

using ulp::gpu::Family;
using ulp::gpu::Instruction;
using ulp::gpu::Place;
using ulp::gpu::TileShape;
namespace layout = ulp::gpu::layout;

/// Every (row, column) of a rows x columns matrix once, over the lanes and elements given.
template <class PlaceOf>
bool covers_once(int rows, int columns, int lanes, int elements, PlaceOf&& place_of) {
    std::set<std::pair<int, int>> seen;
    for (int lane = 0; lane < lanes; ++lane) {
        for (int i = 0; i < elements; ++i) {
            const Place place = place_of(lane, i);
            if (place.row < 0 || place.row >= rows || place.column < 0 || place.column >= columns) return false;
            if (!seen.insert({place.row, place.column}).second) return false;
        }
    }
    return static_cast<int>(seen.size()) == rows * columns;
}

const ulp::test::ManualLayout* manual_for(const Instruction& row) {
    static const auto layouts = ulp::test::manual_layouts();
    const auto found = std::find_if(layouts.begin(), layouts.end(), [&](const auto& manual) {
        return manual.shape == row.shape && manual.element_bits == bits_of(row.a);
    });
    return found == layouts.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("the one formula for fragments agrees with the manual's formula for each shape") {
    for (const auto& manual : ulp::test::manual_layouts()) {
        CAPTURE(manual.title);
        const int a_elements = manual.shape.m * manual.shape.k / 32;
        const int b_elements = manual.shape.n * manual.shape.k / 32;
        int differences = 0;
        for (int lane = 0; lane < 32; ++lane) {
            for (int i = 0; i < a_elements; ++i) {
                const Place ours = layout::a_element(manual.shape, manual.element_bits, lane, i);
                differences += ours == manual.a(lane / 4, lane % 4, i) ? 0 : 1;
            }
            for (int i = 0; i < b_elements; ++i) {
                const Place ours = layout::b_element(manual.element_bits, lane, i);
                differences += ours == manual.b(lane / 4, lane % 4, i) ? 0 : 1;
            }
            for (int i = 0; i < layout::c_elements(manual.shape); ++i) {
                differences +=
                    layout::c_element(lane, i) == ulp::test::manual_accumulator(lane / 4, lane % 4, i) ? 0 : 1;
            }
        }
        CHECK(differences == 0);
    }
}

TEST_CASE("each element of A, B and D has exactly one place in a warp, for every mma instruction of the table") {
    int shapes = 0;
    for (const Instruction& row : ulp::gpu::instructions()) {
        if (row.family != Family::mma) continue;
        CAPTURE(row.name());
        const auto [m, n, k] = row.shape;
        const int bits = bits_of(row.a);
        CHECK(covers_once(m, k, 32, m * k / 32,
                          [&](int lane, int i) { return layout::a_element(row.shape, bits, lane, i); }));
        CHECK(covers_once(k, n, 32, n * k / 32, [&](int lane, int i) { return layout::b_element(bits, lane, i); }));
        CHECK(covers_once(m, n, 32, m * n / 32, layout::c_element));
        CHECK(manual_for(row) != nullptr);
        ++shapes;
    }
    CHECK(shapes > 80);
}

TEST_CASE("registers of a fragment are whole words of a row of memory") {
    for (const auto& manual : ulp::test::manual_layouts()) {
        CAPTURE(manual.title);
        const int w = layout::elements_per_word(manual.element_bits);
        const int row_words = manual.shape.k / w;
        CHECK(covers_once(manual.shape.m, row_words, 32, layout::a_words(manual.shape, manual.element_bits),
                          [&](int lane, int r) { return layout::a_word(manual.shape, lane, r); }));
        CHECK(covers_once(manual.shape.n, row_words, 32, layout::b_words(manual.shape, manual.element_bits),
                          layout::b_word));
    }
}

TEST_CASE("an fp16 accumulator packs neighbouring columns, low half first") {
    const TileShape shape{16, 8, 16};
    CHECK(layout::c_words(shape, 16) == 2);
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < 4; ++i) {
            const Place word = layout::c_word(16, lane, i / 2);
            CHECK(Place{word.row, word.column * 2 + i % 2} == layout::c_element(lane, i));
        }
    }
}

TEST_CASE("the accumulator of wgmma is laid out as the manual says, for every n") {
    for (const int n : {8, 16, 64, 256}) {
        CAPTURE(n);
        CHECK(covers_once(64, n, 128, n / 2, [](int thread, int i) { return layout::wgmma_d_word(32, thread, i); }));
        CHECK(
            covers_once(64, n / 2, 128, n / 4, [](int thread, int r) { return layout::wgmma_d_word(16, thread, r); }));
        int differences = 0;
        for (int thread = 0; thread < 128; ++thread) {
            for (int i = 0; i < n / 2; ++i) {
                const Place manual = ulp::test::manual_wgmma_accumulator(thread, i);
                differences += layout::wgmma_d_word(32, thread, i) == manual ? 0 : 1;
                const Place half = layout::wgmma_d_word(16, thread, i / 2);
                differences += Place{half.row, half.column * 2 + i % 2} == manual ? 0 : 1;
            }
        }
        CHECK(differences == 0);
    }
}

TEST_CASE("core matrices of wgmma: 8 rows of 16 bytes, contiguous, then 8 rows on, then 16 bytes of k on") {
    for (const int rows : {8, 64}) {
        CAPTURE(rows);
        std::set<int> seen;
        for (int row = 0; row < rows; ++row) {
            for (int k_word = 0; k_word < 8; ++k_word) seen.insert(layout::core_matrix_word(rows, row, k_word));
        }
        CHECK(static_cast<int>(seen.size()) == rows * 8);
        CHECK(*seen.rbegin() == rows * 8 - 1);
        CHECK(layout::core_matrix_word(rows, 1, 0) * 4 == 16);
        CHECK(layout::core_matrix_word(rows, 0, 4) * 4 == layout::leading_byte_offset(rows));
    }
    CHECK(layout::core_matrix_word(64, 8, 0) * 4 == layout::stride_byte_offset);
    CHECK(layout::core_matrix_word(64, 63, 7) == 511);
}

TEST_CASE("each scale is in the lane from which the instruction takes it") {
    for (int row = 0; row < 16; ++row) CHECK(layout::a_scale_row(ulp::test::manual_lane_of_a_scale(row)) == row);
    for (int column = 0; column < 8; ++column) {
        CHECK(layout::b_scale_column(ulp::test::manual_lane_of_b_scale(column)) == column);
    }
}

TEST_CASE("worked examples: who holds what") {
    // m16n8k16 with 16-bit elements: a0 of lane 0 is (0, 0), a7 of lane 31 is (15, 15), b3 of lane 31 is (15, 7).
    CHECK(layout::a_element({16, 8, 16}, 16, 0, 0) == Place{0, 0});
    CHECK(layout::a_element({16, 8, 16}, 16, 0, 2) == Place{8, 0});
    CHECK(layout::a_element({16, 8, 16}, 16, 0, 4) == Place{0, 8});
    CHECK(layout::a_element({16, 8, 16}, 16, 31, 7) == Place{15, 15});
    CHECK(layout::b_element(16, 31, 3) == Place{15, 7});
    CHECK(layout::c_element(4, 0) == Place{1, 0});
    CHECK(layout::c_element(31, 3) == Place{15, 7});
}
