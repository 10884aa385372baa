// The C++ calls that python_speed.py compares the Python package with: prints "name seconds" lines, the least processor
// time of some repetitions on one thread.
#include <omp.h>

#include <cstdio>
#include <ctime>
#include <limits>
#include <memory>
#include <vector>

#include "softfloat/array/array.hpp"
#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/product.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace {

template <class Call>
double least_seconds(int repetitions, const Call& call) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < repetitions; ++i) {
        const std::clock_t begin = std::clock();
        call();
        least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    return least;
}

std::vector<float> numbers(std::int64_t count, std::uint64_t seed) {
    std::vector<float> values;
    for (const std::uint32_t code : ulp::random_codes(ulp::formats::fp16, ulp::DataClass::ordinary, count, seed)) {
        values.push_back(ulp::in_fp32_container(ulp::formats::fp16, code));
    }
    return values;
}

void product(std::int64_t n, int repetitions, int calls, const char* name) {
    const auto& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:wgmma.fp16.fp32");
    const auto a = numbers(n * n, 1), b = numbers(n * n, 2);
    std::vector<float> d(a.size());
    const double seconds = least_seconds(repetitions, [&] {
        for (int i = 0; i < calls; ++i) {
            ulp::soft_product(model, {}, {{a.data(), n, n}, {b.data(), n, n}, {}, {d.data(), n, n}});
        }
    });
    std::printf("%s %.9f\n", name, seconds / calls);
}

}  // namespace

int main() {
    omp_set_num_threads(1);
    product(1024, 3, 1, "product_1024");
    product(16, 20, 2000, "product_16");
    const auto from = numbers(std::int64_t{1} << 24, 3);
    std::printf("round_16m %.9f\n", least_seconds(5, [&] {
                    const std::unique_ptr<float[]> to(new float[from.size()]);
                    ulp::round_array(ulp::formats::bf16, std::span<const float>(from), {to.get(), from.size()});
                }));
}
