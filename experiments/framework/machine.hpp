// What machine and build this is: for manifests and `ulplab doctor`, never for results.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ulp {

std::string program_version();
/// "g++ 12.2.0" or "clang++ 14.0.6".
std::string compiler_name();
/// Build type and flags that the program was compiled with.
std::string compiler_flags();
/// The processor's name, or "unknown".
std::string cpu_name();
/// Of the features that matter here, those that the processor has: "avx2", "fma", "f16c", "avx512f"...
std::vector<std::string> cpu_features();
int hardware_threads();
/// "2026-01-31T12:00:00Z"
std::string utc_now();

/// Where a program of that name is found along PATH.
std::optional<std::string> find_program(std::string_view name);
/// What a command prints on stdout, or nothing if it cannot be run or fails. Waits for it.
std::optional<std::string> output_of(const std::vector<std::string>& command);

}  // namespace ulp
