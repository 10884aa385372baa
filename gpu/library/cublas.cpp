// The libraries' side of gpu/library/cublas.hpp.
//
// They think in columns. A by rows and B by columns are, to them, k x m and k x n; D by rows is n x m. So D' = B' * A
// with the first operand transposed: the form that every type has, FP8 too.
#include "gpu/library/cublas.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <type_traits>

#include "gpu/devices/cuda_check.hpp"
#include "gpu/devices/device_memory.hpp"
#include "gpu/devices/shared_library.hpp"
#include "gpu/instructions/input_classes.hpp"
#include "gpu/library/kernel_names.hpp"

namespace ulp::gpu {
namespace {

/// cublasGemmEx; the header overloads it, so its type must be said.
using GemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                              const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                              cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);

/// The functions used, found at run time: their declarations come from the headers.
struct Functions {
    SharedLibrary lt{fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR), ULPLAB_CUDA_LIBRARIES};
    SharedLibrary blas{fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR), ULPLAB_CUDA_LIBRARIES};
#define ULPLAB_FIND(library, function) decltype(::function)* function = library.find<decltype(::function)>(#function)
    decltype(::cublasCreate_v2)* create = blas.find<decltype(::cublasCreate_v2)>("cublasCreate_v2");
    decltype(::cublasDestroy_v2)* destroy = blas.find<decltype(::cublasDestroy_v2)>("cublasDestroy_v2");
    decltype(::cublasSetWorkspace_v2)* set_workspace =
        blas.find<decltype(::cublasSetWorkspace_v2)>("cublasSetWorkspace_v2");
    GemmEx* gemm = blas.find<GemmEx>("cublasGemmEx");
    decltype(::cublasGetStatusString)* status_text =
        blas.find<decltype(::cublasGetStatusString)>("cublasGetStatusString");
    decltype(::cublasGetProperty)* property = blas.find<decltype(::cublasGetProperty)>("cublasGetProperty");
    ULPLAB_FIND(lt, cublasLtCreate);
    ULPLAB_FIND(lt, cublasLtDestroy);
    ULPLAB_FIND(lt, cublasLtMatmul);
    ULPLAB_FIND(lt, cublasLtMatmulDescCreate);
    ULPLAB_FIND(lt, cublasLtMatmulDescDestroy);
    ULPLAB_FIND(lt, cublasLtMatmulDescSetAttribute);
    ULPLAB_FIND(lt, cublasLtMatrixLayoutCreate);
    ULPLAB_FIND(lt, cublasLtMatrixLayoutDestroy);
    ULPLAB_FIND(lt, cublasLtMatmulPreferenceCreate);
    ULPLAB_FIND(lt, cublasLtMatmulPreferenceDestroy);
    ULPLAB_FIND(lt, cublasLtMatmulPreferenceSetAttribute);
    ULPLAB_FIND(lt, cublasLtMatmulAlgoGetHeuristic);
#undef ULPLAB_FIND
};

void check_library(const Functions& f, cublasStatus_t status, std::string_view call) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw DataError(
        fmt::format("{} failed: {}; see the cuBLAS documentation of that status, or use another size or type", call,
                    f.status_text(status)));
}

cudaDataType_t data_type(Element element) {
    switch (element) {
        case Element::fp16: return CUDA_R_16F;
        case Element::bf16: return CUDA_R_16BF;
        case Element::e4m3: return CUDA_R_8F_E4M3;
        case Element::e5m2: return CUDA_R_8F_E5M2;
        case Element::s8: return CUDA_R_8I;
        case Element::s32: return CUDA_R_32I;
        default: return CUDA_R_32F;
    }
}

cublasComputeType_t compute_type(const LibraryProduct& p) {
    if (p.accumulator == Element::s32) return CUBLAS_COMPUTE_32I;
    if (p.accumulator == Element::fp16) return CUBLAS_COMPUTE_16F;
    if (p.a == Element::tf32) return CUBLAS_COMPUTE_32F_FAST_TF32;
    return p.a == Element::fp32 ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;
}

/// alpha = 1 and beta = 0 in the type that the product scales by.
struct Scale {
    explicit Scale(const LibraryProduct& p) {
        if (p.accumulator == Element::s32) {
            type = CUDA_R_32I;
            one = 1;
        } else if (p.accumulator == Element::fp16) {
            type = CUDA_R_16F;
            one = 0x3C00;
        }
    }
    cudaDataType_t type = CUDA_R_32F;
    std::uint32_t one = 0x3F800000;
    std::uint32_t zero = 0;
};

struct Size {
    std::uint64_t m, n, k;
    auto operator<=>(const Size&) const = default;
};

/// A descriptor of cublasLt, destroyed with its own function.
template <class Handle>
using Descriptor = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

}  // namespace

class Cublas::Implementation {
  public:
    Implementation() {
        check(cudaFree(nullptr), "cudaFree (which starts CUDA)");
        workspace_ = DeviceArray<std::uint8_t>(workspace_bytes);
        check_library(f_, f_.create(&blas_), "cublasCreate");
        check_library(f_, f_.set_workspace(blas_, workspace_.data(), workspace_.bytes()), "cublasSetWorkspace");
        check_library(f_, f_.cublasLtCreate(&lt_), "cublasLtCreate");
    }
    ~Implementation() {
        static_cast<void>(f_.destroy(blas_));
        static_cast<void>(f_.cublasLtDestroy(lt_));
    }
    Implementation(const Implementation&) = delete;
    Implementation& operator=(const Implementation&) = delete;

    /// Enqueues the product on the default stream.
    void enqueue(const LibraryProduct& p, const Size& size, const void* a, const void* b, void* d) {
        if (p.pinned) {
            enqueue_lt(p, size, a, b, d);
        } else {
            enqueue_gemm(p, size, a, b, d);
        }
    }
    [[nodiscard]] std::string version() const {
        std::array<int, 3> numbers{};
        check_library(f_, f_.property(MAJOR_VERSION, numbers.data()), "cublasGetProperty");
        check_library(f_, f_.property(MINOR_VERSION, &numbers[1]), "cublasGetProperty");
        check_library(f_, f_.property(PATCH_LEVEL, &numbers[2]), "cublasGetProperty");
        return fmt::format("{}.{}.{}", numbers[0], numbers[1], numbers[2]);
    }

  private:
    void enqueue_gemm(const LibraryProduct& p, const Size& s, const void* a, const void* b, void* d) {
        const Scale scale(p);
        const auto n = static_cast<int>(s.n);
        const auto m = static_cast<int>(s.m);
        const auto k = static_cast<int>(s.k);
        check_library(
            f_,
            f_.gemm(blas_, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &scale.one, b, data_type(p.b), k, a, data_type(p.a), k,
                    &scale.zero, d, data_type(p.accumulator), n, compute_type(p), CUBLAS_GEMM_DEFAULT),
            "cublasGemmEx");
    }

    Descriptor<cublasLtMatmulDesc_t> describe(const LibraryProduct& p) const {
        cublasLtMatmulDesc_t raw = nullptr;
        check_library(f_, f_.cublasLtMatmulDescCreate(&raw, compute_type(p), Scale(p).type),
                      "cublasLtMatmulDescCreate");
        Descriptor<cublasLtMatmulDesc_t> operation(raw, f_.cublasLtMatmulDescDestroy);
        const cublasOperation_t transposed = CUBLAS_OP_T;
        check_library(
            f_, f_.cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
            "cublasLtMatmulDescSetAttribute");
        const std::int8_t fast = p.fast_accumulation ? 1 : 0;
        if (bits_of(p.a) == 8 && is_float(p.a)) {
            check_library(f_,
                          f_.cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast),
                          "cublasLtMatmulDescSetAttribute");
        }
        return operation;
    }
    Descriptor<cublasLtMatrixLayout_t> layout(Element element, std::uint64_t rows, std::uint64_t columns) const {
        cublasLtMatrixLayout_t raw = nullptr;
        check_library(
            f_, f_.cublasLtMatrixLayoutCreate(&raw, data_type(element), rows, columns, static_cast<std::int64_t>(rows)),
            "cublasLtMatrixLayoutCreate");
        return {raw, f_.cublasLtMatrixLayoutDestroy};
    }
    Descriptor<cublasLtMatmulPreference_t> preference() const {
        cublasLtMatmulPreference_t raw = nullptr;
        check_library(f_, f_.cublasLtMatmulPreferenceCreate(&raw), "cublasLtMatmulPreferenceCreate");
        Descriptor<cublasLtMatmulPreference_t> wish(raw, f_.cublasLtMatmulPreferenceDestroy);
        const std::size_t bytes = workspace_bytes;
        // No reduction, so no split-k either.
        const std::uint32_t no_reduction = CUBLASLT_REDUCTION_SCHEME_NONE;
        check_library(f_,
                      f_.cublasLtMatmulPreferenceSetAttribute(raw, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                                              sizeof bytes),
                      "cublasLtMatmulPreferenceSetAttribute");
        check_library(f_,
                      f_.cublasLtMatmulPreferenceSetAttribute(raw, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                              &no_reduction, sizeof no_reduction),
                      "cublasLtMatmulPreferenceSetAttribute");
        return wish;
    }

    void enqueue_lt(const LibraryProduct& p, const Size& s, const void* a, const void* b, void* d) {
        const auto operation = describe(p);
        const auto first = layout(p.b, s.k, s.n);
        const auto second = layout(p.a, s.k, s.m);
        const auto result = layout(p.accumulator, s.n, s.m);
        const auto key = std::tuple(p.a, p.b, p.accumulator, p.fast_accumulation, s);
        auto found = algorithms_.find(key);
        if (found == algorithms_.end()) {
            const auto wish = preference();
            cublasLtMatmulHeuristicResult_t choice{};
            int count = 0;
            const cublasStatus_t status =
                f_.cublasLtMatmulAlgoGetHeuristic(lt_, operation.get(), first.get(), second.get(), result.get(),
                                                  result.get(), wish.get(), 1, &choice, &count);
            if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && count == 0)) {
                throw UsageError(
                    fmt::format("cublasLt has no {} x {} -> {} product of {} x {} x {}; FP8 and int8 want "
                                "multiples of 16",
                                name_of(p.a), name_of(p.b), name_of(p.accumulator), s.m, s.n, s.k));
            }
            check_library(f_, status, "cublasLtMatmulAlgoGetHeuristic");
            found = algorithms_.emplace(key, choice.algo).first;
        }
        const Scale scale(p);
        check_library(f_,
                      f_.cublasLtMatmul(lt_, operation.get(), &scale.one, b, first.get(), a, second.get(), &scale.zero,
                                        d, result.get(), d, result.get(), &found->second, workspace_.data(),
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
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize after the library's product");
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
            const std::uint64_t code = is_float(element) ? ordinary_float(format_of(element), random)
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
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize after the library's product");
    timing.kernels = kernels_run_by([&] {
        once();
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize after the library's product");
    });
    Stopwatch watch;
    std::vector<double> seconds;
    for (int i = 0; i < repeats; ++i) seconds.push_back(watch.seconds(once));
    std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
    timing.seconds = seconds[static_cast<std::size_t>(repeats / 2)];
    return timing;
}

}  // namespace ulp::gpu
