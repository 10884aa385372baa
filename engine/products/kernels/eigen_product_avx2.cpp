#define Eigen EigenWith_avx2
#define ULPLAB_SIMD avx2
#define ULPLAB_SIMD_NAME "AVX2"
#include "engine/products/kernels/eigen_product.ipp"
