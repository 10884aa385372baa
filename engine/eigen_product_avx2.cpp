#define Eigen EigenWith_avx2
#define ULPLAB_EIGEN_PRODUCT eigen_product_avx2
#include "engine/eigen_product.ipp"
