#include "experiments/framework/product_ledger.hpp"

#include <fmt/format.h>
#include <libdeflate.h>

#include "engine/tensor/matrix.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp {
namespace {

/// CRC-32 of the words, in the order of memory where that has no gaps: the order is the program's, on any machine.
std::uint32_t crc_of(std::uint32_t crc, const MatrixView& matrix) {
    const bool by_rows = matrix.col_stride == 1 && matrix.row_stride == matrix.cols;
    const bool by_cols = matrix.row_stride == 1 && matrix.col_stride == matrix.rows;
    const auto bytes = static_cast<std::size_t>(matrix.rows * matrix.cols) * sizeof(float);
    if (bytes == 0) return crc;
    if (by_rows || by_cols) return libdeflate_crc32(crc, matrix.data, bytes);
    const Matrix copy = packed(matrix);
    return libdeflate_crc32(crc, copy.data(), bytes);
}

/// Spreads a product's two checksums over all bits, so that sums of them tell sets of products apart (splitmix64).
std::uint64_t spread(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

}  // namespace

std::pair<const std::string, ProductLedger::Sum>* ProductLedger::sum_of(const MatmulBackend& backend,
                                                                        const Product& product) {
    const std::string promised = backend.promised_model(product.types);
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = sums_.try_emplace(promised);
    if (is_new) place->second.is_row = unit_or_null(promised) != nullptr;
    return place->second.is_row ? &*place : nullptr;
}

std::uint64_t ProductLedger::before(const MatmulBackend& backend, const Product& product) {
    if (sum_of(backend, product) == nullptr) return 0;
    const std::string shape =
        fmt::format("{} {} {} {}", name_of(product.types), product.d.rows, product.d.cols, product.a.cols);
    std::uint32_t crc = libdeflate_crc32(0, shape.data(), shape.size());
    crc = crc_of(crc_of(crc, product.a), product.b);
    if (product.c) crc = crc_of(crc, *product.c);
    if (product.types.scaling) crc = crc_of(crc_of(crc, product.a_scales), product.b_scales);
    return crc;
}

void ProductLedger::after(const MatmulBackend& backend, const Product& product, std::uint64_t noted) {
    const auto* const sum = sum_of(backend, product);
    if (sum == nullptr) return;
    const std::uint64_t digest = spread((noted << 32) | crc_of(0, product.d));
    add(sum->first, 1, digest);
    if (share_of_thread_ != nullptr) share_of_thread_->add(sum->first, 1, digest);
}

void ProductLedger::add(const std::string& unit, std::int64_t products, std::uint64_t digest) {
    const std::lock_guard lock(mutex_);
    Sum& sum = sums_[unit];
    sum.is_row = true;  // a sum that an earlier run began
    sum.products += products;
    sum.digest += digest;
}

void ProductLedger::add(const std::vector<UnitProducts>& products) {
    for (const UnitProducts& row : products) add(row.unit, row.products, std::stoull(row.digest, nullptr, 16));
}

thread_local ProductLedger* ProductLedger::share_of_thread_ = nullptr;
ProductLedger::Share::Share(ProductLedger& share) { share_of_thread_ = &share; }
ProductLedger::Share::~Share() { share_of_thread_ = nullptr; }

std::vector<UnitProducts> ProductLedger::products() const {
    const std::lock_guard lock(mutex_);
    std::vector<UnitProducts> list;
    for (const auto& [unit, sum] : sums_) {
        if (sum.products > 0) list.push_back({unit, sum.products, fmt::format("{:016x}", sum.digest)});
    }
    return list;
}

}  // namespace ulp
