// tcgen05.mma before any GPU sees it: descriptors against the fields that the manual's tables name, and a block in
// software that stages operands, scales and C as the kernel does (gpu/untried/tcgen05.cu) for a unit that knows only
// the manual.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "gpu/devices/executor.hpp"
#include "gpu/devices/reference.hpp"
#include "gpu/untried/tensor_memory.hpp"

// Tests of a room are compiled together: the names in here are this one's own.
namespace tensor_memory_test {
namespace {

using namespace ulp::gpu;

std::uint64_t bits(std::uint64_t word, int low, int high) {
    return (word >> low) & ((std::uint64_t{1} << (high - low + 1)) - 1);
}
std::uint64_t at(int x) { return static_cast<std::uint64_t>(x); }

/// The numbers of formats as PTX ISA 9.0 prints them, tables 42 to 44.
std::uint64_t manual_format(const Instruction& row, Element element) {
    const std::string name(name_of(element));
    if (row.shape.k == 64) return 1;  // table 44: E2M1 = 1
    if (name == "fp16" || name == "e4m3" || name == "u8") return 0;
    if (name == "bf16" || name == "e5m2" || name == "s8") return 1;
    if (name == "tf32") return 2;
    if (name == "e2m3") return 3;
    return name == "e3m2" ? 4 : 5;
}

using SharedMemory = std::vector<std::uint8_t>;

struct TensorMemory {
    std::array<std::array<std::uint32_t, 512>, 128> cell{};
    std::uint32_t& operator()(std::uint32_t address) { return cell.at(address >> 16).at(address & 0xFFFF); }
};

/// 32 bytes of k of row `i` as the manual's canonical layout of K-major operands without swizzling places them: in
/// units of 16 bytes ((8, rows / 8), 2) : ((1, stride offset), leading offset).
std::array<std::uint8_t, 32> operand_row(const SharedMemory& shared, std::uint64_t descriptor, int i) {
    CHECK(bits(descriptor, 46, 48) == 1);
    CHECK(bits(descriptor, 49, 63) == 0);  // no base offset, relative, no swizzling
    CHECK((bits(descriptor, 14, 15) | bits(descriptor, 30, 31)) == 0);
    const std::uint64_t start = bits(descriptor, 0, 13) * 16;
    const std::uint64_t leading = bits(descriptor, 16, 29) * 16;
    const std::uint64_t stride = bits(descriptor, 32, 45) * 16;
    std::array<std::uint8_t, 32> row{};
    for (int byte = 0; byte < 32; ++byte) {
        row.at(at(byte)) =
            shared.at(start + at(i / 8) * stride + at(i % 8) * 16 + at(byte / 16) * leading + at(byte % 16));
    }
    return row;
}

/// Element k of a row of 32 bytes, as the project's memory holds it (FP4 in the middle of a byte).
std::uint64_t element(const std::array<std::uint8_t, 32>& row, Element element, int k) {
    const auto field = [&](int first_bit, int count) {
        std::uint64_t code = 0;
        for (int b = 0; b < count; ++b) {
            const int bit = first_bit + b;
            code |= (std::uint64_t{row.at(at(bit / 8))} >> (bit % 8) & 1) << b;
        }
        return code;
    };
    switch (element) {
        case Element::e2m1: return field(k / 16 * 128 + k % 16 * 4, 4) << 2;
        case Element::e2m3:
        case Element::e3m2: return field(k / 16 * 128 + k % 16 * 6, 6);
        default: return field(k * bits_of(element), bits_of(element));
    }
}

/// The instruction as the manual defines it. Which formats it multiplies it reads from its descriptor.
void execute(const Instruction& row, std::uint32_t d, const SharedMemory& shared, std::uint64_t a, std::uint64_t b,
             std::uint32_t descriptor, TensorMemory& memory, std::uint32_t a_scales, std::uint32_t b_scales,
             bool accumulate) {
    const auto named = [&](int low, int high, const char* which) {
        for (const Instruction& other : instructions()) {
            if (other.family != Family::tcgen05 || tensor_kind(other) != tensor_kind(row)) continue;
            const Element e = which[0] == 'a' ? other.a : other.b;
            if (manual_format(other, e) == bits(descriptor, low, high) && bits_of(e) == bits_of(row.a)) return e;
        }
        return Element::b1;
    };
    const Element a_element = named(7, 9, "a");
    const Element b_element = named(10, 12, "b");
    const int n = static_cast<int>(bits(descriptor, 17, 22)) * 8;
    CHECK(n == 16);
    CHECK(bits(descriptor, 24, 28) * 16 == 128);
    Instruction told = row;
    told.a = a_element;
    told.b = b_element;
    HostProduct product(told);
    for (int i = 0; i < 128; ++i) {
        const auto x = operand_row(shared, a, i);
        for (int k = 0; k < row.shape.k; ++k) product.a.set(at(i), at(k), element(x, a_element, k));
    }
    for (int j = 0; j < n; ++j) {
        const auto y = operand_row(shared, b, j);
        for (int k = 0; k < row.shape.k; ++k) product.b.set(at(j), at(k), element(y, b_element, k));
    }
    for (int i = 0; i < 128; ++i) {
        for (int j = 0; j < n; ++j) {
            const std::uint32_t c = memory(d + (static_cast<std::uint32_t>(i) << 16) + static_cast<std::uint32_t>(j));
            product.c.set(at(i), at(j), accumulate ? c : 0);
        }
    }
    // Row r of scales: lane r mod 32, column r / 32, a byte each from the lowest up; each 32 lanes hold all of them.
    for (int copy = 0; copy < 4; ++copy) {
        const auto word = [&](std::uint32_t address, int r) {
            return memory(address + (static_cast<std::uint32_t>(32 * copy + r % 32) << 16) +
                          static_cast<std::uint32_t>(r / 32));
        };
        for (int s = 0; s < row.scales(); ++s) {
            for (int i = 0; i < 128; ++i) product.a_scales.set(at(i), at(s), word(a_scales, i) >> (8 * s) & 0xFF);
            for (int j = 0; j < n; ++j) product.b_scales.set(at(j), at(s), word(b_scales, j) >> (8 * s) & 0xFF);
        }
    }
    expected_product(product, 100);
    for (int i = 0; i < 128; ++i) {
        for (int j = 0; j < n; ++j) {
            memory(d + (static_cast<std::uint32_t>(i) << 16) + static_cast<std::uint32_t>(j)) =
                static_cast<std::uint32_t>(product.d.get(at(i), at(j)));
        }
    }
}

enum class Mutant { none, unpacked, formats_swapped, offsets_swapped, scales_by_lanes };

void stage(SharedMemory& shared, std::uint32_t address, Element element, const std::uint32_t* first_row,
           std::uint64_t row_stride, int rows, Mutant mutant) {
    for (int i = 0; i < rows * 2; ++i) {
        const int row = i / 2;
        const std::uint32_t* from = first_row + at(row) * row_stride + i % 2 * 4;
        const std::uint32_t memory[4] = {from[0], from[1], from[2], from[3]};
        for (int w = 0; w < 4; ++w) {
            const std::uint32_t word = mutant == Mutant::unpacked ? memory[w] : shared_word(element, memory, w);
            const auto to =
                address + 4 * static_cast<std::uint32_t>(layout::core_matrix_word(rows, row, i % 2 * 4) + w);
            for (int byte = 0; byte < 4; ++byte)
                shared.at(to + at(byte)) = static_cast<std::uint8_t>(word >> (8 * byte));
        }
    }
}

void stage_scales(TensorMemory& memory, std::uint32_t base, int first_column, const PackedMatrix& scales, int count,
                  std::uint64_t first_row, int rows, std::uint32_t step, Mutant mutant) {
    for (int thread = 0; thread < 128 && count > 0; ++thread) {
        for (int column = 0; column < tensor_memory::scale_columns; ++column) {
            const int row = mutant == Mutant::scales_by_lanes ? 4 * (thread % 32) + column
                                                              : tensor_memory::scale_row(thread, column);
            std::uint32_t word = 0;
            for (int s = 0; s < count && row < rows; ++s) {
                word |= static_cast<std::uint32_t>(scales.get(first_row + at(row), step * at(count) + at(s)))
                        << (8 * s);
            }
            memory(tensor_memory::address(base, thread, first_column + column)) = word;
        }
    }
}

/// The kernel of gpu/untried/tcgen05.cu, step by step.
PackedMatrix tensor_gemm(const HostProduct& p, Mutant mutant = Mutant::none) {
    const Instruction& row = *p.instruction;
    const int accumulator_bits = bits_of(row.accumulator);
    const bool halves = accumulator_bits == 16;
    const ProductIndex index{p.extents, row.shape, bits_of(row.a), accumulator_bits};
    CHECK(index.step_words() == 8);
    PackedMatrix result(p.d.rows(), p.d.columns(), accumulator_bits);
    SharedMemory shared(65536);  // room for what a mutant reads
    constexpr std::uint32_t a_address = 1024;
    constexpr std::uint32_t b_address = 6144;
    TensorMemory memory;
    constexpr std::uint32_t base = 64;  // an allocation that begins elsewhere than at column 0
    Instruction told = row;
    if (mutant == Mutant::formats_swapped) std::swap(told.a, told.b);
    const auto described = [&](std::uint32_t address, int rows) {
        const std::uint64_t descriptor = shared_descriptor(address, rows);
        if (mutant != Mutant::offsets_swapped) return descriptor;
        return (descriptor & ~0x3FFF3FFF0000U) | bits(descriptor, 16, 29) << 32 | bits(descriptor, 32, 45) << 16;
    };
    const auto column = [](int j) { return tensor_memory::d_column + j; };
    for (std::uint64_t tile = 0; tile < p.extents.tiles(); ++tile) {
        for (int thread = 0; thread < 128 && !p.c.empty(); ++thread) {
            const std::uint32_t* words = &p.c.words().at(index.d_word(tile, {thread, 0}));
            for (int j = 0; j < 16; ++j) {
                memory(tensor_memory::address(base, thread, column(j))) =
                    halves ? words[j / 2] >> (j % 2 * 16) & 0xFFFF : words[j];
            }
        }
        for (std::uint32_t step = 0; step < p.extents.steps_k; ++step) {
            stage(shared, a_address, row.a, &p.a.words().at(index.a_word(tile, step, {0, 0})), index.row_words(), 128,
                  mutant);
            stage(shared, b_address, row.b, &p.b.words().at(index.b_word(tile, step, {0, 0})), index.row_words(), 16,
                  mutant);
            stage_scales(memory, base, tensor_memory::a_scales_column, p.a_scales, row.scales(), index.a_row(tile), 128,
                         step, mutant);
            stage_scales(memory, base, tensor_memory::b_scales_column, p.b_scales, row.scales(), index.b_row(tile), 16,
                         step, mutant);
            execute(row, tensor_memory::address(base, 0, column(0)), shared, described(a_address, 128),
                    described(b_address, 16), instruction_descriptor(told), memory,
                    tensor_memory::address(base, 0, tensor_memory::a_scales_column),
                    tensor_memory::address(base, 0, tensor_memory::b_scales_column), step > 0 || !p.c.empty());
        }
        for (int thread = 0; thread < 128; ++thread) {
            const auto d = [&](int j) { return memory(tensor_memory::address(base, thread, column(j))); };
            std::uint32_t* words = &result.words().at(index.d_word(tile, {thread, 0}));
            for (int j = 0; j < 16; ++j) {
                if (!halves) words[j] = d(j);
                if (halves && j % 2 == 0) words[j / 2] = (d(j) & 0xFFFF) | d(j + 1) << 16;
            }
        }
    }
    return result;
}

HostProduct product_of(const char* name, InputClass input_class, bool with_c) {
    HostProduct p(instruction_by_name(name), {.tiles_m = 1, .tiles_n = 2, .steps_k = 2, .batch = 2}, with_c);
    fill_inputs(p, input_class, 5);
    return p;
}

}  // namespace

TEST_CASE("descriptors of tcgen05: each field is what the manual's tables say, and nothing else is set") {
    int rows = 0;
    for (const Instruction& row : instructions()) {
        if (row.family != Family::tcgen05) continue;
        CAPTURE(row.name());
        ++rows;
        const std::uint32_t word = instruction_descriptor(row);
        CHECK(bits(word, 0, 2) == 0);  // dense
        CHECK(bits(word, 3, 3) == (row.saturates ? 1 : 0));
        CHECK(bits(word, 6, 6) == 0);
        CHECK(bits(word, 7, 9) == manual_format(row, row.a));
        CHECK(bits(word, 10, 12) == manual_format(row, row.b));
        CHECK(bits(word, 13, 16) == 0);  // not negated, not transposed
        CHECK(bits(word, 17, 22) == 2);  // n / 8
        if (row.scaling == Scaling::none) {
            CHECK(bits(word, 4, 5) == (row.accumulator == Element::fp16   ? 0
                                       : row.accumulator == Element::fp32 ? 1
                                                                          : 2));
            CHECK(bits(word, 23, 23) == 0);
            CHECK(bits(word, 24, 28) == 8);  // m / 16
            CHECK(bits(word, 29, 31) == 0);
        } else {
            CHECK(bits(word, 4, 5) == 0);                                         // B's scales from byte 0
            CHECK(bits(word, 23, 23) == (row.scaling == Scaling::nvf4 ? 0 : 1));  // UE4M3, UE8M0
            CHECK(bits(word, 24, 26) == 0);
            CHECK(bits(word, 27, 28) == 1);  // m / 128
            CHECK(bits(word, 29, 31) == 0);  // A's scales from byte 0; k = 64
        }
    }
    CHECK(rows == 6 + 50 + 25 + 3 + 8);
    // Worked by hand: 1 << 4, then n = 16 and m = 128; bf16 twice, or as one of the two; s8 times u8, saturating; E4M3
    // scales, and E8M0 scales of the same kind.
    CHECK(instruction_descriptor(instruction_by_name("tcgen05.m128n16k16.fp16.fp32")) == 0x08040010);
    CHECK(instruction_descriptor(instruction_by_name("tcgen05.m128n16k16.bf16.fp32")) == 0x08040490);
    CHECK(instruction_descriptor(instruction_by_name("tcgen05.m128n16k16.fp16_bf16.fp32")) == 0x08040410);
    CHECK(instruction_descriptor(instruction_by_name("tcgen05.m128n16k16.bf16_fp16.fp32")) == 0x08040090);
    CHECK(instruction_descriptor(instruction_by_name("tcgen05.m128n16k32.s8_u8.s32.satfinite")) == 0x080400A8);
    CHECK(instruction_descriptor(instruction_by_name("tcgen05.m128n16k64.nvf4.e2m1.fp32")) == 0x08040480);
    CHECK(instruction_descriptor(instruction_by_name("tcgen05.m128n16k64.mxf4_block16.e2m1.fp32")) == 0x08840480);
    CHECK(tensor_kind(instruction_by_name("tcgen05.m128n16k64.mxf4_block16.e2m1.fp32")) == TensorKind::mxf4nvf4);
    CHECK(instruction_descriptor(instruction_by_name("tcgen05.m128n16k32.mxf8f6f4.e3m2_e2m1.fp32")) == 0x08841600);
}

TEST_CASE("FP6 and FP4 stand 16 after 16 without gaps in shared memory, worked by hand") {
    const std::uint32_t fours[4] = {0x0C080400, 0x1C181410, 0x2C282420, 0x3C383430};  // 0 ... 15, two bits up
    CHECK(shared_word(Element::e2m1, fours, 0) == 0x76543210);
    CHECK(shared_word(Element::e2m1, fours, 1) == 0xFEDCBA98);
    CHECK((shared_word(Element::e2m1, fours, 2) | shared_word(Element::e2m1, fours, 3)) == 0);
    const std::uint32_t sixes[4] = {0x3F000001, 0x00003F00, 0x00000200, 0xFF000000};
    CHECK(shared_word(Element::e3m2, sixes, 0) == 0xC0FC0001);  // elements 0, 3 and 5: bits 0, 18, and 30 on
    CHECK(shared_word(Element::e3m2, sixes, 1) == 0x0080000F);  // the rest of element 5; element 9, bit 54 + 1
    CHECK(shared_word(Element::e2m3, sixes, 2) == 0xFC000000);  // element 15, bits 90 to 95
    CHECK(shared_word(Element::e2m3, sixes, 3) == 0);
    CHECK(shared_word(Element::e4m3, sixes, 2) == 0x200);
}

TEST_CASE("a block that stages operands, scales and C computes products of every tcgen05 instruction") {
    int products = 0;
    for (const Instruction& row : instructions()) {
        if (row.family != Family::tcgen05) continue;
        CAPTURE(row.name());
        CHECK(has_reference(row, 100));
        CHECK(claimed_key(row, 100).starts_with("sm_100:tcgen05."));
        HostProduct p = product_of(row.name().c_str(), InputClass::ordinary, products % 2 == 0);
        expected_product(p, 100);
        CHECK(tensor_gemm(p) == p.d);
        ++products;
    }
    CHECK(products == 92);
}

TEST_CASE("wrong layouts of tcgen05 do not pass") {
    const auto passes = [](const char* name, Mutant mutant) {
        HostProduct p = product_of(name, InputClass::ordinary, true);
        expected_product(p, 100);
        CHECK(tensor_gemm(p) == p.d);
        return tensor_gemm(p, mutant) == p.d;
    };
    CHECK_FALSE(passes("tcgen05.m128n16k32.e2m1.fp32", Mutant::unpacked));
    CHECK_FALSE(passes("tcgen05.m128n16k32.e3m2_e4m3.fp32", Mutant::unpacked));
    CHECK_FALSE(passes("tcgen05.m128n16k32.e4m3_e5m2.fp32", Mutant::formats_swapped));
    CHECK_FALSE(passes("tcgen05.m128n16k16.fp16_bf16.fp32", Mutant::formats_swapped));
    CHECK_FALSE(passes("tcgen05.m128n16k32.s8_u8.s32", Mutant::formats_swapped));
    CHECK_FALSE(passes("tcgen05.m128n16k16.fp16.fp32", Mutant::offsets_swapped));
    for (const char* name : {"tcgen05.m128n16k32.mxf8f6f4.e4m3.fp32", "tcgen05.m128n16k64.mxf4.e2m1.fp32",
                             "tcgen05.m128n16k64.mxf4_block16.e2m1.fp32", "tcgen05.m128n16k64.nvf4.e2m1.fp32"}) {
        CHECK_FALSE(passes(name, Mutant::scales_by_lanes));
    }
}

TEST_CASE("every lane of tensor memory holds its row, and the scales of all rows stand in each 32 lanes") {
    for (int warp = 0; warp < 4; ++warp) {
        std::set<int> rows;
        for (int lane = 32 * warp; lane < 32 * warp + 32; ++lane) {
            for (int column = 0; column < 4; ++column) rows.insert(tensor_memory::scale_row(lane, column));
        }
        CHECK(rows.size() == 128);
        CHECK(*rows.rbegin() == 127);
    }
    CHECK(tensor_memory::address(0x00100020, 33, 5) == 0x00310025);
    CHECK(tensor_memory::b_scales_column + tensor_memory::scale_columns <= tensor_memory::columns);
}

}  // namespace tensor_memory_test
