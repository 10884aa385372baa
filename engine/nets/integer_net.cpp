#include "engine/nets/integer_net.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/tensor/steps.hpp"
#include "softfloat/functions/quick_exp_log.hpp"

namespace ulp::integers {
namespace {

double by_percentile(const Magnitudes& m) {
    const double total = std::accumulate(m.counts.begin() + 1, m.counts.end(), 0.0);
    double above = 0;
    for (std::size_t bin = bins; bin > 1; --bin) {
        above += m.counts[bin - 1];
        if (above > 0.001 * total) return m.edge(bin);
    }
    return m.edge(bins);
}

/// Relative entropy of the first `width` bins (what lies beyond them added to the last) against the same in 128 levels.
double divergence(const Magnitudes& m, std::size_t width) {
    std::vector<double> p(m.counts.begin(), m.counts.begin() + static_cast<std::ptrdiff_t>(width));
    const std::vector<double> inside = p;
    p.back() += std::accumulate(m.counts.begin() + static_cast<std::ptrdiff_t>(width), m.counts.end(), 0.0);
    std::vector<double> q(width);
    for (std::size_t level = 0; level < 128; ++level) {
        const std::size_t first = level * width / 128;
        const std::size_t last = (level + 1) * width / 128;
        double sum = 0;
        double filled = 0;
        for (std::size_t i = first; i < last; ++i) {
            sum += inside[i];
            filled += p[i] > 0 ? 1 : 0;
        }
        for (std::size_t i = first; i < last; ++i) q[i] = p[i] > 0 ? sum / filled : 0;
    }
    const double total_p = std::accumulate(p.begin(), p.end(), 0.0);
    const double total_q = std::accumulate(q.begin(), q.end(), 0.0);
    double result = 0;
    for (std::size_t i = 0; i < width; ++i) {
        if (p[i] == 0) continue;
        if (q[i] == 0)
            return std::numeric_limits<double>::infinity();  // the last bin took what lies outside and holds nothing of
                                                             // its own
        result += p[i] / total_p * (step::log(p[i] / total_p) - step::log(q[i] / total_q));
    }
    return result;
}

/// The zeros that relu makes would drown everything else: the first bin counts like the second.
double by_entropy(Magnitudes m) {
    m.counts[0] = m.counts[1];
    std::size_t best = bins;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t width = 128; width <= bins; width += 8) {
        const double loss = divergence(m, width);
        if (loss < least) {
            least = loss;
            best = width;
        }
    }
    return m.edge(best);
}

std::int8_t quantised(float value, double scale) {
    return static_cast<std::int8_t>(
        std::clamp(quick_phase::nearest(static_cast<double>(value) / scale, 1).value, -127.0, 127.0));
}

/// 3 x 3 convolution of 8-bit integers with zero padding, relu and 2 x 2 pool.
Planes convolved(const IntegerWeights& weights, const Planes& x, double scale) {
    std::vector<std::int8_t> q(x.values.size());
    std::transform(x.values.begin(), x.values.end(), q.begin(), [&](float v) { return quantised(v, scale); });
    Planes result{weights.outputs, x.side / 2,
                  std::vector<float>(static_cast<std::size_t>(weights.outputs * (x.side / 2) * (x.side / 2)))};
    std::vector<std::int8_t> window(static_cast<std::size_t>(weights.inputs));
    for (Index row = 0; row < result.side * 2; ++row) {
        for (Index column = 0; column < result.side * 2; ++column) {
            std::size_t at = 0;
            for (Index c = 0; c < x.channels; ++c) {
                for (Index dy = -1; dy <= 1; ++dy) {
                    for (Index dx = -1; dx <= 1; ++dx) {
                        const Index yy = row + dy;
                        const Index xx = column + dx;
                        const bool inside = yy >= 0 && yy < x.side && xx >= 0 && xx < x.side;
                        window[at++] =
                            inside ? q[static_cast<std::size_t>((c * x.side + yy) * x.side + xx)] : std::int8_t{0};
                    }
                }
            }
            for (Index o = 0; o < weights.outputs; ++o) {
                float& pooled =
                    result.values[static_cast<std::size_t>((o * result.side + row / 2) * result.side + column / 2)];
                pooled = std::max(pooled, weights.dot(o, window.data(), scale));  // starts at 0: relu and pool in one
            }
        }
    }
    return result;
}

}  // namespace

Magnitudes::Magnitudes(const std::vector<float>& values) : counts(bins) {
    for (const float v : values) largest = std::max(largest, std::fabs(v));
    if (largest == 0) largest = 1;
    for (const float v : values) {
        const auto bin = static_cast<std::size_t>(std::fabs(v) / largest * static_cast<float>(bins));
        counts[std::min(bin, bins - 1)] += 1;
    }
}

double threshold_of(std::string_view method, const Magnitudes& m) {
    if (method == "maximum") return m.edge(bins);
    return method == "percentile" ? by_percentile(m) : by_entropy(m);
}

IntegerWeights::IntegerWeights(const Tensor& weight, const Tensor& offsets)
    : outputs(weight.dim(0)),
      inputs(weight.size() / weight.dim(0)),
      bias(offsets.values().begin(), offsets.values().end()) {
    for (Index o = 0; o < outputs; ++o) {
        const auto row =
            weight.values().subspan(static_cast<std::size_t>(o * inputs), static_cast<std::size_t>(inputs));
        float largest = 0;
        for (const float w : row) largest = std::max(largest, std::fabs(w));
        scales.push_back(largest == 0 ? 1 : static_cast<double>(largest) / 127);
        for (const float w : row) values.push_back(quantised(w, scales.back()));
    }
}

float IntegerWeights::dot(Index output, const std::int8_t* x, double x_scale) const {
    const std::int32_t sum = integer_dot(model, values.data() + output * inputs, x, 0, inputs);
    const auto o = static_cast<std::size_t>(output);
    return static_cast<float>(static_cast<double>(sum) * (scales[o] * x_scale)) + bias[o];
}

IntegerNet::IntegerNet(Model& model)
    : conv1(model["conv1.weight"].value, model["conv1.bias"].value),
      conv2(model["conv2.weight"].value, model["conv2.bias"].value),
      fc1(model["fc1.weight"].value, model["fc1.bias"].value) {}

std::vector<float> IntegerNet::logits(Planes x, const Thresholds& thresholds) const {
    x = convolved(conv1, x, thresholds[0] / 127);
    x = convolved(conv2, x, thresholds[1] / 127);
    std::vector<std::int8_t> q(x.values.size());
    std::transform(x.values.begin(), x.values.end(), q.begin(),
                   [&](float v) { return quantised(v, thresholds[2] / 127); });
    std::vector<float> scores;
    for (Index o = 0; o < fc1.outputs; ++o) scores.push_back(fc1.dot(o, q.data(), thresholds[2] / 127));
    return scores;
}

}  // namespace ulp::integers
