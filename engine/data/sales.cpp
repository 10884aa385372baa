#include <algorithm>
#include <array>
#include <stdexcept>

#include "engine/data/fixed_point.hpp"
#include "engine/data/generated.hpp"
#include "engine/files/sha256.hpp"
#include "engine/tensor/random.hpp"

namespace ulp {
namespace {

struct Shop {
    int kind;
    int distance;
    std::int64_t level;
};

Shop random_shop(std::uint64_t seed, Index i) {
    Random random(seed, hash_of("shops") + static_cast<std::uint64_t>(i));
    const auto kind = static_cast<int>(random.below(4));
    const auto distance = static_cast<int>(random.between(1, 100) * random.between(10, 100));
    return {kind, distance, random.between(3000, 9000)};
}

/// Per cent of the level. A season is a sine over the year whose height and phase belong to the kind of shop.
std::int64_t season(int kind, Index day) {
    constexpr std::array<std::int64_t, 4> height = {8, 20, 30, 14};
    constexpr std::array<std::int64_t, 4> phase = {0, 45, 180, 270};  // days
    const auto k = static_cast<std::size_t>(kind);
    return 100 + height.at(k) * fixed::sine((day + phase.at(k)) * 65536 / 360) / fixed::one;
}

SalesRow random_row(std::uint64_t seed, Index shop, Index shops, Index day) {
    constexpr std::array<std::int64_t, 7> weekdays = {110, 95, 92, 96, 108, 125, 60};
    const Shop s = random_shop(seed, shop);
    Random random(seed, hash_of("sales") + static_cast<std::uint64_t>(day * shops + shop));
    SalesRow row{static_cast<int>(shop),
                 s.kind,
                 static_cast<int>(day % 7),
                 static_cast<int>(day / 30 % 12),
                 random.below(5) < 2 ? 1 : 0,
                 random.below(40) == 0 ? 1 : 0,
                 s.distance,
                 0};
    std::int64_t sales = s.level * weekdays.at(static_cast<std::size_t>(row.weekday)) / 100;
    sales = sales * season(s.kind, day) / 100;
    // Promotions help the kinds 1 and 2 more.
    if (row.promoted == 1) sales = sales * (s.kind == 1 || s.kind == 2 ? 145 : 118) / 100;
    if (row.holiday == 1) sales = sales * 35 / 100;
    sales = sales * (100 - 15 * (10000 - s.distance) / 10000) / 100;
    row.sales = static_cast<int>(std::max<std::int64_t>(100, sales * (100 + random.between(-8, 8)) / 100));
    return row;
}

}  // namespace

std::string SalesData::csv() const {
    std::string text = "shop,kind,weekday,month,promoted,holiday,distance,sales\n";
    for (const SalesRow& row : rows) {
        for (const int field : {row.shop, row.kind, row.weekday, row.month, row.promoted, row.holiday, row.distance}) {
            text += std::to_string(field) + ",";
        }
        text += std::to_string(row.sales) + "\n";
    }
    return text;
}

std::string SalesData::digest() const {
    const std::string text = csv();
    return sha256_of(text);
}

SalesData generated_sales(const SalesOptions& options) {
    if (options.shops < 1 || options.shops > 1000) throw std::invalid_argument("sales have 1 to 1000 shops");
    if (options.days < 0) throw std::invalid_argument("the number of days cannot be negative");
    SalesData data{options.shops, {}};
    for (Index day = 0; day < options.days; ++day) {
        for (Index shop = 0; shop < options.shops; ++shop) {
            data.rows.push_back(random_row(options.seed, shop, options.shops, day));
        }
    }
    return data;
}

}  // namespace ulp
