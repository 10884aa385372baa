#include "engine/data/data_files.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>

namespace ulp {
namespace {

namespace fs = std::filesystem;

std::string bytes_of_file(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream || fs::is_directory(file)) throw DataError(fmt::format("{}: cannot be opened", file.string()));
    return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

Dataset read_cifar10(const std::vector<fs::path>& files) {
    constexpr std::size_t pixels = 3072;
    Dataset data{3, 32, 32, 10, {}, {}};
    for (const fs::path& file : files) {
        const std::string bytes = bytes_of_file(file);
        if (bytes.empty() || bytes.size() % (pixels + 1) != 0) {
            throw DataError(
                fmt::format("{}: {} bytes are no whole number of records of 3073; give CIFAR-10's binary "
                            "version, complete",
                            file.string(), bytes.size()));
        }
        for (std::size_t at = 0; at < bytes.size(); at += pixels + 1) {
            const auto label = static_cast<std::uint8_t>(bytes[at]);
            if (label > 9) {
                throw DataError(fmt::format("{}: record {} has the label {}; give CIFAR-10's binary version",
                                            file.string(), at / (pixels + 1), label));
            }
            data.labels.push_back(label);
            for (std::size_t i = 1; i <= pixels; ++i) data.pixels.push_back(static_cast<std::uint8_t>(bytes[at + i]));
        }
    }
    return data;
}

namespace {

/// The next number of a netpbm header; comments run from # to the end of the line.
Index header_number(const fs::path& file, const std::string& bytes, std::size_t& at) {
    while (at < bytes.size() && (std::isspace(static_cast<unsigned char>(bytes[at])) != 0 || bytes[at] == '#')) {
        if (bytes[at] == '#') {
            while (at < bytes.size() && bytes[at] != '\n') ++at;
        } else {
            ++at;
        }
    }
    Index number = 0;
    const auto [end, error] = std::from_chars(bytes.data() + at, bytes.data() + bytes.size(), number);
    if (error != std::errc() || number < 1 || number > 65536) {
        throw DataError(fmt::format("{}: its header is damaged; save it again as binary PGM or PPM", file.string()));
    }
    at = static_cast<std::size_t>(end - bytes.data());
    return number;
}

}  // namespace

Picture read_netpbm(const fs::path& file) {
    const std::string bytes = bytes_of_file(file);
    const bool grey = bytes.starts_with("P5");
    if (!grey && !bytes.starts_with("P6")) {
        throw DataError(
            fmt::format("{}: it does not begin with P5 or P6; save it as binary PGM or PPM", file.string()));
    }
    std::size_t at = 2;
    Picture picture{grey ? 1 : 3, 0, 0, {}};
    picture.width = header_number(file, bytes, at);
    picture.height = header_number(file, bytes, at);
    if (header_number(file, bytes, at) > 255) {
        throw DataError(fmt::format("{}: it has more than 255 levels; save it with 8 bits a sample", file.string()));
    }
    ++at;  // one white space after the header
    const Index area = picture.height * picture.width;
    if (static_cast<Index>(bytes.size()) - static_cast<Index>(at) < area * picture.channels) {
        throw DataError(fmt::format("{}: ends too early (cut short); save it again", file.string()));
    }
    for (Index c = 0; c < picture.channels; ++c) {  // the file interleaves the channels
        for (Index p = 0; p < area; ++p) {
            picture.pixels.push_back(
                static_cast<std::uint8_t>(bytes[at + static_cast<std::size_t>(p * picture.channels + c)]));
        }
    }
    return picture;
}

namespace {

std::vector<std::string> fields_of(std::string line) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<std::string> fields(1);
    for (const char c : line) {
        if (c == ',') {
            fields.emplace_back();
        } else {
            fields.back() += c;
        }
    }
    return fields;
}

float number_of(const fs::path& file, std::size_t line, const std::string& text) {
    float value = 0;
    const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
    const auto [end, error] = std::from_chars(text.data() + first, text.data() + text.size(), value);
    const bool rest_blank =
        text.find_first_not_of(' ', static_cast<std::size_t>(end - text.data())) == std::string::npos;
    if (error == std::errc() && rest_blank) return value;
    throw DataError(
        fmt::format("{}, line {}: '{}' is no number; encode categories as numbers first", file.string(), line, text));
}

}  // namespace

Table read_csv(const fs::path& file) {
    const std::string bytes = bytes_of_file(file);
    std::vector<std::string> lines(1);
    for (const char c : bytes) {
        if (c == '\n') {
            lines.emplace_back();
        } else {
            lines.back() += c;
        }
    }
    if (lines.back().empty()) lines.pop_back();
    if (lines.empty())
        throw DataError(fmt::format("{}: it is empty; its first line must name the columns", file.string()));
    Table table{fields_of(lines.front()), {}};
    const auto cols = static_cast<Index>(table.columns.size());
    table.rows.resize(static_cast<Index>(lines.size()) - 1, cols);
    for (Index i = 0; i < table.rows.rows(); ++i) {
        const auto line = static_cast<std::size_t>(i) + 1;
        const std::vector<std::string> fields = fields_of(lines[line]);
        if (static_cast<Index>(fields.size()) != cols) {
            throw DataError(fmt::format("{}, line {}: {} fields where the header names {} columns", file.string(),
                                        line + 1, fields.size(), cols));
        }
        for (Index j = 0; j < cols; ++j)
            table.rows(i, j) = number_of(file, line + 1, fields[static_cast<std::size_t>(j)]);
    }
    return table;
}

CharacterText read_characters(const fs::path& file) {
    const std::string bytes = bytes_of_file(file);
    if (bytes.empty()) throw DataError(fmt::format("{}: the text is empty", file.string()));
    std::array<int, 256> token{};
    token.fill(-1);
    for (const char c : bytes) token[static_cast<unsigned char>(c)] = 0;
    CharacterText text;
    for (std::size_t c = 0; c < token.size(); ++c) {
        if (token[c] < 0) continue;
        token[c] = static_cast<int>(text.alphabet.size());
        text.alphabet += static_cast<char>(c);
    }
    for (const char c : bytes) text.tokens.push_back(token[static_cast<unsigned char>(c)]);
    return text;
}

}  // namespace ulp
