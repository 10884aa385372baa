// A table of daily sales made by a program: shops of several kinds, with weekdays, seasons, holidays and promotions.
// Integer arithmetic and counter-based random numbers only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/tensor/matrix.hpp"

namespace ulp {

/// One shop on one day. All but distance, promotion and holiday are categories.
struct SalesRow {
    int shop;      // 0 .. shops - 1
    int kind;      // of shop, 0..3
    int weekday;   // 0 Monday .. 6 Sunday
    int month;     // 0..11, of 30 days
    int promoted;  // 0 or 1
    int holiday;   // 0 or 1
    int distance;  // to the next competitor, 10..10000 metres
    int sales;     // 100 or more
};

struct SalesOptions {
    Index shops = 20;
    Index days = 360;
    std::uint64_t seed = 1;
};

struct SalesData {
    Index shops;
    std::vector<SalesRow> rows;  // day by day, shop by shop
    /// A CSV text with a header.
    [[nodiscard]] std::string csv() const;
    /// SHA-256 of csv().
    [[nodiscard]] std::string digest() const;
};

/// sales = a shop's level x weekday x season of its kind x promotion x holiday x distance x (1 + noise of up to 8%),
/// all in per cent. Throws std::invalid_argument for fewer than 1 or more than 1000 shops or a negative number of days.
SalesData generated_sales(const SalesOptions& options);

}  // namespace ulp
