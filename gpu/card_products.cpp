#include "gpu/card_products.hpp"

#include <fmt/format.h>

#include <vector>

#include "engine/products/backends.hpp"
#include "engine/products/decorators.hpp"
#include "gpu/backends.hpp"
#include "gpu/instructions/instruction.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {
namespace {

/// What the backend computes, and where the card has the row, only if both computed the same.
class BesideCard final : public MatmulBackend {
  public:
    BesideCard(std::string_view argument, const std::shared_ptr<const Executor>& executor, CardProducts& products)
        : backend_(make_tensor_core_backend(argument)), products_(products) {
        for (const Family family : {Family::tcgen05, Family::wgmma, Family::mma, Family::wmma}) {
            const std::string card = fmt::format("cuda:{}", gpu::name_of(family));
            families_.push_back(checked(make_instruction_backend(card, executor, {family, nullptr}),
                                        make_tensor_core_backend(argument)));
        }
    }

    [[nodiscard]] std::string name() const override { return backend_->name(); }
    [[nodiscard]] std::string identity() const override { return backend_->identity(); }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override { return backend_->has_product(types); }
    [[nodiscard]] std::string promised_model(const ProductTypes& types) const override {
        return backend_->promised_model(types);
    }
    [[nodiscard]] std::string path(const ProductTypes& types, Index m, Index n, Index k) const override {
        const MatmulBackend* card = card_for(types);
        return card == nullptr ? backend_->path(types, m, n, k) : card->path(types, m, n, k);
    }

  private:
    /// The first family whose instruction promises the backend's row; null where none does.
    [[nodiscard]] const MatmulBackend* card_for(const ProductTypes& types) const {
        const std::string row = backend_->promised_model(types);
        for (const auto& family : families_) {
            if (!row.empty() && family->promised_model(types) == row) return family.get();
        }
        return nullptr;
    }
    void compute(const Product& p) const override {
        const MatmulBackend* card = card_for(p.types);
        if (card == nullptr) return backend_->matmul(p);
        const std::string unit = backend_->promised_model(p.types);
        try {
            const std::lock_guard lock(one_at_a_time_);
            card->matmul(p);
        } catch (const BitsDiffer&) {
            products_.count(unit, false);
            throw;
        }
        products_.count(unit, true);
    }

    std::unique_ptr<MatmulBackend> backend_;
    std::vector<std::unique_ptr<MatmulBackend>> families_;
    CardProducts& products_;
    static inline std::mutex one_at_a_time_;  // a card's executor is for one thread
};

}  // namespace

std::unique_ptr<MatmulBackend> CardProducts::beside(std::unique_ptr<MatmulBackend> backend) {
    constexpr std::string_view soft = "soft:";
    const std::string name = backend->name();
    if (!name.starts_with(soft) || name == "soft:ieee") return backend;
    return std::make_unique<BesideCard>(std::string_view(name).substr(soft.size()), executor_, *this);
}

void CardProducts::count(const std::string& unit, bool equal) {
    const std::lock_guard lock(mutex_);
    ++counts_[unit];
    if (!equal && differing_unit_.empty()) differing_unit_ = unit;
}

std::string CardProducts::differing_unit() const {
    const std::lock_guard lock(mutex_);
    return differing_unit_;
}

std::map<std::string, std::int64_t> CardProducts::counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
}

}  // namespace ulp::gpu
