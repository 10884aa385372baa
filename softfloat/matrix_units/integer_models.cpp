#include "softfloat/matrix_units/integer_models.hpp"

#include "softfloat/matrix_units/table/hardware_runs.hpp"

namespace ulp {

namespace {

std::string type_name(bool is_signed, int bits) { return (is_signed ? "s" : "u") + std::to_string(bits); }

/// int8 or int4 in all combinations of signs, wrapping and saturating.
void add_multiplying(std::vector<IntegerRow>& rows, const std::string& unit, int bits, int k,
                     const std::string& proof) {
    for (const bool a_signed : {true, false}) {
        for (const bool b_signed : {true, false}) {
            for (const bool saturates : {false, true}) {
                const std::string a = type_name(a_signed, bits);
                const std::string b = type_name(b_signed, bits);
                const std::string key =
                    unit + "." + (a == b ? a : a + "_" + b) + ".s32" + (saturates ? ".satfinite" : "");
                rows.push_back({key,
                                {.bits = bits,
                                 .a_signed = a_signed,
                                 .b_signed = b_signed,
                                 .saturates = saturates,
                                 .instruction_k = k},
                                Evidence::published,
                                proof});
            }
        }
    }
}

void add_bits(std::vector<IntegerRow>& rows, const std::string& unit, IntegerProduct product,
              const std::string& proof) {
    const char* name = product == IntegerProduct::exclusive_or ? "b1_xor" : "b1_and";
    rows.push_back({unit + "." + name + ".s32",
                    {.bits = 1, .a_signed = false, .b_signed = false, .product = product, .instruction_k = 256},
                    Evidence::published,
                    proof});
}

/// What hardware has shown stands in place of what its manual says.
void add_evidence(IntegerRow& row) {
    const auto seen = seen_on_hardware(row.key);
    if (!seen) return;
    row.evidence = Evidence::verified_live;
    row.proof = *seen;
}

std::vector<IntegerRow> build_table() {
    const std::string ptx = "PTX ISA, mma; integer sums have no order";
    std::vector<IntegerRow> rows;
    for (const char* architecture : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}) {
        const std::string unit = std::string(architecture) + ":mma";
        const bool turing = unit == "sm_75:mma";
        add_multiplying(rows, unit, 8, turing ? 16 : 32, ptx);
        add_multiplying(rows, unit, 4, turing ? 32 : 64, ptx);
        add_bits(rows, unit, IntegerProduct::exclusive_or, ptx);
        if (!turing) add_bits(rows, unit, IntegerProduct::conjunction, ptx);
    }
    add_multiplying(rows, "sm_90:wgmma", 8, 32, "PTX ISA, wgmma");
    add_bits(rows, "sm_90:wgmma", IntegerProduct::conjunction, "PTX ISA, wgmma");
    rows.push_back({"x86:tdpbssd.s8.s32",
                    {.instruction_k = 64},
                    Evidence::verified_live,
                    "compared with the processor by the tests"});
    for (IntegerRow& row : rows) add_evidence(row);
    return rows;
}

}  // namespace

std::span<const IntegerRow> integer_table() {
    static const std::vector<IntegerRow> table = build_table();
    return table;
}

const IntegerRow* find_integer_model(std::string_view key) {
    for (const IntegerRow& row : integer_table()) {
        if (row.key == key) return &row;
    }
    return nullptr;
}

}  // namespace ulp
