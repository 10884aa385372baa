// The tensors of a file as bytes, piece by piece, so that a file may be larger than memory: .npy, .npz and safetensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/files/mapped_file.hpp"
#include "engine/tensor/tensor.hpp"

namespace ulp {

/// Each call gives the next bytes, which stay until the call after it: `piece_size` of them, or `mapped_piece_size`
/// where that needs no memory, less at the end, then none. Throws DataError for damage.
using PieceReader = std::function<std::string_view()>;
inline constexpr std::size_t piece_size = std::size_t{1} << 23;
inline constexpr std::size_t mapped_piece_size = std::size_t{1} << 26;

/// A tensor that is still in its file. What it claims to be is checked against the size of the file.
struct StoredBytes {
    std::string name;  // empty in .npy files
    std::string type;  // as the file has it: "F64", "BF16", "<f4"
    Shape shape;
    std::uint64_t size;                 // bytes of the elements, in C order, little-endian
    std::function<PieceReader()> open;  // a reader that starts at the first element
};

/// By what the file begins with, in the order of the file. Throws DataError that names the file and the remedy: none of
/// the three, a pickle, cut short, lengths that lie, a name that stands twice, parts that overlap, Fortran order.
std::vector<StoredBytes> stored_bytes(const std::filesystem::path& file);

std::vector<StoredBytes> npy_bytes(const std::filesystem::path& file);
std::vector<StoredBytes> npz_bytes(const std::filesystem::path& file);
std::vector<StoredBytes> safetensors_bytes(const std::filesystem::path& file);

/// Pieces of bytes that are mapped.
PieceReader pieces_of(std::shared_ptr<const MappedFile> file, std::string_view bytes);

}  // namespace ulp
