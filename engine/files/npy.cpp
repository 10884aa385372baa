#include "engine/files/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>

#include "engine/files/stored_arrays.hpp"
#include "engine/files/whole_file.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/round.hpp"

namespace ulp::npy {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view magic = "\x93NUMPY";

[[noreturn]] void refuse(const fs::path& path, const std::string& why) { throw DataError(path.string() + ": " + why); }

constexpr std::array<std::string_view, 11> known_types = {"<f2", "<f4", "<f8", "|u1", "|i1", "<u2",
                                                          "<i2", "<u4", "<i4", "<u8", "<i8"};

bool is_known(std::string_view dtype) {
    return std::find(known_types.begin(), known_types.end(), dtype) != known_types.end();
}

/// The text after 'key': or "key": in the header's dictionary, from its first character that is no blank.
std::optional<std::string_view> value_of(std::string_view header, const std::string& key) {
    const std::size_t at = std::min(header.find("'" + key + "'"), header.find('"' + key + '"'));
    if (at == std::string_view::npos) return std::nullopt;
    std::size_t colon = header.find(':', at);
    if (colon == std::string_view::npos) return std::nullopt;
    while (++colon < header.size() && header[colon] == ' ') {
    }
    return header.substr(colon);
}

/// The text in quotes; nothing for a structure's list.
std::optional<std::string> descr_of(std::string_view header) {
    const auto value = value_of(header, "descr");
    if (!value || value->size() < 2 || (value->front() != '\'' && value->front() != '"')) return std::nullopt;
    const std::size_t end = value->find(value->front(), 1);
    return std::string(value->substr(1, end == std::string_view::npos ? end : end - 1));
}

std::string dtype_of(const fs::path& path, std::string_view header) {
    const std::optional<std::string> descr = descr_of(header);
    if (!descr) refuse(path, "the header names no simple type (descr)");
    const std::string& dtype = *descr;
    if (dtype.starts_with('>')) {
        refuse(path, "type '" + dtype + "' is big-endian; save it with array.astype(array.dtype.newbyteorder('<'))");
    }
    if (is_known(dtype)) return dtype;
    refuse(path, "type '" + dtype +
                     "' is not read; supported are float16, float32, float64 and integers of 8 to 64 bits: save "
                     "array.astype(numpy.float32), or codes by array.view(numpy.uint8 or numpy.uint16)");
}

bool fortran_order_of(const fs::path& path, std::string_view header) {
    const auto value = value_of(header, "fortran_order");
    if (value && value->starts_with("True")) return true;
    if (value && value->starts_with("False")) return false;
    refuse(path, "the header does not say fortran_order");
}

/// Elements of a shape; nothing for one with a negative extent or of more elements than any file here has.
std::optional<std::int64_t> elements_of(const std::vector<std::int64_t>& shape) {
    constexpr std::int64_t limit = std::int64_t{1} << 40;
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) {
        if (extent < 0 || (extent > 0 && count > limit / extent)) return std::nullopt;
        count *= extent;
    }
    return count;
}

std::vector<std::int64_t> shape_of(const fs::path& path, std::string_view header) {
    const auto value = value_of(header, "shape");
    const std::size_t end = value ? value->find(')') : std::string_view::npos;
    if (!value || !value->starts_with('(') || end == std::string_view::npos) refuse(path, "the header has no shape");
    std::vector<std::int64_t> shape;
    const char* at = value->data() + 1;
    const char* const stop = value->data() + end;
    while (at != stop) {
        if (*at == ' ' || *at == ',') {
            ++at;
            continue;
        }
        std::int64_t extent = 0;
        const auto [next, error] = std::from_chars(at, stop, extent);
        if (error != std::errc{}) refuse(path, "the shape is malformed");
        shape.push_back(extent);
        at = next;
    }
    if (!elements_of(shape)) refuse(path, "the shape is malformed");
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

void require_size(const fs::path& path, const Array& array, std::uint64_t found) {
    const auto expected = static_cast<std::uint64_t>(array.size()) * array.item_size();
    if (found == expected) return;
    refuse(path, "has " + std::to_string(found) + " bytes of elements, its shape says " + std::to_string(expected) +
                     (found < expected ? "; the file is truncated" : ""));
}

std::string header_text(const std::string& dtype, const std::vector<std::int64_t>& extents, bool fortran_order) {
    std::string shape;
    for (const std::int64_t extent : extents) shape += std::to_string(extent) + ", ";
    if (extents.size() > 1) shape.resize(shape.size() - 2);
    if (extents.size() == 1) shape.resize(shape.size() - 1);
    std::string text = "{'descr': '" + dtype + "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                       ", 'shape': (" + shape + "), }";
    while ((magic.size() + 4 + text.size() + 1) % 64 != 0) text += ' ';
    return text + '\n';
}

/// All before the elements, version 1.0; nothing for a shape that it cannot say.
std::string beginning_with(const std::string& text) {
    if (text.size() > 0xFFFF) return {};
    std::string bytes(magic);
    for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, text.size() & 0xFF, text.size() >> 8}) {
        bytes += static_cast<char>(byte);
    }
    return bytes + text;
}

}  // namespace

std::int64_t Array::size() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
}

std::size_t Array::item_size() const { return static_cast<std::size_t>(dtype.at(2) - '0'); }

Beginning parse_beginning(const fs::path& path, std::string_view file) {
    const Header header = header_of(path, file);
    return {{dtype_of(path, header.text), shape_of(path, header.text), fortran_order_of(path, header.text), {}},
            header.data_at};
}

std::optional<std::string> odd_type(const fs::path& path, std::string_view file) {
    const Header header = header_of(path, file);
    const std::optional<std::string> descr = descr_of(header.text);
    if (!descr) return "a structure";
    if (is_known(*descr) || (descr->starts_with('>') && is_known('<' + descr->substr(1)))) return std::nullopt;
    return descr;
}

bool is_c_ordered(const Array& array) {
    return !array.fortran_order || std::ranges::count_if(array.shape, [](std::int64_t n) { return n != 1; }) <= 1;
}

std::string in_c_order(const Array& array, std::string_view bytes) {
    const std::size_t size = array.item_size();
    const std::size_t extents = array.shape.size();
    std::vector<std::size_t> strides(extents, size);  // bytes from one element to the next along an extent
    for (std::size_t i = 1; i < extents; ++i)
        strides[i] = strides[i - 1] * static_cast<std::size_t>(array.shape[i - 1]);
    std::vector<std::int64_t> place(extents);
    std::string result;
    result.reserve(bytes.size());
    for (std::size_t at = 0; result.size() < bytes.size();) {
        result.append(bytes.substr(at, size));
        for (std::size_t i = extents; i-- > 0;) {  // the last index runs fastest
            at += strides[i];
            if (++place[i] < array.shape[i]) break;
            at -= strides[i] * static_cast<std::size_t>(array.shape[i]);
            place[i] = 0;
        }
    }
    return result;
}

Array read(const fs::path& path) { return parse(path, read_whole_file(path)); }

Array parse(const fs::path& path, std::string_view file) {
    auto [array, data_at] = parse_beginning(path, file);
    require_size(path, array, file.size() - data_at);
    const auto bytes = std::as_bytes(std::span(file)).subspan(data_at);
    array.data.assign(bytes.begin(), bytes.end());
    return array;
}

void write(const fs::path& path, const Array& array) {
    if (!is_known(array.dtype))
        refuse(path, "cannot be written: there is no type '" + array.dtype + "' in these files");
    const auto elements = elements_of(array.shape);
    if (!elements || static_cast<std::uint64_t>(*elements) * array.item_size() != array.data.size()) {
        refuse(path, fmt::format("cannot be written: {} bytes do not fill the shape ({}) of type '{}'",
                                 array.data.size(), fmt::join(array.shape, ", "), array.dtype));
    }
    std::string file = beginning_with(header_text(array.dtype, array.shape, array.fortran_order));
    if (file.empty()) refuse(path, "cannot be written: its shape has too many dimensions");
    file.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
    replace_whole_file(path, file);
}

std::string header_for(const std::string& dtype, const std::vector<std::int64_t>& shape) {
    return beginning_with(header_text(dtype, shape, false));
}

/// From the little-endian word.
std::optional<double> number_at(const Array& array, std::size_t at) {
    const std::size_t size = array.item_size();
    std::uint64_t word = 0;
    for (std::size_t i = size; i-- > 0;) word = word << 8 | static_cast<std::uint64_t>(array.data[at * size + i]);
    Context exact;
    if (array.dtype == "<f2") word = convert_bits(formats::fp64, formats::fp16, word, exact);
    if (array.dtype == "<f4") word = convert_bits(formats::fp64, formats::fp32, word, exact);
    if (array.dtype[1] == 'f') return std::bit_cast<double>(word);
    constexpr std::int64_t limit = std::int64_t{1} << 53;
    if (array.dtype[1] == 'u') return word <= limit ? std::optional(static_cast<double>(word)) : std::nullopt;
    const int unused = 64 - 8 * static_cast<int>(size);
    const std::int64_t value = static_cast<std::int64_t>(word << unused) >> unused;
    return -limit <= value && value <= limit ? std::optional(static_cast<double>(value)) : std::nullopt;
}

Numbers read_numbers(const fs::path& path) {
    Array array = read(path);
    if (!is_c_ordered(array)) {
        const std::string ordered =
            in_c_order(array, {reinterpret_cast<const char*>(array.data.data()), array.data.size()});
        std::memcpy(array.data.data(), ordered.data(), ordered.size());
    }
    Numbers numbers{array.shape, std::vector<double>(static_cast<std::size_t>(array.size()))};
    for (std::size_t i = 0; i < numbers.values.size(); ++i) {
        const std::optional<double> value = number_at(array, i);
        if (!value) refuse(path, fmt::format("element {} is an integer beyond 2^53; save smaller ones", i));
        numbers.values[i] = *value;
    }
    return numbers;
}

std::vector<int> Numbers::integers() const {
    std::vector<int> result;
    for (const double x : values) {
        if (x != std::floor(x) || std::abs(x) > std::numeric_limits<int>::max()) {
            throw DataError(fmt::format("{} is not an index", x));
        }
        result.push_back(static_cast<int>(x));
    }
    return result;
}

}  // namespace ulp::npy

namespace ulp {

std::vector<StoredBytes> npy_bytes(const std::filesystem::path& path) {
    const auto file = std::make_shared<const MappedFile>(path);
    const npy::Beginning beginning = npy::parse_beginning(path, file->bytes());
    const std::string_view bytes = file->bytes().substr(beginning.header_size);
    npy::require_size(path, beginning.array, bytes.size());
    return {{"", beginning.array.dtype, beginning.array.shape, bytes.size(), [file, bytes, array = beginning.array] {
                 return npy::is_c_ordered(array) ? pieces_of(file, bytes) : pieces_of(npy::in_c_order(array, bytes));
             }}};
}

}  // namespace ulp
