#include "gpu/instructions/instruction.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "gpu/instructions/instruction_list.hpp"

namespace ulp::gpu {
namespace {

#define ULPLAB_MMA_ROW(...) ULPLAB_INSTRUCTION(mma, __VA_ARGS__),
#define ULPLAB_WMMA_ROW(...) ULPLAB_INSTRUCTION(wmma, __VA_ARGS__),
#define ULPLAB_WGMMA_ROW(...) ULPLAB_INSTRUCTION(wgmma, __VA_ARGS__),
#define ULPLAB_TCGEN05_ROW(...) ULPLAB_INSTRUCTION(tcgen05, __VA_ARGS__),
constexpr Instruction table[] = {
    ULPLAB_MMA_FLOATS(ULPLAB_MMA_ROW)    //
    ULPLAB_MMA_FP8(ULPLAB_MMA_ROW)       //
    ULPLAB_MMA_FP64_M8(ULPLAB_MMA_ROW)   //
    ULPLAB_MMA_FP64_M16(ULPLAB_MMA_ROW)  //
    ULPLAB_MMA_NARROW(ULPLAB_MMA_ROW)    //
    ULPLAB_MMA_SCALED(ULPLAB_MMA_ROW)    //
    ULPLAB_MMA_INTEGERS(ULPLAB_MMA_ROW)  //
    ULPLAB_WMMA(ULPLAB_WMMA_ROW)         //
    ULPLAB_WGMMA(ULPLAB_WGMMA_ROW)       //
    ULPLAB_TCGEN05(ULPLAB_TCGEN05_ROW)   //
};

}  // namespace

std::string_view name_of(Family family) {
    switch (family) {
        case Family::mma: return "mma";
        case Family::wmma: return "wmma";
        case Family::wgmma: return "wgmma";
        case Family::tcgen05: return "tcgen05";
    }
    return "";
}

std::string Instruction::input_name() const {
    if (bit_operation == BitOperation::exclusive_or) return "b1_xor";
    if (bit_operation == BitOperation::conjunction) return "b1_and";
    const std::string scales = scaling == Scaling::none ? "" : fmt::format("{}.", name_of(scaling));
    if (a == b) return fmt::format("{}{}", scales, name_of(a));
    return fmt::format("{}{}_{}", scales, name_of(a), name_of(b));
}

std::string Instruction::name() const {
    return fmt::format("{}.m{}n{}k{}.{}.{}{}", name_of(family), shape.m, shape.n, shape.k, input_name(),
                       name_of(accumulator), saturates ? ".satfinite" : "");
}

std::span<const Instruction> instructions() { return table; }

const Instruction& instruction_by_name(std::string_view name) {
    std::string alike;
    const std::string_view family = name.substr(0, name.find('.'));
    for (const Instruction& row : instructions()) {
        if (row.name() == name) return row;
        if (name_of(row.family) == family) alike += (alike.empty() ? "" : ", ") + row.name();
    }
    if (alike.empty()) alike = "those of the families mma, wmma, wgmma and tcgen05";
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
