// The table of the installed gpu library; linking it pulls in the kernels.
#include <fmt/core.h>

#include <ulplab/gpu/devices/executor.hpp>
#include <ulplab/gpu/instructions/instruction.hpp>

int main(int count, char**) {
    if (count > 1) (void)ulp::gpu::open_device("cuda");  // for the linker; the test has no GPU
    fmt::print("{}\n", ulp::gpu::instructions().empty() ? "none" : "some");
}
