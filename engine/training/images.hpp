// Training on images: a batch on the tape, and the accuracy of a classifier.
#pragma once

#include <functional>

#include "engine/data/dataset.hpp"
#include "engine/tape/tape.hpp"

namespace ulp {

/// A batch's images on the tape in the recipe's input format.
Var images_on(Tape& tape, const Matrix& images);

/// The share of images whose largest logit (the first of equals) is the label's.
double accuracy(Evaluation evaluation, const std::function<Var(Var)>& net, const Dataset& data, Index batch_size = 250);

}  // namespace ulp
