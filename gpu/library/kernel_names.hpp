// Which kernels ran: "were Tensor Cores used?".
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ulp::gpu {

/// The names of the kernels that `work` launched, in order, by CUPTI's activity records; `work` must wait for them.
/// Empty where CUPTI cannot be loaded or may not trace: names are an extra, no reason to fail.
std::vector<std::string> kernels_run_by(const std::function<void()>& work);

/// A kernel's name without what linkers and compilers add: "cutlass::Kernel2<cutlass_75_tensorop_h1688gemm_...>".
std::string readable_kernel_name(const std::string& symbol);

/// What a kernel's name says about the instructions in it: "mma.sync", "wgmma", "no Tensor Cores", or "unknown".
std::string instructions_by_name(const std::string& kernel);

}  // namespace ulp::gpu
