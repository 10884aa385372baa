// Faces made by a program: Gaussian blobs (head, hair, eyes, nose, mouth) in grey. The same face at every resolution.
#pragma once

#include "engine/data/dataset.hpp"

namespace ulp {

struct FaceOptions {
    Index count = 1000;
    Index side = 32;  // 8, 16 or 32 as in the experiments; any from 4 up
    std::uint64_t seed = 1;
};

/// One channel. Face i depends on (seed, i) alone, and shows the same person at every side; the label is 0.
/// Throws std::invalid_argument for a side below 4 or a negative count.
Dataset generated_faces(const FaceOptions& options);

}  // namespace ulp
