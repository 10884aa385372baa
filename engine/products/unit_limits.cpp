#include <fmt/format.h>

#include "engine/products/unit_file.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/names.hpp"
#include "softfloat/text.hpp"

namespace ulp {
namespace {

bool fits_fp32(const FloatFormat& format) {
    const bool plain = format.specials <= Specials::none && format.has_subnormals && !format.saturation;
    return plain && format.has_sign && format.fraction_bits >= 1 && format.fraction_bits <= 23 &&
           format.emax() <= formats::fp32.emax() && format.smallest_exponent() >= formats::fp32.smallest_exponent();
}

bool is_exact_in(const FloatFormat& wide, const FloatFormat& format) {
    return format.fraction_bits <= wide.fraction_bits && format.emax() <= wide.emax() &&
           format.smallest_exponent() >= wide.smallest_exponent();
}

/// Units add by the digits and exponents of a table's values, which no field tells.
std::string limit_of_table(const FloatFormat& format, const TensorCoreModel& m) {
    if (m.flush_subnormals || m.variation.flush_operands || m.positive_input_zeros || m.nan == NanStyle::x86) {
        return "a unit that flushes operands, changes the sign of their zeros or keeps their NaN needs fields";
    }
    const int digits = format.fraction_bits + 1;
    for (std::uint64_t code = 0; code >> digits == 0; ++code) {
        const auto x = decode(format, code);
        if (x.kind != Kind::finite || (bit_length(x.significand) == digits && x.exponent + digits > -126)) continue;
        return fmt::format("{} has more than {} binary digits, as many as a code, or is below 2^-126; round the values",
                           to_decimal(format, code), digits);
    }
    return "";
}

std::string limit_of_formats(const TensorCoreModel& m) {
    const bool all_fp64 = m.a_format == formats::fp64 && m.b_format == formats::fp64 && m.accumulator == formats::fp64;
    for (const auto& [key, format] :
         {std::pair{"a_format", m.a_format}, {"b_format", m.b_format}, {"accumulator", m.accumulator}}) {
        if (all_fp64 || fits_fp32(format)) continue;
        if (format.is_table() && std::string_view(key) != "accumulator") {
            const std::string limit = limit_of_table(format, m);
            if (limit.empty()) continue;
            return fmt::format("\"{}\" is {}, a table of values; {}", key, name_of(format), limit);
        }
        return fmt::format(
            "\"{0}\" is {1}; each format must be signed, have subnormals and fraction bits, no one_nan_infinity, and "
            "fit fp32, or all three are fp64; a_format and b_format may be tables of values; operands that "
            "ulplab.round or ulplab quantize has rounded to {1} are fp32 numbers",
            key, name_of(format));
    }
    if (!m.accumulator.has_infinity()) {
        return fmt::format("\"accumulator\" is {}; choose a format with infinities, such as fp16 or fp32",
                           name_of(m.accumulator));
    }
    return "";
}

std::string limit_of_groups(const TensorCoreModel& m) {
    const bool whole = m.summation == Summation::fused || m.instruction_k % m.group_size == 0;
    if (m.group_size > m.instruction_k || !whole) {
        return fmt::format("\"group_size\" is {}; choose {} of \"instruction_k\" ({})", m.group_size,
                           m.summation == Summation::fused ? "a part" : "a divisor", m.instruction_k);
    }
    return "";
}

std::string limit_of_fused(const TensorCoreModel& m) {
    const int significands = m.a_format.fraction_bits + m.b_format.fraction_bits + 2;
    if (significands > 64) {
        return fmt::format("products of {} and {} have {} bits; fused groups hold 64", name_of(m.a_format),
                           name_of(m.b_format), significands);
    }
    if (!fits_128_bits(m)) {
        return fmt::format(
            "\"fraction_bits\" is {}; sums of {} products and c would need {} bits, and they are kept in integers of "
            "128 bits; choose at most {}",
            m.fraction_bits, m.group_size, bits_of_sums(m), m.fraction_bits - (bits_of_sums(m) - 128));
    }
    if (m.output_fraction_bits > m.accumulator.fraction_bits) {
        return fmt::format("\"output_fraction_bits\" is {}; {} has {}", m.output_fraction_bits, name_of(m.accumulator),
                           m.accumulator.fraction_bits);
    }
    if (m.nan != NanStyle::all_ones && m.nan != NanStyle::quiet) {
        return "\"nan\" is x86 or dmma; a fused group has all_ones or quiet";
    }
    if (m.variation.sticky && m.variation.alignment != Rounding::toward_zero) {
        return "\"sticky\" is true; \"alignment\" must then be toward_zero";
    }
    if (m.variation.invert_opposing &&
        (m.variation.sticky || m.variation.alignment != Rounding::toward_zero ||
         (m.variation.addend != AddendEntry::with_products && m.variation.addend != AddendEntry::beside_zeros_alone))) {
        return "\"invert_opposing\" is true; \"c_enters\" must then be with_products, \"alignment\" toward_zero and "
               "\"sticky\" false, since terms that are cut are compared with c's sign";
    }
    const FloatFormat& product = m.variation.product_format;
    if (m.variation.rounds_products() && !fits_fp32(product)) {
        return fmt::format("\"product_format\" is {}; choose a format that fits fp32", name_of(product));
    }
    return "";
}

/// The 64-bit sums of block_dot.hpp, late_addend.hpp and block_scaled.hpp.
std::string limit_of_64_bits(const TensorCoreModel& m, int most_fraction_bits) {
    if (m.a_format.fraction_bits + m.b_format.fraction_bits > 20 || m.accumulator != formats::fp32) {
        return "a unit of this kind has operands of at most 10 fraction bits and the accumulator fp32";
    }
    if (m.fraction_bits > most_fraction_bits) {
        return fmt::format("\"fraction_bits\" is {}; choose at most {}", m.fraction_bits, most_fraction_bits);
    }
    return "";
}

std::string limit_of_hmma(const TensorCoreModel& m) {
    if (m.instruction_k % 4 != 0)
        return fmt::format("\"instruction_k\" is {}; choose a multiple of 4", m.instruction_k);
    if (!is_exact_in(formats::fp16, m.a_format) || !is_exact_in(formats::fp16, m.b_format)) {
        return "\"summation\" is fp8_by_hmma; \"a_format\" and \"b_format\" must fit fp16";
    }
    TensorCoreModel hmma = emulating_hmma(m);
    if (is_varied(hmma)) return "\"summation\" is fp8_by_hmma; \"fraction_bits\" must be at most 35, \"nan\" all_ones";
    return limit_of_fused(m);
}

std::string limit_of_chain(const TensorCoreModel& m) {
    for (const FloatFormat& format : {m.a_format, m.b_format}) {
        if (is_exact_in(m.accumulator, format)) continue;
        return fmt::format("operands of {} do not fit the accumulator {}, in which a chain computes", name_of(format),
                           name_of(m.accumulator));
    }
    if (m.summation == Summation::fma_pairs && m.instruction_k % 2 != 0) {
        return fmt::format("\"instruction_k\" is {}; fma_pairs needs an even one", m.instruction_k);
    }
    if (m.summation == Summation::exact && m.accumulator == formats::fp64) {
        return "\"summation\" is exact; the accumulator must fit fp32";
    }
    return "";
}

/// Fields that a file of this kind cannot have.
std::string limit_of_kind(const TensorCoreModel& m) {
    const GroupVariation of_chains{.order = m.variation.order, .negative_zeros = m.variation.negative_zeros};
    if (m.summation != Summation::fused && m.variation != of_chains) {
        return "only \"summation\": \"fused\" varies how terms are rounded, flushed and added";
    }
    const bool chain = !takes_decoded(m);
    if (!chain && (m.flush_subnormals || m.positive_input_zeros)) return "only chains flush every operation";
    if (m.variation.negative_zeros && m.summation != Summation::fused && m.summation != Summation::pairwise) {
        return "\"negative_zeros\" is true; \"summation\" must then be fused or pairwise, where zeros are added to "
               "zeros alone";
    }
    const bool late = m.summation == Summation::late_addend || m.summation == Summation::late_addend_even_odd;
    const bool whole = m.output_fraction_bits == m.accumulator.fraction_bits;
    if ((late && m.rounding != Rounding::nearest_even) || ((chain || late) && !whole)) {
        return "only fused groups and chains round otherwise than to nearest even, and only groups to fewer bits";
    }
    return "";
}

std::string limit_of_model(const TensorCoreModel& m) {
    const unsigned kind = unit_fields::kind_of(m.summation);
    const bool of_groups = (kind & (unit_fields::fused | unit_fields::late)) != 0 ||
                           m.summation == Summation::pairwise || m.summation == Summation::exact;
    const std::string own = kind == unit_fields::fused     ? limit_of_fused(m)
                            : kind == unit_fields::by_hmma ? limit_of_hmma(m)
                            : kind == unit_fields::late    ? limit_of_64_bits(m, 31)
                                                           : limit_of_chain(m);
    for (const std::string& limit : {limit_of_formats(m), limit_of_kind(m), of_groups ? limit_of_groups(m) : "", own}) {
        if (!limit.empty()) return limit;
    }
    return "";
}

std::string limit_of_model(const IntegerModel& m) {
    if (m.product != IntegerProduct::multiply && m.bits != 1) {
        return fmt::format("\"product\" is of single bits; \"bits\" is {}", m.bits);
    }
    return "";
}

std::string limit_of_model(const BlockScaledModel& m) {
    const TensorCoreModel& unscaled = m.unscaled;
    if (unscaled.a_format.is_table() || unscaled.b_format.is_table()) return "a block-scaled unit takes no tables";
    if (const std::string limit = limit_of_formats(unscaled); !limit.empty()) return limit;
    if (m.scale_format != formats::e8m0 && m.scale_format != formats::e4m3) {
        return fmt::format("\"scale_format\" is {}; choose e8m0 or e4m3", name_of(m.scale_format));
    }
    const bool fp4 = unscaled.a_format == formats::e2m1 && unscaled.b_format == formats::e2m1;
    if (m.exact_products != 1 && (!fp4 || m.scale_block % m.exact_products != 0)) {
        return fmt::format(
            "\"exact_products\" is {}; choose 1, or with e2m1 operands a divisor of \"scale_block\" ({})",
            m.exact_products, m.scale_block);
    }
    if (unscaled.instruction_k % m.scale_block != 0) {
        return fmt::format("\"scale_block\" is {}; choose a divisor of \"instruction_k\" ({})", m.scale_block,
                           unscaled.instruction_k);
    }
    if (m.scale_format != formats::e8m0 && m.exact_products == 1) {
        return "\"scale_format\" is e4m3; \"exact_products\" must be more than 1, since a term of one product takes "
               "the scales' exponents alone";
    }
    if (unscaled.nan != NanStyle::all_ones) return "\"nan\" must be all_ones in a block-scaled unit";
    return limit_of_64_bits(unscaled, 35);
}

}  // namespace

std::string limit_of(const UnitModel& model) {
    return std::visit([](const auto& m) { return limit_of_model(m); }, model);
}

}  // namespace ulp
