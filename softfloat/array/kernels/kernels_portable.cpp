#include "softfloat/array/kernels/kernels.hpp"
#include "softfloat/float.hpp"
#include "softfloat/vector/vec_portable.hpp"

namespace ulp::array {
namespace {

/// To nearest even by the scalar operators: faster than one lane of the kernels.
template <FloatFormat F, Operation op>
void operate_scalar(const RoundingPlan&, const void* a, const void* b, const void* c, void* out, std::size_t count) {
    using Real = Float<F>;
    const auto load = [](const void* p, std::size_t i) {
        typename Real::Bits bits;
        copy_bytes(&bits, static_cast<const unsigned char*>(p) + sizeof bits * i, sizeof bits);
        return Real::from_bits(bits);
    };
    for (std::size_t i = 0; i < count; ++i) {
        Real result;
        if constexpr (op == op_add) result = load(a, i) + load(b, i);
        if constexpr (op == op_subtract) result = load(a, i) - load(b, i);
        if constexpr (op == op_multiply) result = load(a, i) * load(b, i);
        if constexpr (op == op_divide) result = load(a, i) / load(b, i);
        if constexpr (op == op_sqrt) result = sqrt(load(a, i));
        if constexpr (op == op_fma) result = fma(load(a, i), load(b, i), load(c, i));
        const auto bits = result.bits();
        copy_bytes(static_cast<unsigned char*>(out) + sizeof bits * i, &bits, sizeof bits);
    }
}

constexpr KernelTable make_portable_kernels() {
    KernelTable table = make_kernels<vec::Portable>();
    constexpr FloatFormat fp16 = formats::fp16;
    constexpr FloatFormat bf16 = formats::bf16;
    table.half_nearest[op_add] = operate_scalar<fp16, op_add>;
    table.half_nearest[op_subtract] = operate_scalar<fp16, op_subtract>;
    table.half_nearest[op_multiply] = operate_scalar<fp16, op_multiply>;
    table.half_nearest[op_divide] = operate_scalar<fp16, op_divide>;
    table.half_nearest[op_sqrt] = operate_scalar<fp16, op_sqrt>;
    table.half_nearest[op_fma] = operate_scalar<fp16, op_fma>;
    table.bfloat_has_options = false;
    // Sums of bf16 stay with the kernel: compilers vectorise it.
    table.bfloat_nearest[op_multiply] = operate_scalar<bf16, op_multiply>;
    table.bfloat_nearest[op_divide] = operate_scalar<bf16, op_divide>;
    table.bfloat_nearest[op_sqrt] = operate_scalar<bf16, op_sqrt>;
    table.bfloat_nearest[op_fma] = operate_scalar<bf16, op_fma>;
    return table;
}

}  // namespace

constinit const KernelTable KernelTable::portable = make_portable_kernels();

}  // namespace ulp::array
