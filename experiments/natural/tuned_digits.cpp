#include "experiments/natural/tuned_digits.hpp"

namespace ulp::natural {

Dataset sheared(Dataset data, Index percent) {
    const std::vector<std::uint8_t> from = data.pixels;
    const Index rows = data.size() * data.channels * data.height;
    for (Index row = 0; row < rows; ++row) {
        const Index below = (2 * (row % data.height) + 1 - data.height) * percent;  // in 200ths of a pixel
        const Index shift = (below + (below < 0 ? -100 : 100)) / 200;
        for (Index x = 0; x < data.width; ++x) {
            const Index source = x - shift;
            const bool inside = source >= 0 && source < data.width;
            data.pixels[static_cast<std::size_t>(row * data.width + x)] =
                inside ? from[static_cast<std::size_t>(row * data.width + source)] : std::uint8_t{0};
        }
    }
    return data;
}

TunedDigits tuned_digits_of(const RunContext& context, Result& result) {
    const DataSplit plain = digits_of(context, result);
    const auto shear = context.settings.integer("shear");
    const Dataset test = sheared(plain.test, shear);
    return {{plain.train, test}, {sheared(plain.train, shear), test}};
}

Comparison first_training(const RunContext& context, Result& result, const Layers& net, const TunedDigits& data,
                          ProgressPart part) {
    const Training training{.task = keeping_weights(images_task(net, data.first, 64)),
                            .optimizer = {.kind = OptimizerKind::adam, .learning_rate = 1e-3},
                            .steps = context.settings.integer("first_steps")};
    return compare(context, result, {fp32_arithmetic()}, training, context.settings.integer("seeds"), part);
}

}  // namespace ulp::natural
