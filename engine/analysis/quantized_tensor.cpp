#include "engine/analysis/quantized_tensor.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "softfloat/array/array.hpp"
#include "softfloat/matrix_units/nan_payload.hpp"
#include "softfloat/quantization/fp64_operands.hpp"
#include "softfloat/quantization/scale_of_block.hpp"
#include "softfloat/support/float_environment.hpp"

namespace ulp {
namespace {

std::vector<std::uint32_t> codes_in(const FloatFormat& format, std::span<const float> numbers) {
    std::vector<std::uint32_t> codes;
    codes.reserve(numbers.size());
    for (const float x : numbers) {
        Context exact;
        const std::uint64_t code = convert_keeping_nan(format, formats::fp32, std::bit_cast<std::uint32_t>(x), exact);
        codes.push_back(static_cast<std::uint32_t>(code));
    }
    return codes;
}

/// The tensor as lines along which blocks run. A vector is one line.
MatrixView lines_of(const TensorFormat& how, const Shape& shape, const std::vector<float>& numbers) {
    const auto count = static_cast<Index>(numbers.size());
    if (how.along_first) {
        const Index k = shape.empty() ? 1 : shape.front();
        return MatrixView(numbers.data(), k, k == 0 ? 0 : count / k).transposed();
    }
    const Index k = shape.empty() ? 1 : shape.back();
    return {numbers.data(), k == 0 ? 0 : count / k, k};
}

template <class Real>
float factor_for(const TensorFormat& how, const std::vector<Real>& numbers) {
    if (!how.scale.by_largest) return how.scale.factor;
    Real largest = 0;
    for (const Real x : numbers) {
        if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
    }
    if (largest == 0) return 1;
    constexpr auto most = Real{std::numeric_limits<float>::max()};
    if (largest > most) {
        throw std::range_error("its largest number lies beyond fp32, in which a scale is kept; scale the tensor first");
    }
    return static_cast<float>(std::min(static_cast<Real>(largest_number(how.format)) / largest, most));
}

/// The storage words of numbers rounded to a format of up to 32 bits.
template <class Real>
std::vector<std::uint32_t> rounded_codes(const FloatFormat& format, const std::vector<Real>& numbers,
                                         const Context& context) {
    const auto words = [&]<class Word>(Word) {
        std::vector<Word> codes(numbers.size());
        array::convert_words(format, array::format_of<Real>(), numbers.data(), codes.data(), codes.size(), context,
                             simd_choice());
        return std::vector<std::uint32_t>(codes.begin(), codes.end());
    };
    const int bits = format.storage_bits();
    return bits <= 8 ? words(std::uint8_t{}) : bits <= 16 ? words(std::uint16_t{}) : words(std::uint32_t{});
}

template <class Real>
QuantizedTensor rounded_one_by_one(const TensorFormat& how, const Shape& shape, const std::vector<Real>& numbers,
                                   std::uint64_t seed, std::uint64_t stream, std::uint64_t first_line) {
    const support::FloatEnvironment own;
    QuantizedTensor result;
    result.code_shape = shape;
    std::vector<Real> scaled = numbers;
    const float factor = factor_for(how, numbers);
    const bool has_scale = how.scale.by_largest || factor != 1;
    if (has_scale) {
        for (Real& x : scaled) x *= static_cast<Real>(factor);
        result.scales = {1 / factor};
        result.scale_shape = {1};
    }
    Context context = how.rounding;
    context.seed = seed;
    context.stream = stream;
    context.first = first_line * (shape.empty() ? 1 : static_cast<std::uint64_t>(shape.back()));
    // The codes by themselves: as a number an overflow to NaN would lose its sign. NaNs keep sign and payload.
    result.codes = rounded_codes(how.format, scaled, context);
    round_array(how.format, scaled, context);
    result.dequantized.assign(scaled.begin(), scaled.end());
    using Word = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (!is_nan(how.format, result.codes[i])) continue;
        if (std::isnan(numbers[i])) {
            const auto word = std::bit_cast<Word>(numbers[i]);
            result.codes[i] = static_cast<std::uint32_t>(nan_with_payload(how.format, array::format_of<Real>(), word));
        }
        const std::uint64_t word = nan_with_payload(formats::fp32, how.format, result.codes[i]);
        result.dequantized[i] = std::bit_cast<float>(static_cast<std::uint32_t>(word));
    }
    if (has_scale) {
        for (float& x : result.dequantized) x *= result.scales.front();
    }
    return result;
}

/// y = x diag(signs) H / sqrt(size) again gives x: H is symmetric, and its square is `size` times the identity.
void undo_transform(std::vector<float>& numbers, const std::vector<float>& signs) {
    if (signs.empty()) return;
    hadamard_transform(numbers.data(), static_cast<std::int64_t>(numbers.size()),
                       std::vector<float>(signs.size(), 1.0F));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] *= signs[i % signs.size()];
}

/// lines x k numbers in the order of the tensor, without those that filled k up.
std::vector<float> in_tensor_order(const TensorFormat& how, const MatrixView& tensor, const std::vector<float>& lines,
                                   Index k) {
    std::vector<float> numbers(static_cast<std::size_t>(tensor.rows * tensor.cols));
    for (Index i = 0; i < tensor.rows; ++i) {
        for (Index j = 0; j < tensor.cols; ++j) {
            const Index to = how.along_first ? j * tensor.rows + i : i * tensor.cols + j;
            numbers[static_cast<std::size_t>(to)] = lines[static_cast<std::size_t>(i * k + j)];
        }
    }
    return numbers;
}

QuantizedTensor quantized_in_blocks(const TensorFormat& how, const Shape& shape, const std::vector<float>& numbers,
                                    std::uint64_t seed, std::uint64_t stream, std::uint64_t first_line) {
    const MatrixView tensor = lines_of(how, shape, numbers);
    const Index group = std::max(1, how.row->transform.size);
    const Index filled = (tensor.cols + group - 1) / group * group;  // what k becomes
    Quantized q = quantize(*how.row, tensor,
                           {.seed = seed,
                            .stream = stream,
                            .signs_stream = stream,
                            .first = first_line * static_cast<std::uint64_t>(filled)});
    QuantizedTensor result;
    const bool as_tensor = !how.along_first && q.k == tensor.cols;
    result.code_shape = as_tensor ? shape : Shape{q.lines, q.k};
    std::vector<float> elements(static_cast<std::size_t>(q.lines * q.k));
    for (Index i = 0; i < q.lines * q.k; ++i) elements[static_cast<std::size_t>(i)] = q.elements()(i / q.k, i % q.k);
    if (how.row->elements.whole.any()) {
        const std::vector<std::uint8_t> codes = element_codes(q);
        result.codes.assign(codes.begin(), codes.end());
    } else {
        result.codes = codes_in(how.format, elements);
    }
    result.scales = q.scales;
    result.zero_points = q.zero_points;
    const Index along_k = std::max<Index>(1, q.blocks_along_k);
    result.scale_shape = {static_cast<Index>(q.scales.size()) / along_k, q.blocks_along_k};
    result.tensor_scale = q.tensor_scale;
    if (how.row->transform.size > 0) result.signs = hadamard_signs(how.row->transform, seed, stream);
    const Index k = q.k;
    const support::FloatEnvironment own;
    std::vector<float> lines = dequantize(std::move(q));
    undo_transform(lines, result.signs);
    result.dequantized = in_tensor_order(how, tensor, lines, k);
    return result;
}

}  // namespace

template <class Real>
QuantizedTensor quantize_tensor(const TensorFormat& how, const Shape& shape, const std::vector<Real>& numbers,
                                std::uint64_t seed, std::uint64_t stream, std::uint64_t first_line) {
    if (!how.row) return rounded_one_by_one(how, shape, numbers, seed, stream, first_line);
    if constexpr (std::is_same_v<Real, float>) {
        return quantized_in_blocks(how, shape, numbers, seed, stream, first_line);
    } else {
        std::vector<float> carried(numbers.size());
        carry_in_fp32(*how.row, numbers, carried);
        return quantized_in_blocks(how, shape, carried, seed, stream, first_line);
    }
}
template QuantizedTensor quantize_tensor(const TensorFormat&, const Shape&, const std::vector<float>&, std::uint64_t,
                                         std::uint64_t, std::uint64_t);
template QuantizedTensor quantize_tensor(const TensorFormat&, const Shape&, const std::vector<double>&, std::uint64_t,
                                         std::uint64_t, std::uint64_t);

Index lines_of_piece(const TensorFormat& how) {
    if (!how.row) return how.scale.by_largest ? 0 : 1;
    return how.along_first || how.row->scale.tensor_scale_max != 0 ? 0 : how.row->block.lines;
}

void keep_nans(const FloatFormat& format, const std::vector<std::uint32_t>& codes, QuantizedTensor& quantized) {
    for (std::size_t i = 0; i < codes.size(); ++i) {
        if (!is_nan(format, codes[i])) continue;
        Context exact;
        const std::uint64_t wide = convert_keeping_nan(formats::fp32, format, codes[i], exact);
        quantized.codes[i] = codes[i];
        quantized.dequantized[i] = std::bit_cast<float>(static_cast<std::uint32_t>(wide));
    }
}

void QuantizationError::add(const QuantizationError& other) {
    compared += other.compared;
    lost += other.lost;
    not_finite += other.not_finite;
    signal += other.signal;
    noise += other.noise;
}

std::optional<double> QuantizationError::snr_db() const {
    if (noise == 0 || compared == 0) return std::nullopt;
    return 10 * std::log10(signal / noise);
}

template <class Real>
QuantizationError error_of(const std::vector<Real>& numbers, const std::vector<float>& dequantized) {
    QuantizationError error;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double x = static_cast<double>(numbers[i]);
        const double y = static_cast<double>(dequantized[i]);
        if (!std::isfinite(y)) ++error.not_finite;
        if (!std::isfinite(x) || !std::isfinite(y)) continue;
        ++error.compared;
        error.lost += x != 0 && y == 0 ? 1 : 0;
        error.signal += x * x;
        error.noise += (x - y) * (x - y);
    }
    return error;
}
template QuantizationError error_of(const std::vector<float>&, const std::vector<float>&);
template QuantizationError error_of(const std::vector<double>&, const std::vector<float>&);

namespace {

/// Two codes of 4 bits in each byte.
WrittenArray packed_codes(const std::string& name, const QuantizedTensor& quantized) {
    Shape shape = quantized.code_shape;
    if (shape.empty() || shape.back() % 2 != 0) {
        throw std::invalid_argument("packed codes lie two in a byte along an even last extent; leave out --packed");
    }
    shape.back() /= 2;
    std::vector<std::uint32_t> bytes(quantized.codes.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = quantized.codes[2 * i] | quantized.codes[2 * i + 1] << 4;
    return array_of_codes(name, shape, 8, bytes);
}

}  // namespace

WrittenArrays arrays_of(const std::string& name, const TensorFormat& how, const Shape& shape,
                        const QuantizedTensor& quantized) {
    WrittenArrays arrays;
    arrays.push_back(
        how.packed ? packed_codes(name + ".codes", quantized)
                   : array_of_codes(name + ".codes", quantized.code_shape, how.format.storage_bits(), quantized.codes));
    if (!quantized.scale_shape.empty()) {
        arrays.push_back(array_of_numbers(name + ".scales", quantized.scale_shape, quantized.scales));
    }
    if (how.row && how.row->scale.format.storage_bits() <= 8) {
        const FloatFormat& format = how.row->scale.format;
        arrays.push_back(array_of_codes(name + ".scale_codes", quantized.scale_shape, format.storage_bits(),
                                        codes_in(format, quantized.scales)));
    }
    if (how.row) arrays.push_back(array_of_numbers(name + ".tensor_scale", {1}, {&quantized.tensor_scale, 1}));
    if (!quantized.zero_points.empty()) {
        arrays.push_back(array_of_numbers(name + ".zero_points", quantized.scale_shape, quantized.zero_points));
    }
    if (!quantized.signs.empty()) {
        arrays.push_back(
            array_of_numbers(name + ".signs", {static_cast<Index>(quantized.signs.size())}, quantized.signs));
    }
    arrays.push_back(array_of_numbers(name + ".dequantized", shape, quantized.dequantized));
    return arrays;
}

}  // namespace ulp
