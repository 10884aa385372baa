// cublasLt's functions, found at run time, and what its calls want in CUDA's terms. Private: it includes cublasLt.h.
//
// The library thinks in columns. It is loaded when it is first needed, so that the program starts where it is absent.
#pragma once

#include <cublasLt.h>
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "gpu/devices/cuda_errors.hpp"
#include "gpu/instructions/element.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {

#define ULPLAB_FIND(function) decltype(::function)* function = lt.find<decltype(::function)>(#function)
/// The functions by their own names: their types come from the header.
struct LtFunctions {
    SharedLibrary lt{fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR), ULPLAB_CUDA_LIBRARIES};
    ULPLAB_FIND(cublasLtCreate);
    ULPLAB_FIND(cublasLtDestroy);
    ULPLAB_FIND(cublasLtGetStatusString);
    ULPLAB_FIND(cublasLtGetVersion);
    ULPLAB_FIND(cublasLtMatmul);
    ULPLAB_FIND(cublasLtMatmulDescCreate);
    ULPLAB_FIND(cublasLtMatmulDescDestroy);
    ULPLAB_FIND(cublasLtMatmulDescSetAttribute);
    ULPLAB_FIND(cublasLtMatrixLayoutCreate);
    ULPLAB_FIND(cublasLtMatrixLayoutDestroy);
    ULPLAB_FIND(cublasLtMatrixLayoutSetAttribute);
    ULPLAB_FIND(cublasLtMatmulPreferenceCreate);
    ULPLAB_FIND(cublasLtMatmulPreferenceDestroy);
    ULPLAB_FIND(cublasLtMatmulPreferenceSetAttribute);
    ULPLAB_FIND(cublasLtMatmulAlgoGetHeuristic);
    ULPLAB_FIND(cublasLtMatmulAlgoInit);
    ULPLAB_FIND(cublasLtMatmulAlgoCheck);
    ULPLAB_FIND(cublasLtMatmulAlgoConfigGetAttribute);
    ULPLAB_FIND(cublasLtMatmulAlgoConfigSetAttribute);

    /// Throws DataError that names the call, unless the status is success.
    void check(cublasStatus_t status, std::string_view call) const {
        if (status == CUBLAS_STATUS_SUCCESS) return;
        throw DataError(
            fmt::format("{} failed: {}; see the cuBLAS documentation of that status, or leave that size or type out",
                        call, cublasLtGetStatusString(status)));
    }
    /// "13.1.0"
    [[nodiscard]] std::string version() const {
        const std::size_t v = cublasLtGetVersion();
        return fmt::format("{}.{}.{}", v / 10000, v % 10000 / 100, v % 100);
    }
};
#undef ULPLAB_FIND

/// A descriptor of cublasLt, destroyed with its own function.
template <class Handle>
using LtDescriptor = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

inline cudaDataType_t cuda_type(Element element) {
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

/// Of a product of `operand` summed in `accumulator`. fp32 operands: without TF32, which "pedantic" forbids.
inline cublasComputeType_t compute_type(Element operand, Element accumulator) {
    if (accumulator == Element::s32) return CUBLAS_COMPUTE_32I;
    if (accumulator == Element::fp16) return CUBLAS_COMPUTE_16F;
    if (operand == Element::tf32) return CUBLAS_COMPUTE_32F_FAST_TF32;
    return operand == Element::fp32 ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;
}

/// The type of alpha and beta.
inline cudaDataType_t scale_type(Element accumulator) {
    if (accumulator == Element::s32) return CUDA_R_32I;
    return accumulator == Element::fp16 ? CUDA_R_16F : CUDA_R_32F;
}

/// A product's description: element types, which operand is transposed, FP8's way of summing.
struct LtOperation {
    Element operand;
    Element accumulator;
    bool transpose_a;
    bool transpose_b;
    bool fast_accumulation;  // of FP8
};

inline LtDescriptor<cublasLtMatmulDesc_t> describe(const LtFunctions& f, const LtOperation& operation) {
    cublasLtMatmulDesc_t raw = nullptr;
    f.check(f.cublasLtMatmulDescCreate(&raw, compute_type(operation.operand, operation.accumulator),
                                       scale_type(operation.accumulator)),
            "cublasLtMatmulDescCreate");
    LtDescriptor<cublasLtMatmulDesc_t> description(raw, f.cublasLtMatmulDescDestroy);
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
        f.check(f.cublasLtMatmulDescSetAttribute(raw, attribute, &value, sizeof value),
                "cublasLtMatmulDescSetAttribute");
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, operation.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, operation.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (bits_of(operation.operand) == 8 && is_float(operation.operand)) {
        set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(operation.fast_accumulation ? 1 : 0));
    }
    return description;
}

/// A matrix by columns without gaps, or a batch of them, one behind the other.
inline LtDescriptor<cublasLtMatrixLayout_t> describe(const LtFunctions& f, Element element, std::uint64_t rows,
                                                     std::uint64_t columns, std::int64_t batch = 1) {
    cublasLtMatrixLayout_t raw = nullptr;
    f.check(f.cublasLtMatrixLayoutCreate(&raw, cuda_type(element), rows, columns, static_cast<std::int64_t>(rows)),
            "cublasLtMatrixLayoutCreate");
    LtDescriptor<cublasLtMatrixLayout_t> layout(raw, f.cublasLtMatrixLayoutDestroy);
    if (batch == 1) return layout;
    const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
        f.check(f.cublasLtMatrixLayoutSetAttribute(raw, attribute, &value, sizeof value),
                "cublasLtMatrixLayoutSetAttribute");
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, static_cast<std::int64_t>(rows * columns));
    return layout;
}

/// What the heuristic may choose from: algorithms within that workspace, with or without a split of k.
inline LtDescriptor<cublasLtMatmulPreference_t> preference(const LtFunctions& f, std::size_t workspace_bytes,
                                                           bool split_allowed) {
    cublasLtMatmulPreference_t raw = nullptr;
    f.check(f.cublasLtMatmulPreferenceCreate(&raw), "cublasLtMatmulPreferenceCreate");
    LtDescriptor<cublasLtMatmulPreference_t> wish(raw, f.cublasLtMatmulPreferenceDestroy);
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
        f.check(f.cublasLtMatmulPreferenceSetAttribute(raw, attribute, &value, sizeof value),
                "cublasLtMatmulPreferenceSetAttribute");
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    if (!split_allowed) {  // no reduction, so no split of k either
        set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
    }
    return wish;
}

/// All that cublasLt is told of a product D = op(A) * op(B).
struct LtProblem {
    LtDescriptor<cublasLtMatmulDesc_t> operation;
    LtDescriptor<cublasLtMatrixLayout_t> a, b, d;
};

/// The heuristic's first algorithm; nothing where the library has no such product. Throws DataError if the call fails.
inline std::optional<cublasLtMatmulAlgo_t> first_algorithm(const LtFunctions& f, cublasLtHandle_t handle,
                                                           const LtProblem& problem, std::size_t workspace_bytes,
                                                           bool split_allowed) {
    const auto wish = preference(f, workspace_bytes, split_allowed);
    cublasLtMatmulHeuristicResult_t choice{};
    int count = 0;
    const cublasStatus_t status =
        f.cublasLtMatmulAlgoGetHeuristic(handle, problem.operation.get(), problem.a.get(), problem.b.get(),
                                         problem.d.get(), problem.d.get(), wish.get(), 1, &choice, &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
        (status == CUBLAS_STATUS_SUCCESS && count == 0)) {
        return std::nullopt;
    }
    f.check(status, "cublasLtMatmulAlgoGetHeuristic");
    return choice.algo;
}

}  // namespace ulp::gpu
