// Constants that code for a GPU may take a reference to.
//
// A constexpr variable at namespace scope lives in the host's memory. Where a constexpr function called on a GPU binds a
// reference to one, nvcc 13.0 (--expt-relaxed-constexpr) compiles undefined behaviour without a word: a null pointer, a
// trap, or nothing at all. So in code for a GPU such a constant is a variable of the GPU.
#pragma once

#ifdef __CUDA_ARCH__
#define ULPLAB_DEVICE_CONSTANT static constexpr __device__
#else
#define ULPLAB_DEVICE_CONSTANT inline constexpr
#endif
