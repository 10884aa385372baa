// Tensors of rank 0 to 4 in an fp32 or fp64 container, with the storage format as a property.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor/matrix.hpp"
#include "engine/tensor/real.hpp"
#include "engine/tensor/rounder.hpp"
#include "engine/tensor/storage.hpp"
#include "softfloat/format.hpp"

namespace ulp::inline ULPLAB_MODE {

using Shape = std::vector<Index>;
/// "(64, 10)"
std::string text_of(const Shape& shape);
Index volume(const Shape& shape);

/// Numbers in row-major order (the last index fastest). Every entry is a number of `format`; in fp64 mode the
/// format is fp64. Copies are deep.
class Tensor {
  public:
    Tensor() = default;
    Tensor(const Tensor& other);
    Tensor(Tensor&&) noexcept = default;
    Tensor& operator=(const Tensor& other) { return *this = Tensor(other); }
    Tensor& operator=(Tensor&&) noexcept = default;
    ~Tensor() = default;
    /// Zeros.
    explicit Tensor(Shape shape, const FloatFormat& format = container_format)
        : shape_(std::move(shape)), format_(format), data_(static_cast<std::size_t>(volume(shape_))) {
        std::ranges::fill(data_, Real{0});
    }
    Tensor(Shape shape, const std::vector<Real>& values, const FloatFormat& format = container_format);
    /// Numbers that are still to be set, every one of them.
    static Tensor unset(Shape shape, const FloatFormat& format = container_format) {
        Tensor tensor;
        tensor.shape_ = std::move(shape);
        tensor.format_ = format;
        tensor.data_ = Storage<Real>(static_cast<std::size_t>(volume(tensor.shape_)));
        return tensor;
    }

    [[nodiscard]] const Shape& shape() const { return shape_; }
    [[nodiscard]] Index rank() const { return static_cast<Index>(shape_.size()); }
    /// Extent of dimension i; negative i counts from the end.
    [[nodiscard]] Index dim(Index i) const { return shape_[static_cast<std::size_t>(i < 0 ? i + rank() : i)]; }
    [[nodiscard]] Index size() const { return static_cast<Index>(data_.size()); }
    [[nodiscard]] bool empty() const { return data_.empty(); }
    [[nodiscard]] const FloatFormat& format() const { return format_; }
    /// Says that the entries lie on this format's grid (they must).
    void set_format(const FloatFormat& format) { format_ = format; }

    [[nodiscard]] Real* data() { return data_.data(); }
    [[nodiscard]] const Real* data() const { return data_.data(); }
    [[nodiscard]] std::span<Real> values() { return data_; }
    [[nodiscard]] std::span<const Real> values() const { return data_; }
    Real& operator[](Index i) { return data_[static_cast<std::size_t>(i)]; }
    const Real& operator[](Index i) const { return data_[static_cast<std::size_t>(i)]; }

    /// The tensor as a matrix of `cols` columns: all leading dimensions in one.
    [[nodiscard]] Index rows_of(Index cols) const { return cols == 0 ? 0 : size() / cols; }
    /// Whether rounding to the format may change an entry.
    [[nodiscard]] bool rounded_by(const ComputeFormat& target) const {
        return options_of(target) != Context{} || (target.format != format_ && target.format != container_format);
    }
    /// Rounds every entry to the format, as its options say of results, and takes it as its own. Exact if it is wider.
    void round_to_format(const ComputeFormat& target);
    /// The same numbers in another shape of the same volume.
    [[nodiscard]] Tensor reshaped(Shape shape) const&;
    [[nodiscard]] Tensor reshaped(Shape shape) &&;
    /// How entries are rounded to it. (fp64 mode knows no options.)
    static Context options_of(const ComputeFormat& target) {
        return fp64_mode_on ? Context{} : results_of(target.options);
    }

  private:
    Shape shape_;
    FloatFormat format_ = container_format;
    Storage<Real> data_;
};

/// A matrix as a tensor, cast to nothing yet.
Tensor tensor_of(const Matrix& matrix);

// Sums of tensors, element by element, in a format.

/// to[i] = to[i] + from[i], each sum a step in the format.
void add_rounded(std::span<const Real> from, const ComputeFormat& format, Real* to);

}  // namespace ulp::inline ULPLAB_MODE
