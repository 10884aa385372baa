#include "gpu/backends.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "engine/products/backends.hpp"
#include "gpu/devices/reference.hpp"
#include "gpu/instructions/instruction.hpp"
#include "gpu/library/cublas.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp::gpu {
namespace {

bool same_numbers(FloatFormat x, const FloatFormat& y) {
    x.padding_bits = y.padding_bits;
    return x == y;
}

/// The element of a format. Throws std::invalid_argument for one that no instruction has.
Element element_of(const FloatFormat& format) {
    for (const Element element : {Element::tf32, Element::bf16, Element::fp16, Element::e5m2, Element::e4m3,
                                  Element::e3m2, Element::e2m3, Element::e2m1, Element::fp32}) {
        if (same_numbers(format_of(element), format)) return element;
    }
    throw std::invalid_argument(fmt::format("no matrix instruction takes {}; choose another recipe", name_of(format)));
}

std::uint32_t tiles(Index extent, int tile) { return static_cast<std::uint32_t>((extent + tile - 1) / tile); }

/// Rows on all threads: packed rows are whole words, because instructions' extents are.
template <class Function>
void for_each_row(Index rows, Index cols, const Function& f) {
    for_each_index(rows, worth_threads(rows * cols > 4096), f);
}

void put(PackedMatrix& packed, const MatrixView& matrix, const FloatFormat& format) {
    for_each_row(matrix.rows, matrix.cols, [&](Index i) {
        for (Index j = 0; j < matrix.cols; ++j) {
            packed.set(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j),
                       operand_code(format, matrix(i, j)));
        }
    });
}

class InstructionBackend final : public MatmulBackend {
  public:
    InstructionBackend(std::string_view name, std::shared_ptr<const Executor> executor, const InstructionChoice& choice)
        : name_(name), executor_(std::move(executor)), choice_(choice) {}

    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] std::string identity() const override {
        return fmt::format("{} on {}", name_, executor_->info().name);
    }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override { return find(types) != nullptr; }
    [[nodiscard]] std::string promised_model(const ProductTypes& types) const override {
        const Instruction* row = find(types);
        if (row == nullptr) return "";
        const auto claimed = gpu::promised_model(*row, executor_->info().architecture);
        if (!claimed) return "";
        // A shape with another k than the row's is another chain.
        return claimed->whole_row ? claimed->key : fmt::format("{}.k{}", claimed->key, row->shape.k);
    }
    [[nodiscard]] std::string path(const ProductTypes& types, Index m, Index n, Index k) const override {
        const Instruction& row = instruction(types);
        const auto [tm, tn, tk] = row.shape;
        const bool fits = m % tm == 0 && n % tn == 0 && k % tk == 0;
        return fmt::format("{} on {}, {} x {} tiles, {} chained over ascending k{}", row.name(), executor_->info().name,
                           tiles(m, tm), tiles(n, tn), tiles(k, tk), fits ? "" : ", edges filled up with zeros");
    }

  private:
    void compute(const Product& p) const override {
        const Instruction& row = instruction(p.types);
        if (p.d.rows == 0 || p.d.cols == 0) return;
        if (p.a.cols == 0) return copy_addend(p);
        HostProduct product(row,
                            {.tiles_m = tiles(p.d.rows, row.shape.m),
                             .tiles_n = tiles(p.d.cols, row.shape.n),
                             .steps_k = tiles(p.a.cols, row.shape.k)},
                            p.c.has_value());
        put(product.a, p.a, format_of(row.a));
        put(product.b, p.b.transposed(), format_of(row.b));
        if (p.c) put(product.c, *p.c, p.types.accumulator);
        executor_->run(product);
        for_each_row(p.d.rows, p.d.cols, [&](Index i) {
            for (Index j = 0; j < p.d.cols; ++j) {
                const auto code = product.d.get(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j));
                p.d(i, j) = in_fp32_container(p.types.accumulator, static_cast<std::uint32_t>(code));
            }
        });
    }
    /// A product over no k at all.
    static void copy_addend(const Product& p) {
        for (Index i = 0; i < p.d.rows; ++i) {
            for (Index j = 0; j < p.d.cols; ++j) p.d(i, j) = p.c ? (*p.c)(i, j) : 0.0F;
        }
    }

    [[nodiscard]] const Instruction* find(const ProductTypes& types) const {
        try {
            return &instruction(types);
        } catch (const std::invalid_argument&) {
            return nullptr;
        }
    }
    [[nodiscard]] const Instruction& instruction(const ProductTypes& types) const {
        if (types.scaling) throw std::invalid_argument(fmt::format("{} has no block-scaled products", name_));
        const Element a = element_of(types.input);
        const Element b = element_of(types.b_input);
        const Element accumulator = element_of(types.accumulator);
        if (choice_.fixed == nullptr) {
            return choose_instruction(choice_.family, a, b, accumulator, executor_->info().architecture);
        }
        const Instruction& row = *choice_.fixed;
        if (row.a == a && row.b == b && row.accumulator == accumulator) return row;
        throw std::invalid_argument(
            fmt::format("{} has no {} product; choose cuda:mma or another recipe", name_, ulp::name_of(types)));
    }

    std::string name_;
    std::shared_ptr<const Executor> executor_;
    InstructionChoice choice_;
};

/// One device for all backends of the program.
std::shared_ptr<const Executor> shared_device() {
    static const std::shared_ptr<const Executor> device = open_cuda_device();
    return device;
}

std::vector<std::string> cuda_arguments() {
    std::vector<std::string> arguments;
    for (const Family family : families) arguments.emplace_back(name_of(family));
    for (const Instruction& row : instructions()) {
        const bool unscaled = row.scaling == Scaling::none;
        const bool for_training = is_float(row.a) && row.a != Element::fp64 && row.a == row.b && unscaled;
        if (for_training) arguments.push_back(row.name());
    }
    return arguments;
}

/// "fp16.fp32" of every wgmma instruction with floating-point inputs.
std::vector<std::string> wgmma_arguments() {
    std::vector<std::string> arguments;
    for (const Instruction& row : instructions()) {
        if (row.family != Family::wgmma || !is_float(row.a)) continue;
        arguments.push_back(fmt::format("{}.{}", row.input_name(), name_of(row.accumulator)));
    }
    return arguments;
}

std::unique_ptr<MatmulBackend> make_wgmma(std::string_view argument) {
    for (const Instruction& row : instructions()) {
        if (row.family != Family::wgmma || !is_float(row.a)) continue;
        if (fmt::format("{}.{}", row.input_name(), name_of(row.accumulator)) != argument) continue;
        return make_instruction_backend(fmt::format("wgmma:{}", argument), shared_device(), {Family::wgmma, &row});
    }
    throw std::invalid_argument(fmt::format("there is no wgmma of {}", argument));
}

}  // namespace

InstructionChoice instruction_choice(std::string_view argument) {
    for (const Family family : families) {
        if (argument == name_of(family)) return {family, nullptr};
    }
    const Instruction& row = instruction_by_name(argument);
    return {row.family, &row};
}

std::unique_ptr<MatmulBackend> make_instruction_backend(std::string_view name, std::shared_ptr<const Executor> executor,
                                                        const InstructionChoice& choice) {
    return std::make_unique<InstructionBackend>(name, std::move(executor), choice);
}

void register_gpu_backends() {
    static bool done = false;
    if (done) return;
    done = true;
    register_backend_family(
        {"cuda", cuda_arguments(), "matrix instructions of this machine's GPU", [](std::string_view argument) {
             return make_instruction_backend(fmt::format("cuda:{}", argument), shared_device(),
                                             instruction_choice(argument));
         }});
    register_backend_family({"wgmma", wgmma_arguments(), "Hopper's warpgroup instruction of these types", make_wgmma});
    register_backend_family({"cublas", cublas_arguments(false), "cuBLAS on this machine's GPU; claims no bits",
                             [](std::string_view argument) { return make_cublas_backend(argument, false); }});
    register_backend_family({"cublaslt", cublas_arguments(true), "cublasLt with a fixed algorithm; claims no bits",
                             [](std::string_view argument) { return make_cublas_backend(argument, true); }});
}

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
