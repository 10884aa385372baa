// Rows of integer products: NVIDIA's GPUs and x86 processors.
#include "softfloat/matrix_units/rows.hpp"

namespace ulp {

namespace {

std::string type_name(bool is_signed, int bits) { return (is_signed ? "s" : "u") + std::to_string(bits); }

/// int8 or int4 in all combinations of signs, wrapping and saturating.
void add_multiplying(std::vector<UnitRow>& rows, const std::string& architecture, const std::string& instruction,
                     int bits, int k, const Source& source) {
    for (const bool a_signed : {true, false}) {
        for (const bool b_signed : {true, false}) {
            for (const bool saturates : {false, true}) {
                const std::string a = type_name(a_signed, bits);
                const std::string b = type_name(b_signed, bits);
                const IntegerModel model{.bits = bits,
                                         .a_signed = a_signed,
                                         .b_signed = b_signed,
                                         .saturates = saturates,
                                         .instruction_k = k};
                add_row(rows,
                        {architecture, instruction, a == b ? a : a + "_" + b, saturates ? "s32.satfinite" : "s32"},
                        model, source);
            }
        }
    }
}

void add_bits(std::vector<UnitRow>& rows, const std::string& architecture, const std::string& instruction,
              IntegerProduct product, const Source& source) {
    const char* name = product == IntegerProduct::exclusive_or ? "b1_xor" : "b1_and";
    const IntegerModel model{.bits = 1, .a_signed = false, .b_signed = false, .product = product, .instruction_k = 256};
    add_row(rows, {architecture, instruction, name, "s32"}, model, source);
}

}  // namespace

void add_integer_rows(std::vector<UnitRow>& rows) {
    const Source mma = published("PTX ISA, mma; integer sums have no order");
    for (const std::string architecture : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}) {
        const bool turing = architecture == "sm_75";
        add_multiplying(rows, architecture, "mma", 8, turing ? 16 : 32, mma);
        add_multiplying(rows, architecture, "mma", 4, turing ? 32 : 64, mma);
        add_bits(rows, architecture, "mma", IntegerProduct::exclusive_or, mma);
        if (!turing) add_bits(rows, architecture, "mma", IntegerProduct::conjunction, mma);
    }
    const Source wgmma = published("PTX ISA, wgmma");
    add_multiplying(rows, "sm_90", "wgmma", 8, 32, wgmma);
    add_bits(rows, "sm_90", "wgmma", IntegerProduct::conjunction, wgmma);
    add_multiplying(rows, "sm_100", "tcgen05", 8, 32, published("PTX ISA, tcgen05.mma; integer sums have no order"));
    add_row(rows, {"x86", "tdpbssd", "s8", "s32"}, IntegerModel{.instruction_k = 64},
            {Evidence::verified_live, "compared with the processor by the tests"});
}

}  // namespace ulp
