// Numbers of the source documents that cannot be measured here: they need data sets, GPUs or devices.
#pragma once

#include <span>
#include <string_view>

namespace ulp {

struct PublishedNumber {
    std::string_view id;
    std::string_view document;
    std::string_view place;
    std::string_view statement;
    std::string_view value;
    std::string_view reason;  // what a measurement would need
};
std::span<const PublishedNumber> published_numbers();

/// Top-1 accuracies on ILSVRC12 in per cent, in fp32 and in mixed precision, as two talks print them.
struct PublishedAccuracy {
    std::string_view net;
    double fp32, mixed;                  // the slides of 2019, two decimals
    double fp32_rounded, mixed_rounded;  // the other talk, one decimal
};
std::span<const PublishedAccuracy> published_accuracies();

}  // namespace ulp
