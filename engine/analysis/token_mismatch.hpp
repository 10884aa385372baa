// How far two engines differ in the log-probabilities of the same tokens: a rollout's (A) and a trainer's (B), say.
//
// d = log-probability of B - that of A, token by token; exp(d) is the ratio that policy-gradient methods weigh tokens
// by.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ulp {

/// What one engine gave for one sequence.
struct TokenSequence {
    std::vector<std::int64_t> tokens;
    std::vector<double> log_probabilities;  // of these tokens; NaN where the file has no finite number
    std::vector<std::int64_t> argmax;       // the most probable tokens, or empty
};
/// A file of sequences: JSON, one object per line ({"tokens": [...], "logprobs": [...], "argmax": [...]}; also
/// token_ids, log_probs; null and NaN are numbers that are not finite), or one token per line ({"token_id": ...,
/// "logprob": ...}; also token, log_prob, argmax; "sequence", "sequence_id" or "request_id" says which sequence it
/// belongs to, without one all are one); or .npz with arrays of the first names, of one extent or two, and optionally
/// `mask` (0: not a token). Throws DataError that names file, line and remedy.
std::vector<TokenSequence> read_token_sequences(const std::filesystem::path& file);
/// Whether a name ends in .jsonl, or is an .npz file with an array of log-probabilities.
bool is_token_file(const std::filesystem::path& file);

/// The model that wrote the tokens, as far as it is known.
struct LanguageModelSize {
    std::int64_t layers = 32;
    std::int64_t width = 4096;
    std::int64_t vocabulary = 0;  // 0: the largest token + 1
};

/// A cause of gaps, with what it would make.
struct MismatchCause {
    std::string name;                // "bf16 head", "order", "attention tile", "FP8 rollout", "another policy version"
    std::optional<double> expected;  // rms of d; nothing: no size is predicted
    std::string verdict;             // "possible", "unlikely", "unknown"
    std::string reason;
};

struct NotFiniteTokens {
    std::int64_t count = 0, sequence = -1, position = -1;  // the first
};
struct TokenOutlier {
    std::int64_t sequence, position, token;
    double a, b;  // log-probabilities
};
struct GrowthBin {
    std::int64_t first, last, count;  // positions
    double rms;
};

struct TokenMismatch {
    std::int64_t sequences = 0, tokens = 0;
    NotFiniteTokens a_not_finite{}, b_not_finite{};
    bool equal = false;  // all log-probabilities are equal
    // The rest is not there (0, empty) where a number is not finite.
    double rms = 0, max = 0;  // of |d|
    double mean = 0;          // -k1
    double kl = 0;       // of A against B: mean of exp(d) - 1 - d (k3; Schulman, Approximating KL divergence, 2020)
    double outside = 0;  // share of ratios outside 0.8 to 1.2 (PPO's clip)
    double capped = 0;   // share of ratios above 2 (truncated importance sampling)
    std::optional<double> argmax_changes{};  // share of tokens, where both sides have them
    std::vector<double> sequence_ratio{};    // exp(sum of d) of each sequence
    std::vector<GrowthBin> growth{};         // of |d| by position: 0, 1, 2 and 3, 4 to 7, ...
    std::optional<double>
        growth_exponent{};               // e of rms ~ (position + 1)^e, least squares; none where one of these differs
    std::int64_t first_difference = -1;  // the smallest position with d != 0
    double top_share = 0;                // of the sum of d^2: the largest 1 % of tokens
    double token_effect = 0;             // share of d's variance that the token's identity explains, beyond chance
    double token_effect_sigma = 0;       // its standard error where identity explains nothing
    bool a_in_bf16 = false, b_in_bf16 = false;  // all log-probabilities are numbers of bf16
    std::vector<TokenOutlier> outliers{};       // the five largest |d|
    LanguageModelSize model{};                  // that the causes are for
    double logit_deviation = 0;                 // standard deviation of the logits, estimated (mismatch_causes)
    std::vector<MismatchCause> causes{};
};

/// Throws DataError: other numbers of sequences or tokens, a token that differs (its sequence and position), no token.
TokenMismatch token_mismatch(const std::vector<TokenSequence>& a, const std::vector<TokenSequence>& b,
                             const LanguageModelSize& size = {});

/// What causes would make, by a simple model. It is an estimate within a factor of 3, not evidence.
///
///     logits      normal, of standard deviation s, so that a sampled token's mean log-probability is -(ln V - s^2 / 2)
///     and
///                 its mean logit s^2: s = sqrt(2 (ln V - H)), H the mean of -A
///     w           `uncertainty`, rms of 1 - p of the tokens: near-certain tokens have no gap
///     q           rms step of a format relative to its numbers, 1.47 u (mantissas log-uniform); bf16: u = 2^-8
///     bf16 head   one side rounds logits to bf16: s^2 * q / sqrt(12) * w
///     order       fp32 sums that differ by 2^-24 sqrt(width) are rounded to bf16 five times a branch: two numbers at a
///                 distance e < q differ by q with chance e / q, so e becomes sqrt(e q); and the residual stream's
///                 roundings add q^2 / 6 per layer: s * sqrt(e^2 + layers q^2 / 6) * w
///     attention tile  the same size; without a prompt position 0 is equal: its one key has the weight 1 in any tile
///     FP8 rollout     two products after each other, both operands e4m3 (u = 2^-4): s * 2 * q8 / sqrt(12) * w
///     another version any size; the same token tends to the same sign, which rounding errors do not
std::vector<MismatchCause> mismatch_causes(const TokenMismatch& found, double uncertainty);

nlohmann::ordered_json json_of(const TokenMismatch& found);
/// Some lines for a terminal.
std::string text_of(const TokenMismatch& found, const std::string& a, const std::string& b);
/// "A has 3 log-probabilities that are not finite, the first in sequence 0 at position 7", for A and B where it is so.
std::vector<std::string> not_finite_texts(const TokenMismatch& found);

}  // namespace ulp
