// Models in several safetensors files, as Hugging Face saves them: a folder with model.safetensors.index.json, whose
// "weight_map" gives each tensor's file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/files/stored_arrays.hpp"
#include "engine/files/whole_file.hpp"

namespace ulp {

inline constexpr const char* model_index = "model.safetensors.index.json";

/// Whether the path is a folder with an index.
bool is_sharded_model(const std::filesystem::path& folder);

/// The files that the index names, by name. Throws DataError that names the index: no index of that form, a file that
/// leads out of the folder or is missing, a tensor that is missing in its file or lies in two.
std::vector<std::filesystem::path> shards_of(const std::filesystem::path& folder);

/// A safetensors file, with a second, temporary one beside it until it is finished.
class ShardWriter : public ArrayWriter {
  public:
    explicit ShardWriter(const std::filesystem::path& file);
    ~ShardWriter() override;
    ShardWriter(const ShardWriter&) = delete;
    ShardWriter& operator=(const ShardWriter&) = delete;
    void add(const WrittenArray& array) override;
    void finish(const std::map<std::string, std::string>& metadata) override;
    [[nodiscard]] std::uint64_t size() const { return size_; }  // bytes of all arrays

  private:
    std::filesystem::path file_;
    LockedFile data_;
    std::ofstream stream_;
    nlohmann::json header_ = nlohmann::json::object();
    std::uint64_t size_ = 0;
};

/// The beginning of a safetensors file whose arrays are described by name as the format has it.
std::string safetensors_header(nlohmann::json arrays, const std::map<std::string, std::string>& metadata,
                               const std::filesystem::path& path);

/// The index of a folder: {"metadata": {"total_size": bytes}, "weight_map": {tensor: file}}.
void write_model_index(const std::filesystem::path& folder, const std::map<std::string, std::string>& weight_map,
                       std::uint64_t total_size);

}  // namespace ulp
