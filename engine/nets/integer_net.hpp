// A net of two convolutions and a dense layer in 8-bit integers, and how the ranges of its tensors are chosen.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/tape/parameter.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp::integers {

// ---- Calibration: the largest magnitude that 127 stands for ----

inline constexpr std::array<std::string_view, 3> methods = {"maximum", "percentile", "entropy"};
inline constexpr std::size_t bins = 1024;

/// Magnitudes of one tensor over the calibration batches, in bins from 0 to the largest.
struct Magnitudes {
    float largest = 0;
    std::vector<double> counts;

    explicit Magnitudes(const std::vector<float>& values);
    [[nodiscard]] double edge(std::size_t bin) const {
        return static_cast<double>(largest) * static_cast<double>(bin) / static_cast<double>(bins);
    }
};

/// By one of the methods. Percentile: the magnitude that all but a share of 0.001 of the numbers that are not in the
/// first bin stay below. Entropy: TensorRT's rule (Migacz, "8-bit inference with TensorRT", GTC 2017), the range whose
/// 128 levels lose least.
double threshold_of(std::string_view method, const Magnitudes& m);

// ---- The net in integers ----

/// The instruction that multiplies.
inline constexpr const char* multiplying_unit = "sm_90:mma.s8.s32";

/// Weights of a layer (outputs x inputs) with a scale for each output: 127 stands for its largest weight.
struct IntegerWeights {
    Index outputs;
    Index inputs;
    std::vector<std::int8_t> values{};
    std::vector<double> scales{};
    std::vector<float> bias;
    IntegerModel model = unit_model<IntegerModel>(multiplying_unit);

    IntegerWeights(const Tensor& weight, const Tensor& offsets);
    /// The sum of w x over 8-bit x, as the unit adds it up in 32 bits, to a number.
    [[nodiscard]] float dot(Index output, const std::int8_t* x, double x_scale) const;
};

/// One image: channels x side x side.
struct Planes {
    Index channels;
    Index side;
    std::vector<float> values;
};

/// What the three layers see: the image, and the results of the two pools.
inline constexpr std::size_t layer_count = 3;
using Thresholds = std::array<double, layer_count>;

/// Two convolutions of 3 x 3 with relu and 2 x 2 pool, and a dense layer, of the model's parameters.
struct IntegerNet {
    IntegerWeights conv1, conv2, fc1;

    explicit IntegerNet(Model& model);
    /// A score for each class.
    [[nodiscard]] std::vector<float> logits(Planes x, const Thresholds& thresholds) const;
};

}  // namespace ulp::integers
