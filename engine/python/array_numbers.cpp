#include "engine/python/array_numbers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <vector>

#include "engine/products/matmul.hpp"
#include "engine/watching/histogram.hpp"
#include "softfloat/arithmetic.hpp"
#include "softfloat/array/array.hpp"
#include "softfloat/comparison.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/nan_payload.hpp"
#include "softfloat/neighbours.hpp"
#include "softfloat/remainder.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp::python {
namespace {

constexpr std::int64_t piece = std::int64_t{1} << 16;  // numbers that one thread takes at a time

/// f(first, count) for pieces of [0, count).
template <class Function>
void for_pieces(std::int64_t count, const Function& f) {
    if (count <= piece) return f(std::int64_t{0}, count);
    for_each_index((count + piece - 1) / piece, worth_threads(true),
                   [&](std::int64_t i) { f(i * piece, std::min(piece, count - i * piece)); });
}

/// The numbers of all codes of a format of up to 16 bits. Made once per format and kept.
const float* decode_table(const FloatFormat& format) {
    static std::mutex mutex;
    static std::vector<std::pair<FloatFormat, std::vector<float>>> tables = [] {
        std::vector<std::pair<FloatFormat, std::vector<float>>> empty;
        empty.reserve(256);  // the rows stay where they are
        return empty;
    }();
    const std::lock_guard lock(mutex);
    for (const auto& [known, table] : tables) {
        if (known == format) return table.data();
    }
    if (tables.size() == tables.capacity()) throw std::invalid_argument("more than 256 formats of up to 16 bits");
    std::vector<float> table(std::size_t{1} << (8 * word_bytes(format)));
    for (std::size_t code = 0; code < table.size(); ++code) {
        const std::size_t mask = (std::size_t{1} << format.storage_bits()) - 1;
        table[code] = in_fp32_container(format, static_cast<std::uint32_t>(code & mask));
    }
    return tables.emplace_back(format, std::move(table)).second.data();
}

std::uint64_t word_at(const void* data, int bytes, std::int64_t i) {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(data) + i * bytes, static_cast<std::size_t>(bytes));
    return word;
}

double double_of(const FloatFormat& format, std::uint64_t word) {
    if (format == formats::fp64) return std::bit_cast<double>(word);
    Context exact;
    return std::bit_cast<double>(convert_keeping_nan(formats::fp64, format, word, exact));
}

std::uint64_t word_at(const Words& words, std::int64_t i) {
    return word_at(words.data, words.integers ? 8 : word_bytes(words.format), i);
}

/// The word in another format of one number, as the definition has it.
std::uint64_t converted(const FloatFormat& to, const Words& words, std::int64_t i, Context& context) {
    const std::uint64_t word = word_at(words, i);
    if (!words.integers) return convert_keeping_nan(to, words.format, word, context);
    const bool negative = static_cast<std::int64_t>(word) < 0;
    return round_to_bits(to, negative, 0, negative ? ~word + 1 : word, context);
}

/// One number, as the definition has it.
struct Converted {
    float number;
    bool off_grid;
};
Converted convert_one(const FloatFormat& to, const FloatFormat& from, std::uint64_t word, const InputRounding& how) {
    Context context{.rounding = how.rounding, .saturate = how.saturate};
    const std::uint64_t code = convert_keeping_nan(to, from, word, context);
    const bool lost_infinity = is_infinity(from, word) && !is_infinity(to, code);
    const bool flagged = (context.flags & (flag::inexact | flag::overflow | flag::invalid)) != 0;
    return {in_fp32_container(to, static_cast<std::uint32_t>(code)), flagged || lost_infinity};
}

/// Number by number; where there is no rounding, up to the first that is off the grid.
std::optional<OffGrid> convert_each(const Words& words, const FloatFormat& format,
                                    const std::optional<InputRounding>& rounding, float* to) {
    const int bytes = word_bytes(words.format);
    for (std::int64_t i = 0; i < words.count; ++i) {
        const std::uint64_t word = word_at(words.data, bytes, i);
        const Converted one = convert_one(format, words.format, word, rounding.value_or(InputRounding{}));
        if (one.off_grid && !rounding) return OffGrid{i, double_of(words.format, word)};
        to[i] = one.number;
    }
    return std::nullopt;
}

template <class Word>
bool any_above_infinity(const FloatFormat& format, const void* data, std::int64_t count) {
    const auto* const words = static_cast<const Word*>(data);
    const auto mask = static_cast<Word>(format.magnitude_mask() << format.padding_bits);
    const auto limit = static_cast<Word>(format.infinity_magnitude() << format.padding_bits);
    Word differences = 0;  // their top bits: a word that is above makes a negative one
    for (std::int64_t i = 0; i < count; ++i) differences |= static_cast<Word>(limit - (words[i] & mask));
    return differences >> (8 * sizeof(Word) - 1) != 0;
}

/// Whether one of the words is a NaN. Where it costs to look, true may be said of words that are none.
bool any_nan(const FloatFormat& format, const void* words, std::int64_t count) {
    if (!format.has_nan()) return false;
    if (format.specials != Specials::ieee) return true;
    switch (word_bytes(format)) {
        case 1: return any_above_infinity<std::uint8_t>(format, words, count);
        case 2: return any_above_infinity<std::uint16_t>(format, words, count);
        case 4: return any_above_infinity<std::uint32_t>(format, words, count);
        default: return any_above_infinity<std::uint64_t>(format, words, count);
    }
}

}  // namespace

bool holds(const FloatFormat& container, const FloatFormat& format) {
    return format.fraction_bits <= container.fraction_bits && format.emax() <= container.emax() &&
           format.smallest_exponent() >= container.smallest_exponent() && (container.has_sign || !format.has_sign) &&
           (container.has_nan() || !format.has_nan()) && (container.has_infinity() || !format.has_infinity()) &&
           (container.has_negative_zero() || !format.has_negative_zero()) &&
           (container.has_subnormals || !format.has_subnormals);
}

bool fits_fp32(const FloatFormat& format) {
    return format.fraction_bits <= formats::fp32.fraction_bits && format.emax() <= formats::fp32.emax() &&
           format.smallest_exponent() >= formats::fp32.smallest_exponent();
}

std::optional<std::int64_t> first_beyond(const Words& words) {
    const int bytes = word_bytes(words.format);
    if (words.format.storage_bits() == 8 * bytes) return std::nullopt;
    std::atomic<std::int64_t> first = words.count;
    for_pieces(words.count, [&](std::int64_t begin, std::int64_t count) {
        std::uint64_t all = 0;
        if (bytes == 1) {
            const auto* from = static_cast<const std::uint8_t*>(words.data) + begin;
            std::uint8_t together = 0;
            for (std::int64_t i = 0; i < count; ++i) together |= from[i];
            all = together;
        } else {
            for (std::int64_t i = begin; i < begin + count; ++i) all |= word_at(words.data, bytes, i);
        }
        if (!is_beyond_codes(words.format, all)) return;
        std::int64_t own = begin;
        while (!is_beyond_codes(words.format, word_at(words.data, bytes, own))) ++own;
        std::int64_t known = first;
        while (own < known && !first.compare_exchange_weak(known, own)) {
        }
    });
    return first < words.count ? std::optional(first.load()) : std::nullopt;
}

void decode_words(const Words& words, double* to) {
    for_pieces(words.count, [&](std::int64_t first, std::int64_t count) {
        for (std::int64_t i = first; i < first + count; ++i) {
            to[i] = double_of(words.format, word_at(words.data, word_bytes(words.format), i));
        }
    });
}

void encode_words(const Words& words, const FloatFormat& format, const InputRounding& rounding, void* to) {
    const int bytes = word_bytes(words.format);
    const auto to_bytes = static_cast<std::size_t>(word_bytes(format));
    const Context context{.rounding = rounding.rounding, .saturate = rounding.saturate};
    if (words.integers) {
        for_pieces(words.count, [&](std::int64_t first, std::int64_t count) {
            for (std::int64_t i = first; i < first + count; ++i) {
                Context own = context;
                array::store_word(to, to_bytes, static_cast<std::size_t>(i), converted(format, words, i, own));
            }
        });
        return;
    }
    for_pieces(words.count, [&](std::int64_t first, std::int64_t count) {
        for (std::int64_t i = first; i < first + count; i += 1024) {
            const std::int64_t size = std::min<std::int64_t>(1024, first + count - i);
            const char* const from = static_cast<const char*>(words.data) + i * bytes;
            char* const codes = static_cast<char*>(to) + static_cast<std::size_t>(i) * to_bytes;
            array::convert_words(format, words.format, from, codes, static_cast<std::size_t>(size), context,
                                 simd_choice());
            if (!any_nan(words.format, from, size)) continue;
            for (std::int64_t j = 0; j < size; ++j) {
                const std::uint64_t word = word_at(from, bytes, j);
                if (!is_nan(words.format, word)) continue;
                Context own = context;
                array::store_word(codes, to_bytes, static_cast<std::size_t>(j),
                                  convert_keeping_nan(format, words.format, word, own));
            }
        }
    });
}

namespace {

/// Whether codes of numbers are those numbers' words again. What a format rounds does not come back: its neighbours are
/// a number of the words' format, too, or an overflow there, which shows where that is an infinity.
bool comes_back(const Words& words, const FloatFormat& format, const void* codes, std::int64_t at, std::int64_t count) {
    if (words.integers || !words.format.has_infinity()) return false;
    std::array<std::uint64_t, 1024> back;
    const auto bytes = static_cast<std::int64_t>(word_bytes(words.format));
    array::convert_words(words.format, format, static_cast<const char*>(codes) + at * word_bytes(format), back.data(),
                         static_cast<std::size_t>(count), {}, simd_choice());
    return std::memcmp(back.data(), static_cast<const char*>(words.data) + at * bytes,
                       static_cast<std::size_t>(count * bytes)) == 0;
}

/// The first number of a piece that the format does not have, or the piece's end.
std::int64_t first_off_grid(const Words& words, const FloatFormat& format, std::int64_t at, std::int64_t count) {
    for (std::int64_t i = at; i < at + count; ++i) {
        Context context;
        const std::uint64_t code = converted(format, words, i, context);
        const bool infinite = !words.integers && is_infinity(words.format, word_at(words, i));
        const bool flagged = (context.flags & (flag::inexact | flag::overflow | flag::invalid)) != 0;
        if (flagged || infinite != is_infinity(format, code)) return i;
    }
    return at + count;
}

}  // namespace

std::optional<OffGrid> words_on_grid(const Words& words, const FloatFormat& format,
                                     const std::optional<InputRounding>& rounding, void* to) {
    encode_words(words, format, rounding.value_or(InputRounding{}), to);
    if (rounding || (!words.integers && words.format == format)) return std::nullopt;
    std::atomic<std::int64_t> first = words.count;
    for_pieces(words.count, [&](std::int64_t begin, std::int64_t count) {
        for (std::int64_t i = begin; i < begin + count; i += 1024) {
            const std::int64_t size = std::min<std::int64_t>(1024, begin + count - i);
            if (comes_back(words, format, to, i, size)) continue;
            const std::int64_t found = first_off_grid(words, format, i, size);
            if (found == i + size) continue;
            std::int64_t known = first;
            while (found < known && !first.compare_exchange_weak(known, found)) {
            }
            return;
        }
    });
    if (first == words.count) return std::nullopt;
    const std::uint64_t word = word_at(words, first);
    return OffGrid{
        first, words.integers ? static_cast<double>(static_cast<std::int64_t>(word)) : double_of(words.format, word)};
}

void unpack_pairs(const std::uint8_t* pairs, std::int64_t count, std::uint8_t* codes) {
    for_pieces(count, [&](std::int64_t first, std::int64_t size) {
        // Pointers of its own: a byte that is stored might be part of the ones outside, which would be read again.
        const std::uint8_t* const from = pairs + first;
        std::uint8_t* const to = codes + 2 * first;
        for (std::int64_t i = 0; i < size; ++i) {
            to[2 * i] = from[i] & 15;
            to[2 * i + 1] = from[i] >> 4;
        }
    });
}

void pack_pairs(const std::uint8_t* codes, std::int64_t count, std::uint8_t* pairs) {
    for_pieces(count, [&](std::int64_t first, std::int64_t size) {
        const std::uint8_t* const from = codes + 2 * first;
        std::uint8_t* const to = pairs + first;
        for (std::int64_t i = 0; i < size; ++i) to[i] = static_cast<std::uint8_t>(from[2 * i] | from[2 * i + 1] << 4);
    });
}

namespace {

/// The scalar operations on the words of the operands, in arithmetic of 64 or 128 bits.
#define ULPLAB_ROW(name, count, vectorised, expression)                                           \
    NamedOperation {                                                                              \
        name, count, vectorised,                                                                  \
            [](const FloatFormat& f, [[maybe_unused]] const std::uint64_t* x, Context& context) { \
                using Word [[maybe_unused]] = std::uint64_t;                                      \
                return expression;                                                                \
            },                                                                                    \
            [](const FloatFormat& f, [[maybe_unused]] const std::uint64_t* x, Context& context) { \
                using Word [[maybe_unused]] = UInt128;                                            \
                return expression;                                                                \
            }                                                                                     \
    }
constexpr std::array operation_rows{
    ULPLAB_ROW("add", 2, array::op_add, add_bits<Word>(f, x[0], x[1], context)),
    ULPLAB_ROW("subtract", 2, array::op_subtract, subtract_bits<Word>(f, x[0], x[1], context)),
    ULPLAB_ROW("multiply", 2, array::op_multiply, multiply_bits<Word>(f, x[0], x[1], context)),
    ULPLAB_ROW("divide", 2, array::op_divide, divide_bits<Word>(f, x[0], x[1], context)),
    ULPLAB_ROW("fma", 3, array::op_fma, fma_bits<Word>(f, x[0], x[1], x[2], context)),
    ULPLAB_ROW("sqrt", 1, array::op_sqrt, sqrt_bits<Word>(f, x[0], context)),
    ULPLAB_ROW("remainder", 2, std::nullopt, remainder_bits<Word>(f, x[0], x[1], context)),
    ULPLAB_ROW("next_up", 1, std::nullopt, next_up_bits(f, x[0], context)),
    ULPLAB_ROW("next_down", 1, std::nullopt, next_down_bits(f, x[0], context)),
};
#undef ULPLAB_ROW

}  // namespace

const NamedOperation& operation_by_name(const std::string& name) {
    for (const NamedOperation& row : operation_rows) {
        if (name == row.name) return row;
    }
    throw std::invalid_argument("there is no operation '" + name + "'");
}

void operate(const NamedOperation& operation, const FloatFormat& format, const array::Operands& operands, void* to,
             std::int64_t count, const Context& context, std::uint8_t* flags) {
    const int bytes = word_bytes(format);
    const void* const all[] = {operands.a, operands.b, operands.c};
    const auto scalar = format.precision() <= 24 ? operation.narrow : operation.wide;
    for_pieces(count, [&](std::int64_t first, std::int64_t size) {
        Context part = context;
        part.first += static_cast<std::uint64_t>(first);
        if (flags == nullptr && operation.vectorised) {
            const auto at = [&](const void* words) -> const void* {
                return words == nullptr ? nullptr : static_cast<const char*>(words) + first * bytes;
            };
            return array::operate_words(format, *operation.vectorised, {at(all[0]), at(all[1]), at(all[2])},
                                        static_cast<char*>(to) + first * bytes, static_cast<std::size_t>(size), part,
                                        simd_choice());
        }
        for (std::int64_t i = first; i < first + size; ++i) {
            std::array<std::uint64_t, 3> x{};
            for (int j = 0; j < operation.operands; ++j) x[static_cast<std::size_t>(j)] = word_at(all[j], bytes, i);
            Context own = scalar_context(part, static_cast<std::size_t>(i - first));
            const std::uint64_t result = scalar(format, x.data(), own);
            array::store_word(to, static_cast<std::size_t>(bytes), static_cast<std::size_t>(i), result);
            if (flags != nullptr) flags[i] = static_cast<std::uint8_t>(own.flags);
        }
    });
}

void compare(const FloatFormat& format, const void* a, const void* b, std::int8_t* to, std::int64_t count,
             bool signaling, std::uint8_t* flags) {
    const int bytes = word_bytes(format);
    const auto of_two = signaling ? compare_signaling_bits : compare_bits;
    for_pieces(count, [&](std::int64_t first, std::int64_t size) {
        for (std::int64_t i = first; i < first + size; ++i) {
            Context context;
            const Order order = of_two(format, word_at(a, bytes, i), word_at(b, bytes, i), context);
            to[i] = static_cast<std::int8_t>(static_cast<int>(order) - 1);
            if (flags != nullptr) flags[i] = static_cast<std::uint8_t>(context.flags);
        }
    });
}

void decode_words(const Words& words, float* to) {
    const FloatFormat& format = words.format;
    const int bytes = word_bytes(format);
    if (format != formats::fp64 && !fits_fp32(format)) {
        throw std::invalid_argument("fp32 does not hold the numbers of this format");
    }
    if (bytes == 8 && format != formats::fp64) {  // narrow, in a word that is wider than fp32's
        for (std::int64_t i = 0; i < words.count; ++i) {
            to[i] = static_cast<float>(double_of(format, word_at(words.data, bytes, i)));
        }
        return;
    }
    if (bytes == 8) {
        const auto* from = static_cast<const double*>(words.data);
        for_pieces(words.count, [&](std::int64_t first, std::int64_t count) {
            for (std::int64_t i = first; i < first + count; ++i) to[i] = static_cast<float>(from[i]);
        });
        return;
    }
    if (bytes == 4) {  // fp32 and what is padded to it carry their own numbers
        const bool plain = format == formats::fp32;
        if (plain) std::memcpy(to, words.data, static_cast<std::size_t>(words.count) * sizeof(float));
        for (std::int64_t i = 0; !plain && i < words.count; ++i) {
            to[i] = in_fp32_container(format, static_cast<std::uint32_t>(word_at(words.data, 4, i)));
        }
        return;
    }
    const float* const table = decode_table(format);
    for_pieces(words.count, [&](std::int64_t first, std::int64_t count) {
        if (bytes == 1) {
            const auto* from = static_cast<const std::uint8_t*>(words.data);
            for (std::int64_t i = first; i < first + count; ++i) to[i] = table[from[i]];
        } else {
            const auto* from = static_cast<const std::uint16_t*>(words.data);
            for (std::int64_t i = first; i < first + count; ++i) to[i] = table[from[i]];
        }
    });
}

bool are_on_grid(const float* numbers, std::int64_t count, const FloatFormat& format) {
    if (format == formats::fp32) return true;
    try {
        require_on_grid(MatrixView(numbers, 1, count), format, "");
    } catch (const std::logic_error&) {
        return false;
    }
    return format.has_nan() || std::none_of(numbers, numbers + count, [](float x) { return std::isnan(x); });
}

std::optional<OffGrid> numbers_on_grid(const Words& words, const FloatFormat& format,
                                       const std::optional<InputRounding>& rounding, float* to) {
    if (words.format == format && format != formats::fp64) {
        decode_words(words, to);
        return std::nullopt;
    }
    if (!fits_fp32(format)) return convert_each(words, format, rounding, to);
    const InputRounding how = rounding.value_or(InputRounding{});
    const Context context{.rounding = how.rounding, .saturate = how.saturate};
    const auto count = static_cast<std::size_t>(words.count);
    if (words.format == formats::fp64) {
        const auto* from = static_cast<const double*>(words.data);
        if (rounding) {
            for_pieces(words.count, [&](std::int64_t first, std::int64_t length) {
                std::vector<double> rounded(static_cast<std::size_t>(length));
                round_numbers(format, from + first, rounded.data(), length, context);
                std::ranges::transform(rounded, to + first, [](double x) { return static_cast<float>(x); });
            });
            return std::nullopt;
        }
        std::atomic<bool> exact = true;
        for_pieces(words.count, [&](std::int64_t first, std::int64_t length) {
            bool same = true;
            for (std::int64_t i = first; i < first + length; ++i) {
                to[i] = static_cast<float>(from[i]);
                same &= static_cast<double>(to[i]) == from[i];
            }
            if (!same) exact = false;
        });
        if (exact && are_on_grid(to, words.count, format)) return std::nullopt;
        return convert_each(words, format, rounding, to);
    }
    std::vector<float> decoded;
    const float* numbers = static_cast<const float*>(words.data);
    if (words.format != formats::fp32) {
        decoded.resize(count);
        decode_words(words, decoded.data());
        numbers = decoded.data();
    }
    if (rounding) {
        round_numbers(format, numbers, to, words.count, context);
        return std::nullopt;
    }
    if (!are_on_grid(numbers, words.count, format)) return convert_each(words, format, rounding, to);
    std::copy_n(numbers, count, to);
    return std::nullopt;
}

void encode_numbers(const float* numbers, std::int64_t count, const FloatFormat& format, void* to) {
    if (format != formats::tf32) return encode_words({numbers, formats::fp32, count}, format, {}, to);
    auto* const words = static_cast<std::uint32_t*>(to);
    std::transform(numbers, numbers + count, words, [&](float x) { return operand_code(format, x); });  // truncated
}

namespace {

template <class Real>
using BitsOf = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;

/// Whether one of the numbers is NaN, in steps that every processor has for vectors.
template <class Real>
bool holds_nan(const Real* numbers, std::int64_t count) {
    const std::int64_t half = (count + 1) / 2;  // the numbers in the middle may be compared twice
    BitsOf<Real> any = 0;
    for (std::int64_t i = 0; i < half; ++i) any |= std::isunordered(numbers[i], numbers[count - half + i]) ? 1 : 0;
    return any != 0;
}

}  // namespace

template <class Real>
void round_numbers(const FloatFormat& format, const Real* from, Real* to, std::int64_t count, const Context& context) {
    constexpr FloatFormat container = array::format_of<Real>();
    constexpr std::int64_t most = 4096;
    for_pieces(count, [&](std::int64_t first, std::int64_t length) {
        std::array<Real, most> copy;
        for (std::int64_t i = first; i < first + length; i += most) {
            Context part = context;
            part.first += static_cast<std::uint64_t>(i);
            const std::int64_t size = std::min(most, first + length - i);
            const auto n = static_cast<std::size_t>(size);
            std::copy_n(from + i, from == to ? n : 0, copy.begin());
            const Real* const before = from == to ? copy.data() : from + i;
            round_array(format, std::span<const Real>(from + i, n), std::span<Real>(to + i, n), part);
            if (!holds_nan(to + i, size)) continue;
            for (std::int64_t j = 0; j < size; ++j) {
                if (!std::isnan(to[i + j])) continue;
                const auto word = std::bit_cast<BitsOf<Real>>(before[j]);
                const std::uint64_t code = is_nan(container, word) ? nan_with_payload(format, container, word)
                                                                   : beyond_bits(format, sign_of(container, word));
                to[i + j] = std::bit_cast<Real>(static_cast<BitsOf<Real>>(nan_with_payload(container, format, code)));
            }
        }
    });
}
template void round_numbers(const FloatFormat&, const float*, float*, std::int64_t, const Context&);
template void round_numbers(const FloatFormat&, const double*, double*, std::int64_t, const Context&);

RoundingCounts round_and_count(const FloatFormat& format, float* numbers, std::int64_t count, const Context& context) {
    const std::int64_t pieces = count == 0 ? 0 : (count + piece - 1) / piece;
    std::vector<RoundingCounts> parts(static_cast<std::size_t>(pieces));
    for_pieces(count, [&](std::int64_t first, std::int64_t length) {
        RoundingCounts& counts = parts[static_cast<std::size_t>(first / piece)];
        std::array<float, 1024> before;
        for (std::int64_t i = first; i < first + length; i += 1024) {
            const auto n = static_cast<std::size_t>(std::min<std::int64_t>(1024, first + length - i));
            float* const x = numbers + i;
            std::copy_n(x, n, before.begin());
            Context part = context;
            part.first += static_cast<std::uint64_t>(i);
            round_array(format, std::span<float>(x, n), part);
            const std::span<const float> rounded(x, n);
            const std::int64_t zeros = tally_of(rounded).zeros;
            if (zeros > 0) counts.underflows += zeros - tally_of({before.data(), n}).zeros;  // a zero stays one
            const float most = largest_magnitude(rounded);
            constexpr float infinity = std::numeric_limits<float>::infinity();
            counts.largest = std::max(counts.largest, std::isnan(most) ? infinity : most);
            for (std::size_t j = 0; !std::isfinite(most) && j < n; ++j) {
                if (std::isfinite(x[j])) continue;
                ++counts.not_finite;
                counts.overflows += static_cast<int>(std::isfinite(before[j]));
                if (counts.first >= 0 && (std::isnan(numbers[counts.first]) || !std::isnan(x[j]))) continue;
                counts.first = i + static_cast<std::int64_t>(j);
                counts.before = before[j];
            }
        }
    });
    RoundingCounts sum;
    for (const RoundingCounts& part : parts) {
        if (part.first >= 0 &&
            (sum.first < 0 || (std::isnan(numbers[part.first]) && !std::isnan(numbers[sum.first])))) {
            sum.first = part.first;
            sum.before = part.before;
        }
        sum.overflows += part.overflows;
        sum.underflows += part.underflows;
        sum.not_finite += part.not_finite;
        sum.largest = std::max(sum.largest, part.largest);
    }
    return sum;
}

}  // namespace ulp::python
