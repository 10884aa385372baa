#include "engine/npy.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/io/npy.hpp"

namespace ulp {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& why) {
    throw DataError(fmt::format("{}: {}; save it again with numpy.save", file.string(), why));
}

template <class Number>
std::vector<double> converted(const npy::Array& array) {
    std::vector<double> values(static_cast<std::size_t>(array.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
        Number number;
        std::memcpy(&number, array.data.data() + i * sizeof(Number), sizeof(Number));
        values[i] = static_cast<double>(number);
    }
    return values;
}

std::vector<double> values_of(const std::filesystem::path& file, const npy::Array& array) {
    if (array.dtype == "<f8") return converted<double>(array);
    if (array.dtype == "<f4") return converted<float>(array);
    if (array.dtype == "<i4") return converted<std::int32_t>(array);
    if (array.dtype == "|u1") return converted<std::uint8_t>(array);
    if (array.dtype != "<i8") refuse(file, "its numbers are of type '" + array.dtype + "'");
    std::vector<double> values = converted<std::int64_t>(array);
    for (const double x : values) {
        if (std::abs(x) > 0x1p53) refuse(file, "it holds integers beyond 2^53");
    }
    return values;
}

}  // namespace

NpyArray read_npy(const std::filesystem::path& file) {
    const npy::Array array = npy::read(file);
    if (array.fortran_order) refuse(file, "it is in Fortran order");
    return {Shape(array.shape.begin(), array.shape.end()), values_of(file, array)};
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
