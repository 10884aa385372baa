#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "engine/data/generated.hpp"
#include "engine/products/backends.hpp"
#include "engine/training/images.hpp"
#include "engine/training/schedule.hpp"
#include "engine/training/trainer.hpp"

namespace {

using namespace ulp;
namespace fs = std::filesystem;

const ProductTypes fp16_to_fp32{formats::fp16, formats::fp32};

struct Folder {
    fs::path path =
        fs::temp_directory_path() / ("ulplab_decorators_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
    Folder() { fs::create_directories(path); }
    ~Folder() { fs::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
};

Trace short_run(std::unique_ptr<MatmulBackend> backend) {
    Trainer trainer(Engine(recipe_by_name("mixed_fp16"), std::move(backend)), 1);
    const Mlp net(trainer.model(), {64, 8, 10});
    trainer.optimize({.learning_rate = 0.1});
    const Dataset data = generated_digits({.count = 16, .side = 8, .seed = 1});
    const Batch batch = batch_of(data, shuffled(16, 1, 0));
    for (int i = 0; i < 3; ++i) {
        trainer.step([&](Tape& tape) { return cross_entropy(net(images_on(tape, batch.images)), batch.labels); });
    }
    return trainer.trace();
}

TEST_CASE("an identity says what a name leaves open, and decorators pass it on") {
    const std::string eigen = make_backend("eigen")->identity();
    CHECK(eigen.starts_with("eigen "));
    CHECK(eigen.find(" kernel, caches of ") != std::string::npos);
    CHECK(make_backend("checked(eigen,soft:ieee)")->identity() == "checked(" + eigen + ",soft:ieee)");
    CHECK(make_backend("with_ieee(eigen)")->identity() == "with_ieee(" + eigen + ")");
    const Folder folder;
    const std::string file = (folder.path / "products").string();
    CHECK(make_backend("recorded(" + file + ",eigen)")->identity() == "recorded(" + file + "," + eigen + ")");
    const std::string replayed = make_backend("replayed(" + file + ")")->identity();
    CHECK(replayed.starts_with("replayed(" + file + ") of SHA-256 "));
    (void)short_run(make_backend("recorded(" + file + ",soft:h100)"));
    CHECK(make_backend("replayed(" + file + ")")->identity() != replayed);
}

TEST_CASE("a checked backend passes where both agree and stops at the first element where they do not") {
    CHECK(!first_difference(short_run(make_backend("checked(soft:h100,soft:h200)")),
                            short_run(make_backend("soft:h100"))));
    const auto backend = make_backend("checked(soft:ieee,soft:v100)");
    CHECK(backend->name() == "checked(soft:ieee,soft:v100)");
    CHECK(backend->promised_model(fp16_to_fp32) == "ieee fp16->fp32");
    Matrix a = Matrix::Ones(2, 4);
    Matrix b = Matrix::Ones(4, 2);
    CHECK(matmul(*backend, fp16_to_fp32, a, b)(1, 1) == 4.0F);
    // 2^13 + 2^-10 * 0.75: V100 cuts below 2^(13 - 23), each step to nearest rounds up.
    a(1, 0) = 8192;
    a(1, 1) = 0x1.8p-11F;
    a(1, 2) = a(1, 3) = 0;
    CHECK_THROWS_WITH_AS((void)matmul(*backend, fp16_to_fp32, a, b),
                         doctest::Contains("fp16->fp32 product 2 x 2 x 4, element (1, 0): soft:ieee gives 0x46000001"),
                         BitsDiffer);
    CHECK_THROWS_WITH_AS(
        (void)matmul(*backend, fp16_to_fp32, a, b),
        doctest::Contains("soft:v100 gives 0x46000000 (0x1p+13)\n  a * b: 46000000*3f800000 3a400000*3f800000"),
        BitsDiffer);
}

TEST_CASE("a checked backend takes D instead of C, and NaNs of either kind as equal") {
    const auto backend = make_backend("checked(soft:h100,soft:h100)");
    const Matrix a = Matrix::Ones(2, 4);
    const Matrix b = Matrix::Ones(4, 2);
    Matrix c = Matrix::Constant(2, 2, 3.0F);
    backend->matmul({fp16_to_fp32, a, b, c, c});
    CHECK(c(0, 0) == 7.0F);
    const Matrix nan = Matrix::Constant(2, 4, std::numeric_limits<float>::quiet_NaN());
    CHECK_NOTHROW((void)matmul(*make_backend("checked(soft:ieee,soft:h100)"), fp16_to_fp32, nan, b));
}

TEST_CASE("a matrix unit with soft:ieee beside it has products of fp32, and its own for the rest") {
    const auto backend = make_backend("with_ieee(soft:h100)");
    CHECK(backend->name() == "with_ieee(soft:h100)");
    constexpr ProductTypes fp32_to_fp32{formats::fp32, formats::fp32};
    const float x[] = {1.5F, 2048.0F, 0.25F};
    const MatrixView a(x, 1, 3);
    const MatrixView b(x, 3, 1);
    CHECK(matmul(*backend, fp32_to_fp32, a, b) == matmul(*make_backend("soft:ieee"), fp32_to_fp32, a, b));
    CHECK(matmul(*backend, fp16_to_fp32, a, b) == matmul(*make_backend("soft:h100"), fp16_to_fp32, a, b));
    CHECK(backend->promised_model(fp16_to_fp32) == "sm_90:mma.fp16.fp32");
    CHECK(backend->promised_model(fp32_to_fp32) == make_backend("soft:ieee")->promised_model(fp32_to_fp32));
    CHECK(backend->path(fp32_to_fp32, 1, 1, 3).ends_with(", which soft:h100 lacks"));
    CHECK_THROWS_AS((void)matmul(*make_backend("soft:h100"), fp32_to_fp32, a, b), std::invalid_argument);
    // Where the backend has them they stay with it.
    CHECK(make_backend("with_ieee(eigen)")->promised_model(fp32_to_fp32).empty());
}

TEST_CASE("products in an order are those of the promised model, and a backend without one refuses them") {
    const ProductOrder split{.split_k = 4};
    const auto backend = in_order(make_backend("with_ieee(soft:h100)"), split);
    CHECK(backend->name() == "with_ieee(soft:h100), split-k 4");
    CHECK(backend->promised_model(fp16_to_fp32).empty());
    Matrix a(1, 256), b(256, 1), expected(1, 1);
    for (Index k = 0; k < 256; ++k) a(0, k) = b(k, 0) = k % 3 == 0 ? 1.0F : 0x1p-10F;
    soft_product(unit_model<TensorCoreModel>("sm_90:mma.fp16.fp32"), split, {a, b, {}, expected});
    CHECK(matmul(*backend, fp16_to_fp32, a, b) == expected);
    CHECK(matmul(*in_order(make_backend("soft:h100"), {}), fp16_to_fp32, a, b) ==
          matmul(*make_backend("soft:h100"), fp16_to_fp32, a, b));
    for (const std::string own : {"eigen", "soft:ieee"}) {
        const std::string message = own + " has an order of its own; orders are of matrix units";
        CHECK_THROWS_WITH_AS((void)matmul(*in_order(make_backend(own), split), fp16_to_fp32, a, b), message.c_str(),
                             std::invalid_argument);
    }
}

TEST_CASE("a recorded training run is replayed with the same trace, and another run is not") {
    const Folder folder;
    const std::string file = (folder.path / "run").string();
    const Trace original = short_run(make_backend("recorded(" + file + ",soft:h100)"));
    CHECK(fs::exists(file));
    CHECK(!fs::exists(file + ".tmp"));
    const auto replay = make_backend("replayed(" + file + ")");
    CHECK(replay->promised_model(fp16_to_fp32) == "sm_90:mma.fp16.fp32");
    CHECK(!first_difference(original, short_run(make_backend("replayed(" + file + ")"))));
    CHECK_THROWS_WITH_AS((void)matmul(*replay, fp16_to_fp32, Matrix(Matrix::Ones(2, 2)), Matrix(Matrix::Ones(2, 2))),
                         doctest::Contains("no fp16->fp32 product 2 x 2 x 2 with these operands was recorded"),
                         BitsDiffer);
}

TEST_CASE("scales pass through the decorators, and a product with other scales is another product") {
    const Folder folder;
    const std::string file = (folder.path / "scaled").string();
    const ProductTypes types{formats::e4m3, formats::fp32, formats::e4m3, BlockScaling{formats::e8m0, 32}};
    const Matrix a = Matrix::Constant(2, 40, 1.5F);
    const Matrix b = Matrix::Constant(40, 3, 0.5F);
    const Matrix x = Matrix::Constant(2, 2, 4.0F);
    const Matrix y = Matrix::Constant(2, 3, 0.5F);
    Matrix d(2, 3);
    make_backend("recorded(" + file + ",with_ieee(checked(soft:b200,soft:b200)))")
        ->matmul({types, a, b, std::nullopt, d, x, y});
    CHECK(d(1, 2) == 60.0F);
    const auto replay = make_backend("replayed(" + file + ")");
    CHECK(replay->has_product(types));
    CHECK_FALSE(replay->has_product(fp16_to_fp32));
    CHECK(replay->promised_model(types) == "sm_100:tcgen05.mxf8f6f4.e4m3.fp32");
    Matrix again(2, 3);
    replay->matmul({types, a, b, std::nullopt, again, x, y});
    CHECK(again == d);
    const Matrix other = Matrix::Constant(2, 3, 0.25F);
    CHECK_THROWS_WITH_AS(replay->matmul({types, a, b, std::nullopt, again, x, other}),
                         doctest::Contains("no e4m3(e8m0/32)->fp32 product 2 x 3 x 40"), BitsDiffer);
    CHECK_THROWS_WITH_AS(make_backend("checked(soft:b200,soft:ieee)")->matmul({types, a, b, std::nullopt, d, x, y}),
                         doctest::Contains("soft:ieee has no block-scaled"), std::invalid_argument);
}

TEST_CASE("recordings that are cut short, damaged or no recordings are refused") {
    const Folder folder;
    const fs::path file = folder.path / "r";
    {
        const auto backend = recorded(make_backend("soft:ieee"), file);
        (void)matmul(*backend, fp16_to_fp32, Matrix(Matrix::Ones(2, 3)), Matrix(Matrix::Ones(3, 2)));
    }
    std::ifstream in(file);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    const auto refuses = [&](const std::string& bytes, const char* why) {
        std::ofstream(file) << bytes;
        CHECK_THROWS_WITH_AS((void)replayed(file), doctest::Contains(why), DataError);
    };
    refuses("", "does not begin with");
    refuses("something else\n", "does not begin with");
    refuses(whole.substr(0, whole.size() - 4), "where eight hexadecimal digits belong");
    refuses(whole.substr(0, whole.size() - 10), "it ends inside a product");
    refuses(whole + "nonsense\n", "the line 'nonsense'");
    CHECK_THROWS_AS((void)replayed(folder.path / "missing"), DataError);
    CHECK_THROWS_AS((void)recorded(make_backend("soft:ieee"), folder.path / "no" / "folder"), DataError);
    CHECK_THROWS_WITH_AS((void)make_backend("checked(soft:h100)"), doctest::Contains("two arguments"),
                         std::invalid_argument);
}

}  // namespace
