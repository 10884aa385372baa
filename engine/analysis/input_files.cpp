#include "engine/analysis/input_files.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

#include "engine/files/sharded_model.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

/// A file, and what it is called among several.
struct Found {
    fs::path path;
    std::string label;
    bool shard = false;  // of a model, which alone has no need of a label
};

bool holds_tensors(const fs::path& file) {
    constexpr std::array<std::string_view, 3> extensions = {".npy", ".npz", ".safetensors"};
    return std::ranges::find(extensions, file.extension().string()) != extensions.end();
}

void add_folder(const fs::path& folder, std::vector<Found>& found) {
    std::error_code error;
    fs::recursive_directory_iterator entry(folder, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
        std::error_code ignored;
        if (!entry->is_regular_file(ignored) || !holds_tensors(entry->path())) continue;
        found.push_back({entry->path(), entry->path().lexically_relative(folder).string()});
    }
    if (error) throw DataError(fmt::format("{}: cannot be read ({})", folder.string(), error.message()));
}

void add_pattern(const std::string& pattern, std::vector<Found>& found) {
    glob_t matches{};
    const int status = glob(pattern.c_str(), 0, nullptr, &matches);
    for (std::size_t i = 0; status == 0 && i < matches.gl_pathc; ++i) {
        const fs::path path = matches.gl_pathv[i];
        found.push_back({path, path.filename().string()});
    }
    globfree(&matches);
}

std::vector<Found> files_of(const std::string& input) {
    std::vector<Found> found;
    std::error_code error;
    if (is_sharded_model(input)) {
        const std::string model = (fs::path(input) / "").parent_path().filename().string();
        for (const fs::path& shard : shards_of(input)) found.push_back({shard, model, true});
    } else if (fs::is_directory(input, error)) {
        add_folder(input, found);
    } else if (!fs::exists(input, error) && input.find_first_of("*?[") != std::string::npos) {
        add_pattern(input, found);
    } else {
        found.push_back({input, fs::path(input).filename().string()});
    }
    if (found.empty()) {
        throw DataError(fmt::format("{}: no .npy, .npz or .safetensors file there; name a file, a folder or a pattern",
                                    printable(input)));
    }
    return found;
}

/// "weight" of one file, "step10.npz:weight" of several; a .npy file's tensor is called as the file.
std::string name_of(const Found& found, const std::string& tensor, bool several) {
    if (tensor.empty()) return fs::path(found.label).replace_extension().string();
    return several ? found.label + ":" + tensor : tensor;
}

}  // namespace

std::optional<std::int64_t> step_in_name(const fs::path& file) {
    constexpr std::string_view digits = "0123456789";
    const std::string stem = file.stem().string();
    const std::size_t last = stem.find_last_of(digits);
    if (last == std::string::npos) return std::nullopt;
    const std::size_t before = stem.find_last_not_of(digits, last);
    const std::size_t first = before == std::string::npos ? 0 : before + 1;
    std::int64_t step = 0;
    const auto [end, error] = std::from_chars(stem.data() + first, stem.data() + last + 1, step);
    return error == std::errc{} ? std::optional(step) : std::nullopt;
}

std::string printable(std::string text) {
    for (char& c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < ' ' || byte == 0x7F) c = '?';
    }
    return text;
}

std::vector<InputTensor> input_tensors(const std::vector<std::string>& inputs) {
    std::vector<Found> files;
    for (const std::string& input : inputs) {
        for (Found& found : files_of(input)) files.push_back(std::move(found));
    }
    const auto step_of = [](const Found& found) { return found.shard ? std::nullopt : step_in_name(found.path); };
    std::ranges::sort(files, {},
                      [&](const Found& found) { return std::tuple(step_of(found), found.label, found.path); });
    const bool one_model = inputs.size() == 1 && !files.empty() && files.front().shard;
    std::vector<InputTensor> tensors;
    for (const Found& found : files) {
        for (StoredBytes& stored : stored_bytes(found.path)) {
            std::string name = name_of(found, stored.name, files.size() > 1 && !one_model);
            tensors.push_back({std::move(name), found.path, step_of(found), std::move(stored)});
        }
    }
    return tensors;
}

}  // namespace ulp
