// What a run keeps of its long parts, so that an interrupted run continues after the last whole part.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <string>

#include "experiments/framework/product_ledger.hpp"

namespace ulp {

class RunParts {
  public:
    /// Keeps in `folder`, which the first part makes, what belongs to the request of that digest: parts that took at
    /// least `least` seconds.
    RunParts(std::filesystem::path folder, std::string request, ProductLedger& ledger, double least = 10);

    /// The number of a group of parts. Groups begin in the same order in each run.
    int begin_group() { return ++groups_; }
    /// What `compute` returns, or returned in an earlier run of the same request. That run's products enter the ledger,
    /// so a part asks for its products from the thread that it was begun on. An empty text is not kept, and what is
    /// damaged is computed again. From any thread. Throws DataError where the disk refuses.
    std::string part(const std::string& name, const std::function<std::string()>& compute);
    /// How many parts an earlier run had left.
    [[nodiscard]] int resumed() const { return resumed_; }
    /// Removes what was kept, of other requests too.
    void forget() const;

  private:
    std::filesystem::path folder_;
    std::string request_;
    ProductLedger& ledger_;
    double least_;
    int groups_ = 0;
    int resumed_ = 0;
    std::mutex mutex_;
};

}  // namespace ulp
