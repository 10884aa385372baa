#include "engine/files/stored_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "engine/files/npy.hpp"
#include "engine/files/sharded_model.hpp"
#include "engine/files/whole_file.hpp"
#include "engine/files/zip.hpp"
#include "softfloat/errors.hpp"

namespace ulp {

namespace fs = std::filesystem;

PieceReader pieces_of(std::shared_ptr<const MappedFile> file, std::string_view bytes) {
    return [file = std::move(file), bytes, piece = std::string_view()]() mutable {
        if (!piece.empty()) file->forget(piece);
        piece = bytes.substr(0, mapped_piece_size);
        bytes.remove_prefix(piece.size());
        return piece;
    };
}

PieceReader pieces_of(std::string all) {
    return [all = std::make_shared<const std::string>(std::move(all)), given = false]() mutable {
        const std::string_view piece = given ? std::string_view() : std::string_view(*all);
        given = true;
        return piece;
    };
}

std::vector<StoredBytes> stored_bytes(const fs::path& file) {
    constexpr std::array<std::string_view, 6> pickles = {".pt", ".pth", ".pkl", ".pickle", ".bin", ".ckpt"};
    if (std::ranges::find(pickles, file.extension().string()) != pickles.end()) {
        throw DataError(file.string() +
                        ": pickles are not read, since they can run code; save it with safetensors.torch.save_file, "
                        "numpy.save or numpy.savez");
    }
    const std::string beginning(MappedFile(file).bytes().substr(0, 6));
    if (beginning == "\x93NUMPY") return npy_bytes(file);
    if (beginning.starts_with("PK")) return npz_bytes(file);
    return safetensors_bytes(file);
}

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

std::string safetensors_header(nlohmann::json arrays, const std::map<std::string, std::string>& metadata,
                               const fs::path& path) {
    arrays["__metadata__"] = metadata;
    std::string text;
    try {
        text = arrays.dump();
    } catch (const nlohmann::json::exception&) {
        refuse_to_write(path, "the name of an array is not UTF-8");
    }
    text.resize((text.size() + 7) / 8 * 8, ' ');  // the numbers start at a multiple of eight bytes
    std::string beginning;
    append_little_endian(beginning, text.size(), 8);
    return beginning + text;
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
    WholeFile file(behind_links(path));
    file.write(safetensors_header(header, metadata, path));
    for (const WrittenArray& array : arrays) file.write(array.bytes);
    file.publish();
}

namespace {

class NpzWriter : public ArrayWriter {
  public:
    explicit NpzWriter(const fs::path& path) : path_(path), file_(behind_links(path)) {}
    void add(const WrittenArray& array) override {
        if (!stays_inside(array.name)) {
            refuse_to_write(path_, fmt::format("the name '{}' leads out of a folder; write .safetensors", array.name));
        }
        within_limits([&] {
            zip_.add_stored(array.name + ".npy", {npy::header_for(numpy_type(path_, array), array.shape), array.bytes});
        });
    }
    void finish(const std::map<std::string, std::string>&) override {
        within_limits([&] { zip_.finish(); });
        file_.publish();
    }

  private:
    template <class Function>
    void within_limits(const Function& f) try {
        f();
    } catch (const std::length_error&) {
        refuse_to_write(path_, "a .npz file holds at most 4 GiB and 65,534 arrays; write .safetensors");
    }

    fs::path path_;
    WholeFile file_;
    ZipWriter zip_{[this](std::string_view bytes) { file_.write(bytes); }};
};

}  // namespace

void write_npz(const fs::path& path, const WrittenArrays& arrays) {
    NpzWriter writer(path);
    for (const WrittenArray& array : arrays) writer.add(array);
    writer.finish({});
}

std::unique_ptr<ArrayWriter> array_writer(const fs::path& file) {
    require_array_file(file);
    if (file.extension() == ".npz") return std::make_unique<NpzWriter>(file);
    return std::make_unique<ShardWriter>(behind_links(file));
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
