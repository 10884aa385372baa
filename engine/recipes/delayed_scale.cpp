#include "engine/recipes/delayed_scale.hpp"

#include <algorithm>

namespace ulp {
namespace {

/// What a scale is computed from; 0 without earlier uses.
float statistic_of(const ScaleHistory& rule, const std::vector<float>& magnitudes) {
    if (magnitudes.empty()) return 0;
    return rule.most_recent ? magnitudes.back() : *std::ranges::max_element(magnitudes);
}

void enter(float magnitude, int length, std::vector<float>& magnitudes) {
    magnitudes.push_back(magnitude);
    if (magnitudes.size() > static_cast<std::size_t>(length)) magnitudes.erase(magnitudes.begin());
}

std::vector<float> known_at(const ScalingHistory& history, const std::string& place) {
    const auto entry = history.find(place);
    return entry == history.end() ? std::vector<float>() : entry->second;
}

}  // namespace

Quantized quantized_operand(const OperandRule& rule, const MatrixView& lines, const OperandPlace& place,
                            ScalingHistory& history, bool remember, QuantizedUse use) {
    if (rule.history.length == 0) return quantize(*rule.how, lines, use);
    const bool by_tensor = rule.history.key == ScaleHistory::Key::tensor;
    const std::string& key = by_tensor ? place.tensor : place.product;
    const std::string scale_key = key + ", scale";
    const std::vector<float> scale = by_tensor ? known_at(history, scale_key) : std::vector<float>();
    use.old_encode = scale.empty() ? 1 : scale.front();
    const bool again = by_tensor && place.used_before;
    Quantization how = *rule.how;
    if (again) how.zero = SpecialScale::old;
    use.statistic = again ? 0 : statistic_of(rule.history, known_at(history, key));
    Quantized q = quantize(how, lines, use);
    if (!remember || again) return q;
    enter(q.statistic, rule.history.length, history[key]);
    if (by_tensor) history[scale_key] = {q.encode};
    return q;
}

}  // namespace ulp
