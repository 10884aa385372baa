// Rows of block-scaled products: Blackwell's tcgen05 and mma.
#include "softfloat/matrix_units/mma_sim.hpp"
#include "softfloat/matrix_units/rows.hpp"

namespace ulp {

namespace {

struct Scales {
    FloatFormat format;
    int block;           // elements that share a scale
    int exact_products;  // added exactly before they are scaled
};

void add(std::vector<UnitRow>& rows, const std::string& architecture, const std::string& instruction,
         const TensorCoreModel& unscaled, const Scales& scales, const Source& source) {
    add_row(rows, {architecture, instruction, names_of(unscaled.a_format, unscaled.b_format), "fp32"},
            BlockScaledModel{unscaled, scales.format, scales.block, scales.exact_products}, source);
}

}  // namespace

void add_block_scaled_rows(std::vector<UnitRow>& rows) {
    using namespace formats;
    const Source equal = published(equal_to_mma_sim());
    const TensorCoreModel fp4{
        .a_format = e2m1, .b_format = e2m1, .instruction_k = 64, .group_size = 64, .fraction_bits = 35};
    for (const auto& [architecture, unit] :
         {std::pair<std::string, std::string>{"sm_100", "tcgen05"}, {"sm_120", "mma"}}) {
        for (const auto& [a, b] : f8f6f4_pairs()) {
            const TensorCoreModel fp8{
                .a_format = a, .b_format = b, .instruction_k = 32, .group_size = 32, .fraction_bits = 25};
            add(rows, architecture, unit + ".mxf8f6f4", fp8, {e8m0, 32, 1}, published(f8f6f4_source(a, b)));
        }
        // kind::mxf4nvf4 by the format of its scales; PTX ISA 9.1 added E8M0 for blocks of 16.
        add(rows, architecture, unit + ".mxf4", fp4, {e8m0, 32, 16}, equal);
        add(rows, architecture, unit + ".mxf4_block16", fp4, {e8m0, 16, 16}, equal);
        add(rows, architecture, unit + ".nvf4", fp4, {e4m3, 16, 16}, equal);
    }
    add(rows, "sm_120", "mma.nvf4_block32", fp4, {e4m3, 32, 16},
        published(equal.text + "; listed by its version 1, which has no GPU test of it"));
}

}  // namespace ulp
