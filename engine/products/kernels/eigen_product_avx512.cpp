#define Eigen EigenWith_avx512
#define ULPLAB_SIMD avx512
#define ULPLAB_SIMD_NAME "AVX-512"
#include "engine/products/kernels/eigen_product.ipp"
