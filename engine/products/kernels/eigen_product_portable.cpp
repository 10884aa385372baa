#define Eigen EigenWith_portable
#define ULPLAB_SIMD portable
#define ULPLAB_SIMD_NAME "portable"
#include "engine/products/kernels/eigen_product.ipp"
