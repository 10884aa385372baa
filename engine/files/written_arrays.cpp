#include "engine/files/written_arrays.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/files/npy.hpp"
#include "engine/files/whole_file.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

void append_little_endian(std::string& bytes, std::uint64_t word, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(word >> (8 * i) & 0xFF);
}

[[noreturn]] void refuse_to_write(const fs::path& file, const std::string& why) {
    throw DataError(fmt::format("{}: cannot be written: {}", file.string(), why));
}

constexpr std::pair<std::string_view, std::string_view> numpy_types[] = {
    {"U8", "|u1"},  {"U16", "<u2"}, {"U32", "<u4"}, {"U64", "<u8"}, {"I8", "|i1"}, {"I16", "<i2"},
    {"I32", "<i4"}, {"I64", "<i8"}, {"F16", "<f2"}, {"F32", "<f4"}, {"F64", "<f8"}};

std::string numpy_type(const fs::path& file, const WrittenArray& array) {
    const auto* found =
        std::ranges::find(numpy_types, array.type, &std::pair<std::string_view, std::string_view>::first);
    if (found != std::end(numpy_types)) return std::string(found->second);
    refuse_to_write(file, fmt::format("NumPy has no type for {} of {}; write .safetensors", array.type, array.name));
}

/// Unzipping must not leave the folder.
bool stays_inside(const std::string& name) {
    const fs::path path(name);
    return !name.empty() && !path.is_absolute() && std::ranges::find(path, fs::path("..")) == path.end();
}

struct ZipMember {
    std::string name;  // with .npy
    std::uint64_t crc, size, header_at;
};

/// The fields that a member's own header and its entry in the directory share (APPNOTE.TXT 6.3.10, 4.3.7 and 4.3.12):
/// version 2.0, no flags, stored, the first day that the format knows, no extra field.
std::string zip_fields(const ZipMember& member) {
    std::string bytes;
    for (const std::uint64_t word : {20U, 0U, 0U, 0U, 0x21U}) append_little_endian(bytes, word, 2);
    for (const std::uint64_t word : {member.crc, member.size, member.size}) append_little_endian(bytes, word, 4);
    append_little_endian(bytes, member.name.size(), 2);
    append_little_endian(bytes, 0, 2);
    return bytes;
}

class ZipWriter {
  public:
    explicit ZipWriter(const fs::path& path) : path_(path), file_(path) {}

    void add(const std::string& name, std::string_view header, std::string_view bytes) {
        uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
        crc = crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
        members_.push_back({name, crc, header.size() + bytes.size(), at_});
        write("PK\x03\x04");
        write(zip_fields(members_.back()));
        write(name);
        write(header);
        write(bytes);
    }
    void finish() {
        const std::uint64_t directory_at = at_;
        for (const ZipMember& member : members_) {
            std::string entry = "PK\x01\x02";
            append_little_endian(entry, 20, 2);
            entry += zip_fields(member);
            append_little_endian(entry, 0, 10);  // comment, disk, attributes
            append_little_endian(entry, member.header_at, 4);
            write(entry + member.name);
        }
        const std::uint64_t size = at_ - directory_at;
        std::string end = "PK\x05\x06";
        append_little_endian(end, 0, 4);
        for (int i = 0; i < 2; ++i) append_little_endian(end, members_.size(), 2);
        append_little_endian(end, size, 4);
        append_little_endian(end, directory_at, 4);
        append_little_endian(end, 0, 2);
        write(end);
        file_.publish();
    }

  private:
    void write(std::string_view bytes) {
        at_ += bytes.size();
        if (at_ > 0xFFFFFFFF || members_.size() > 0xFFFE) {
            refuse_to_write(path_, "a .npz file holds at most 4 GiB and 65,534 arrays; write .safetensors");
        }
        file_.write(bytes);
    }

    fs::path path_;
    WholeFile file_;
    std::uint64_t at_ = 0;
    std::vector<ZipMember> members_;
};

}  // namespace

WrittenArray array_of_numbers(std::string name, Shape shape, std::span<const float> numbers) {
    WrittenArray array{std::move(name), "F32", std::move(shape), {}};
    array.bytes.reserve(numbers.size() * 4);
    for (const float x : numbers) append_little_endian(array.bytes, std::bit_cast<std::uint32_t>(x), 4);
    return array;
}

WrittenArray array_of_codes(std::string name, Shape shape, int bits, std::span<const std::uint32_t> codes) {
    const std::size_t size = bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
    WrittenArray array{std::move(name), fmt::format("U{}", 8 * size), std::move(shape), {}};
    array.bytes.reserve(codes.size() * size);
    for (const std::uint32_t code : codes) append_little_endian(array.bytes, code, size);
    return array;
}

void write_safetensors(const fs::path& path, const WrittenArrays& arrays,
                       const std::map<std::string, std::string>& metadata) {
    nlohmann::json header = nlohmann::json::object();
    std::size_t at = 0;
    for (const WrittenArray& array : arrays) {
        const std::size_t end = at + array.bytes.size();
        header[array.name] = {{"dtype", array.type}, {"shape", array.shape}, {"data_offsets", {at, end}}};
        at = end;
    }
    header["__metadata__"] = metadata;
    std::string text;
    try {
        text = header.dump();
    } catch (const nlohmann::json::exception&) {
        refuse_to_write(path, "the name of an array is not UTF-8");
    }
    text.resize((text.size() + 7) / 8 * 8, ' ');  // the numbers start at a multiple of eight bytes
    std::string beginning;
    append_little_endian(beginning, text.size(), 8);
    WholeFile file(path);
    file.write(beginning + text);
    for (const WrittenArray& array : arrays) file.write(array.bytes);
    file.publish();
}

void write_npz(const fs::path& path, const WrittenArrays& arrays) {
    ZipWriter file(path);
    for (const WrittenArray& array : arrays) {
        if (!stays_inside(array.name)) {
            refuse_to_write(path, fmt::format("the name '{}' leads out of a folder; write .safetensors", array.name));
        }
        file.add(array.name + ".npy", npy::header_for(numpy_type(path, array), array.shape), array.bytes);
    }
    file.finish();
}

void require_array_file(const fs::path& file) {
    if (file.extension() == ".npz" || file.extension() == ".safetensors") return;
    throw UsageError(
        fmt::format("{}: arrays are written as .npz or .safetensors; end the name with one of the two", file.string()));
}

void write_arrays(const fs::path& file, const WrittenArrays& arrays,
                  const std::map<std::string, std::string>& metadata) {
    require_array_file(file);
    if (file.extension() == ".npz") return write_npz(file, arrays);
    write_safetensors(file, arrays, metadata);
}

}  // namespace ulp
