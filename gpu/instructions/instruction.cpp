#include "gpu/instructions/instruction.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

namespace ulp::gpu {
namespace {

using enum Element;
constexpr Availability ampere{80};
constexpr Availability ada{89};
constexpr Availability hopper{90};
constexpr Availability hopper_only{90, true};
constexpr Availability rtx_blackwell_only{120, true};

/// PTX ISA 9.0, table of mma.sync shapes: the floating-point part.
void add_float_mma(std::vector<Instruction>& table) {
    for (const int k : {8, 16}) {
        table.push_back({Family::mma, {16, 8, k}, fp16, fp16, fp32, ampere});
        table.push_back({Family::mma, {16, 8, k}, fp16, fp16, fp16, ampere});
        table.push_back({Family::mma, {16, 8, k}, bf16, bf16, fp32, ampere});
    }
    for (const int k : {4, 8}) table.push_back({Family::mma, {16, 8, k}, tf32, tf32, fp32, ampere});
    for (const int k : {16, 32}) {
        for (const Element a : {e4m3, e5m2}) {
            for (const Element b : {e4m3, e5m2}) {
                table.push_back({Family::mma, {16, 8, k}, a, b, fp32, ada});
                table.push_back({Family::mma, {16, 8, k}, a, b, fp16, ada});
            }
        }
    }
    table.push_back({Family::mma, {8, 8, 4}, fp64, fp64, fp64, ampere});
    for (const int k : {4, 8, 16}) table.push_back({Family::mma, {16, 8, k}, fp64, fp64, fp64, hopper});
}

/// PTX ISA 9.0, section 9.7.14.5.14: the formats that mma.sync has on sm_120a alone. FP8 there is the instruction
/// above.
void add_narrow_mma(std::vector<Instruction>& table) {
    const auto add = [&](int k, Element element, Element accumulator, Scaling scaling) {
        table.push_back({Family::mma,
                         {16, 8, k},
                         element,
                         element,
                         accumulator,
                         rtx_blackwell_only,
                         BitOperation::none,
                         false,
                         scaling});
    };
    for (const Element element : {e3m2, e2m3, e2m1}) {
        for (const Element accumulator : {fp32, fp16}) add(32, element, accumulator, Scaling::none);
    }
    for (const Element element : {e4m3, e5m2, e3m2, e2m3, e2m1}) add(32, element, fp32, Scaling::mxf8f6f4);
    add(64, packed_e2m1, fp32, Scaling::mxf4);
    add(64, packed_e2m1, fp32, Scaling::nvf4);
}

void add_integer_mma(std::vector<Instruction>& table) {
    const auto add = [&](TileShape shape, Element signed_type, Element unsigned_type) {
        for (const bool saturates : {false, true}) {
            for (const Element a : {signed_type, unsigned_type}) {
                for (const Element b : {signed_type, unsigned_type}) {
                    table.push_back({Family::mma, shape, a, b, s32, ampere, BitOperation::none, saturates});
                }
            }
        }
    };
    for (const TileShape shape : {TileShape{8, 8, 16}, TileShape{16, 8, 16}, TileShape{16, 8, 32}}) add(shape, s8, u8);
    for (const TileShape shape : {TileShape{8, 8, 32}, TileShape{16, 8, 32}, TileShape{16, 8, 64}}) add(shape, s4, u4);
    for (const TileShape shape : {TileShape{8, 8, 128}, TileShape{16, 8, 128}, TileShape{16, 8, 256}}) {
        for (const BitOperation operation : {BitOperation::exclusive_or, BitOperation::conjunction}) {
            table.push_back({Family::mma, shape, b1, b1, s32, ampere, operation});
        }
    }
}

void add_wmma(std::vector<Instruction>& table) {
    table.push_back({Family::wmma, {16, 16, 16}, fp16, fp16, fp32, ampere});
    table.push_back({Family::wmma, {16, 16, 16}, fp16, fp16, fp16, ampere});
    table.push_back({Family::wmma, {16, 16, 16}, bf16, bf16, fp32, ampere});
    table.push_back({Family::wmma, {16, 16, 8}, tf32, tf32, fp32, ampere});
    table.push_back({Family::wmma, {16, 16, 16}, s8, s8, s32, ampere});
    table.push_back({Family::wmma, {16, 16, 16}, u8, u8, s32, ampere});
    table.push_back({Family::wmma, {8, 8, 4}, fp64, fp64, fp64, ampere});
}

/// PTX ISA 9.0, table of wgmma.mma_async shapes, with n = 8: 32 bytes of k a step.
void add_wgmma(std::vector<Instruction>& table) {
    table.push_back({Family::wgmma, {64, 8, 16}, fp16, fp16, fp32, hopper_only});
    table.push_back({Family::wgmma, {64, 8, 16}, fp16, fp16, fp16, hopper_only});
    table.push_back({Family::wgmma, {64, 8, 16}, bf16, bf16, fp32, hopper_only});
    table.push_back({Family::wgmma, {64, 8, 8}, tf32, tf32, fp32, hopper_only});
    for (const Element a : {e4m3, e5m2}) {
        for (const Element b : {e4m3, e5m2}) {
            table.push_back({Family::wgmma, {64, 8, 32}, a, b, fp32, hopper_only});
            table.push_back({Family::wgmma, {64, 8, 32}, a, b, fp16, hopper_only});
        }
    }
    for (const Element a : {s8, u8}) {
        for (const Element b : {s8, u8}) table.push_back({Family::wgmma, {64, 8, 32}, a, b, s32, hopper_only});
    }
    table.push_back({Family::wgmma, {64, 8, 256}, b1, b1, s32, hopper_only, BitOperation::conjunction});
}

std::vector<Instruction> build_table() {
    std::vector<Instruction> table;
    add_float_mma(table);
    add_narrow_mma(table);
    add_integer_mma(table);
    add_wmma(table);
    add_wgmma(table);
    return table;
}

}  // namespace

std::string_view name_of(Family family) {
    switch (family) {
        case Family::mma: return "mma";
        case Family::wmma: return "wmma";
        case Family::wgmma: return "wgmma";
    }
    return "";
}

std::string Instruction::input_name() const {
    if (bit_operation == BitOperation::exclusive_or) return "b1_xor";
    if (bit_operation == BitOperation::conjunction) return "b1_and";
    if (scaling != Scaling::none) return fmt::format("{}.{}", name_of(scaling), name_of(a));
    if (a == b) return std::string(name_of(a));
    return fmt::format("{}_{}", name_of(a), name_of(b));
}

std::string Instruction::name() const {
    return fmt::format("{}.m{}n{}k{}.{}.{}{}", name_of(family), shape.m, shape.n, shape.k, input_name(),
                       name_of(accumulator), saturates ? ".satfinite" : "");
}

std::span<const Instruction> instructions() {
    static const std::vector<Instruction> table = build_table();
    return table;
}

const Instruction& instruction_by_name(std::string_view name) {
    std::string alike;
    const std::string_view family = name.substr(0, name.find('.'));
    for (const Instruction& row : instructions()) {
        if (row.name() == name) return row;
        if (name_of(row.family) == family) alike += (alike.empty() ? "" : ", ") + row.name();
    }
    if (alike.empty()) alike = "those of the families mma, wmma and wgmma";
    throw std::invalid_argument(fmt::format("there is no instruction '{}'; choose one of {}", name, alike));
}

std::string architecture_name(int architecture) { return fmt::format("sm_{}", architecture); }

const Instruction& choose_instruction(Family family, Element a, Element b, Element accumulator, int architecture) {
    const Instruction* best = nullptr;
    std::string there_are;
    for (const Instruction& row : instructions()) {
        if (row.family != family || !row.availability.on(architecture)) continue;
        const bool plain = !row.saturates && row.scaling == Scaling::none;
        if (row.a == a && row.b == b && row.accumulator == accumulator && plain) {
            if (best == nullptr || row.shape.k >= best->shape.k) best = &row;
        }
        there_are += (there_are.empty() ? "" : ", ") + row.name();
    }
    if (best != nullptr) return *best;
    throw std::invalid_argument(fmt::format(
        "{} has no {} instruction of {} and {} with a {} accumulator; there are: {}", architecture_name(architecture),
        name_of(family), name_of(a), name_of(b), name_of(accumulator), there_are.empty() ? "none" : there_are));
}

}  // namespace ulp::gpu
