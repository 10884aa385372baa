#include "experiments/cli/order_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "softfloat/errors.hpp"

namespace ulp {

void OrderOptions::declare(OptionParser& app) {
    app.add_option("--split-k", split_k,
                   "number of pieces of k, summed separately and added in fp32; at most one piece per instruction");
    app.add_option("--piece-k", piece_k, "length of the pieces of k, the last one shorter; instead of --split-k");
    app.add_option(
        "--slice-k", slice_k,
        "with --split-k: number of k after which the next piece has its turn (sliced k); default: the pieces "
        "are stretches of k");
    app.add_option("--tile-k", tile_k,
                   "length of a kernel's tiles of k: a piece begins with its remainder, filled up with zeros");
    app.add_flag("--narrow-sums", narrow_sums, "the pieces' sums are added in the accumulator's format, not in fp32");
    app.add_option("--promote", promote,
                   "number of k after which the running sum is added to an fp32 accumulator, again and again");
}

ProductOrder OrderOptions::order() const {
    for (const auto& [name, value] : {std::pair{"--piece-k", piece_k}, {"--slice-k", slice_k}, {"--tile-k", tile_k}}) {
        if (value < 0) throw UsageError(fmt::format("{} is {}; give 1 or more, or 0 for none", name, value));
    }
    if (piece_k > 0 && split_k != 1) {
        throw UsageError(
            fmt::format("--piece-k {} and --split-k {} exclude each other; give one of them", piece_k, split_k));
    }
    if (slice_k > 0 && split_k == 1)
        throw UsageError("--slice-k gives turns to the pieces of --split-k; give that, too");
    if (narrow_sums && split_k == 1 && piece_k == 0) {
        throw UsageError("--narrow-sums says how pieces are added; give --split-k or --piece-k, too");
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
    throw UsageError(fmt::format("--split-k is {}; k = {} has {} instructions of {}, so choose 1 to {} pieces", split_k,
                                 k, most, instruction_k, most));
}

}  // namespace ulp
