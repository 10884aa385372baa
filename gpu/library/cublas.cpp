// The libraries' side of gpu/library/cublas.hpp.
//
// They think in columns. A by rows and B by columns are, to them, k x m and k x n; D by rows is n x m. So D' = B' * A
// with the first operand transposed: the form that every type has, FP8 too.
#include "gpu/library/cublas.hpp"

#include <cublas_v2.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "gpu/devices/cuda_check.hpp"
#include "gpu/instructions/input_classes.hpp"
#include "gpu/library/cublas_lt.hpp"

namespace ulp::gpu {
namespace {

/// cublasGemmEx; the header overloads it, so its type must be said.
using GemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                              const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                              cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);

/// cublasLt's functions and those of cuBLAS.
struct Functions : LtFunctions {
    SharedLibrary blas{fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR), ULPLAB_CUDA_LIBRARIES};
    decltype(::cublasCreate_v2)* create = blas.find<decltype(::cublasCreate_v2)>("cublasCreate_v2");
    decltype(::cublasDestroy_v2)* destroy = blas.find<decltype(::cublasDestroy_v2)>("cublasDestroy_v2");
    decltype(::cublasSetWorkspace_v2)* set_workspace =
        blas.find<decltype(::cublasSetWorkspace_v2)>("cublasSetWorkspace_v2");
    GemmEx* gemm = blas.find<GemmEx>("cublasGemmEx");
};

/// alpha = 1 in the type that the product scales by. beta = 0 is 0 in each.
std::uint32_t one_of(const LibraryProduct& p) {
    return p.accumulator == Element::s32 ? 1 : p.accumulator == Element::fp16 ? 0x3C00 : 0x3F800000;
}
constexpr std::uint32_t zero = 0;

struct Size {
    std::uint64_t m, n, k;
    auto operator<=>(const Size&) const = default;
};

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

}  // namespace

class Cublas::Implementation {
  public:
    Implementation() {
        check(cudaFree(nullptr), "cudaFree (which starts CUDA)");
        workspace_ = DeviceArray<std::uint8_t>(workspace_bytes);
        f_.check(f_.create(&blas_), "cublasCreate");
        f_.check(f_.set_workspace(blas_, workspace_.data(), workspace_.bytes()), "cublasSetWorkspace");
        f_.check(f_.cublasLtCreate(&lt_), "cublasLtCreate");
    }
    ~Implementation() {
        static_cast<void>(f_.destroy(blas_));
        static_cast<void>(f_.cublasLtDestroy(lt_));
    }
    Implementation(const Implementation&) = delete;
    Implementation& operator=(const Implementation&) = delete;

    /// Enqueues the product on the default stream.
    void enqueue(const LibraryProduct& p, const Size& size, const void* a, const void* b, void* d) {
        if (p.fixed_algorithm) {
            enqueue_lt(p, size, a, b, d);
        } else {
            enqueue_gemm(p, size, a, b, d);
        }
    }
    [[nodiscard]] std::string version() const { return f_.version(); }

  private:
    void enqueue_gemm(const LibraryProduct& p, const Size& s, const void* a, const void* b, void* d) {
        const std::uint32_t one = one_of(p);
        const auto n = static_cast<int>(s.n);
        const auto m = static_cast<int>(s.m);
        const auto k = static_cast<int>(s.k);
        f_.check(f_.gemm(blas_, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, b, cuda_type(p.b), k, a, cuda_type(p.a), k,
                         &zero, d, cuda_type(p.accumulator), n, compute_type(p.a, p.accumulator), CUBLAS_GEMM_DEFAULT),
                 "cublasGemmEx");
    }

    void enqueue_lt(const LibraryProduct& p, const Size& s, const void* a, const void* b, void* d) {
        const LtProblem problem{describe(f_, LtOperation{p.a, p.accumulator, true, false, p.fast_accumulation}),
                                describe(f_, p.b, s.k, s.n), describe(f_, p.a, s.k, s.m),
                                describe(f_, p.accumulator, s.n, s.m)};
        const auto key = std::tuple(p.a, p.b, p.accumulator, p.fast_accumulation, s);
        auto found = algorithms_.find(key);
        if (found == algorithms_.end()) {
            const auto algorithm = first_algorithm(f_, lt_, problem, workspace_bytes, false);
            if (!algorithm) {
                throw UsageError(fmt::format(
                    "cublasLt has no {} x {} -> {} product of {} x {} x {}; FP8 and int8 want multiples of 16",
                    name_of(p.a), name_of(p.b), name_of(p.accumulator), s.m, s.n, s.k));
            }
            found = algorithms_.emplace(key, *algorithm).first;
        }
        const std::uint32_t one = one_of(p);
        f_.check(f_.cublasLtMatmul(lt_, problem.operation.get(), &one, b, problem.a.get(), a, problem.b.get(), &zero, d,
                                   problem.d.get(), d, problem.d.get(), &found->second, workspace_.data(),
                                   workspace_.bytes(), nullptr),
                 "cublasLtMatmul");
    }

    Functions f_;
    DeviceArray<std::uint8_t> workspace_;
    cublasHandle_t blas_ = nullptr;
    cublasLtHandle_t lt_ = nullptr;
    std::map<std::tuple<Element, Element, Element, bool, Size>, cublasLtMatmulAlgo_t> algorithms_;
};

Cublas::Cublas() : implementation_(std::make_unique<Implementation>()) {}
Cublas::~Cublas() = default;

std::string Cublas::version() const { return implementation_->version(); }

void Cublas::matmul(const LibraryProduct& product, const PackedMatrix& a, const PackedMatrix& b, PackedMatrix& d) {
    const DeviceArray<std::uint32_t> device_a(a.words());
    const DeviceArray<std::uint32_t> device_b(b.words());
    const DeviceArray<std::uint32_t> device_d(d.words().size());
    device_d.fill_bytes(0xA5);
    implementation_->enqueue(product, {a.rows(), b.rows(), a.columns()}, device_a.data(), device_b.data(),
                             device_d.data());
    synchronise("the library's product");
    device_d.download(d.words());
}

namespace {

/// Random finite numbers of an element, as words: zeros would run faster than real data. From a million words on they
/// repeat themselves.
std::vector<std::uint32_t> random_words(Element element, std::uint64_t codes, std::uint64_t seed) {
    constexpr std::size_t period = 1000003;  // a prime: rows and columns begin elsewhere in it
    const auto bits = static_cast<std::uint64_t>(bits_of(element));
    std::vector<std::uint32_t> words(static_cast<std::size_t>((codes * bits + 31) / 32));
    const std::uint64_t per_word = 32 / bits;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i >= period) {
            words[i] = words[i - period];
            continue;
        }
        for (std::uint64_t e = 0; e < per_word; ++e) {
            const std::uint64_t random = mix(mix(seed ^ i) + e);
            const std::uint64_t code = is_float(element) ? ordinary_float(format_of(element), InputRandom(random))
                                                         : random & ((std::uint64_t{1} << bits) - 1);
            words[i] |= static_cast<std::uint32_t>(code << (e * bits));
        }
    }
    return words;
}

/// CUDA events around what is enqueued on the default stream.
class Stopwatch {
  public:
    Stopwatch() {
        check(cudaEventCreate(&start_), "cudaEventCreate");
        check(cudaEventCreate(&stop_), "cudaEventCreate");
    }
    ~Stopwatch() {
        static_cast<void>(cudaEventDestroy(start_));
        static_cast<void>(cudaEventDestroy(stop_));
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;
    template <class Work>
    double seconds(Work&& work) {
        check(cudaEventRecord(start_), "cudaEventRecord");
        work();
        check(cudaEventRecord(stop_), "cudaEventRecord");
        check(cudaEventSynchronize(stop_), "cudaEventSynchronize");
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime");
        return static_cast<double>(milliseconds) * 1e-3;
    }

  private:
    cudaEvent_t start_ = nullptr;
    cudaEvent_t stop_ = nullptr;
};

}  // namespace

LibraryTiming Cublas::time(const LibraryProduct& product, std::uint64_t m, std::uint64_t n, std::uint64_t k,
                           int repeats) {
    const DeviceArray<std::uint32_t> a(random_words(product.a, m * k, 1));
    const DeviceArray<std::uint32_t> b(random_words(product.b, n * k, 2));
    const DeviceArray<std::uint32_t> d(
        static_cast<std::size_t>((m * n * static_cast<std::uint64_t>(bits_of(product.accumulator)) + 31) / 32));
    const auto once = [&] { implementation_->enqueue(product, {m, n, k}, a.data(), b.data(), d.data()); };
    LibraryTiming timing;
    once();  // loads the kernel and chooses the algorithm
    synchronise("the library's product");
    timing.kernels = kernels_run_by([&] {
        once();
        synchronise("the library's product");
    });
    Stopwatch watch;
    std::vector<double> seconds;
    for (int i = 0; i < repeats; ++i) seconds.push_back(watch.seconds(once));
    std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
    timing.seconds = seconds[static_cast<std::size_t>(repeats / 2)];
    return timing;
}

}  // namespace ulp::gpu
