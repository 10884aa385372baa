// cublasLt as predictions see it: the heuristic's answer, and the product by that very algorithm.
#include <memory>
#include <optional>

#include "gpu/devices/cuda_check.hpp"
#include "gpu/devices/executor.hpp"
#include "gpu/library/cublas_lt.hpp"
#include "gpu/untried/library.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/product.hpp"

namespace ulp::gpu {
namespace {

class CudaLibrary final : public Library {
  public:
    CudaLibrary() : workspace_(library_workspace) {
        const auto device = open_cuda_device();
        f_.check(f_.cublasLtCreate(&lt_), "cublasLtCreate");
        info_ = {true, device->info().name, device->info().architecture, f_.version()};
    }
    ~CudaLibrary() override {
        if (!gave_up_waiting()) static_cast<void>(f_.cublasLtDestroy(lt_));
    }

    [[nodiscard]] const LibraryInfo& info() const override { return info_; }

    [[nodiscard]] std::optional<HeuristicAnswer> ask(const LibraryProblem& p) override {
        const LtProblem problem = problem_of(p);
        const auto algorithm = choose(problem);
        if (!algorithm) return std::nullopt;
        return answer_of(*algorithm);
    }

    [[nodiscard]] std::vector<std::uint32_t> run(const LibraryProblem& p, const ProblemSample& sample) override {
        const LtProblem problem = problem_of(p);
        const auto algorithm = choose(problem);
        if (!algorithm) throw UsageError("the library has no product " + p.text());
        return multiply(problem, *algorithm, p, sample);
    }

    [[nodiscard]] std::optional<std::vector<std::uint32_t>> run_as(const HeuristicAnswer& answer,
                                                                   const LibraryProblem& p,
                                                                   const ProblemSample& sample) override {
        const LtProblem problem = problem_of(p);
        const auto algorithm = algorithm_of(answer, p, problem);
        if (!algorithm) return std::nullopt;
        return multiply(problem, *algorithm, p, sample);
    }

  private:
    [[nodiscard]] std::vector<std::uint32_t> multiply(const LtProblem& problem, const cublasLtMatmulAlgo_t& algorithm,
                                                      const LibraryProblem& p, const ProblemSample& sample) const {
        const DeviceArray<std::uint8_t> a = operand(sample.a, sample.rows, p.type->a, p.m, p.k, p.a_along_k(), p.batch);
        const DeviceArray<std::uint8_t> b =
            operand(sample.b, sample.columns, p.type->b, p.n, p.k, p.b_along_k(), p.batch);
        DeviceArray<std::uint8_t> d(size_of(p.type->d) * static_cast<std::size_t>(p.m * p.n * p.batch));
        d.fill_bytes(0);
        upload_c(d, p, sample);
        const std::uint32_t alpha = factor(p, p.alpha);
        const std::uint32_t beta = factor(p, p.beta);
        f_.check(f_.cublasLtMatmul(lt_, problem.operation.get(), &alpha, a.data(), problem.a.get(), b.data(),
                                   problem.b.get(), &beta, d.data(), problem.d.get(), d.data(), problem.d.get(),
                                   &algorithm, workspace_.data(), workspace_.bytes(), nullptr),
                 "cublasLtMatmul");
        synchronise("the library's product");
        return download(d, p, sample);
    }

    static std::size_t size_of(Element element) { return static_cast<std::size_t>(bits_of(element)) / 8; }

    /// alpha or beta in the type that the product scales by.
    static std::uint32_t factor(const LibraryProblem& p, float value) {
        const bool half = p.type->accumulator == Element::fp16;
        return ulp::operand_code(half ? formats::fp16 : formats::fp32, value);
    }

    /// A matrix of `lines` by k, zero but for the sample's lines: stored along k, or with the lines fastest. Of a batch
    /// the last one.
    static DeviceArray<std::uint8_t> operand(const std::vector<std::uint32_t>& codes,
                                             const std::vector<std::int64_t>& places, Element element,
                                             std::int64_t lines, std::int64_t k, bool along_k, std::int64_t batch) {
        const std::size_t bytes = size_of(element);
        const auto length = static_cast<std::size_t>(k);
        const std::size_t matrix_bytes = bytes * length * static_cast<std::size_t>(lines);
        DeviceArray<std::uint8_t> matrix(matrix_bytes * static_cast<std::size_t>(batch));
        matrix.fill_bytes(0);
        std::vector<std::uint8_t> line(bytes * length);
        for (std::size_t i = 0; i < places.size(); ++i) {
            for (std::size_t l = 0; l < line.size(); ++l) {
                line[l] = static_cast<std::uint8_t>(codes[i * length + l / bytes] >> (8 * (l % bytes)));
            }
            const auto place = static_cast<std::size_t>(places[i]);
            std::uint8_t* const to =
                matrix.data() + matrix.bytes() - matrix_bytes + place * bytes * (along_k ? length : 1);
            const std::size_t pitch = bytes * (along_k ? 1 : static_cast<std::size_t>(lines));
            if (along_k) {
                check(cudaMemcpy(to, line.data(), line.size(), cudaMemcpyHostToDevice), "cudaMemcpy to the device");
            } else {
                check(cudaMemcpy2D(to, pitch, line.data(), bytes, bytes, length, cudaMemcpyHostToDevice),
                      "cudaMemcpy2D to the device");
            }
        }
        return matrix;
    }

    /// Where the last product of a batch begins in D.
    static std::size_t last_product(const DeviceArray<std::uint8_t>& d, const LibraryProblem& p) {
        return d.bytes() - size_of(p.type->d) * static_cast<std::size_t>(p.m * p.n);
    }

    /// The sample's elements of C, where the product reads it: D is computed in its place.
    static void upload_c(const DeviceArray<std::uint8_t>& d, const LibraryProblem& p, const ProblemSample& sample) {
        if (p.beta == 0) return;
        const std::size_t bytes = size_of(p.type->d);
        std::vector<std::uint8_t> all(d.bytes());
        for (std::size_t i = 0; i < sample.c.size(); ++i) {
            const auto row = static_cast<std::size_t>(sample.rows[i / sample.columns.size()]);
            const auto column = static_cast<std::size_t>(sample.columns[i % sample.columns.size()]);
            const std::size_t at = last_product(d, p) + (column * static_cast<std::size_t>(p.m) + row) * bytes;
            for (std::size_t byte = 0; byte < bytes; ++byte) {
                all[at + byte] = static_cast<std::uint8_t>(sample.c[i] >> (8 * byte));
            }
        }
        d.upload(all);
    }

    /// Columns of D that the sample looks at, one by one.
    static std::vector<std::uint32_t> download(const DeviceArray<std::uint8_t>& d, const LibraryProblem& p,
                                               const ProblemSample& sample) {
        const std::size_t bytes = size_of(p.type->d);
        const std::size_t column_bytes = bytes * static_cast<std::size_t>(p.m);
        std::vector<std::uint32_t> words(sample.rows.size() * sample.columns.size());
        std::vector<std::uint8_t> column(column_bytes);
        for (std::size_t j = 0; j < sample.columns.size(); ++j) {
            const std::size_t first = last_product(d, p) + static_cast<std::size_t>(sample.columns[j]) * column_bytes;
            check(cudaMemcpy(column.data(), d.data() + first, column_bytes, cudaMemcpyDeviceToHost),
                  "cudaMemcpy from the device");
            for (std::size_t i = 0; i < sample.rows.size(); ++i) {
                std::uint32_t word = 0;
                for (std::size_t byte = 0; byte < bytes; ++byte) {
                    const auto at = static_cast<std::size_t>(sample.rows[i]) * bytes + byte;
                    word |= static_cast<std::uint32_t>(column[at]) << (8 * byte);
                }
                words[i * sample.columns.size() + j] = word;
            }
        }
        return words;
    }

    [[nodiscard]] LtProblem problem_of(const LibraryProblem& p) const {
        const auto matrix = [&](Element element, std::int64_t rows, std::int64_t columns) {
            return describe(f_, element, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                            p.batch);
        };
        return {describe(f_, LtOperation{p.type->a, p.type->accumulator, p.layout[0] == 'T', p.layout[1] == 'T',
                                         p.type->fast_accumulation}),
                p.a_along_k() ? matrix(p.type->a, p.k, p.m) : matrix(p.type->a, p.m, p.k),
                p.b_along_k() ? matrix(p.type->b, p.k, p.n) : matrix(p.type->b, p.n, p.k), matrix(p.type->d, p.m, p.n)};
    }

    [[nodiscard]] std::optional<cublasLtMatmulAlgo_t> choose(const LtProblem& problem) const {
        return first_algorithm(f_, lt_, problem, library_workspace, true);
    }

    HeuristicAnswer answer_of(const cublasLtMatmulAlgo_t& algorithm) const {
        const auto get = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto value) {
            std::size_t written = 0;
            f_.check(f_.cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written),
                     "cublasLtMatmulAlgoConfigGetAttribute");
            return static_cast<int>(value);
        };
        // cublasLt.h: the inner shape and the cluster's are uint16_t, the others 32 bits.
        return {get(CUBLASLT_ALGO_CONFIG_ID, std::int32_t{}),
                get(CUBLASLT_ALGO_CONFIG_TILE_ID, std::uint32_t{}),
                get(CUBLASLT_ALGO_CONFIG_STAGES_ID, std::uint32_t{}),
                get(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, std::int32_t{}),
                get(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, std::uint32_t{}),
                get(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, std::uint32_t{}),
                get(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, std::uint32_t{}),
                get(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, std::uint16_t{}),
                get(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, std::uint16_t{})};
    }

    /// The algorithm with the attributes of an answer; nothing where the library does not take it for the problem.
    [[nodiscard]] std::optional<cublasLtMatmulAlgo_t> algorithm_of(const HeuristicAnswer& answer,
                                                                   const LibraryProblem& p,
                                                                   const LtProblem& problem) const {
        cublasLtMatmulAlgo_t algorithm{};
        const cudaDataType_t d = cuda_type(p.type->d);
        if (f_.cublasLtMatmulAlgoInit(lt_, compute_type(p.type->a, p.type->accumulator),
                                      scale_type(p.type->accumulator), cuda_type(p.type->a), cuda_type(p.type->b), d, d,
                                      answer.id, &algorithm) != CUBLAS_STATUS_SUCCESS) {
            return std::nullopt;
        }
        const auto set = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto value) {
            return f_.cublasLtMatmulAlgoConfigSetAttribute(&algorithm, attribute, &value, sizeof value) ==
                   CUBLAS_STATUS_SUCCESS;
        };
        const auto word = [](int value) { return static_cast<std::uint32_t>(value); };
        const auto half = [](int value) { return static_cast<std::uint16_t>(value); };
        const bool taken = set(CUBLASLT_ALGO_CONFIG_TILE_ID, word(answer.tile)) &&
                           set(CUBLASLT_ALGO_CONFIG_STAGES_ID, word(answer.stages)) &&
                           set(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, std::int32_t{answer.split}) &&
                           set(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, word(answer.reduction)) &&
                           set(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, word(answer.swizzling)) &&
                           set(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, word(answer.custom)) &&
                           set(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, half(answer.inner_shape)) &&
                           set(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, half(answer.cluster));
        if (!taken) return std::nullopt;
        cublasLtMatmulHeuristicResult_t found{};
        const cublasStatus_t status =
            f_.cublasLtMatmulAlgoCheck(lt_, problem.operation.get(), problem.a.get(), problem.b.get(), problem.d.get(),
                                       problem.d.get(), &algorithm, &found);
        if (status != CUBLAS_STATUS_SUCCESS || found.workspaceSize > workspace_.bytes()) return std::nullopt;
        return algorithm;
    }

    LtFunctions f_;
    DeviceArray<std::uint8_t> workspace_;
    cublasLtHandle_t lt_ = nullptr;
    LibraryInfo info_;
};

}  // namespace

std::unique_ptr<Library> open_cuda_library() { return std::make_unique<CudaLibrary>(); }

}  // namespace ulp::gpu
