// The fast products against the plain ones, bit for bit: every model that has a fast path, every set of instructions
// this processor has, every class of data, shapes that fill no tile.
#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <ios>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"
#include "softfloat/matrix_units/gemm_kernels/kernel_choice.hpp"
#include "softfloat/matrix_units/gemm_kernels/pack.hpp"
#include "softfloat/matrix_units/gemm_path.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/support/copy_matrix.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace {

using ulp::DataClass;
using ulp::GemmProblem;
using ulp::TensorCoreModel;

std::vector<const ulp::gemm_kernels::Kernels*> all_kernels() {
    std::vector<const ulp::gemm_kernels::Kernels*> kernels;
    for (const ulp::Simd simd : ulp::supported_simd()) {
        const auto* found = &ulp::kernels_of<ulp::gemm_kernels::Kernels>(simd);
        if (kernels.empty() || kernels.back() != found) kernels.push_back(found);
    }
    return kernels;
}

/// Those that may compute the model: where it flushes subnormal numbers, not all can.
std::vector<const ulp::gemm_kernels::Kernels*> kernels_for(const TensorCoreModel& model) {
    auto kernels = all_kernels();
    std::erase_if(kernels, [&](const auto* each) { return model.flush_subnormals && !each->has_flush; });
    return kernels;
}

bool has_fast_path(const TensorCoreModel& model) {
    return ulp::gemm_kernels::choose_kernel(model).family != ulp::gemm_kernels::Family::none &&
           !kernels_for(model).empty();
}

struct Shape {
    std::int64_t m, n, k;
    bool a_transposed = false, b_transposed = false, with_c = true;
};

std::vector<float> random_floats(const ulp::FloatFormat& format, DataClass data, std::int64_t count,
                                 std::uint64_t seed) {
    std::vector<float> floats;
    for (const std::uint32_t code : ulp::random_codes(format, data, count, seed)) {
        floats.push_back(ulp::in_fp32_container(format, code));
    }
    return floats;
}

/// c as real ones are: results of the same kind of data, not much larger or smaller than the products.
DataClass class_of_c(DataClass data) { return data; }

/// The operands of one product, and the plain result.
class Case {
  public:
    Case(const TensorCoreModel& model, DataClass data, const Shape& shape, std::uint64_t seed)
        : model_(model),
          shape_(shape),
          a_(random_floats(model.a_format, data, shape.m * shape.k, seed)),
          b_(random_floats(model.b_format, data, shape.k * shape.n, seed + 1)),
          c_(random_floats(model.accumulator, class_of_c(data), shape.m * shape.n, seed + 2)),
          expected_(c_.size()) {
        ulp::gemm_plain(model_, problem(expected_));
    }

    /// How many elements of the fast result differ.
    [[nodiscard]] std::int64_t differences(const ulp::gemm_kernels::Kernels& kernels, std::int64_t packed_bytes) const {
        std::vector<float> d(c_.size());
        ulp::gemm_kernels::fast_gemm(kernels, model_, problem(d), packed_bytes);
        std::int64_t count = 0;
        for (std::size_t i = 0; i < d.size(); ++i) {
            const bool equal = std::bit_cast<std::uint32_t>(d[i]) == std::bit_cast<std::uint32_t>(expected_[i]);
            if (!equal && count++ == 0) {
                MESSAGE("first difference at " << i << ": plain " << std::hex
                                               << std::bit_cast<std::uint32_t>(expected_[i]) << ", fast "
                                               << std::bit_cast<std::uint32_t>(d[i]));
            }
        }
        return count;
    }

  private:
    [[nodiscard]] GemmProblem problem(std::vector<float>& d) const {
        const auto [m, n, k, a_transposed, b_transposed, with_c] = shape_;
        GemmProblem p{.a = {a_.data(), m, k}, .b = {b_.data(), k, n}, .d = {d.data(), m, n}};
        if (a_transposed) p.a = ulp::MatrixView(a_.data(), k, m).transposed();
        if (b_transposed) p.b = ulp::MatrixView(b_.data(), n, k).transposed();
        if (with_c) p.c = {c_.data(), m, n};
        return p;
    }

    TensorCoreModel model_;
    Shape shape_;
    std::vector<float> a_, b_, c_, expected_;
};

std::int64_t differences(const std::vector<float>& plain, const std::vector<float>& fast) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < plain.size(); ++i) {
        count += std::bit_cast<std::uint32_t>(plain[i]) != std::bit_cast<std::uint32_t>(fast[i]) ? 1 : 0;
    }
    return count;
}

void check_equal(const std::string& key, const TensorCoreModel& model, DataClass data, const Shape& shape,
                 std::uint64_t seed, std::int64_t packed_bytes = ulp::gemm_kernels::usual_packed_bytes) {
    const Case tried(model, data, shape, seed);
    for (const ulp::gemm_kernels::Kernels* kernels : kernels_for(model)) {
        CAPTURE(key + ", " + ulp::name_of(data) + " data, " + kernels->name + ", m n k " + std::to_string(shape.m) +
                " " + std::to_string(shape.n) + " " + std::to_string(shape.k));
        CHECK(tried.differences(*kernels, packed_bytes) == 0);
    }
}

/// Every `rare`-th number on average is one of the specials, with its own sign.
template <class Number>
std::vector<Number> with_specials(std::vector<Number> x, const std::vector<Number>& specials, std::uint64_t rare,
                                  std::uint64_t seed) {
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::uint64_t word = ulp::random_word(seed, i);
        if (word % rare == 0) x[i] = std::copysign(specials[(word >> 32) % specials.size()], x[i]);
    }
    return x;
}

}  // namespace

TEST_CASE("every model's fast product equals the plain one on every class of data") {
    std::uint64_t seed = 1;
    for (const auto& [row, model] : ulp::rows_of<ulp::TensorCoreModel>()) {
        if (!has_fast_path(model)) continue;
        // Where formats differ and their codes do not, the same kernels work once more.
        const bool same_codes =
            ulp::gemm_kernels::grid_of(model.a_format).codes == ulp::gemm_kernels::grid_of(model.b_format).codes;
        const bool known = model.a_format != model.b_format && same_codes;
        for (const DataClass data : ulp::all_classes) {
            if (known && data != DataClass::full_range) continue;
            check_equal(row.key(), model, data, {9, 70, 75, false, false, true}, seed += 10);
            check_equal(row.key(), model, data, {35, 20, 32, true, true, false}, seed += 10);
            check_equal(row.key(), model, data, {6, 33, 5, false, true, true}, seed += 10);  // less than a group
        }
    }
}

TEST_CASE("infinities and NaNs, one or many, beside zeros and large numbers, with every addend, give the plain bits") {
    const std::int64_t m = 4, n = 35, k = 75;  // fills no instruction
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    std::uint64_t seed = 0;
    for (const auto& [row, model] : ulp::rows_of<TensorCoreModel>()) {
        if (!has_fast_path(model)) continue;
        const std::string key = row.key();
        CAPTURE(key);
        for (const std::uint64_t rarity : {300U, 75U, 20U, 2U}) {
            for (const float special : {infinity, nan, 0.0F}) {  // alone, then among others
                const auto numbers = [&](const ulp::FloatFormat& format, std::int64_t count, std::uint64_t rare) {
                    auto x = random_floats(format, DataClass::ordinary, count, ++seed);
                    const float large = std::ldexp(1.0F, format.emax() / 2);
                    return with_specials(
                        x, special == 0 ? std::vector{infinity, infinity, large, 0.0F, nan} : std::vector{special},
                        rare, seed);
                };
                const auto a = numbers(model.a_format, m * k, rarity), b = numbers(model.b_format, k * n, rarity);
                const auto c = numbers(model.accumulator, m * n, 2);
                std::vector<float> plain(c.size()), fast(c.size());
                GemmProblem p{{a.data(), m, k}, {b.data(), k, n}, {c.data(), m, n}, {plain.data(), m, n}};
                if (rarity == 75) p.c = {};
                ulp::gemm_plain(model, p);
                p.d.data = fast.data();
                ulp::gemm_kernels::fast_gemm(*all_kernels().back(), model, p);
                CHECK(differences(plain, fast) == 0);
            }
        }
    }
}

TEST_CASE("a product whose A, C and D lie by columns has the bits of the plain one") {
    const std::int64_t m = 131, n = 50, k = 40;
    for (const char* key : {"sm_70:mma.fp16.fp32", "sm_80:mma.bf16.fp32", "sm_90:mma.fp16.fp32",
                            "sm_90:mma.e4m3_e5m2.fp32", "sm_90:wgmma.fp16.fp16", "gfx90a:mfma.fp16.fp32"}) {
        CAPTURE(key);
        const auto& model = ulp::unit_model<TensorCoreModel>(key);
        for (const DataClass data : ulp::all_classes) {
            const auto a = random_floats(model.a_format, data, m * k, 1);
            const auto b = random_floats(model.b_format, data, k * n, 2);
            const auto c = random_floats(model.accumulator, data, m * n, 3);
            std::vector<float> plain(m * n);
            GemmProblem p{ulp::MatrixView(a.data(), k, m).transposed(),
                          {b.data(), k, n},
                          ulp::MatrixView(c.data(), n, m).transposed(),
                          ulp::MutableMatrixView(plain.data(), n, m).transposed()};
            ulp::gemm_plain(model, p);
            for (const auto* kernels : kernels_for(model)) {
                std::vector<float> fast(m * n);
                p.d.data = fast.data();
                ulp::gemm_kernels::fast_gemm(*kernels, model, p);
                CHECK(differences(plain, fast) == 0);
            }
        }
    }
}

TEST_CASE("shapes that fill no tile, transposes and missing c change nothing") {
    const std::string key = "sm_90:mma.fp16.fp32";
    const auto& model = ulp::unit_model<TensorCoreModel>(key);
    std::uint64_t seed = 1000;
    for (const auto& [m, n, k] : {std::array{1, 1, 1},
                                  {1, 64, 16},
                                  {33, 1, 17},
                                  {64, 10, 100},
                                  {31, 65, 15},
                                  {100, 47, 33},
                                  {2, 200, 3},
                                  {3, 5, 0},
                                  {0, 4, 4}}) {
        for (const bool transposed : {false, true}) {
            check_equal(key, model, DataClass::ordinary, {m, n, k, transposed, !transposed, transposed}, seed += 10);
            check_equal(key, model, DataClass::full_range, {m, n, k, !transposed, transposed, true}, seed += 10);
        }
    }
}

TEST_CASE("products that several threads ask for at once are each computed whole") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32");
    std::vector<std::int64_t> differences(12, -1);
#pragma omp parallel for num_threads(3) schedule(dynamic, 1)
    for (std::size_t i = 0; i < differences.size(); ++i) {
        const auto size = 60 + 10 * static_cast<std::int64_t>(i);
        const Case tried(model, DataClass::ordinary, {size, 90, 70}, 300 + i);
        differences[i] = tried.differences(ulp::kernels_of<ulp::gemm_kernels::Kernels>(ulp::simd_choice()), 1 << 14);
    }
    CHECK(differences == std::vector<std::int64_t>(12, 0));
}

TEST_CASE("the bits do not depend on the number of threads") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.bf16.fp32");
    const int before = omp_get_max_threads();
    for (const int threads : {1, 2, 5}) {
        omp_set_num_threads(threads);
        // The last two have one tile's rows, as they are or transposed.
        for (const Shape& shape : {Shape{150, 130, 90}, Shape{20, 400, 90}, Shape{700, 30, 40}}) {
            const Case tried(model, DataClass::wide, shape, 77);
            CHECK(tried.differences(ulp::kernels_of<ulp::gemm_kernels::Kernels>(ulp::simd_choice()),
                                    ulp::gemm_kernels::usual_packed_bytes) == 0);
        }
    }
    omp_set_num_threads(before);
}

TEST_CASE("products of several pieces in each direction have the plain bits, infinities and NaNs included") {
    std::uint64_t seed = 3000;
    for (const char* key : {"sm_90:mma.fp16.fp32", "sm_90:mma.fp16.fp16", "sm_90:mma.bf16.fp32", "sm_90:mma.e4m3.fp32",
                            "sm_90:wgmma.e4m3.fp32", "sm_70:mma.fp16.fp32", "sm_80:mma.tf32.fp32",
                            "sm_100:tcgen05.fp16_bf16.fp32", "sm_100:tcgen05.bf16_fp16.fp32"}) {
        const auto& model = ulp::unit_model<TensorCoreModel>(key);
        for (const std::int64_t packed_bytes : {1, 20000}) {  // the smallest pieces, and some between
            check_equal(key, model, DataClass::ordinary, {70, 140, 205}, seed += 10, packed_bytes);
            check_equal(key, model, DataClass::full_range, {66, 130, 75, false, true}, seed += 10, packed_bytes);
        }
    }
    check_equal("sm_90:mma.fp16.fp32", ulp::unit_model<TensorCoreModel>("sm_90:mma.fp16.fp32"), DataClass::ordinary,
                {5, 6, 20001}, seed);  // the usual ones
}

TEST_CASE("every named policy set gives the plain bits, by the fast path or without one") {
    for (const ulp::PolicySet& set : ulp::policy_sets) {
        for (const char* key :
             {"sm_90:mma.fp16.fp32", "sm_90:mma.fp16.fp16", "sm_90:mma.bf16.fp32", "sm_80:mma.tf32.fp32",
              "sm_100:tcgen05.fp16_bf16.fp32", "sm_100:tcgen05.bf16_fp16.fp32"}) {
            const TensorCoreModel model = ulp::with_policies(ulp::unit_model<TensorCoreModel>(key), set);
            if (!has_fast_path(model)) continue;
            CAPTURE(std::string(set.name));
            for (const DataClass data : ulp::all_classes) check_equal(key, model, data, {20, 70, 50}, 5000);
        }
    }
    CHECK(has_fast_path(ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32")));
    CHECK_FALSE(has_fast_path(
        ulp::with_policies(ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32"), ulp::policy_set("A"))));
}

TEST_CASE("few and tiny powers of two, where the floor under the largest exponent decides ties") {
    for (const char* key : {"sm_90:mma.fp16.fp16", "sm_90:wgmma.fp16.fp16", "sm_90:mma.e5m2.fp16"}) {
        const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>(key);
        const auto power = [&](std::uint64_t word) {
            if (word % 16 < 12) return 0.0F;
            const float sign = (word >> 8 & 1) != 0 ? -1.0F : 1.0F;
            const int above[] = {0, 1, 11, 12};  // 2^-24, 2^-23, 2^-13, 2^-12: ties at 2^-25, and what breaks them
            return std::ldexp(sign, -24 + std::max(above[word >> 16 & 3], 24 + model.a_format.smallest_exponent()));
        };
        std::vector<float> a(40 * 48), b(48 * 70), plain(40 * 70), fast(40 * 70);
        for (std::size_t i = 0; i < a.size(); ++i) a[i] = power(ulp::random_word(7, i) >> 32);
        for (std::size_t i = 0; i < b.size(); ++i) b[i] = power(ulp::random_word(8, i) >> 32);
        GemmProblem p{.a = {a.data(), 40, 48}, .b = {b.data(), 48, 70}, .d = {plain.data(), 40, 70}};
        ulp::gemm_plain(model, p);
        TensorCoreModel without = model;
        without.policies.exponent_floor = ulp::no_exponent_floor;
        p.d.data = fast.data();
        ulp::gemm_plain(without, p);
        CAPTURE(std::string(key));
        if (model.summation == ulp::Summation::fused) CHECK(plain != fast);  // the data show the floor
        for (const ulp::gemm_kernels::Kernels* kernels : all_kernels()) {
            ulp::gemm_kernels::fast_gemm(*kernels, model, p);
            CHECK(plain == fast);
        }
    }
}

TEST_CASE("16 products and c up to the end of an int32 and beyond give the plain bits") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:wgmma.fp16.fp32");
    constexpr std::int64_t m = 96, n = 70, k = 16;  // the first tile's rows stay below 31/16, and so within an int32
    std::vector<float> a(m * k), b(k * n), c(m * n), plain(m * n), fast(m * n);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1 + static_cast<float>(928 + i / k) / 1024;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = i % n % 2 == 0 ? 2047.0F / 1024 : -2047.0F / 1024;
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = std::copysign(std::nextafter(2.0F, 0.0F), b[i % n]);
    GemmProblem p{.a = {a.data(), m, k}, .b = {b.data(), k, n}, .c = {c.data(), m, n}, .d = {plain.data(), m, n}};
    ulp::gemm_plain(model, p);
    p.d.data = fast.data();
    for (const ulp::gemm_kernels::Kernels* kernels : all_kernels()) {
        ulp::gemm_kernels::fast_gemm(*kernels, model, p);
        CHECK(differences(plain, fast) == 0);
    }
}

TEST_CASE("values off the grid are rounded to it first, tf32 truncated") {
    for (const char* key : {"sm_90:mma.fp16.fp32", "sm_90:mma.tf32.fp32", "sm_90:wgmma.e4m3.fp32"}) {
        const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>(key);
        const auto a = random_floats(ulp::formats::fp32, DataClass::ordinary, 40 * 50, 1);
        const auto b = random_floats(ulp::formats::fp32, DataClass::subnormal, 50 * 70, 2);
        std::vector<float> plain(40 * 70), fast(40 * 70);
        GemmProblem p{.a = {a.data(), 40, 50}, .b = {b.data(), 50, 70}, .d = {plain.data(), 40, 70}};
        ulp::gemm_plain(model, p);
        p.d.data = fast.data();
        ulp::gemm(model, p);
        std::int64_t different = 0;
        for (std::size_t i = 0; i < fast.size(); ++i) {
            different += std::bit_cast<std::uint32_t>(fast[i]) != std::bit_cast<std::uint32_t>(plain[i]) ? 1 : 0;
        }
        CHECK(different == 0);
    }
}

TEST_CASE("a kernel of another arithmetic than the model's is caught, one of each family") {
    const auto caught = [](const char* key, DataClass data, const auto& change) {
        TensorCoreModel model = ulp::unit_model<ulp::TensorCoreModel>(key);
        const auto a = random_floats(model.a_format, data, 40 * 64, 1);
        const auto b = random_floats(model.b_format, data, 64 * 40, 2);
        std::vector<float> plain(40 * 40), fast(40 * 40);
        GemmProblem p{{a.data(), 40, 64}, {b.data(), 64, 40}, {}, {plain.data(), 40, 40}};
        ulp::gemm_plain(model, p);
        change(model);
        p.d.data = fast.data();
        if (kernels_for(model).empty()) return;
        REQUIRE(has_fast_path(model));
        ulp::gemm_kernels::fast_gemm(*all_kernels().back(), model, p);
        CAPTURE(std::string(key));
        CHECK(differences(plain, fast) != 0);
    };
    using enum ulp::Summation;
    using Model = TensorCoreModel;
    caught("sm_90:mma.fp16.fp32", DataClass::wide, [](Model& model) { model.fraction_bits -= 1; });
    caught("gfx942:mfma.fp16.fp32", DataClass::wide, [](Model& model) { model.fraction_bits -= 1; });
    caught("gfx942:mfma.e4m3fnuz.fp32", DataClass::wide, [](Model& model) { model.fraction_bits = 10; });
    caught("gfx908:mfma_pairwise.fp16.fp32", DataClass::ordinary, [](Model& model) { model.group_size = 2; });
    caught("gfx908:mfma.fp16.fp32", DataClass::ordinary, [](Model& model) { model.summation = pairwise; });
    caught("gfx908:mfma.fp32.fp32", DataClass::ordinary, [](Model& model) { model.summation = fma_pairs; });
    caught("gfx90a:mfma.fp16.fp32", DataClass::subnormal,
           [](Model& model) { model.flush_subnormals = model.positive_input_zeros = false; });
    caught("x86:vdpbf16ps.bf16.fp32", DataClass::ordinary, [](Model& model) { model.summation = fma_chain; });
    caught("x86:tdpbf16ps.bf16.fp32", DataClass::ordinary, [](Model& model) { model.summation = fma_chain; });
}

TEST_CASE("a zero c is positive in kernels, too, where the model says so") {
    // Every product is -2^-127, flushed to -0; c is -0. MMA-Sim gives +0.
    const std::vector<float> a(40 * 6, 0x1p-126F), b(6 * 40, -0.5F), c(40 * 40, -0.0F);
    for (const bool positive : {true, false}) {
        TensorCoreModel model = ulp::unit_model<ulp::TensorCoreModel>("gfx90a:mfma_x2.bf16.fp32");
        model.positive_input_zeros = positive;
        for (const ulp::gemm_kernels::Kernels* kernels : kernels_for(model)) {
            std::vector<float> d(40 * 40, 1);
            ulp::gemm_kernels::fast_gemm(
                *kernels, model, {{a.data(), 40, 6}, {b.data(), 6, 40}, {c.data(), 40, 40}, {d.data(), 40, 40}});
            CAPTURE(kernels->name);
            CHECK(std::bit_cast<std::uint32_t>(d[1599]) == (positive ? 0 : 0x80000000));
        }
    }
}

TEST_CASE("every integer row's fast product equals the plain one") {
    std::uint64_t seed = 1;
    for (const auto& unit : ulp::rows_of<ulp::IntegerModel>()) {
        const ulp::IntegerModel& model = unit.model;
        REQUIRE(ulp::gemm_kernels::has_integer_kernel(model));
        for (const auto& [m, n, k] : {std::array{3, 70, 300}, {34, 5, 33}, {1, 65, 1}, {2, 3, 0}}) {
            const auto integers = [&](bool is_signed, std::int64_t count) {
                const auto [least, greatest] = operand_range(model, is_signed);
                std::vector<std::int32_t> values(static_cast<std::size_t>(count));
                for (std::size_t i = 0; i < values.size(); ++i) {
                    const std::uint64_t word = ulp::random_word(seed, i);
                    const int place = static_cast<int>(word >> 40) % (greatest - least + 1);
                    values[i] =
                        (word & 3) == 0 ? greatest : least + place;  // often the greatest, so that sums saturate
                }
                ++seed;
                return values;
            };
            const auto a = integers(model.a_signed, m * k);
            const auto b = integers(model.b_signed, k * n);
            std::vector<std::int32_t> c(static_cast<std::size_t>(m * n)), plain(c.size()), fast(c.size());
            for (std::size_t i = 0; i < c.size(); ++i) {
                const auto word = ulp::random_word(99, i);
                c[i] = (word & 1) != 0 ? 0x7FFFFFFF - static_cast<int>(word >> 50) : static_cast<int>(word >> 32);
            }
            ulp::IntegerProblem p{{a.data(), m, k}, {b.data(), k, n, 1, k}, {c.data(), m, n}, {plain.data(), m, n}};
            ulp::gemm_plain(model, p);
            p.d.data = fast.data();
            for (const ulp::gemm_kernels::Kernels* kernels : all_kernels()) {
                std::fill(fast.begin(), fast.end(), 0);
                ulp::gemm_kernels::fast_integer_gemm(*kernels, model, p);
                CAPTURE(unit.row.key() + ", " + kernels->name);
                CHECK(plain == fast);
            }
        }
    }
}

TEST_CASE("an integer product whose saturation is forgotten differs from the plain one") {
    ulp::IntegerModel model = ulp::unit_model<ulp::IntegerModel>("sm_80:mma.s8.s32.satfinite");
    const std::vector<std::int32_t> ones(64, 100), c{0x7FFFFFFF};
    std::vector<std::int32_t> plain(1), fast(1);
    ulp::IntegerProblem p{{ones.data(), 1, 64}, {ones.data(), 64, 1}, {c.data(), 1, 1}, {plain.data(), 1, 1}};
    ulp::gemm_plain(model, p);
    CHECK(plain[0] == 0x7FFFFFFF);
    p.d.data = fast.data();
    model.saturates = false;
    ulp::gemm_kernels::fast_integer_gemm(*all_kernels().back(), model, p);
    CHECK(plain != fast);
}

namespace {

/// Scales have no sign.
std::vector<float> random_scales(const ulp::FloatFormat& format, DataClass data, std::int64_t count,
                                 std::uint64_t seed) {
    std::vector<float> scales = random_floats(format, data, count, seed);
    for (float& scale : scales) scale = std::fabs(scale);
    return scales;
}

/// Compares the fast block-scaled products of random operands with the plain one: with scales and C by every kernel,
/// and with scales of one and no C by the kernel that gemm chooses.
void compare_scaled(const ulp::BlockScaledModel& model, DataClass data, const std::array<int, 3>& extents,
                    std::uint64_t seed) {
    const auto [m, n, k] = extents;
    const std::int64_t blocks = (k + model.scale_block - 1) / model.scale_block;
    const auto a = random_floats(model.unscaled.a_format, data, m * k, seed);
    const auto b = random_floats(model.unscaled.b_format, data, k * n, seed + 1);
    const auto c = random_floats(model.unscaled.accumulator, data, m * n, seed + 2);
    const auto x = random_scales(model.scale_format, data, m * blocks, seed + 3);
    const auto y = random_scales(model.scale_format, data, blocks * n, seed + 4);
    std::vector<float> plain(c.size()), fast(c.size());
    ulp::BlockScaledProblem p{{{a.data(), m, k}, {b.data(), k, n, 1, k}, {c.data(), m, n}, {plain.data(), m, n}},
                              {x.data(), m, blocks},
                              {y.data(), blocks, n}};
    ulp::gemm_plain(model, p);
    p.product.d.data = fast.data();
    for (const ulp::gemm_kernels::Kernels* kernels : all_kernels()) {
        ulp::gemm_kernels::fast_scaled_gemm(*kernels, model, p);
        CAPTURE(std::string(kernels->name));
        CHECK(differences(plain, fast) == 0);
    }
    p.a_scales = {};
    p.product.c = {};
    p.product.d.data = plain.data();
    ulp::gemm_plain(model, p);
    p.product.d.data = fast.data();
    ulp::gemm(model, p);
    CHECK(differences(plain, fast) == 0);
}

}  // namespace

TEST_CASE("every block-scaled row's fast product equals the plain one on every class of data") {
    std::uint64_t seed = 1;
    for (const auto& [row, model] : ulp::rows_of<ulp::BlockScaledModel>()) {
        const std::string key = row.key();
        REQUIRE(ulp::gemm_kernels::choose_scaled_kernel(model) != ulp::gemm_kernels::ScaledKernel::none);
        for (const DataClass data : ulp::all_classes) {
            CAPTURE(key + ", " + ulp::name_of(data) + " data");
            for (const auto& extents : {std::array{5, 70, 200}, {35, 9, 64}, {1, 1, 3}}) {
                compare_scaled(model, data, extents, seed += 10);
            }
        }
        CAPTURE(key + ", many rows, or a long k");
        for (const auto& extents : {std::array{300, 3, 40}, {2, 3, 2100}}) {
            compare_scaled(model, DataClass::ordinary, extents, seed += 10);
        }
    }
}

TEST_CASE("what is NaN or infinite decides a block-scaled element as the definition says") {
    const std::int64_t m = 5, n = 6, k = 130;
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    for (const auto& [row, model] : ulp::rows_of<ulp::BlockScaledModel>()) {
        const ulp::FloatFormat& format = model.unscaled.a_format;
        const std::string key = row.key();
        CAPTURE(key);
        const std::int64_t blocks = (k + model.scale_block - 1) / model.scale_block;
        const auto b = random_floats(model.unscaled.b_format, DataClass::ordinary, k * n, 2);
        std::vector<float> c(m * n);
        for (std::size_t i = 0; i < c.size(); ++i) {
            c[i] = std::array{infinity, -infinity, nan, 1.0F, -nan}.at(i * 3 / 4 % 5);
        }
        for (const float element : {1.0F, nan, infinity}) {
            if ((std::isnan(element) && !format.has_nan()) || (std::isinf(element) && !format.has_infinity())) continue;
            auto a = random_floats(format, DataClass::ordinary, m * k, 1);
            std::fill(a.begin() + 3 * k, a.begin() + 4 * k, 0.0F);  // row 3: zeros
            a[2 * k + 41] = element;
            for (const float scale : {1.0F, nan}) {
                std::vector<float> x(static_cast<std::size_t>(m * blocks), 1.0F), plain(m * n), fast(m * n);
                if (!std::isnan(scale) || model.scale_format.has_nan()) {
                    x[1] = x[static_cast<std::size_t>(3 * blocks)] = scale;
                }
                ulp::BlockScaledProblem p{{{a.data(), m, k}, {b.data(), k, n}, {c.data(), m, n}, {plain.data(), m, n}},
                                          {x.data(), m, blocks},
                                          {}};
                ulp::gemm_plain(model, p);
                p.product.d.data = fast.data();
                ulp::gemm_kernels::fast_scaled_gemm(*all_kernels().back(), model, p);
                CHECK(differences(plain, fast) == 0);
            }
        }
    }
}

TEST_CASE("a block-scaled product whose k is packed in several turns equals the plain one") {
    for (const char* key : {"sm_100:tcgen05.mxf8f6f4.e4m3.fp32", "sm_100:tcgen05.nvf4.e2m1.fp32"}) {
        const auto model = ulp::unit_model<ulp::BlockScaledModel>(key);
        CAPTURE(key);
        for (const auto& extents : {std::array{70, 70, 1100}, {140, 70, 700}, {600, 70, 260}}) {
            compare_scaled(model, DataClass::ordinary, extents, 1);
        }
    }
}

TEST_CASE("a block-scaled product with few fraction bits differs from the plain one") {
    for (const auto& [key, fraction_bits] :
         {std::pair{"sm_100:tcgen05.mxf8f6f4.e4m3.fp32", 23}, {"sm_100:tcgen05.nvf4.e2m1.fp32", 6}}) {
        ulp::BlockScaledModel model = ulp::unit_model<ulp::BlockScaledModel>(key);
        const auto a = random_floats(model.unscaled.a_format, DataClass::wide, 40 * 64, 1);
        const std::int64_t count = 64 / model.scale_block;
        const auto x = random_scales(model.scale_format, DataClass::wide, 40 * count, 2);
        std::vector<float> plain(40 * 40), fast(40 * 40);
        ulp::BlockScaledProblem p{{{a.data(), 40, 64}, {a.data(), 64, 40, 1, 64}, {}, {plain.data(), 40, 40}},
                                  {x.data(), 40, count},
                                  {x.data(), count, 40, 1, count}};
        ulp::gemm_plain(model, p);
        p.product.d.data = fast.data();
        model.unscaled.fraction_bits = fraction_bits;
        ulp::gemm_kernels::fast_scaled_gemm(*all_kernels().back(), model, p);
        CHECK(differences(plain, fast) != 0);
    }
}

namespace {

std::vector<double> random_doubles(DataClass data, std::int64_t count, std::uint64_t seed) {
    std::vector<double> values;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
        values.push_back(std::bit_cast<double>(random_code(ulp::formats::fp64, data, ulp::random_word(seed, i))));
    }
    return values;
}

}  // namespace

TEST_CASE(
    "every fp64 row's fast product equals the plain one on every class of data and with every NaN, and a shorter k "
    "differs") {
    const double infinity = std::numeric_limits<double>::infinity();
    std::uint64_t seed = 1;
    int caught = 0;
    for (const auto& [row, of_row] : ulp::rows_of<TensorCoreModel>()) {
        TensorCoreModel model = of_row;
        if (model.accumulator != ulp::formats::fp64) continue;
        REQUIRE(ulp::gemm_kernels::has_fp64_kernel(model));
        const std::string key = row.key();
        CAPTURE(key);
        for (const DataClass data : ulp::all_classes) {
            for (const auto& [m, n, k] : {std::array{7, 30, 66}, {19, 1, 8}, {1, 26, 259}, {258, 3, 1}}) {
                model.nan = std::array{model.nan, ulp::NanStyle::x86, ulp::NanStyle::dmma}.at(++seed % 3);
                const std::uint64_t rare = std::array{100000U, 300U, 20U, 2U}.at(seed % 4);
                const auto numbers = [&](std::int64_t count) {
                    ++seed;
                    const auto nan = std::bit_cast<double>(0x7FF0000000000000 + (seed << (seed % 2 * 44)));
                    const auto plain_numbers = random_doubles(data, count, seed);
                    return with_specials(plain_numbers, {nan, infinity, infinity, 0x1p1023}, rare, seed);
                };
                const auto a = numbers(m * k), b = numbers(k * n), c = numbers(m * n);
                std::vector<double> plain(c.size()), fast(c.size());
                const auto differ = [&] {
                    return std::memcmp(plain.data(), fast.data(), plain.size() * sizeof(double)) != 0;
                };
                ulp::Fp64Problem p{{a.data(), m, k}, {b.data(), k, n, 1, k}, {c.data(), m, n}, {plain.data(), m, n}};
                ulp::gemm_plain(model, p);
                p.d.data = fast.data();
                for (const ulp::gemm_kernels::Kernels* kernels : all_kernels()) {
                    CAPTURE(kernels->name);
                    ulp::gemm_kernels::fast_fp64_gemm(*kernels, model, p);
                    CHECK_FALSE(differ());
                }
                p.a.cols = p.b.rows = k - 1;
                ulp::gemm_kernels::fast_fp64_gemm(*all_kernels().back(), model, p);
                caught += differ() ? 1 : 0;
                p = {{b.data(), n, k}, {a.data(), k, m, 1, k}, {}, {plain.data(), n, m}};  // wide and tall change sides
                ulp::gemm_plain(model, p);
                p.d.data = fast.data();
                ulp::gemm(model, p);
                CHECK_FALSE(differ());
            }
        }
    }
    CHECK(caught > 0);
    TensorCoreModel descending = ulp::unit_model<TensorCoreModel>("sm_90:mma.fp64.fp64");
    descending.variation.order = ulp::LaneOrder::descending;
    CHECK_FALSE(ulp::gemm_kernels::has_fp64_kernel(descending));
}

TEST_CASE("choose_path says which kernel runs and why") {
    using enum ulp::GemmKernel;
    const auto path = [](const char* key) {
        return choose_path(ulp::unit_model<ulp::TensorCoreModel>(key), 64, 64, 64);
    };
    CHECK(path("sm_90:mma.fp16.fp32").kernel == fused_groups);
    const ulp::Simd simd = ulp::simd_choice();
    const bool has_more = simd == ulp::Simd::avx512_vnni || simd == ulp::Simd::avx512_fp16;  // without use for fp16
    CHECK(path("sm_90:mma.fp16.fp32").simd == (has_more ? ulp::Simd::avx512 : simd));
    const ulp::Simd of_integers = simd == ulp::Simd::avx512_fp16 ? ulp::Simd::avx512_vnni : simd;
    CHECK(choose_path(ulp::unit_model<ulp::IntegerModel>("sm_80:mma.s8.s32"), 8, 8, 8).simd == of_integers);
    CHECK(path("gfx942:mfma.fp16.fp32").kernel == late_addend);
    CHECK(path("gfx908:mfma.fp32.fp32").kernel == ieee_chain);
    const bool can_flush = ulp::kernels_of<ulp::gemm_kernels::Kernels>(ulp::simd_choice()).has_flush;
#if defined(__x86_64__)
    CHECK(can_flush);
#endif
    CHECK(path("gfx90a:mfma.fp16.fp32").kernel == (can_flush ? ieee_chain : definition));
    CHECK(path("sm_90:mma.fp64.fp64").reason == "The unit's operation is IEEE's fused multiply-add of fp64.");
    CHECK(name_of(path("sm_90:mma.fp64.fp64").kernel) == "ieee_chain");
    CHECK(choose_path(ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32"), 64, 64, 0).kernel == definition);
    TensorCoreModel mutant = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32");
    mutant.variation.addend = ulp::AddendEntry::after_products;
    CHECK(choose_path(mutant, 64, 64, 64).reason ==
          "A unit whose steps vary from its summation's is computed by the definition.");
    CHECK(choose_path(ulp::unit_model<ulp::IntegerModel>("sm_80:mma.s8.s32"), 8, 8, 8).kernel == integers);
    const auto scaled = [](const char* key) {
        return choose_path(ulp::unit_model<ulp::BlockScaledModel>(key), 8, 8, 8).kernel;
    };
    CHECK(scaled("sm_100:tcgen05.mxf8f6f4.e4m3.fp32") == scaled_groups);
    CHECK(scaled("sm_100:tcgen05.nvf4.e2m1.fp32") == fp4_sums);
}

TEST_CASE("every row of the table has a kernel") {
    const auto check_rows = []<class Model>(const Model*) {
        for (const auto& [row, model] : ulp::rows_of<Model>()) {
            const std::string key = row.key();
            CAPTURE(key);
            for (const ulp::Simd simd : ulp::supported_simd()) {
                if (simd == ulp::Simd::portable) continue;                               // whose kernels cannot flush
                if (row.architecture == "arm" || row.architecture == "gfx11") continue;  // nobody's kernels round so
                CHECK(choose_path(model, 64, 64, 64, simd).kernel != ulp::GemmKernel::definition);
            }
        }
    };
    check_rows(static_cast<const TensorCoreModel*>(nullptr));
    check_rows(static_cast<const ulp::IntegerModel*>(nullptr));
    check_rows(static_cast<const ulp::BlockScaledModel*>(nullptr));
}

TEST_CASE("products in place and bad problems") {
    const TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32");
    std::vector<float> c{1.0F, 2.0F};
    const std::vector<float> a{3.0F};
    const std::vector<float> b{4.0F, 5.0F};
    GemmProblem p{.a = {a.data(), 1, 1}, .b = {b.data(), 1, 2}, .c = {c.data(), 1, 2}, .d = {c.data(), 1, 2}};
    ulp::gemm(model, p);
    CHECK(c == std::vector<float>{13.0F, 17.0F});
    p.b.data = nullptr;
    CHECK_THROWS_WITH_AS(ulp::gemm(model, p), doctest::Contains("both operands"), std::invalid_argument);
    p.b = {b.data(), 2, 1};
    CHECK_THROWS_WITH_AS(ulp::gemm(model, p), "a product of 1 x 1 by 2 x 1 does not give 1 x 2", std::invalid_argument);
    p.b = {b.data(), 1, 2};
    p.c = {c.data(), 2, 1};
    CHECK_THROWS_WITH_AS(ulp::gemm(model, p), "C is 2 x 1 where the product is 1 x 2", std::invalid_argument);
    p.d.rows = -1;
    CHECK_THROWS_AS(ulp::gemm(model, p), std::invalid_argument);
}

TEST_CASE("copies of matrices keep every word, in all orders and sizes") {
    const auto view = [](float* data, std::int64_t rows, std::int64_t cols, int order) {
        if (order == 0) return ulp::MutableMatrixView(data, rows, cols, cols + 3, 1);
        if (order == 1) return ulp::MutableMatrixView(data, rows, cols, 1, rows + 2);
        return ulp::MutableMatrixView(data, rows, cols, 2 * cols + 1, 2);
    };
    std::vector<float> words(8192), copied(8192);
    for (std::size_t i = 0; i < words.size(); ++i) {  // NaNs with payloads among them
        words[i] = std::bit_cast<float>(static_cast<std::uint32_t>(ulp::random_word(7, i) >> 32));
    }
    for (const std::int64_t rows : {0, 1, 3, 4, 7, 16, 21, 33}) {
        for (const std::int64_t cols : {0, 1, 2, 4, 5, 8, 31, 37, 64}) {
            for (int orders = 0; orders < 9; ++orders) {
                std::ranges::fill(copied, -1.0F);
                const auto from = view(words.data(), rows, cols, orders / 3);
                const auto to = view(copied.data(), rows, cols, orders % 3);
                ulp::support::copy_matrix(ulp::MatrixView(from), to);
                std::int64_t different = 0;
                for (std::int64_t i = 0; i < rows; ++i) {
                    for (std::int64_t j = 0; j < cols; ++j) {
                        different += std::memcmp(&from(i, j), &to(i, j), sizeof(float)) != 0 ? 1 : 0;
                        to(i, j) = -1.0F;
                    }
                }
                CAPTURE(rows);
                CAPTURE(cols);
                CAPTURE(orders);
                CHECK(different == 0);
                CHECK(std::ranges::all_of(copied, [](float x) { return x == -1.0F; }));  // nothing beside it
            }
        }
    }
}
