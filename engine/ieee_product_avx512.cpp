#define ULPLAB_IEEE_PRODUCT ieee_product_avx512
#define ULPLAB_LANES 16
#define ULPLAB_VECTORS 4
#include "engine/ieee_product.ipp"
