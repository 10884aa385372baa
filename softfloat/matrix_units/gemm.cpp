#include "softfloat/matrix_units/gemm.hpp"

#include <bit>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"
#include "softfloat/matrix_units/gemm_path.hpp"
#include "softfloat/matrix_units/nan_payload.hpp"
#include "softfloat/support/float_environment.hpp"
#include "softfloat/support/parallel.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp {

namespace {

void require_fp32_container(const TensorCoreModel& model) {
    if (model.accumulator.precision() > formats::fp32.precision()) {
        throw std::invalid_argument("a product with fp64 numbers does not fit arrays of fp32; use fp64_gemm");
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
void gemm_plain(const TensorCoreModel& model, const GemmProblem& p, const std::vector<Operand>& a,
                const std::vector<Operand>& b) {
    for_each_index(p.m(), worth_threads(is_long(p)), [&](std::int64_t i) {
        for (std::int64_t j = 0; j < p.n(); ++j) {
            const std::uint32_t c = !p.has_c() ? 0 : operand_code(model.accumulator, p.c(i, j));
            const std::uint32_t d = chain_dot(model, a.data() + i * p.k(), b.data() + j * p.k(), c, p.k());
            p.d(i, j) = in_fp32_container(model.accumulator, d);
        }
    });
}

/// One element by the definition.
double fp64_element(const TensorCoreModel& model, const Fp64Problem& p, std::int64_t i, std::int64_t j) {
    std::vector<std::uint64_t> row, column;
    for (std::int64_t k = 0; k < p.k(); ++k) {
        row.push_back(std::bit_cast<std::uint64_t>(p.a(i, k)));
        column.push_back(std::bit_cast<std::uint64_t>(p.b(k, j)));
    }
    const std::uint64_t c = !p.has_c() ? 0 : std::bit_cast<std::uint64_t>(p.c(i, j));
    return std::bit_cast<double>(chain_dot(model, row.data(), column.data(), c, p.k()));
}

bool fused_chain(const TensorCoreModel& model) {
    return model.summation == Summation::fma_chain && model.rounding == Rounding::nearest_even &&
           model.a_format == formats::fp64 && model.b_format == formats::fp64 && !model.flush_subnormals;
}

// sums[j] = fma(a, b[j], sums[j]) by the processor's instruction, which IEEE 754 defines.
#ifdef __x86_64__
bool has_fused_multiply_add() { return simd_choice() >= Simd::avx2; }
__attribute__((target("avx2,fma"))) void add_multiple(double a, const double* b, double* sums, std::int64_t count) {
    for (std::int64_t j = 0; j < count; ++j) sums[j] = __builtin_fma(a, b[j], sums[j]);
}
#else
bool has_fused_multiply_add() { return false; }
void add_multiple(double, const double*, double*, std::int64_t) {}
#endif

}  // namespace

void fp64_gemm(const TensorCoreModel& model, const Fp64Problem& p) {
    if (model.accumulator != formats::fp64) throw std::invalid_argument("this model has no fp64 accumulator");
    require_shapes(p);
    if (!fused_chain(model) || !has_fused_multiply_add()) return fp64_gemm_plain(model, p);
    std::vector<double> b(static_cast<std::size_t>(p.k() * p.n()));
    for (std::int64_t k = 0; k < p.k(); ++k) {
        for (std::int64_t j = 0; j < p.n(); ++j) b[static_cast<std::size_t>(k * p.n() + j)] = p.b(k, j);
    }
    for_each_index(p.m(), worth_threads(is_long(p)), [&](std::int64_t i) {
        const support::FloatEnvironment environment;  // of this thread
        std::vector<double> row(static_cast<std::size_t>(p.n()));
        for (std::int64_t j = 0; j < p.n(); ++j) row[static_cast<std::size_t>(j)] = !p.has_c() ? 0 : p.c(i, j);
        for (std::int64_t k = 0; k < p.k(); ++k) add_multiple(p.a(i, k), b.data() + k * p.n(), row.data(), p.n());
        for (std::int64_t j = 0; j < p.n(); ++j) {
            // The zeros that fill the last instruction make +0 of -0.
            const double d = row[static_cast<std::size_t>(j)] + (p.k() % model.instruction_k == 0 ? -0.0 : 0.0);
            // Once NaN, always NaN: which NaN is the plain path's to say.
            p.d(i, j) = std::isnan(d) ? fp64_element(model, p, i, j) : d;
        }
    });
}

void fp64_gemm_plain(const TensorCoreModel& model, const Fp64Problem& p) {
    if (model.accumulator != formats::fp64) throw std::invalid_argument("this model has no fp64 accumulator");
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

void soft_gemm_plain(const TensorCoreModel& model, const GemmProblem& p) {
    require_shapes(p);
    require_fp32_container(model);
    if (takes_decoded(model)) {
        const auto decode_a = [&](std::uint32_t code) { return decoded(model.a_format, code); };
        const auto decode_b = [&](std::uint32_t code) { return decoded(model.b_format, code); };
        gemm_plain(model, p, operands_of<DecodedOperand>(model.a_format, p.a, decode_a),
                   operands_of<DecodedOperand>(model.b_format, p.b.transposed(), decode_b));
    } else {
        const auto same = [](std::uint32_t code) { return code; };
        gemm_plain(model, p, operands_of<std::uint32_t>(model.a_format, p.a, same),
                   operands_of<std::uint32_t>(model.b_format, p.b.transposed(), same));
    }
}

void soft_gemm(const TensorCoreModel& model, const GemmProblem& problem) {
    require_shapes(problem);
    if (choose_path(model, problem.m(), problem.n(), problem.k()).kernel == GemmKernel::definition) {
        return soft_gemm_plain(model, problem);
    }
    gemm_kernels::fast_gemm(kernels_of<gemm_kernels::Kernels>(simd_choice()), model, problem);
}

}  // namespace ulp
