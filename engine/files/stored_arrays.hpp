// Arrays of numbers by name, from files of weights: safetensors, and NumPy's .npz (stored or deflated).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/files/whole_file.hpp"
#include "engine/tensor/tensor.hpp"

namespace ulp {

/// An array that is still in its file: what it claims to be is known, its numbers are read when they are asked for. So
/// a file that claims too much costs nothing where nobody wants that.
struct StoredArray {
    std::string type;  // as the file has it: "F64", "BF16", "<f4"
    Shape shape;
    bool exact = true;  // whether fp32 holds every number of the type
    /// In C order, to nearest in fp32. Throws DataError for a type that is no real number (C64), and for damage.
    std::function<std::vector<float>()> numbers;
};
using StoredArrays = std::map<std::string, StoredArray>;

/// By what the file begins with. Throws DataError that names the file: neither of the two, cut short, lengths that lie,
/// a name that stands twice, parts that overlap, encryption, a checksum that is wrong.
StoredArrays stored_arrays(const std::filesystem::path& file);

StoredArrays safetensors_arrays(const std::filesystem::path& file);
/// Arrays are named as numpy.load names them: without ".npy".
StoredArrays npz_arrays(const std::filesystem::path& file);

// The tensors of a file as bytes, piece by piece, so that a file may be larger than memory: .npy, .npz and safetensors.

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
/// the three, a pickle, cut short, lengths that lie, a name that stands twice, parts that overlap. Fortran order
/// becomes C order; an array of an .npz archive whose type is no number is listed with it, and cannot be opened.
std::vector<StoredBytes> stored_bytes(const std::filesystem::path& file);

std::vector<StoredBytes> npy_bytes(const std::filesystem::path& file);
std::vector<StoredBytes> npz_bytes(const std::filesystem::path& file);
std::vector<StoredBytes> safetensors_bytes(const std::filesystem::path& file);

/// Pieces of bytes that are mapped.
PieceReader pieces_of(std::shared_ptr<const MappedFile> file, std::string_view bytes);
/// Bytes in memory, as one piece.
PieceReader pieces_of(std::string all);

// Files of several named arrays: safetensors, and NumPy's .npz.

/// An array as a file gets it: the bytes of its elements in C order, little-endian.
struct WrittenArray {
    std::string name;
    std::string type;  // as safetensors has it: "U8", "U16", "U32", "F32", ...
    Shape shape;
    std::string bytes;
};
using WrittenArrays = std::vector<WrittenArray>;

WrittenArray array_of_numbers(std::string name, Shape shape, std::span<const float> numbers);
/// Codes of that many bits: U8 for up to 8, U16 for up to 16, U32 beyond.
WrittenArray array_of_codes(std::string name, Shape shape, int bits, std::span<const std::uint32_t> codes);

/// The file appears complete or not at all (engine/files/whole_file.hpp). Throws DataError.
void write_safetensors(const std::filesystem::path& file, const WrittenArrays& arrays,
                       const std::map<std::string, std::string>& metadata);
/// Uncompressed, as numpy.savez writes it. Throws DataError, too, for a type that NumPy lacks, for a name that leads
/// out of a folder ("../x"), and for what a zip archive without 64-bit sizes does not hold: 4 GiB, 65,534 arrays.
void write_npz(const std::filesystem::path& file, const WrittenArrays& arrays);

/// A file whose arrays are added one by one: memory for one of them. It appears with finish(), complete. Throws
/// DataError.
class ArrayWriter {
  public:
    virtual ~ArrayWriter() = default;
    virtual void add(const WrittenArray& array) = 0;
    virtual void finish(const std::map<std::string, std::string>& metadata) = 0;
};
/// By the extension, as write_arrays.
std::unique_ptr<ArrayWriter> array_writer(const std::filesystem::path& file);

/// Throws UsageError for a name that does not end in .npz or .safetensors.
void require_array_file(const std::filesystem::path& file);
/// By the extension: .safetensors, or .npz, which keeps no metadata. Throws UsageError for another.
void write_arrays(const std::filesystem::path& file, const WrittenArrays& arrays,
                  const std::map<std::string, std::string>& metadata);

}  // namespace ulp
