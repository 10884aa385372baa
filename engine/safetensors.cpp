#include "engine/safetensors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "softfloat/round.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct StoredType {
    std::string_view name;
    FloatFormat format;
};
constexpr std::array stored_types = {
    StoredType{"F32", formats::fp32},     StoredType{"F16", formats::fp16},     StoredType{"BF16", formats::bf16},
    StoredType{"F8_E4M3", formats::e4m3}, StoredType{"F8_E5M2", formats::e5m2},
};

const StoredType& type_of(const FloatFormat& format) {
    for (const StoredType& type : stored_types) {
        if (type.format == format) return type;
    }
    return stored_types.front();
}

std::size_t bytes_each(const FloatFormat& format) { return static_cast<std::size_t>(format.storage_bits()) / 8; }

void append_word(std::string& bytes, std::uint64_t word, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(word >> (8 * i) & 0xFF);
}

void append_numbers(std::string& bytes, const Tensor<float>& tensor, const FloatFormat& format) {
    for (const float x : tensor.values()) {
        Context exact;
        const std::uint64_t code = convert_bits(format, formats::fp32, std::bit_cast<std::uint32_t>(x), exact);
        append_word(bytes, format == formats::fp32 ? std::bit_cast<std::uint32_t>(x) : code, bytes_each(format));
    }
}

std::string serialized(const Safetensors& contents) {
    Json header = Json::object();
    std::string data;
    for (const auto& [name, tensor] : contents.tensors) {
        const StoredType& type = type_of(tensor.format());
        const std::size_t begin = data.size();
        append_numbers(data, tensor, type.format);
        header[name] = {{"dtype", type.name}, {"shape", tensor.shape()}, {"data_offsets", {begin, data.size()}}};
    }
    header["__metadata__"] = contents.metadata;
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // the numbers start at a multiple of eight bytes
    std::string file;
    append_word(file, text.size(), 8);
    return file + text + data;
}

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
    throw DataError(fmt::format("{}: {}; it is no complete safetensors file", file.string(), why));
}

Tensor<float> tensor_at(const fs::path& file, const std::string& name, const Json& entry, const std::string& bytes,
                        std::size_t data_start) {
    const auto type_name = entry.at("dtype").get<std::string>();
    const StoredType* type = nullptr;
    for (const StoredType& t : stored_types) type = t.name == type_name ? &t : type;
    if (type == nullptr) refuse(file, fmt::format("{} is of type {}, which is not read here", name, type_name));
    const auto shape = entry.at("shape").get<Shape>();
    const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
    const auto end = entry.at("data_offsets").at(1).get<std::size_t>();
    const std::size_t each = bytes_each(type->format);
    const auto count = static_cast<std::size_t>(volume(shape));
    if (end < begin || end - begin != count * each)
        refuse(file, fmt::format("the place of {} does not fit its shape", name));
    if (end > bytes.size() - data_start) refuse(file, fmt::format("{} lies beyond its end (cut short)", name));
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t code = 0;
        for (std::size_t j = 0; j < each; ++j) {
            code |= std::uint64_t{static_cast<unsigned char>(bytes[data_start + begin + i * each + j])} << (8 * j);
        }
        Context exact;
        const std::uint64_t word =
            type->format == formats::fp32 ? code : convert_bits(formats::fp32, type->format, code, exact);
        values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(word));
    }
    return {shape, std::move(values), type->format};
}

/// Puts the bytes on the disk, not only into its cache.
void write_synced(const fs::path& file, const std::string& bytes) {
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (descriptor < 0) throw DataError(fmt::format("{}: cannot be written", file.string()));
    std::size_t written = 0;
    while (written < bytes.size()) {
        const ssize_t n = ::write(descriptor, bytes.data() + written, bytes.size() - written);
        if (n <= 0) break;
        written += static_cast<std::size_t>(n);
    }
    const bool good = written == bytes.size() && ::fsync(descriptor) == 0;
    ::close(descriptor);
    if (!good) throw DataError(fmt::format("{}: cannot be written (disk full?)", file.string()));
}

}  // namespace

void write_safetensors(const fs::path& file, const Safetensors& contents) {
    const fs::path temporary = file.string() + ".tmp";
    write_synced(temporary, serialized(contents));
    std::error_code error;
    fs::rename(temporary, file, error);
    if (error) throw DataError(fmt::format("{}: cannot be written: {}", file.string(), error.message()));
}

Safetensors read_safetensors(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw DataError(fmt::format("{}: cannot be opened", file.string()));
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    if (bytes.size() < 8) refuse(file, "shorter than a header");
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 8; ++i) length |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    if (length > bytes.size() - 8) refuse(file, "its header is cut short");
    const auto header_end = bytes.begin() + 8 + static_cast<std::ptrdiff_t>(length);
    const Json header = Json::parse(bytes.begin() + 8, header_end, nullptr, false);
    if (!header.is_object()) refuse(file, "its header is not JSON");
    Safetensors contents;
    try {
        for (const auto& [name, entry] : header.items()) {
            if (name == "__metadata__") {
                contents.metadata = entry.get<std::map<std::string, std::string>>();
            } else {
                contents.tensors.emplace(name,
                                         tensor_at(file, name, entry, bytes, 8 + static_cast<std::size_t>(length)));
            }
        }
    } catch (const Json::exception& error) {
        refuse(file, fmt::format("its header is malformed ({})", error.what()));
    } catch (const std::invalid_argument& error) {
        refuse(file, error.what());
    }
    return contents;
}

}  // namespace ulp
