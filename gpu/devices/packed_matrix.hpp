// A matrix of codes packed into 32-bit words, k fastest: what kernels read and write.
#pragma once

#include <cstdint>
#include <vector>

namespace ulp::gpu {

/// rows x columns codes of `bits` bits (1, 4, 8, 16, 32 or 64) without gaps; element (i, j) starts at bit
/// (i * columns + j) * bits, lowest bit first. An operand by columns (B) is stored as its transpose.
class PackedMatrix {
  public:
    PackedMatrix() = default;
    PackedMatrix(std::uint64_t rows, std::uint64_t columns, int bits)
        : rows_(rows),
          columns_(columns),
          bits_(bits),
          words_(static_cast<std::size_t>((rows * columns * static_cast<std::uint64_t>(bits) + 31) / 32)) {}

    [[nodiscard]] std::uint64_t rows() const { return rows_; }
    [[nodiscard]] std::uint64_t columns() const { return columns_; }
    [[nodiscard]] int bits() const { return bits_; }
    [[nodiscard]] bool empty() const { return words_.empty(); }

    [[nodiscard]] std::uint64_t get(std::uint64_t row, std::uint64_t column) const {
        const std::uint64_t bit = first_bit(row, column);
        const auto word = static_cast<std::size_t>(bit / 32);
        if (bits_ == 64) return words_[word] | std::uint64_t{words_[word + 1]} << 32;
        return (words_[word] >> (bit % 32)) & mask();
    }
    void set(std::uint64_t row, std::uint64_t column, std::uint64_t code) {
        const std::uint64_t bit = first_bit(row, column);
        const auto word = static_cast<std::size_t>(bit / 32);
        if (bits_ == 64) {
            words_[word] = static_cast<std::uint32_t>(code);
            words_[word + 1] = static_cast<std::uint32_t>(code >> 32);
            return;
        }
        const auto place = static_cast<int>(bit % 32);
        words_[word] = (words_[word] & ~(mask() << place)) | ((static_cast<std::uint32_t>(code) & mask()) << place);
    }

    [[nodiscard]] const std::vector<std::uint32_t>& words() const { return words_; }
    [[nodiscard]] std::vector<std::uint32_t>& words() { return words_; }
    bool operator==(const PackedMatrix&) const = default;

  private:
    [[nodiscard]] std::uint64_t first_bit(std::uint64_t row, std::uint64_t column) const {
        return (row * columns_ + column) * static_cast<std::uint64_t>(bits_);
    }
    [[nodiscard]] std::uint32_t mask() const {
        return bits_ == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << bits_) - 1;
    }

    std::uint64_t rows_ = 0;
    std::uint64_t columns_ = 0;
    int bits_ = 0;
    std::vector<std::uint32_t> words_;
};

}  // namespace ulp::gpu
