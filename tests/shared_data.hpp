// Data that lies outside the project: recordings of GPUs, TestFloat vectors, golden traces, MNIST.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ulp::test {

/// The folder `name` below the one that the environment variable ULPLAB_SHARED names. Where the variable is unset or
/// has no such folder: nothing, and a line "skipped: no ..." on stdout, by which ctest counts the case as skipped.
std::optional<std::filesystem::path> shared_folder(const std::string& name);

}  // namespace ulp::test
