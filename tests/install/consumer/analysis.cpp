// The questions of engine/analysis, asked of the installed library: explain, bound, quantise, inspect, diagnose.
#include <iostream>
#include <string>
#include <ulplab/engine/analysis/bound_answer.hpp>
#include <ulplab/engine/analysis/diagnosis.hpp>
#include <ulplab/engine/analysis/dot_explanation.hpp>
#include <ulplab/engine/analysis/quantized_tensor.hpp>
#include <ulplab/engine/files/stored_arrays.hpp>
#include <ulplab/softfloat/matrix_units/units.hpp>
#include <vector>

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const ulp::UnitRow& row = ulp::find_unit("sm_90:mma.fp16.fp32");
    const ulp::TensorCoreModel model = ulp::bounded_model(row);
    const std::vector<std::uint32_t> ones(16, 0x3C00);
    const std::string steps = ulp::explain_dot(model, {.a = ones, .b = ones});

    ulp::BoundQuestion question{.model = model};
    ulp::settle_level(question, row.key(), false);
    const ulp::BoundAnswer bound = ulp::bound_of_sizes(question, {.k = 16, .max_a = 1.0, .max_b = 1.0});

    const std::vector<float> gradients{0x1p-30F, 0x1p-26F, 0.0F, 1.0F};
    const ulp::TensorFormat how{.name = "fp16", .format = ulp::formats::fp16};
    const ulp::QuantizedTensor fp16 = ulp::quantize_tensor(how, {4}, gradients, 1, 0);

    ulp::write_arrays(argv[1], {ulp::array_of_numbers("gradient", {4}, gradients)}, {});
    const ulp::Inspection inspection =
        ulp::inspect_tensors({.files = {argv[1]}, .formats = {"fp16"}, .target = "fp16"});
    const std::vector<ulp::TensorFinding> findings = ulp::findings_of(inspection, 0);
    std::cout << (steps.find("result") == std::string::npos ? "" : "explained") << ' ' << bound.k << ' '
              << fp16.codes.back() << ' ' << ulp::recommended_scale(inspection, 0).value_or(0) << ' ' << findings.size()
              << '\n';
}
