// The matmul backends, with a model in place of the GPU: packing, edges, the order over k, what they claim.
#include <doctest/doctest.h>

#include <bit>
#include <memory>
#include <string>

#include "engine/products/matmul.hpp"
#include "gpu/backends.hpp"
#include "gpu/instructions/input_classes.hpp"
#include "gpu/library/cublas.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/gemm.hpp"

using namespace ulp::gpu;
using ulp::Index;
using ulp::Matrix;
using ulp::ProductTypes;

namespace {

Matrix random_matrix(Index rows, Index cols, const ulp::FloatFormat& format, std::uint64_t seed) {
    Matrix matrix(rows, cols);
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < cols; ++j) {
            const std::uint64_t random = mix(mix(seed ^ static_cast<std::uint64_t>(i)) ^ static_cast<std::uint64_t>(j));
            matrix(i, j) =
                ulp::in_fp32_container(format, static_cast<std::uint32_t>(ordinary_float(format, InputRandom(random))));
        }
    }
    return matrix;
}

std::unique_ptr<ulp::MatmulBackend> backend_of(int architecture, const std::string& argument) {
    return make_instruction_backend("test:" + argument,
                                    std::shared_ptr<const Executor>(open_software_device(architecture)),
                                    instruction_choice(argument));
}
std::unique_ptr<ulp::MatmulBackend> hopper_backend(const std::string& argument) { return backend_of(90, argument); }

/// A card whose results have one bit wrong.
class WrongCard final : public Executor {
  public:
    /// Wrong with these inputs, or with all.
    explicit WrongCard(std::optional<Element> inputs = {}) : inputs_(inputs) {}
    [[nodiscard]] const DeviceInfo& info() const override { return right_->info(); }

  private:
    void compute(HostProduct& product) const override {
        right_->run(product);
        if (!inputs_ || product.instruction->a == *inputs_) product.d.set(0, 0, product.d.get(0, 0) ^ 1);
    }
    std::optional<Element> inputs_;
    std::unique_ptr<Executor> right_ = open_software_device(90);
};

bool same_bits(const Matrix& x, const Matrix& y) {
    for (Index i = 0; i < x.size(); ++i) {
        if (std::bit_cast<std::uint32_t>(x.data()[i]) != std::bit_cast<std::uint32_t>(y.data()[i])) return false;
    }
    return x.rows() == y.rows() && x.cols() == y.cols();
}

}  // namespace

TEST_CASE("backends that claim the same model give the same bits, for shapes that fit no tile") {
    using namespace ulp::formats;
    struct Pair {
        const char* gpu;
        const char* soft;
        ProductTypes types;
        int architecture = 90;
    };
    for (const Pair& pair :
         {Pair{"mma", "soft:h100.mma", {fp16, fp32}}, Pair{"mma", "soft:h100.mma", {fp16, fp16}},
          Pair{"mma", "soft:h100.mma", {bf16, fp32}}, Pair{"mma", "soft:h100.mma", {tf32, fp32}},
          Pair{"mma", "soft:h100.mma", {e5m2, fp32, e4m3}}, Pair{"wgmma", "soft:h100.wgmma", {fp16, fp32}},
          Pair{"wgmma", "soft:h100.wgmma", {e4m3, fp32}}, Pair{"wmma", "soft:h100.mma", {bf16, fp32}},
          Pair{"mma", "soft:rtx5090", {e2m1, fp32}, 120}, Pair{"mma", "soft:rtx5090", {e2m3, fp16}, 120},
          Pair{"mma", "soft:rtx5090", {e4m3, fp32}, 120}}) {
        const auto gpu = backend_of(pair.architecture, pair.gpu);
        const auto soft = ulp::make_backend(pair.soft);
        CAPTURE(std::string(pair.gpu) + " " + ulp::name_of(pair.types));
        CHECK_FALSE(gpu->promised_model(pair.types).empty());
        CHECK(gpu->promised_model(pair.types) == soft->promised_model(pair.types));
        for (const auto& [m, n, k] : {std::array<Index, 3>{1, 1, 1}, std::array<Index, 3>{17, 9, 33},
                                      std::array<Index, 3>{64, 8, 32}, std::array<Index, 3>{5, 70, 100}}) {
            const Matrix a = random_matrix(m, k, pair.types.input, 1);
            const Matrix b = random_matrix(k, n, pair.types.b_input, 2);
            const Matrix c = random_matrix(m, n, pair.types.accumulator, 3);
            CHECK(same_bits(ulp::matmul(*gpu, pair.types, a, b), ulp::matmul(*soft, pair.types, a, b)));
            CHECK(same_bits(ulp::matmul(*gpu, pair.types, a, b, c), ulp::matmul(*soft, pair.types, a, b, c)));
        }
    }
}

TEST_CASE("transposed operands, empty extents and a product over no k") {
    using namespace ulp::formats;
    const ProductTypes types{fp16, fp32};
    const auto backend = hopper_backend("mma");
    const Matrix a = random_matrix(20, 30, fp16, 1);
    const Matrix b = random_matrix(10, 30, fp16, 2);
    const Matrix b_rows = b.transpose();
    CHECK(same_bits(ulp::matmul(*backend, types, a, ulp::transposed(b)), ulp::matmul(*backend, types, a, b_rows)));
    const Matrix c = random_matrix(4, 3, fp32, 3);
    CHECK(same_bits(ulp::matmul(*backend, types, Matrix(4, 0), Matrix(0, 3), c), c));
    CHECK(same_bits(ulp::matmul(*backend, types, Matrix(4, 0), Matrix(0, 3)), Matrix::Zero(4, 3)));
    CHECK(ulp::matmul(*backend, types, Matrix(0, 5), Matrix(Matrix::Zero(5, 3))).size() == 0);
}

TEST_CASE("an instruction with another k than the table's row claims a model of its own") {
    using namespace ulp::formats;
    const ProductTypes types{fp16, fp32};
    CHECK(hopper_backend("mma.m16n8k16.fp16.fp32")->promised_model(types) == "sm_90:mma.fp16.fp32");
    CHECK(hopper_backend("mma.m16n8k8.fp16.fp32")->promised_model(types) == "sm_90:mma.fp16.fp32.k8");
    CHECK(hopper_backend("mma.m16n8k8.fp16.fp32")->promised_model({bf16, fp32}).empty());
    const Matrix a = random_matrix(16, 16, bf16, 1);
    CHECK_THROWS_WITH_AS(ulp::matmul(*hopper_backend("mma.m16n8k8.fp16.fp32"), {bf16, fp32}, a, a),
                         doctest::Contains("bf16->fp32"), std::invalid_argument);
    CHECK_THROWS_WITH_AS(ulp::matmul(*hopper_backend("mma"), {fp32, fp32}, a, a), doctest::Contains("fp32"),
                         std::invalid_argument);
}

TEST_CASE("the path tells the instruction, the tiles and the padding") {
    const std::string path = hopper_backend("mma")->path({ulp::formats::fp16, ulp::formats::fp32}, 20, 8, 32);
    CHECK(path.find("mma.m16n8k16.fp16.fp32") != std::string::npos);
    CHECK(path.find("2 x 1 tiles, 2 chained") != std::string::npos);
    CHECK(path.find("filled up") != std::string::npos);
}

TEST_CASE("registered backends are known by name, and say what they need") {
    register_gpu_backends();
    register_gpu_backends();
    int cuda = 0;
    for (const auto& [name, description] : ulp::backend_specs()) cuda += name == "cuda:mma" ? 1 : 0;
    CHECK(cuda == 1);
    CHECK_THROWS_WITH_AS(ulp::make_backend("cuda:mmma"), doctest::Contains("cuda:mma"), std::invalid_argument);
    for (const char* spec : {"cuda:mma", "wgmma:fp16.fp32", "cublas:fp16", "cublaslt:e4m3"}) {
        CAPTURE(std::string(spec));
        try {
            const auto backend = ulp::make_backend(spec);  // on a machine with a GPU
            CHECK(backend->name() == spec);
            CHECK(backend->identity().find(" on ") != std::string::npos);  // of which card
        } catch (const ulp::DataError& error) {
            CHECK(std::string(error.what()).find("; ") != std::string::npos);
        }
    }
}

TEST_CASE("beside a card the same products have the same bits, and a card that differs is found") {
    using namespace ulp::formats;
    const Matrix a = random_matrix(20, 33, fp16, 1);
    const Matrix b = random_matrix(33, 9, fp16, 2);
    const ProductTypes types{fp16, fp32};
    const Matrix alone = ulp::matmul(*ulp::make_backend("soft:h100"), types, a, b);
    CardProducts card(open_software_device(90));
    const auto beside = card.beside(ulp::make_backend("soft:h100"));
    CHECK(beside->name() == "soft:h100");
    CHECK(beside->identity() == "soft:h100");
    CHECK(same_bits(ulp::matmul(*beside, types, a, b), alone));
    CHECK(card.counts() == std::map<std::string, std::int64_t>{{"sm_90:mma.fp16.fp32", 1}});
    // Another generation's products, and those of no unit, are not the card's.
    ulp::matmul(*card.beside(ulp::make_backend("soft:v100")), types, a, b);
    CHECK(card.beside(ulp::make_backend("soft:ieee"))->name() == "soft:ieee");
    CHECK(card.counts().size() == 1);
    CardProducts wrong(std::make_shared<WrongCard>());
    CHECK_THROWS_WITH_AS(ulp::matmul(*wrong.beside(ulp::make_backend("soft:h100")), types, a, b),
                         doctest::Contains("element (0, 0)"), ulp::BitsDiffer);
    CHECK(wrong.counts() == std::map<std::string, std::int64_t>{{"sm_90:mma.fp16.fp32", 1}});
    CHECK(card.differing_unit().empty());
    // Of two units the one that differs is named.
    CardProducts half_wrong(std::make_shared<WrongCard>(Element::fp16));
    const auto beside_wrong = half_wrong.beside(ulp::make_backend("soft:h100"));
    ulp::matmul(*beside_wrong, {bf16, fp32}, random_matrix(20, 33, bf16, 1), random_matrix(33, 9, bf16, 2));
    CHECK_THROWS_AS(ulp::matmul(*beside_wrong, types, a, b), ulp::BitsDiffer);
    CHECK(half_wrong.counts().size() == 2);
    CHECK(half_wrong.differing_unit() == "sm_90:mma.fp16.fp32");
    // While backends are replaced, all that is made is beside the card, inside of others too.
    const ulp::ReplacedBackends replaced([&](auto backend) { return card.beside(std::move(backend)); });
    ulp::matmul(*ulp::make_backend("with_ieee(soft:h100)"), types, a, b);
    CHECK(card.counts().at("sm_90:mma.fp16.fp32") == 2);
}
