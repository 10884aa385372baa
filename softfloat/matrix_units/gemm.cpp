#include "softfloat/matrix_units/gemm.hpp"

#include <bit>
#include <stdexcept>
#include <vector>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"
#include "softfloat/matrix_units/nan_payload.hpp"
#include "softfloat/support/parallel.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp {

namespace {

void require_fp32_container(const TensorCoreModel& model) {
    if (model.accumulator.precision() > formats::fp32.precision()) {
        throw std::invalid_argument("a product with fp64 numbers does not fit arrays of fp32; give arrays of double");
    }
}

/// A matrix by rows, each element as `convert` makes it of its storage word.
template <class Operand, class Convert>
std::vector<Operand> operands_of(const FloatFormat& format, const MatrixView& matrix, const Convert& convert) {
    std::vector<Operand> operands(static_cast<std::size_t>(matrix.rows * matrix.cols));
    for (std::int64_t i = 0; i < matrix.rows; ++i) {
        for (std::int64_t j = 0; j < matrix.cols; ++j) {
            operands[static_cast<std::size_t>(i * matrix.cols + j)] = convert(operand_code(format, matrix(i, j)));
        }
    }
    return operands;
}

/// Enough products to wake threads for.
template <class Problem>
bool is_long(const Problem& p) {
    return p.m() * p.n() * p.k() > (std::int64_t{1} << 16);
}

template <class Operand>
void chain_dots(const TensorCoreModel& model, const GemmProblem& p, const std::vector<Operand>& a,
                const std::vector<Operand>& b) {
    for_each_index(p.m(), worth_threads(is_long(p)), [&](std::int64_t i) {
        for (std::int64_t j = 0; j < p.n(); ++j) {
            const std::uint32_t c = !p.has_c() ? 0 : operand_code(model.accumulator, p.c(i, j));
            const std::uint32_t d = chain_dot(model, a.data() + i * p.k(), b.data() + j * p.k(), c, p.k());
            p.d(i, j) = in_fp32_container(model.accumulator, d);
        }
    });
}

void require_fp64(const TensorCoreModel& model) {
    if (model.accumulator != formats::fp64) throw std::invalid_argument("this model has no fp64 accumulator");
}

}  // namespace

double fp64_element(const TensorCoreModel& model, const Fp64Problem& p, std::int64_t i, std::int64_t j) {
    std::vector<std::uint64_t> row, column;
    for (std::int64_t k = 0; k < p.k(); ++k) {
        row.push_back(std::bit_cast<std::uint64_t>(p.a(i, k)));
        column.push_back(std::bit_cast<std::uint64_t>(p.b(k, j)));
    }
    const std::uint64_t c = !p.has_c() ? 0 : std::bit_cast<std::uint64_t>(p.c(i, j));
    return std::bit_cast<double>(chain_dot(model, row.data(), column.data(), c, p.k()));
}

void gemm(const TensorCoreModel& model, const Fp64Problem& p) {
    require_fp64(model);
    require_shapes(p);
    const auto& kernels = kernels_of<gemm_kernels::Kernels>(simd_choice());
    if (!gemm_kernels::fast_fp64_gemm(kernels, model, p)) gemm_plain(model, p);
}

void gemm_plain(const TensorCoreModel& model, const Fp64Problem& p) {
    require_fp64(model);
    require_shapes(p);
    for_each_index(p.m(), worth_threads(is_long(p)), [&](std::int64_t i) {
        for (std::int64_t j = 0; j < p.n(); ++j) p.d(i, j) = fp64_element(model, p, i, j);
    });
}

std::uint32_t operand_code(const FloatFormat& format, float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    if (format == formats::fp32) return word;
    // The instruction reads the whole fp32 register and ignores its low 13 bits.
    if (format == formats::tf32) return word & ~std::uint32_t{0x1FFF};
    Context context;
    return static_cast<std::uint32_t>(convert_keeping_nan(format, formats::fp32, word, context));
}

float in_fp32_container(const FloatFormat& format, std::uint32_t code) {
    if (format == formats::fp32) return std::bit_cast<float>(code);
    Context exact;
    return std::bit_cast<float>(static_cast<std::uint32_t>(convert_keeping_nan(formats::fp32, format, code, exact)));
}

void gemm_plain(const TensorCoreModel& model, const GemmProblem& p) {
    require_shapes(p);
    require_fp32_container(model);
    if (takes_decoded(model)) {
        const auto decode_a = [&](std::uint32_t code) { return decoded(model.a_format, code); };
        const auto decode_b = [&](std::uint32_t code) { return decoded(model.b_format, code); };
        chain_dots(model, p, operands_of<DecodedOperand>(model.a_format, p.a, decode_a),
                   operands_of<DecodedOperand>(model.b_format, p.b.transposed(), decode_b));
    } else {
        const auto same = [](std::uint32_t code) { return code; };
        chain_dots(model, p, operands_of<std::uint32_t>(model.a_format, p.a, same),
                   operands_of<std::uint32_t>(model.b_format, p.b.transposed(), same));
    }
}

void gemm(const TensorCoreModel& model, const GemmProblem& problem) {
    require_shapes(problem);
    const auto& kernels = kernels_of<gemm_kernels::Kernels>(simd_choice());
    if (!gemm_kernels::fast_gemm(kernels, model, problem)) gemm_plain(model, problem);
}

}  // namespace ulp
