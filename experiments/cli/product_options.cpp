#include "experiments/cli/product_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>
#include <string_view>

#include "softfloat/errors.hpp"
#include "softfloat/rounding_names.hpp"

namespace ulp {

namespace {

constexpr std::string_view words_of_order =
    "split=N (pieces of k, summed separately and added in fp32; at most one per instruction), piece=N (length of the "
    "pieces of k, the last one shorter; instead of split), slice=N (number of k after which the next piece has its "
    "turn; else the pieces are stretches of k), tile=N (length of a kernel's tiles of k: a piece begins with its "
    "remainder, filled up with zeros), promote=N (number of k after which the running sum is added to an fp32 "
    "accumulator, again and again), narrow (the pieces' sums are added in the accumulator's format)";

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
        if (part == "narrow") {
            narrow_sums = true;
            continue;
        }
        const bool known = word == "split" || word == "piece" || word == "slice" || word == "tile" || word == "promote";
        if (!known || equals == std::string::npos) {
            throw UsageError(fmt::format("--order has no '{}'; it takes, with commas, {}", part, words_of_order));
        }
        const std::int64_t value = number_of(word, part.substr(equals + 1));
        if (word == "split") split_k = static_cast<int>(value);
        if (word == "piece") piece_k = value;
        if (word == "slice") slice_k = value;
        if (word == "tile") tile_k = value;
        if (word == "promote") promote = value;
    }
}

ProductOrder OrderOptions::order() const {
    for (const auto& [name, value] : {std::pair{"piece", piece_k}, {"slice", slice_k}, {"tile", tile_k}}) {
        if (value < 0) throw UsageError(fmt::format("--order {}={}: give 1 or more, or 0 for none", name, value));
    }
    if (piece_k > 0 && split_k != 1) {
        throw UsageError(
            fmt::format("--order piece={} and split={} exclude each other; give one of them", piece_k, split_k));
    }
    if (slice_k > 0 && split_k == 1)
        throw UsageError("--order slice gives turns to the pieces of split; give that, too: split=2,slice=32");
    if (narrow_sums && split_k == 1 && piece_k == 0) {
        throw UsageError("--order narrow says how pieces are added; give split or piece, too: split=2,narrow");
    }
    return {.split_k = split_k,
            .piece_k = piece_k,
            .slice_k = slice_k,
            .tile_k = tile_k,
            .narrow_sums = narrow_sums,
            .promote_every = promote};
}

void OrderOptions::require_pieces(std::int64_t k, int instruction_k) const {
    const std::int64_t most = std::max<std::int64_t>((k + instruction_k - 1) / instruction_k, 1);
    if (split_k >= 1 && split_k <= most) return;
    throw UsageError(fmt::format("--order split={}: k = {} has {} instructions of {}, so choose 1 to {} pieces",
                                 split_k, k, most, instruction_k, most));
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
                 "with --rounding: too large operands become the largest finite number (PTX: .satfinite)");
}

std::optional<OperandRounding> RoundingOptions::rounding() const {
    if (!given()) return std::nullopt;
    if (mode.empty()) throw UsageError("--saturate says how --rounding rounds; give --rounding nearest_even, too");
    for (const Rounding each : {Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero}) {
        if (mode == name_of(each)) return OperandRounding{each, saturate};
    }
    throw UsageError("there is no rounding '" + mode +
                     "' for operands; choose nearest_even, nearest_away (cvt.rna.tf32) or toward_zero");
}

}  // namespace ulp
