#include "engine/nets/language_net.hpp"

#include <fmt/format.h>

namespace ulp {

using namespace layers;

Layers LanguageNet::layers() const {
    Layers net = {embedding("words", tokens, width), places("places")};
    for (Index i = 1; i <= blocks; ++i) {
        const std::string name = fmt::format("block{}", i);
        net.push_back(residual({layer_norm(name + ".norm1"), attention(name + ".attention", heads, true)}));
        net.push_back(residual(
            {layer_norm(name + ".norm2"), linear(name + ".wide", 4 * width), gelu(), linear(name + ".narrow", width)}));
    }
    net.push_back(layer_norm("norm"));
    net.push_back(linear("out"));
    return net;
}

std::int64_t LanguageNet::multiply_adds(Index batch) const {
    const std::int64_t matrices = blocks * 12 * width * width + width * tokens;
    const std::int64_t attention = blocks * 2 * length * width;  // per token: scores and mix
    return 3 * batch * length * (matrices + attention);
}

}  // namespace ulp
