// Small nets on digits of 14 x 14 pixels. Each is there for a property that real nets have at their size: small enough
// to train in a tenth of a second.
#pragma once

#include "experiments/training/nets.hpp"

namespace ulp {

/// Adds a net's parameters to the model.
using NetBuilder = std::function<ImageNet(Model&)>;

/// Linear layers of these widths with relu between them.
NetBuilder dense_net(std::vector<Index> widths);

/// One hidden layer of 32. All weights start as +1 or -1 and constants bring their sums to size (the equalised learning
/// rate of Karras et al., "Progressive growing of GANs", 2018): every weight is large beside its updates. Units start
/// in pairs that cancel, so the first logits are 0 (Chizat et al., "On lazy training", 2019).
NetBuilder sign_net();

/// One hidden layer of 32 whose outputs are too large by 2^exponent, which is divided out only after the next layer:
/// the gradients between are too small by as much, those before and after are not.
NetBuilder unbalanced_net(int exponent);

/// One block of a Transformer over the image as 7 tokens of 28 pixels, width 16, 2 heads. Pixels are not brought to
/// [0, 1] but times `pixel_scale`; layer norm comes first. What the last layer sees is divided by 8, so that its
/// gradients stay below 1.
NetBuilder image_transformer(double pixel_scale);

}  // namespace ulp
