#define Eigen EigenWith_neon
#define ULPLAB_SIMD neon
#define ULPLAB_SIMD_NAME "NEON"
#include "engine/products/kernels/eigen_product.ipp"
