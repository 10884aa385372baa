// What a program multiplies, seen from outside: an observer of all products, and other backends instead of those
// that are asked for. Both hold for the whole process while the object lives; one of each at a time.
#pragma once

#include <functional>
#include <memory>

#include "engine/products/matmul.hpp"

namespace ulp {

/// Is told of each product that somebody asks a backend for, not of those that a decorator asks of the backends inside
/// it; from any thread.
class ProductObserver {
  public:
    virtual ~ProductObserver() = default;
    ProductObserver() = default;
    ProductObserver(const ProductObserver&) = delete;
    ProductObserver& operator=(const ProductObserver&) = delete;

    /// Before it is computed, as D may be C itself. What it returns is given to `after`.
    virtual std::uint64_t before(const MatmulBackend& backend, const Product& product) = 0;
    virtual void after(const MatmulBackend& backend, const Product& product, std::uint64_t noted) = 0;
};

class ObservedProducts {
  public:
    explicit ObservedProducts(ProductObserver& observer);
    ~ObservedProducts();
    ObservedProducts(const ObservedProducts&) = delete;
    ObservedProducts& operator=(const ObservedProducts&) = delete;
};

/// make_backend hands each backend that it has made to `replace` and gives what comes back.
class ReplacedBackends {
  public:
    using Replace = std::function<std::unique_ptr<MatmulBackend>(std::unique_ptr<MatmulBackend>)>;
    explicit ReplacedBackends(Replace replace);
    ~ReplacedBackends();
    ReplacedBackends(const ReplacedBackends&) = delete;
    ReplacedBackends& operator=(const ReplacedBackends&) = delete;
};

}  // namespace ulp
