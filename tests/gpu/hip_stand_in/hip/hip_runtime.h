// The few declarations of HIP's runtime that gpu/recorder/ulplab_record.cu uses, so that clang can compile it for AMD's
// processors where HIP is not installed. Nothing of it can be linked or run.
#pragma once
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#include <cstddef>
#include <cstdint>
struct dim3 {
    unsigned x, y, z;
    __host__ __device__ constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
using hipStream_t = struct ihipStream*;
enum hipError_t { hipSuccess };
enum hipMemcpyKind { hipMemcpyHostToDevice, hipMemcpyDeviceToHost };
struct hipDeviceProp_t {
    char gcnArchName[256];
};
extern "C" {
const char* hipGetErrorString(hipError_t);
hipError_t hipMalloc(void**, std::size_t);
hipError_t hipFree(void*);
hipError_t hipMemcpy(void*, const void*, std::size_t, hipMemcpyKind);
hipError_t hipGetLastError();
hipError_t hipGetDeviceCount(int*);
hipError_t hipGetDeviceProperties(hipDeviceProp_t*, int);
hipError_t __hipPushCallConfiguration(dim3, dim3, std::size_t, hipStream_t);
hipError_t __hipPopCallConfiguration(dim3*, dim3*, std::size_t*, hipStream_t*);
hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, std::size_t, hipStream_t);
}
struct BuiltinThread {
    struct X {
        __device__ operator unsigned() const { return __builtin_amdgcn_workitem_id_x(); }
    } x;
};
struct BuiltinBlock {
    struct X {
        __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_x(); }
    } x;
};
static const __device__ BuiltinThread threadIdx{};
static const __device__ BuiltinBlock blockIdx{};
