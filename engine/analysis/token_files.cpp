// Files of tokens and log-probabilities.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "engine/analysis/token_mismatch.hpp"
#include "engine/files/checked_json.hpp"
#include "engine/files/npy.hpp"
#include "engine/files/stored_arrays.hpp"
#include "engine/files/whole_file.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

using Names = std::vector<std::string_view>;
const Names token_names = {"tokens", "token_ids"};
const Names log_names = {"logprobs", "log_probs"};
const Names argmax_names = {"argmax"};
// Of lines that hold one token each.
const Names one_token_names = {"token_id", "token"};
const Names one_log_names = {"logprob", "log_prob"};
const Names sequence_names = {"sequence", "sequence_id", "request_id"};

/// Python's json writes NaN, Infinity and -Infinity, which JSON does not have.
std::string without_nans(std::string_view line) {
    std::string text;
    bool in_string = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) in_string = !in_string;
        const auto skips = [&](std::string_view word) {
            if (in_string || line.substr(i, word.size()) != word) return false;
            text += "null";
            i += word.size() - 1;
            return true;
        };
        if (!skips("NaN") && !skips("-Infinity") && !skips("Infinity")) text += line[i];
    }
    return text;
}

const nlohmann::json* member_of(const nlohmann::json& object, const Names& names) {
    for (const std::string_view name : names) {
        if (const auto at = object.find(name); at != object.end()) return &*at;
    }
    return nullptr;
}

double number_of_json(const nlohmann::json& number) {
    return number.is_null() ? std::numeric_limits<double>::quiet_NaN() : number.get<double>();
}

std::vector<double> numbers_of_json(const nlohmann::json& array) {
    std::vector<double> numbers;
    for (const nlohmann::json& each : array) numbers.push_back(number_of_json(each));
    return numbers;
}

TokenSequence sequence_of(const nlohmann::json& object) {
    if (!object.is_object())
        throw std::invalid_argument("a line is an object {\"tokens\": [...], \"logprobs\": [...]}");
    const nlohmann::json* tokens = member_of(object, token_names);
    const nlohmann::json* logs = member_of(object, log_names);
    const nlohmann::json* argmax = member_of(object, argmax_names);
    if (tokens == nullptr || logs == nullptr) {
        throw std::invalid_argument("tokens (or token_ids) and logprobs (or log_probs) are needed");
    }
    TokenSequence sequence{tokens->get<std::vector<std::int64_t>>(), numbers_of_json(*logs), {}};
    if (argmax != nullptr) sequence.argmax = argmax->get<std::vector<std::int64_t>>();
    return sequence;
}

void require_lengths(const TokenSequence& s, const std::string& place) {
    const std::size_t n = s.tokens.size();
    if (s.log_probabilities.size() != n || (!s.argmax.empty() && s.argmax.size() != n)) {
        throw DataError(
            fmt::format("{}: {} tokens, {} log-probabilities and {} most probable tokens; give as many of each", place,
                        n, s.log_probabilities.size(), s.argmax.size()));
    }
}

/// Sequences whose tokens come one per line, by what the lines call them.
class SequencesByToken {
  public:
    /// False for an object that holds no single token.
    bool add(const nlohmann::json& object, std::vector<TokenSequence>& sequences) {
        const nlohmann::json* log = object.is_object() ? member_of(object, one_log_names) : nullptr;
        if (log == nullptr) return false;
        const nlohmann::json* token = member_of(object, one_token_names);
        if (token == nullptr || !token->is_number_integer()) {
            throw std::invalid_argument("a line with logprob needs the token's number; give token_id");
        }
        const nlohmann::json* name = member_of(object, sequence_names);
        const auto [at, is_new] = known_.try_emplace(name == nullptr ? "" : name->dump(), sequences.size());
        TokenSequence& to = is_new ? sequences.emplace_back() : sequences[at->second];
        to.tokens.push_back(token->get<std::int64_t>());
        to.log_probabilities.push_back(number_of_json(*log));
        if (const nlohmann::json* most = member_of(object, argmax_names)) {
            to.argmax.push_back(most->get<std::int64_t>());
        }
        return true;
    }

  private:
    std::map<std::string, std::size_t> known_;
};

std::vector<TokenSequence> sequences_of_lines(const std::filesystem::path& file) {
    const std::string text = read_whole_file(file);
    std::vector<TokenSequence> sequences;
    SequencesByToken by_token;
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = std::string_view(text).substr(at, end - at);
        at = end + 1;
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const std::string place = fmt::format("{}, line {}", file.string(), number);
        try {
            const nlohmann::json object = checked_json(without_nans(line));
            if (by_token.add(object, sequences)) continue;
            sequences.push_back(sequence_of(object));
        } catch (const std::exception& error) {
            throw DataError(fmt::format("{}: {}", place, error.what()));
        }
        require_lengths(sequences.back(), place);
    }
    for (const TokenSequence& each : sequences) require_lengths(each, file.string());
    return sequences;
}

npy::Array array_of(const StoredBytes& stored) {
    npy::Array array{stored.type, stored.shape, false, {}};
    const PieceReader next = stored.open();
    for (std::string_view piece = next(); !piece.empty(); piece = next()) {
        const auto bytes = std::as_bytes(std::span(piece.data(), piece.size()));
        array.data.insert(array.data.end(), bytes.begin(), bytes.end());
    }
    return array;
}

/// The arrays of an .npz file by what they are; all of one shape.
class TokenArrays {
  public:
    explicit TokenArrays(const std::filesystem::path& file) : file_(file.string()), stored_(npz_bytes(file)) {}

    [[nodiscard]] const StoredBytes* stored(const Names& names) const {
        const auto found = std::ranges::find_if(
            stored_, [&](const StoredBytes& each) { return std::ranges::find(names, each.name) != names.end(); });
        return found == stored_.end() ? nullptr : &*found;
    }
    [[nodiscard]] std::optional<npy::Array> find(const Names& names) const {
        const StoredBytes* const found = stored(names);
        return found == nullptr ? std::nullopt : std::optional(array_of(*found));
    }
    [[nodiscard]] npy::Array need(const Names& names) const {
        if (auto found = find(names)) return *std::move(found);
        throw DataError(fmt::format("{} has no array {} (or {}); save it under this name", file_, names[0], names[1]));
    }
    void require_shape(const std::optional<npy::Array>& array, const npy::Array& tokens, std::string_view name) const {
        if (!array || array->shape == tokens.shape) return;
        throw DataError(
            fmt::format("{}: {} has another shape than the tokens; give one of each per token", file_, name));
    }
    [[nodiscard]] double number(const npy::Array& array, std::size_t i) const {
        if (const auto found = npy::number_at(array, i)) return *found;
        throw DataError(fmt::format("{}: an integer is beyond 2^53; tokens are smaller", file_));
    }
    [[nodiscard]] const std::string& file() const { return file_; }

  private:
    std::string file_;
    std::vector<StoredBytes> stored_;
};

std::vector<TokenSequence> sequences_of_arrays(const std::filesystem::path& file) {
    const TokenArrays arrays(file);
    const npy::Array tokens = arrays.need(token_names);
    const std::optional<npy::Array> logs = arrays.need(log_names);
    const std::optional<npy::Array> argmax = arrays.find(argmax_names);
    const std::optional<npy::Array> mask = arrays.find({"mask"});
    arrays.require_shape(logs, tokens, "logprobs");
    arrays.require_shape(argmax, tokens, "argmax");
    arrays.require_shape(mask, tokens, "mask");
    if (tokens.shape.empty() || tokens.shape.size() > 2) {
        throw DataError(fmt::format("{}: tokens have {} extents; give 1 or 2 (sequences x places)", arrays.file(),
                                    tokens.shape.size()));
    }
    const auto places = static_cast<std::size_t>(tokens.shape.back());
    const std::size_t rows = tokens.shape.size() == 2 ? static_cast<std::size_t>(tokens.shape[0]) : 1;
    std::vector<TokenSequence> sequences(rows);
    for (std::size_t i = 0; i < rows * places; ++i) {
        if (mask && arrays.number(*mask, i) == 0) continue;
        TokenSequence& to = sequences[i / places];
        to.tokens.push_back(static_cast<std::int64_t>(arrays.number(tokens, i)));
        to.log_probabilities.push_back(arrays.number(*logs, i));
        if (argmax) to.argmax.push_back(static_cast<std::int64_t>(arrays.number(*argmax, i)));
    }
    return sequences;
}

}  // namespace

bool is_token_file(const std::filesystem::path& file) {
    if (file.extension() == ".jsonl") return true;
    if (file.extension() != ".npz" || !std::filesystem::is_regular_file(file)) return false;
    return TokenArrays(file).stored(log_names) != nullptr;
}

std::vector<TokenSequence> read_token_sequences(const std::filesystem::path& file) {
    if (file.extension() == ".npz") return sequences_of_arrays(file);
    if (file.extension() == ".jsonl") return sequences_of_lines(file);
    throw DataError(
        fmt::format("{}: tokens are read from .jsonl and .npz files; save them as one of these", file.string()));
}

}  // namespace ulp
