#define Eigen EigenWith_avx512
#define ULPLAB_EIGEN_PRODUCT eigen_product_avx512
#include "engine/eigen_product.ipp"
