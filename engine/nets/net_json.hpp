// Nets as files. What `ulplab train --print-net cnn` writes, `--net FILE.json` reads:
//
//     {"name": "cnn", "task": "images", "input": {"shape": [1, 28, 28]}, "outputs": 10,
//      "layers": [
//        {"layer": "conv", "name": "conv1", "channels": 8, "kernel": 3},
//        {"layer": "relu"},
//        {"layer": "pool", "window": 2},
//        {"layer": "residual", "inside": [{"layer": "conv", "name": "a", "channels": 8, "kernel": 3}, {"layer":
//        "relu"}]},
//        {"layer": "linear", "name": "dense"}]}
//
// A net of tokens says how many there are: "input": {"shape": [32], "tokens": 128}. A linear layer without "outputs"
// has those of the net.
#pragma once

#include <string>
#include <string_view>

#include "engine/nets/nets.hpp"

namespace ulp {

/// What an example is: an image (channels, height, width), numbers (count), or tokens (length) from 0 to tokens - 1.
struct NetInput {
    Shape shape;
    Index tokens = 0;
};

/// A net with what goes in and what comes out.
struct NetDescription {
    std::string name;
    std::string task;  // what it learns (net_tasks.hpp)
    NetInput input;
    Index outputs = 0;  // numbers of an answer; nets of tokens answer at each place
    Layers layers;
};

/// The layer kinds with their members, "conv (name, channels, kernel, stride)", for help.
std::string layer_kinds();

/// Ends with a line break; net_from_json() gives the same net.
std::string json_of(const NetDescription& net);
/// Throws DataError that names the place as a JSON pointer: "/layers/3/kernel is 2.5; give a whole number from 1 to
/// 1048576". What comes back has been checked: layers fit each other, and names of parameters are unique.
NetDescription net_from_json(std::string_view text);

/// The part of the check that JSON does not show: whether shapes fit. Throws DataError with the place.
void require_fitting(const NetDescription& net);

}  // namespace ulp
