// The documents whose claims are judged, by title; a claim adds the place in it.
#pragma once

#include <string>
#include <string_view>

namespace ulp::sources {

inline constexpr std::string_view amp_slides = "Carilli and Ruberry, Automatic mixed precision in PyTorch (2019)";
inline constexpr std::string_view volta_talk = "NVIDIA talk on Volta and Turing: inference and training";
inline constexpr std::string_view notebook = "Notebook on automatic mixed precision";
inline constexpr std::string_view round_table = "Farkhari, slides on quantization and mixed precision";
inline constexpr std::string_view paperspace = "Article on mixed-precision training with PyTorch (MNIST, BERT, U-Net)";
inline constexpr std::string_view numerical_behavior =
    "Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor cores (2021)";
inline constexpr std::string_view deepseek_v3 = "DeepSeek-V3 technical report (2024), arXiv 2412.19437";
inline constexpr std::string_view sage_attention = "Zhang et al., SageAttention2 (2024), arXiv 2411.10958";
inline constexpr std::string_view ptx = "NVIDIA, PTX ISA";
inline constexpr std::string_view paper = "Micikevicius et al., Mixed precision training (ICLR 2018)";
inline constexpr std::string_view bf16_paper = "Zamirai et al., Revisiting BFloat16 training (2020)";
inline constexpr std::string_view pytorch_testing = "PyTorch manual, torch.testing";
inline constexpr std::string_view numpy_manual = "NumPy manual";
inline constexpr std::string_view cuda_samples = "NVIDIA CUDA samples";
inline constexpr std::string_view arithmetic = "IEEE 754-2019";
/// What no source says and an experiment expects all the same: where it does not hold, no source is wrong.
inline constexpr std::string_view own_prediction = "Predictions of this laboratory";

/// cite(amp_slides, "FP32 and FP16"): document and slide, cell or section.
inline std::string cite(std::string_view document, std::string_view place) {
    return std::string(document) + ", \"" + std::string(place) + "\"";
}

}  // namespace ulp::sources
