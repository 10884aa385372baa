#include "experiments/cli/matrix_files.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "engine/files/npy.hpp"
#include "engine/products/on_grid.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/format_names.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/nan_payload.hpp"

namespace ulp {

namespace {

npy::Array read_matrix(const std::filesystem::path& path) {
    npy::Array array = npy::read(path);
    if (array.shape.size() != 2) {
        throw DataError(fmt::format("{}: has {} dimensions; a matrix has 2 (numpy.atleast_2d makes one of a vector)",
                                    path.string(), array.shape.size()));
    }
    return array;
}

/// Element (i, j) as an unsigned word.
std::uint64_t word_at(const npy::Array& array, std::int64_t i, std::int64_t j) {
    const std::int64_t at = array.fortran_order ? j * array.shape[0] + i : i * array.shape[1] + j;
    std::uint64_t word = 0;
    const std::size_t size = array.item_size();
    std::memcpy(&word, array.data.data() + static_cast<std::size_t>(at) * size, size);
    return word;
}

/// What the words of an array are, read as numbers of `format`.
FloatFormat source_format(const std::filesystem::path& path, const npy::Array& array, const FloatFormat& format) {
    if (array.dtype == "<f2") return formats::fp16;
    if (array.dtype == "<f4") return formats::fp32;
    if (array.dtype == "<f8") return formats::fp64;
    const int bits = static_cast<int>(array.item_size()) * 8;
    const int code_bits = format.storage_bits() <= 8 ? 8 : format.storage_bits();
    if (array.dtype[1] == 'u' && bits == code_bits) return format;
    throw DataError(fmt::format("{}: type '{}' holds no {}; save float16, float32 or the codes as uint{}",
                                path.string(), array.dtype, name_of(format), code_bits));
}

/// Loads element by element.
template <class Real, class Convert>
LoadedMatrix<Real> load(const npy::Array& array, const Convert& convert) {
    LoadedMatrix<Real> matrix{array.shape[0], array.shape[1], {}};
    matrix.values.reserve(static_cast<std::size_t>(array.size()));
    for (std::int64_t i = 0; i < matrix.rows; ++i) {
        for (std::int64_t j = 0; j < matrix.cols; ++j) matrix.values.push_back(convert(word_at(array, i, j), i, j));
    }
    return matrix;
}

double as_double(const FloatFormat& format, std::uint64_t word) {
    if (format == formats::fp64) return std::bit_cast<double>(word);
    Context exact;
    return std::bit_cast<double>(convert_keeping_nan(formats::fp64, format, word, exact));
}

/// A number of one format as a code of another, as the options of rounding say; `place` names it in a refusal.
std::uint64_t converted(const FloatFormat& to, const FloatFormat& from, std::uint64_t word,
                        const std::optional<OperandRounding>& rounding, std::string_view remedy,
                        std::int64_t& overflows, const auto& place) {
    const OperandRounding how = rounding.value_or(OperandRounding{});
    Context context{.rounding = how.rounding, .saturate = how.saturate};
    const std::uint64_t code = convert_keeping_nan(to, from, word, context);
    const bool infinity = is_infinity(from, word);
    const bool lost_infinity = infinity && !is_infinity(to, code);
    const bool off_grid = (context.flags & (flag::inexact | flag::overflow | flag::invalid)) != 0 || lost_infinity;
    if (off_grid && !rounding) {
        throw DataError(
            fmt::format("{} = {} is not a value of {}; {}", place(), as_double(from, word), name_of(to), remedy));
    }
    const bool finite = !infinity && !is_nan(from, word);
    overflows += finite && (is_infinity(to, code) || is_nan(to, code)) ? 1 : 0;
    return code;
}

LoadedMatrix<float> load_values(const std::filesystem::path& path, const FloatFormat& format,
                                const std::optional<OperandRounding>& rounding, std::string_view remedy) {
    const npy::Array array = read_matrix(path);
    const FloatFormat source = source_format(path, array, format);
    std::int64_t overflows = 0;
    auto matrix = load<float>(array, [&](std::uint64_t word, std::int64_t i, std::int64_t j) {
        const auto place = [&] { return fmt::format("{}: element ({}, {})", path.string(), i, j); };
        if (source == format && is_beyond_codes(format, word)) {
            throw DataError(fmt::format("{} = {}", place(), beyond_codes_text(format, word)));
        }
        const std::uint64_t code =
            source == format ? word : converted(format, source, word, rounding, remedy, overflows, place);
        return in_fp32_container(format, static_cast<std::uint32_t>(code));
    });
    matrix.overflows = overflows;
    return matrix;
}

}  // namespace

LoadedMatrix<float> load_matrix(const std::filesystem::path& path, const FloatFormat& format,
                                const std::optional<OperandRounding>& rounding) {
    return load_values(path, format, rounding, remedy_of_operands);
}

std::string_view remedy_of_scales(const FloatFormat& format) {
    return format.fraction_bits == 0 ? "scales are not rounded; give powers of two"
                                     : "scales are not rounded; give values of the format";
}

LoadedMatrix<float> load_scales(const std::filesystem::path& path, const FloatFormat& format) {
    return load_values(path, format, std::nullopt, remedy_of_scales(format));
}

LoadedMatrix<double> load_fp64_matrix(const std::filesystem::path& path) {
    const npy::Array array = read_matrix(path);
    const FloatFormat source = source_format(path, array, formats::fp64);
    return load<double>(array, [&](std::uint64_t word, std::int64_t, std::int64_t) { return as_double(source, word); });
}

LoadedMatrix<std::int32_t> load_integer_matrix(const std::filesystem::path& path, std::int64_t least,
                                               std::int64_t greatest) {
    const npy::Array array = read_matrix(path);
    if (array.dtype[1] == 'f' || array.item_size() > 4) {
        throw DataError(fmt::format("{}: type '{}' is no integer of up to 32 bits; save int8 or uint8", path.string(),
                                    array.dtype));
    }
    const int unused = 64 - 8 * static_cast<int>(array.item_size());
    const bool is_signed = array.dtype[1] == 'i';
    return load<std::int32_t>(array, [&](std::uint64_t word, std::int64_t i, std::int64_t j) {
        const auto high = static_cast<std::int64_t>(word << unused);
        const std::int64_t value = is_signed ? high >> unused : static_cast<std::int64_t>(word);
        if (value < least || value > greatest) {
            throw DataError(fmt::format("{}: element ({}, {}) = {} is outside [{}, {}]", path.string(), i, j, value,
                                        least, greatest));
        }
        return static_cast<std::int32_t>(value);
    });
}

void save_matrix(const std::filesystem::path& path, const FloatFormat& format, std::int64_t rows, std::int64_t cols,
                 const std::vector<float>& values) {
    if (format != formats::fp16) {
        npy::write(path, npy::matrix("<f4", rows, cols, values));
        return;
    }
    std::vector<std::uint16_t> codes;
    codes.reserve(values.size());
    for (const float value : values) codes.push_back(static_cast<std::uint16_t>(operand_code(formats::fp16, value)));
    npy::write(path, npy::matrix("<f2", rows, cols, codes));
}

}  // namespace ulp
