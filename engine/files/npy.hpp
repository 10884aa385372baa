// Arrays in NumPy's file format, .npy (numpy.lib.format, versions 1.0 to 3.0).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ulp::npy {

/// An array as the file has it: the bytes of the elements, little-endian.
struct Array {
    std::string dtype;  // NumPy's descr: "<f2", "<f4", "<f8", "|u1", "<u2", "<u4", "<u8", "|i1", "<i2", "<i4", "<i8"
    std::vector<std::int64_t> shape;
    bool fortran_order = false;  // the first index runs fastest instead of the last
    std::vector<std::byte> data;

    /// Elements: the product of the shape.
    [[nodiscard]] std::int64_t size() const;
    /// Bytes of an element, from the dtype.
    [[nodiscard]] std::size_t item_size() const;
};

/// Reads a file. Throws DataError naming it: missing, not .npy, big-endian, of a type that is no number, truncated or
/// with bytes left over.
Array read(const std::filesystem::path& path);

/// The same of bytes in memory; `name` is for messages.
Array parse(const std::filesystem::path& name, std::string_view bytes);
/// Dtype, shape and order of an array of which only the beginning is there, and the bytes before its elements.
struct Beginning {
    Array array;  // without data
    std::size_t header_size;
};
Beginning parse_beginning(const std::filesystem::path& name, std::string_view bytes);

/// The type of an array of which only the beginning is there, as the file has it, where it is no number: "<U5", "|O",
/// "|b1", "<c8", "a structure". Nothing for the types that are read, and for big-endian ones, which the other readers
/// refuse with the remedy.
std::optional<std::string> odd_type(const std::filesystem::path& name, std::string_view bytes);

/// Whether elements in the order of the file are in C order: also those of Fortran order with at most one extent that
/// is not 1.
bool is_c_ordered(const Array& array);
/// The elements of an array in Fortran order, in C order; `array` says type and shape.
std::string in_c_order(const Array& array, std::string_view bytes);

/// What stands before the elements of an array in C order: magic number, version 1.0 and header. `dtype` is one that
/// `read` knows; a shape has at most some thousand extents.
std::string header_for(const std::string& dtype, const std::vector<std::int64_t>& shape);

/// Writes version 1.0, under a temporary name that is then renamed. Throws DataError if it cannot, and if the array's
/// type is not one that `read` knows or its bytes do not fill its shape.
void write(const std::filesystem::path& path, const Array& array);

/// The numbers of a file: of any type that `read` knows, in C order.
struct Numbers {
    std::vector<std::int64_t> shape;
    std::vector<double> values;  // exact

    /// The numbers as indices. Throws DataError if one is not an int.
    [[nodiscard]] std::vector<int> integers() const;
};
/// Element i, in the order of the file. Nothing for an integer beyond 2^53, which a double cannot hold.
std::optional<double> number_at(const Array& array, std::size_t i);
/// In C order. Throws DataError, too, for integers beyond 2^53, which a double cannot hold.
Numbers read_numbers(const std::filesystem::path& path);

/// A row-major matrix of these elements.
template <class Element>
Array matrix(std::string dtype, std::int64_t rows, std::int64_t cols, const std::vector<Element>& elements) {
    const auto bytes = std::as_bytes(std::span(elements));
    return {std::move(dtype), {rows, cols}, false, {bytes.begin(), bytes.end()}};
}

}  // namespace ulp::npy
