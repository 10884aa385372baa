#include "softfloat/lab/recordings.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/nan_payload.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/read_number.hpp"

namespace ulp {

namespace fs = std::filesystem;

namespace {

std::string place(const fs::path& file, std::int64_t line) { return file.string() + ":" + std::to_string(line) + ": "; }

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

FloatFormat input_format(const RecordedFiles& files) {
    try {
        return format_by_name(lower(files.input));
    } catch (const std::invalid_argument& error) {
        throw DataError(files.a.parent_path().string() + ": the folder names no input format: " + error.what());
    }
}

std::vector<std::string> read_lines(const fs::path& file) {
    std::ifstream stream;
    if (fs::is_regular_file(file)) stream.open(file);
    if (!stream.is_open()) throw DataError(file.string() + ": cannot be opened; a set needs this file");
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
        while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) line.pop_back();
        lines.push_back(line);
    }
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    if (lines.empty()) throw DataError(file.string() + ": holds no rows");
    return lines;
}

/// An fp32 word as a code of the format; its value must lie on the format's grid.
std::uint32_t code_on_grid(const FloatFormat& format, std::uint32_t word, const std::string& where) {
    Context context;
    const std::uint64_t code = convert_keeping_nan(format, formats::fp32, word, context);
    if ((context.flags & (flag::inexact | flag::overflow)) != 0) {
        throw DataError(where + "the word is not a value of " + name_of(format));
    }
    return static_cast<std::uint32_t>(code);
}

std::uint32_t hex_word(const std::string& digits, const std::string& where) {
    const auto word = read_number<std::uint32_t>(digits, 16);
    if (digits.size() != 8 || !word) {
        throw DataError(where + "'" + digits + "' is not an fp32 word of 8 hexadecimal digits");
    }
    return *word;
}

std::uint32_t binary_word(const std::string& digits, const std::string& where) {
    if (digits.size() != 32) {
        throw DataError(where + "the row has " + std::to_string(digits.size()) +
                        " characters instead of 32 binary digits");
    }
    std::uint32_t word = 0;
    for (const char digit : digits) {
        if (digit != '0' && digit != '1') throw DataError(where + "'" + digit + "' is not a binary digit");
        word = (word << 1) | (digit == '1' ? 1U : 0U);
    }
    return word;
}

struct Table {
    std::int64_t rows = 0;
    std::int64_t width = 0;
    std::vector<std::uint32_t> codes;
};

Table read_hex_table(const fs::path& file, const FloatFormat& format) {
    Table table;
    for (const std::string& line : read_lines(file)) {
        ++table.rows;
        std::istringstream fields(line);
        std::int64_t width = 0;
        for (std::string field; fields >> field; ++width) {
            const std::string where = place(file, table.rows);
            table.codes.push_back(
                code_on_grid(format, hex_word(field, where), where + "product " + std::to_string(width) + ": "));
        }
        if (table.rows == 1) table.width = width;
        if (width != table.width || width == 0) {
            throw DataError(place(file, table.rows) + "the row has " + std::to_string(width) +
                            " words, the first row " + std::to_string(table.width));
        }
    }
    return table;
}

std::vector<std::uint32_t> read_binary_column(const fs::path& file) {
    std::vector<std::uint32_t> words;
    std::int64_t line_number = 0;
    for (const std::string& line : read_lines(file)) {
        ++line_number;
        words.push_back(binary_word(line, place(file, line_number)));
    }
    return words;
}

void require_rows(const fs::path& file, std::int64_t rows, std::int64_t expected, const fs::path& other) {
    if (rows != expected) {
        throw DataError(file.string() + ": has " + std::to_string(rows) + " rows, " + other.filename().string() +
                        " has " + std::to_string(expected) + "; the set is truncated");
    }
}

/// Splits "d_H100_fp16.txt" at the underscores; empty unless it has that form.
std::vector<std::string> name_parts(const fs::path& file) {
    std::vector<std::string> parts;
    if (file.extension() != ".txt") return parts;
    std::istringstream stem(file.stem().string());
    for (std::string part; std::getline(stem, part, '_');) parts.push_back(part);
    return parts.size() == 3 ? parts : std::vector<std::string>{};
}

void add_sets_of_folder(const fs::path& folder, std::vector<RecordedFiles>& sets) {
    for (const auto& entry : fs::directory_iterator(folder)) {
        const auto parts = name_parts(entry.path());
        if (parts.empty() || parts[0] != "d") continue;
        const std::string& gpu = parts[1];
        const std::string input = folder.filename().string();
        sets.push_back({gpu, input, parts[2], folder / ("a_" + gpu + "_" + input + ".txt"),
                        folder / ("b_" + gpu + "_" + input + ".txt"), folder / ("c_" + gpu + "_fp32.txt"),
                        entry.path()});
    }
}

bool is_fp8(const RecordedSet& set) {
    const std::string input = lower(set.input);
    return input == "e4m3" || input == "e5m2";
}

}  // namespace

std::vector<RecordedFiles> list_recordings(const fs::path& path) {
    if (!fs::is_directory(path)) return {};
    const fs::path folder = fs::canonical(path);
    std::vector<RecordedFiles> sets;
    add_sets_of_folder(folder, sets);
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_directory()) add_sets_of_folder(entry.path(), sets);
    }
    std::sort(sets.begin(), sets.end(), [](const RecordedFiles& x, const RecordedFiles& y) {
        return std::tie(x.gpu, x.input, x.output, x.d) < std::tie(y.gpu, y.input, y.output, y.d);
    });
    return sets;
}

std::vector<RecordedFiles> find_recordings(const fs::path& path) {
    if (!fs::is_directory(path)) throw DataError(path.string() + ": there is no such folder of recordings");
    auto sets = list_recordings(path);
    if (sets.empty()) {
        throw DataError(path.string() + ": holds no recordings; expected <GPU>/<format>/d_<GPU>_<output>.txt");
    }
    return sets;
}

RecordedSet read_recording(const RecordedFiles& files) {
    const FloatFormat& format = input_format(files);
    RecordedSet set{.gpu = files.gpu, .input = files.input, .output = files.output, .key = {}, .path = files.d};
    if (set.output != "fp32" && set.output != "fp16") {
        throw DataError(files.d.string() + ": '" + set.output + "' is no output format; choose fp32 or fp16");
    }
    Table a = read_hex_table(files.a, format);
    Table b = read_hex_table(files.b, format);
    require_rows(files.b, b.rows, a.rows, files.a);
    if (b.width != a.width) {
        throw DataError(place(files.b, 1) + "the rows have " + std::to_string(b.width) + " words, those of " +
                        files.a.filename().string() + " " + std::to_string(a.width));
    }
    set.rows = a.rows;
    set.products = a.width;
    set.a = std::move(a.codes);
    set.b = std::move(b.codes);
    set.c = read_binary_column(files.c);
    set.d = read_binary_column(files.d);
    require_rows(files.c, static_cast<std::int64_t>(set.c.size()), set.rows, files.a);
    require_rows(files.d, static_cast<std::int64_t>(set.d.size()), set.rows, files.a);
    if (set.output == "fp16") {
        Context context;
        for (std::uint32_t& c : set.c) {
            c = static_cast<std::uint32_t>(convert_keeping_nan(formats::fp16, formats::fp32, c, context));
        }
        for (std::int64_t row = 0; row < set.rows; ++row) {
            std::uint32_t& d = set.d[static_cast<std::size_t>(row)];
            d = code_on_grid(formats::fp16, d, place(files.d, row + 1));
        }
    }
    return set;
}

namespace {

/// AMD's rows have their k in their name: the instruction with this k, mfma or mfma_1k.
std::string amd_key_of(const RecordedSet& set, const std::string& architecture) {
    for (const auto& [row, model] : rows_of<TensorCoreModel>()) {
        const bool whole = row.instruction == "mfma" || row.instruction == "mfma_1k";
        if (whole && row.architecture == architecture && row.input == lower(set.input) && row.output == set.output &&
            model.instruction_k == set.products) {
            return row.key();
        }
    }
    return "";
}

/// The key of the row for a set; one of the published layout names a GPU and formats.
std::string key_of(const RecordedSet& set) {
    if (!set.key.empty()) return set.key;
    const std::string architecture = architecture_of(set.gpu);
    if (architecture.starts_with("gfx")) return amd_key_of(set, architecture);
    const std::string suffix = "." + lower(set.input) + "." + set.output;
    // The tf32 sets were made through WMMA, a chained pair of k4 instructions; FP8 with fp16 output by mma.sync.
    if (lower(set.input) == "tf32" && (architecture == "sm_90" || architecture == "sm_100")) {
        return architecture + ":wmma" + suffix;
    }
    const bool by_wgmma = is_fp8(set) && architecture == "sm_90" && set.output == "fp32";
    return architecture + (by_wgmma ? ":wgmma" : ":mma") + suffix;
}

}  // namespace

std::optional<RowOf<TensorCoreModel>> model_of(const RecordedSet& set) {
    try {
        const UnitRow& row = find_unit(key_of(set));
        if (const auto* model = row.as<TensorCoreModel>()) return RowOf<TensorCoreModel>{row, *model};
    } catch (const std::invalid_argument&) {
    }
    return std::nullopt;
}

bool recorded_with_zero_c(const RecordedSet& set) {
    return set.key.empty() && is_fp8(set) && set.output == "fp32" && (set.gpu == "H100" || set.gpu == "H200");
}

ReplayResult replay(const RecordedSet& set, const DotUnit& unit, bool zero_c) {
    ReplayResult result{.rows = set.rows, .equal = 0, .first = std::nullopt};
    for (std::int64_t row = 0; row < set.rows; ++row) {
        const auto index = static_cast<std::size_t>(row);
        const auto operands = [&](const std::vector<std::uint32_t>& all) {
            const auto first = all.begin() + row * set.products;
            return std::vector<std::uint64_t>(first, first + set.products);
        };
        const auto got =
            static_cast<std::uint32_t>(unit.dot(operands(set.a), operands(set.b), zero_c ? 0 : set.c[index]));
        if (got == set.d[index]) {
            ++result.equal;
        } else if (!result.first) {
            result.first = Mismatch{row, set.d[index], got};
        }
    }
    return result;
}

ReplayResult replay(const RecordedSet& set, const TensorCoreModel& model, bool zero_c) {
    return replay(set, unit_of(model), zero_c);
}

}  // namespace ulp
