#define Eigen EigenWith_portable
#define ULPLAB_EIGEN_PRODUCT eigen_product_portable
#include "engine/eigen_product.ipp"
