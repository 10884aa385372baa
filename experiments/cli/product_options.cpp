#include "experiments/cli/product_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <string_view>
#include <tuple>

#include "engine/files/npy.hpp"
#include "engine/products/matmul.hpp"
#include "engine/products/unit_file.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/nan_payload.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp {
namespace {

constexpr std::string_view words_of_order =
    "split=N (pieces of k, summed separately and added in fp32; at most one per instruction), piece=N (length of the "
    "pieces of k, the last one shorter; instead of split), slice=N (number of k after which the next piece has its "
    "turn; else the pieces are stretches of k), tile=N (length of a kernel's tiles of k: a piece begins with its "
    "remainder, filled up with zeros), promote=N (number of k after which the running sum is added to an fp32 "
    "accumulator, again and again), sum=FORMAT (the pieces' sums are rounded to it, and so is their total at each "
    "step), total=FORMAT (of that total, where it is another), reduce=WORD (the pieces' sums are added ascending, "
    "descending or pairwise)";

std::int64_t number_of(const std::string& word, const std::string& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    if (error == std::errc() && end == text.data() + text.size() && value >= -most && value <= most) return value;
    throw UsageError(fmt::format("--order {}={}: this is not a whole number; give {}=N", word, text, word));
}

}  // namespace

void OrderOptions::declare(OptionParser& app) {
    app.add_parsed(
        "--order", [this](const std::string& text) { take(text); },
        "order of summation along k, with commas: " + std::string(words_of_order));
}

void OrderOptions::take(const std::string& text) {
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        const std::size_t equals = part.find('=');
        const std::string word = part.substr(0, equals);
        if (part == "narrow") throw UsageError("--order narrow is now: sum=FORMAT, the accumulator's format");
        constexpr std::array words = {"split", "piece", "slice", "tile", "promote", "sum", "total", "reduce"};
        if (std::ranges::find(words, word) == words.end() || equals == std::string::npos) {
            throw UsageError(fmt::format("--order has no '{}'; it takes, with commas, {}", part, words_of_order));
        }
        const std::string value = part.substr(equals + 1);
        if (word == "split") given.split_k = static_cast<int>(number_of(word, value));
        if (word == "piece") given.piece_k = number_of(word, value);
        if (word == "slice") given.slice_k = number_of(word, value);
        if (word == "tile") given.tile_k = number_of(word, value);
        if (word == "promote") given.promote_every = number_of(word, value);
        if (word == "sum") given.sum_format = format_by_name(value);
        if (word == "total") given.total_format = format_by_name(value);
        if (word == "reduce") given.reduction = sum_order_by_name(value);
    }
}

ProductOrder OrderOptions::order() const {
    const auto& [split_k, piece_k, slice_k, tile_k] =
        std::tuple(given.split_k, given.piece_k, given.slice_k, given.tile_k);
    for (const auto& [name, value] : {std::pair{"piece", piece_k}, {"slice", slice_k}, {"tile", tile_k}}) {
        if (value < 0) throw UsageError(fmt::format("--order {}={}: give 1 or more, or 0 for none", name, value));
    }
    if (piece_k > 0 && split_k != 1) {
        throw UsageError(
            fmt::format("--order piece={} and split={} exclude each other; give one of them", piece_k, split_k));
    }
    if (slice_k > 0 && split_k == 1)
        throw UsageError("--order slice gives turns to the pieces of split; give that, too: split=2,slice=32");
    return given;
}

void OrderOptions::require_pieces(std::int64_t k, int instruction_k) const {
    const std::int64_t most = std::max<std::int64_t>((k + instruction_k - 1) / instruction_k, 1);
    if (given.split_k >= 1 && given.split_k <= most) return;
    throw UsageError(fmt::format("--order split={}: k = {} has {} instructions of {}, so choose 1 to {} pieces",
                                 given.split_k, k, most, instruction_k, most));
}

void Transpositions::declare(OptionParser& app) {
    app.add_parsed(
        "--transpose",
        [this](const std::string& text) {
            if (text != "a" && text != "b" && text != "a,b") {
                throw UsageError("--transpose takes a, b or a,b, not '" + text + "'");
            }
            a = a || text.starts_with("a");
            b = b || text.ends_with("b");
        },
        "a: the file of A holds k x m; b: that of B holds n x k; a,b: both");
}

void declare_unit_formats(OptionParser& app, std::string& input, std::string& output) {
    app.add_parsed(
           "--format",
           [&](const std::string& text) {
               const std::size_t comma = text.find(',');
               if (comma == std::string::npos || comma == 0 || text.find(',', comma + 1) != std::string::npos) {
                   throw UsageError("--format takes the operands' format and the accumulator's: fp16,fp32, not '" +
                                    text + "'");
               }
               input = text.substr(0, comma);
               output = text.substr(comma + 1);
           },
           "of backends and black boxes: number formats of A and B, and of C and D; s8,s32 for integer ones, whose "
           "operands are bytes; default " +
               input + "," + output)
        .type_name("IN,OUT");
}

void RoundingOptions::declare(OptionParser& app, const std::string& what) {
    app.add_option("--rounding", mode,
                   "rounds " + what + " to the input formats first: nearest_even, nearest_away or toward_zero");
    app.add_flag("--saturate", saturate,
                 "with --rounding: too large operands become the largest finite number (PTX: .satfinite); "
                 "=SatPropagate leaves infinities as they are");
}

Saturation saturation_of_option(const std::string& text) {
    return text.empty() ? Saturation{} : saturation_by_name(text);
}

std::optional<OperandRounding> RoundingOptions::rounding() const {
    if (!given()) return std::nullopt;
    if (mode.empty()) throw UsageError("--saturate says how --rounding rounds; give --rounding nearest_even, too");
    for (const Rounding each : {Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero}) {
        if (mode == name_of(each)) return OperandRounding{each, saturation_of_option(saturate)};
    }
    throw UsageError("there is no rounding '" + mode +
                     "' for operands; choose nearest_even, nearest_away (cvt.rna.tf32) or toward_zero");
}

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

/// Two codes of 4 bits in each byte, the first in the low half, taken apart along rows or columns.
npy::Array taken_apart(const std::filesystem::path& path, const npy::Array& pairs, const FloatFormat& format,
                       Pairs along) {
    if (along == Pairs::none) return pairs;
    if (format.storage_bits() != 4 || pairs.dtype != "|u1") {
        throw DataError(fmt::format(
            "{}: --packed is for bytes of two 4-bit codes; the unit's operands are {}, and the file's type is '{}'",
            path.string(), name_of(format), pairs.dtype));
    }
    const bool down = along == Pairs::down;
    npy::Array codes{"|u1", {pairs.shape[0] * (down ? 2 : 1), pairs.shape[1] * (down ? 1 : 2)}, false, {}};
    for (std::int64_t i = 0; i < codes.shape[0]; ++i) {
        for (std::int64_t j = 0; j < codes.shape[1]; ++j) {
            const std::uint64_t pair = word_at(pairs, down ? i / 2 : i, down ? j : j / 2);
            codes.data.push_back(static_cast<std::byte>((down ? i : j) % 2 == 0 ? pair & 15 : pair >> 4));
        }
    }
    return codes;
}

LoadedMatrix<float> load_values(const std::filesystem::path& path, const FloatFormat& format,
                                const std::optional<OperandRounding>& rounding, std::string_view remedy,
                                Pairs pairs = Pairs::none) {
    const npy::Array array = taken_apart(path, read_matrix(path), format, pairs);
    const FloatFormat source = source_format(path, array, format);
    std::int64_t overflows = 0;
    auto matrix = load<float>(array, [&](std::uint64_t word, std::int64_t i, std::int64_t j) {
        const auto place = [&] { return fmt::format("{}: element ({}, {})", path.string(), i, j); };
        if (source == format && is_beyond_codes(format, word)) {
            const std::string packed = format.storage_bits() == 4 ? ", or named by --packed" : "";
            throw DataError(fmt::format("{} = {}{}", place(), beyond_codes_text(format, word), packed));
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
                                const std::optional<OperandRounding>& rounding, Pairs pairs) {
    return load_values(path, format, rounding, remedy_of_operands, pairs);
}

LoadedMatrix<float> load_result(const std::filesystem::path& path) {
    return load_values(path, formats::fp32, std::nullopt,
                       "a result is not rounded, and this unit gives none that fp32 does not hold; save it in the type "
                       "in which it came, or name a unit of fp64");
}

std::string_view remedy_of_scales(const FloatFormat& format) {
    return format.fraction_bits == 0 ? "scales are not rounded; give powers of two"
                                     : "scales are not rounded; give values of the format";
}

LoadedMatrix<float> load_scales(const std::filesystem::path& path, const FloatFormat& format) {
    LoadedMatrix<float> scales = load_values(path, format, std::nullopt, remedy_of_scales(format));
    for (std::size_t i = 0; i < scales.values.size(); ++i) {
        if (!std::signbit(scales.values[i]) || std::isnan(scales.values[i])) continue;
        const auto at = static_cast<std::int64_t>(i);
        throw DataError(fmt::format("{}: element ({}, {}) = {}: scales have no sign; give it to the elements",
                                    path.string(), at / scales.cols, at % scales.cols, scales.values[i]));
    }
    return scales;
}

LoadedMatrix<float> load_block_scales(const std::filesystem::path& path, std::int64_t lines, std::int64_t k,
                                      std::int64_t block, bool of_b) {
    const FloatFormat format = npy::read(path).dtype == "|u1" ? formats::e8m0 : formats::fp32;
    const LoadedMatrix<float> given = load_values(path, format, std::nullopt, remedy_of_scales(format));
    const std::int64_t along_k = (k + block - 1) / block, of_lines = (lines + block - 1) / block;
    const auto [rows, cols] = of_b ? std::pair{given.cols, given.rows} : std::pair{given.rows, given.cols};
    if (cols != along_k || (rows != lines && rows != of_lines)) {
        const auto shape = [&](std::int64_t r) {
            return of_b ? fmt::format("{} x {}", along_k, r) : fmt::format("{} x {}", r, along_k);
        };
        throw DataError(fmt::format("{}: the scales are {} x {}; blocks of {} k have {}, and squares of them {}",
                                    path.string(), given.rows, given.cols, block, shape(lines), shape(of_lines)));
    }
    const std::int64_t step = rows == lines ? 1 : block;
    LoadedMatrix<float> scales{of_b ? along_k : lines, of_b ? lines : along_k, {}};
    for (std::int64_t i = 0; i < scales.rows; ++i) {
        for (std::int64_t j = 0; j < scales.cols; ++j) {
            const std::int64_t at = of_b ? i * given.cols + j / step : i / step * given.cols + j;
            scales.values.push_back(given.values[static_cast<std::size_t>(at)]);
        }
    }
    return scales;
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

SchemeOperands::SchemeOperands(const std::string& a_file, const std::string& b_file, const std::string& c_file,
                               const std::string& d_file, const Transpositions& transpose) {
    for (const auto& [path, matrix] :
         {std::pair<const std::string&, LoadedMatrix<double>&>{a_file, a}, {b_file, b}, {c_file, c}, {d_file, d}}) {
        if (path.empty()) continue;
        if (&matrix != &d && npy::read(path).dtype == "<f8") format = formats::fp64;
        matrix = load_fp64_matrix(path);
    }
    problem = {view_of(a, transpose.a), view_of(b, transpose.b), {}, {}};
    const std::int64_t m = problem.a.rows, n = problem.b.cols;
    if (problem.a.cols != problem.b.rows) {
        throw DataError(fmt::format("A is {} x {} and B is {} x {}: the inner sizes differ (--transpose a, b or a,b?)",
                                    m, problem.a.cols, problem.b.rows, n));
    }
    for (const auto& [path, matrix] : {std::pair<const std::string&, LoadedMatrix<double>&>{c_file, c}, {d_file, d}}) {
        if (path.empty() || (matrix.rows == m && matrix.cols == n)) continue;
        throw DataError(fmt::format("{} is {} x {}, the product is {} x {}", path, matrix.rows, matrix.cols, m, n));
    }
    if (!c_file.empty()) problem.c = view_of(c);
    if (d_file.empty()) d = {m, n, std::vector<double>(static_cast<std::size_t>(m * n)), 0};
    problem.d = {d.values.data(), m, n};
}

void declare_scheme(OptionParser& app, std::string& scheme) {
    app.add_option(
           "--scheme", scheme,
           "products of fp32 or fp64 numbers from several of the unit: bf16x3, bf16x6, bf16x9, 3xtf32, ozaki1 or "
           "ozaki1:SLICES, ozaki2 or ozaki2:MODULI")
        .type_name("NAME");
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

std::vector<std::string> model_keys() {
    std::vector<std::string> keys;
    for (const UnitRow& row : unit_table()) keys.push_back(row.key());
    return keys;
}

UnitRow unit_named(const std::string& key_or_file) {
    if (is_unit_file(key_or_file)) return read_unit_file(key_or_file);
    const UnitRow* row = unit_or_null(key_or_file);
    if (row == nullptr) throw_no_model(key_or_file);
    return *row;
}

namespace {

/// The keys of a GPU's rows: "sm_90:mma.fp16.fp32, ...", at most four.
std::string keys_of_gpu(const std::string& architecture) {
    std::string keys;
    int count = 0;
    for (const UnitRow& row : unit_table()) {
        if (row.architecture == architecture && ++count <= 4) keys += (keys.empty() ? "" : ", ") + row.key();
    }
    return keys;
}

/// Throws UsageError where the name is that of a number format.
void refuse_format_as_unit(std::string_view name) {
    for (const NamedFormat& format : named_formats()) {
        if (!equal_ignoring_case(format.name, name)) continue;
        throw UsageError(std::string(name) +
                         " is a number format, not what multiplies; `ulplab models` lists the units");
    }
}

}  // namespace

void throw_no_model(std::string_view key) {
    refuse_format_as_unit(key);
    std::string architecture;
    try {
        architecture = architecture_of(key);
    } catch (const std::invalid_argument&) {  // no GPU either
    }
    if (!architecture.empty()) {
        throw UsageError(std::string(key) + " is a GPU with several matrix units; choose one, such as " +
                         keys_of_gpu(architecture) + " (`ulplab models --unit " + std::string(key) + "` lists all)");
    }
    const auto keys = model_keys();
    throw UsageError("there is no model '" + std::string(key) + "'; nearest are " + nearest_names(key, keys) +
                     ", and `ulplab models` lists all " + std::to_string(keys.size()));
}

TensorCoreModel with_policy(const UnitRow& row, const TensorCoreModel& model, const std::string& policy) {
    if (policy.empty()) return model;
    const PolicySet& set = policy_set_by_word(policy);
    if (!is_fused(model)) throw UsageError(row.key() + " has no --policy: it adds no fused groups");
    return with_policies(model, set);
}

namespace {

/// Of the ordinary values alone, and where the rest stands.
std::string short_evidence(const UnitRow& row) {
    if (!row.file.empty() || row.aspects.empty()) return evidence_text(row);
    return "ordinary values " + std::string(name_of(row.evidence)) + "; --evidence says by what, and of each aspect";
}

}  // namespace

void declare_policy(OptionParser& app, std::string& policy) {
    app.add_option("--policy", policy, "policy set used instead of the table's: " + policy_words());
}

std::string evidence_lines(const UnitRow& row, const std::string& policy, bool all) {
    std::string text = "evidence: " + (all ? evidence_text(row) : short_evidence(row)) + "\n";
    if (policy.empty() || policy_set_by_word(policy).name == row.policies) return text;
    const std::string own =
        row.file.empty() ? "the table's " + std::string(policy_set(row.policies).word) : "the file's";
    return text + "policy set " + policy + " instead of " + own + ": not covered by this evidence\n";
}

}  // namespace ulp
