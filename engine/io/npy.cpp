#include "engine/io/npy.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "softfloat/errors.hpp"

namespace ulp::npy {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view magic = "\x93NUMPY";

[[noreturn]] void refuse(const fs::path& path, const std::string& why) { throw DataError(path.string() + ": " + why); }

std::string read_all(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) refuse(path, "cannot be opened");
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// The text after 'key': in the header's dictionary, from its first character that is no blank.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key) {
    const std::size_t at = header.find("'" + std::string(key) + "'");
    if (at == std::string_view::npos) return std::nullopt;
    std::size_t colon = header.find(':', at);
    if (colon == std::string_view::npos) return std::nullopt;
    while (++colon < header.size() && header[colon] == ' ') {
    }
    return header.substr(colon);
}

std::string dtype_of(const fs::path& path, std::string_view header) {
    const auto value = value_of(header, "descr");
    if (!value || value->size() < 2 || value->front() != '\'') refuse(path, "the header names no simple type (descr)");
    const std::size_t end = value->find('\'', 1);
    const std::string dtype(value->substr(1, end == std::string_view::npos ? end : end - 1));
    if (dtype.starts_with('>')) {
        refuse(path, "type '" + dtype + "' is big-endian; save it with array.astype(array.dtype.newbyteorder('<'))");
    }
    static constexpr std::array known = {"<f2", "<f4", "<f8", "|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8"};
    for (const char* each : known) {
        if (dtype == each) return dtype;
    }
    refuse(path, "type '" + dtype + "' is not one of float16, float32, float64 and the integers");
}

bool fortran_order_of(const fs::path& path, std::string_view header) {
    const auto value = value_of(header, "fortran_order");
    if (value && value->starts_with("True")) return true;
    if (value && value->starts_with("False")) return false;
    refuse(path, "the header does not say fortran_order");
}

std::vector<std::int64_t> shape_of(const fs::path& path, std::string_view header) {
    const auto value = value_of(header, "shape");
    const std::size_t end = value ? value->find(')') : std::string_view::npos;
    if (!value || !value->starts_with('(') || end == std::string_view::npos) refuse(path, "the header has no shape");
    constexpr std::int64_t limit = std::int64_t{1} << 40;  // elements; no file here is nearly that large
    std::vector<std::int64_t> shape;
    std::int64_t size = 1;
    const char* at = value->data() + 1;
    const char* const stop = value->data() + end;
    while (at != stop) {
        if (*at == ' ' || *at == ',') {
            ++at;
            continue;
        }
        std::int64_t extent = 0;
        const auto [next, error] = std::from_chars(at, stop, extent);
        if (error != std::errc{} || extent < 0 || (extent > 0 && size > limit / extent)) {
            refuse(path, "the shape is malformed");
        }
        size *= extent;
        shape.push_back(extent);
        at = next;
    }
    return shape;
}

std::size_t little_endian(std::string_view bytes) {
    std::size_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
}

/// Header text and the offset at which the elements begin.
struct Header {
    std::string_view text;
    std::size_t data_at;
};

Header header_of(const fs::path& path, std::string_view file) {
    if (!file.starts_with(magic)) refuse(path, "is not a .npy file (numpy.save writes one)");
    if (file.size() < 10) refuse(path, "is truncated in its header");
    const int version = file[6];
    if (version < 1 || version > 3) refuse(path, "has .npy version " + std::to_string(version) + "; known are 1 to 3");
    const std::size_t length_bytes = version == 1 ? 2 : 4;
    const std::size_t text_at = 8 + length_bytes;
    const std::size_t length = little_endian(file.substr(8, length_bytes));
    if (file.size() < text_at || file.size() - text_at < length) refuse(path, "is truncated in its header");
    return {file.substr(text_at, length), text_at + length};
}

std::string header_text(const Array& array) {
    std::string shape;
    for (const std::int64_t extent : array.shape) shape += std::to_string(extent) + ", ";
    if (array.shape.size() > 1) shape.resize(shape.size() - 2);
    if (array.shape.size() == 1) shape.resize(shape.size() - 1);
    std::string text = "{'descr': '" + array.dtype + "', 'fortran_order': " + (array.fortran_order ? "True" : "False") +
                       ", 'shape': (" + shape + "), }";
    while ((magic.size() + 4 + text.size() + 1) % 64 != 0) text += ' ';
    return text + '\n';
}

}  // namespace

std::int64_t Array::size() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
}

std::size_t Array::item_size() const { return static_cast<std::size_t>(dtype.at(2) - '0'); }

Array read(const fs::path& path) {
    const std::string file = read_all(path);
    const Header header = header_of(path, file);
    Array array{dtype_of(path, header.text), shape_of(path, header.text), fortran_order_of(path, header.text), {}};
    const auto expected = static_cast<std::uint64_t>(array.size()) * array.item_size();
    const std::uint64_t found = file.size() - header.data_at;
    if (found != expected) {
        refuse(path, "has " + std::to_string(found) + " bytes of elements, its shape says " + std::to_string(expected) +
                         (found < expected ? "; the file is truncated" : ""));
    }
    const auto bytes = std::as_bytes(std::span(file)).subspan(header.data_at);
    array.data.assign(bytes.begin(), bytes.end());
    return array;
}

void write(const fs::path& path, const Array& array) {
    const std::string text = header_text(array);
    const fs::path temporary = path.string() + ".tmp";
    {
        std::ofstream stream(temporary, std::ios::binary);
        stream << magic << '\x01' << '\x00' << static_cast<char>(text.size() & 0xFF)
               << static_cast<char>(text.size() >> 8) << text;
        stream.write(reinterpret_cast<const char*>(array.data.data()), static_cast<std::streamsize>(array.data.size()));
        stream.flush();
        if (!stream) refuse(path, "cannot be written");
    }
    std::error_code error;
    fs::rename(temporary, path, error);
    if (error) refuse(path, "cannot be written: " + error.message());
}

}  // namespace ulp::npy
