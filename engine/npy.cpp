#include "engine/npy.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>

namespace ulp {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
    throw DataError(fmt::format("{}: {}; save it again with numpy.save", file.string(), why));
}

/// What follows "'key':" in the header, up to the next comma outside parentheses.
std::string entry(const fs::path& file, const std::string& header, const std::string& key) {
    const std::size_t at = header.find("'" + key + "':");
    if (at == std::string::npos) refuse(file, "its header has no '" + key + "'");
    std::size_t begin = at + key.size() + 3;
    while (begin < header.size() && header[begin] == ' ') ++begin;
    const std::size_t end = header[begin] == '(' ? header.find(')', begin) : header.find_first_of(",}", begin);
    if (end == std::string::npos) refuse(file, "its header is cut short");
    return header.substr(begin, end - begin);
}

Shape shape_of(const fs::path& file, const std::string& text) {
    Shape shape;
    Index number = -1;
    for (const char c : text + ",") {
        if (c >= '0' && c <= '9') {
            number = std::max<Index>(number, 0) * 10 + (c - '0');
            if (number > (Index{1} << 40)) refuse(file, "its shape is absurd");
        } else if (c == ',' || c == ')') {
            if (number >= 0) shape.push_back(number);
            number = -1;
        }
    }
    return shape;
}

template <class Number>
void convert(const std::string& bytes, std::size_t start, std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        Number number;
        std::memcpy(&number, bytes.data() + start + i * sizeof(Number), sizeof(Number));
        values[i] = static_cast<double>(number);
    }
}

}  // namespace

NpyArray read_npy(const fs::path& file) {
    static_assert(std::endian::native == std::endian::little);
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw DataError(fmt::format("{}: cannot be opened", file.string()));
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    if (bytes.size() < 12 || bytes.compare(0, 6, "\x93NUMPY") != 0) refuse(file, "it is no .npy file (wrong magic)");
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
    const bool wide = byte(6) >= 2;
    const std::size_t length = byte(8) | byte(9) << 8 | (wide ? byte(10) << 16 | byte(11) << 24 : 0);
    const std::size_t start = (wide ? 12 : 10) + length;
    if (start > bytes.size()) refuse(file, "its header is cut short");
    const std::string header = bytes.substr(start - length, length);
    if (entry(file, header, "fortran_order") != "False") refuse(file, "it is in Fortran order");

    NpyArray array{shape_of(file, entry(file, header, "shape")), {}};
    const std::string type = entry(file, header, "descr");
    const auto count = static_cast<std::size_t>(volume(array.shape));
    const std::size_t width = type == "'<f8'" || type == "'<i8'" ? 8 : type == "'<f4'" || type == "'<i4'" ? 4 : 1;
    if (bytes.size() - start != count * width) {
        refuse(file, fmt::format("{} bytes of data where its shape needs {}", bytes.size() - start, count * width));
    }
    array.values.resize(count);
    if (type == "'<f8'") {
        convert<double>(bytes, start, array.values);
    } else if (type == "'<f4'") {
        convert<float>(bytes, start, array.values);
    } else if (type == "'<i8'") {
        convert<std::int64_t>(bytes, start, array.values);
        for (const double x : array.values) {
            if (std::abs(x) > 0x1p53) refuse(file, "it holds integers beyond 2^53");
        }
    } else if (type == "'<i4'") {
        convert<std::int32_t>(bytes, start, array.values);
    } else if (type == "'|u1'") {
        convert<std::uint8_t>(bytes, start, array.values);
    } else {
        refuse(file, "its numbers are of type " + type);
    }
    return array;
}

std::vector<int> NpyArray::integers() const {
    std::vector<int> result;
    for (const double x : values) {
        if (x != std::floor(x) || std::abs(x) > std::numeric_limits<int>::max()) {
            throw DataError(fmt::format("{} is not an index", x));
        }
        result.push_back(static_cast<int>(x));
    }
    return result;
}

}  // namespace ulp
