// Rows of x86 processors: floating-point products.
#include "softfloat/matrix_units/rows.hpp"

namespace ulp {

void add_x86_rows(std::vector<UnitRow>& rows) {
    TensorCoreModel pairs = chained_model(formats::bf16, Summation::fma_pairs, 2, 2);
    pairs.flush_subnormals = true;
    pairs.nan = NanStyle::x86;
    TensorCoreModel tile = chained_model(formats::bf16, Summation::even_odd_fma, 32, 32);
    tile.flush_subnormals = true;
    tile.nan = NanStyle::x86;
    add_row(rows, {"x86", "vdpbf16ps", "bf16", "fp32"}, pairs,
            {Evidence::verified_live, "compared with the processor by the tests, on random blocks of any bits"});
    add_row(rows, {"x86", "tdpbf16ps", "bf16", "fp32"}, tile,
            {Evidence::verified_live, "compared with the processor by the tests, on random tiles of any bits"});
}

}  // namespace ulp
