// The matrix products of a run: how many each matrix unit computed, and a digest of their operands and results, by
// which a run with a real card in the unit's place is known to have computed the same.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/products/matmul.hpp"
#include "experiments/framework/result.hpp"

namespace ulp {

class ProductLedger final : public ProductObserver {
  public:
    std::uint64_t before(const MatmulBackend& backend, const Product& product) override;
    void after(const MatmulBackend& backend, const Product& product, std::uint64_t noted) override;

    /// By the row of the table of units that the backends promised, in the order of their keys; products of backends
    /// that promise none (eigen, soft:ieee) are not counted. The digest does not depend on the order of the products,
    /// so not on threads.
    [[nodiscard]] std::vector<UnitProducts> products() const;
    /// Counts products of an earlier run.
    void add(const std::vector<UnitProducts>& products);

    /// As long as it lives, products that this thread asks for count in `share` as well.
    class Share {
      public:
        explicit Share(ProductLedger& share);
        ~Share();
        Share(const Share&) = delete;
        Share& operator=(const Share&) = delete;
    };

  private:
    struct Sum {
        std::int64_t products = 0;
        std::uint64_t digest = 0;
        bool is_row = false;  // of the table of units; it is searched once for each promise
    };
    /// Of the unit that the backend promises for the product; null where that is no row.
    std::pair<const std::string, Sum>* sum_of(const MatmulBackend& backend, const Product& product);
    void add(const std::string& unit, std::int64_t products, std::uint64_t digest);

    static thread_local ProductLedger* share_of_thread_;

    mutable std::mutex mutex_;
    std::map<std::string, Sum> sums_;
};

}  // namespace ulp
