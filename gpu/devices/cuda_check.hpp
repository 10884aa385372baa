// Every CUDA call goes through check(). Only for sources built with CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace ulp::gpu {

/// Throws DataError with a sentence that names the call and a remedy, unless the status is success. Clears the error.
void check(cudaError_t status, std::string_view call);
/// The error of the launch just made (a bad configuration shows here, a failing kernel at the next synchronisation).
void check_launch(std::string_view kernel);

/// Memory of the GPU. Throws DataError that says how much of it is free where that is less.
void* allocated(std::size_t bytes);

/// Waits for all that was enqueued. Throws DataError where that fails, or has not ended after two minutes: no kernel of
/// this program takes a second. The GPU's memory is then left to the end of the process, because freeing it would wait,
/// too.
void synchronise(std::string_view after);
/// Whether a wait was given up.
bool gave_up_waiting();

}  // namespace ulp::gpu
