// Rows of ARM's processors: dot products of bf16 without FEAT_EBF16.
#include "softfloat/matrix_units/rows.hpp"

namespace ulp {

void add_arm_rows(std::vector<UnitRow>& rows) {
    TensorCoreModel model = chained_model(formats::bf16, Summation::pairwise, 2, 2);
    model.rounding = Rounding::odd;
    model.flush_subnormals = true;
    model.variation.negative_zeros = true;
    const Source source =
        published("Arm Architecture Reference Manual, BFDotAdd; the tests compare it with the processor, or with qemu");
    add_row(rows, {"arm", "bfdot", "bf16", "fp32"}, model, source);
    model.instruction_k = 4;
    add_row(rows, {"arm", "bfmmla", "bf16", "fp32"}, model, source);
}

}  // namespace ulp
