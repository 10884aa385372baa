#include "engine/files/sharded_model.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <set>
#include <system_error>

#include "engine/files/checked_json.hpp"
#include "engine/files/whole_file.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;
using WeightMap = std::map<std::string, std::string>;

WeightMap weight_map_of(const fs::path& index) {
    try {
        const nlohmann::json json = checked_json(read_whole_file(index), 4);
        WeightMap map = json.at("weight_map").get<WeightMap>();
        if (!map.empty()) return map;
    } catch (const std::invalid_argument& error) {
        throw DataError(fmt::format("{}: is not an index of shards: {}", index.string(), error.what()));
    } catch (const nlohmann::json::exception&) {
    }
    throw DataError(index.string() + ": is not an index of shards: it needs a weight_map from tensors to files");
}

void require_inside(const fs::path& index, const std::string& shard) {
    const fs::path name(shard);
    if (!shard.empty() && name == name.filename() && shard != "." && shard != "..") return;
    throw DataError(
        fmt::format("{}: the shard '{}' leads out of the folder; give file names in it", index.string(), shard));
}

}  // namespace

bool is_sharded_model(const fs::path& folder) {
    std::error_code ignored;
    return fs::is_directory(folder, ignored) && fs::exists(folder / model_index, ignored);
}

std::vector<fs::path> shards_of(const fs::path& folder) {
    const fs::path index = folder / model_index;
    const WeightMap map = weight_map_of(index);
    std::set<std::string> shards;
    for (const auto& [tensor, shard] : map) shards.insert(shard);
    std::vector<fs::path> files;
    WeightMap found;
    for (const std::string& shard : shards) {
        require_inside(index, shard);
        std::error_code error;
        if (!fs::exists(folder / shard, error)) {
            throw DataError(
                fmt::format("{}: the shard {} is missing; fetch it, or name single files", index.string(), shard));
        }
        files.push_back(folder / shard);
        for (const StoredBytes& tensor : safetensors_bytes(files.back())) {
            const auto [other, is_new] = found.try_emplace(tensor.name, shard);
            if (is_new) continue;
            throw DataError(fmt::format("{}: the tensor {} stands twice, in {} and in {}; remove one", index.string(),
                                        tensor.name, other->second, shard));
        }
    }
    for (const auto& [tensor, shard] : map) {
        const auto place = found.find(tensor);
        if (place != found.end() && place->second == shard) continue;
        throw DataError(fmt::format("{}: the tensor {} is not in the shard {}", index.string(), tensor, shard));
    }
    return files;
}

ShardWriter::ShardWriter(const fs::path& file)
    : file_(file), data_(new_locked_file(file)), stream_(data_.path, std::ios::binary) {}

ShardWriter::~ShardWriter() {
    std::error_code ignored;
    fs::remove(data_.path, ignored);
    close(data_.descriptor);
}

void ShardWriter::add(const WrittenArray& array) {
    const std::uint64_t end = size_ + array.bytes.size();
    header_[array.name] = {{"dtype", array.type}, {"shape", array.shape}, {"data_offsets", {size_, end}}};
    size_ = end;
    if (!stream_.write(array.bytes.data(), static_cast<std::streamsize>(array.bytes.size()))) {
        throw DataError(file_.string() + ": cannot be written: the disk refuses");
    }
}

void ShardWriter::finish(const std::map<std::string, std::string>& metadata) {
    stream_.close();
    if (!stream_) throw DataError(file_.string() + ": cannot be written: the disk refuses");
    WholeFile file(file_);
    file.write(safetensors_header(header_, metadata, file_));
    const auto data = std::make_shared<const MappedFile>(data_.path);
    const PieceReader next = pieces_of(data, data->bytes());
    for (std::string_view piece = next(); !piece.empty(); piece = next()) file.write(piece);
    file.publish();
}

void write_model_index(const fs::path& folder, const WeightMap& weight_map, std::uint64_t total_size) {
    const nlohmann::json index = {{"metadata", {{"total_size", total_size}}}, {"weight_map", weight_map}};
    replace_whole_file(folder / model_index, index.dump(2) + "\n");
}

}  // namespace ulp
