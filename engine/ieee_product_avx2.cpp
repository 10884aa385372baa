#define ULPLAB_IEEE_PRODUCT ieee_product_avx2
#define ULPLAB_IEEE_ROUNDED_ROW ieee_rounded_row_avx2
#define ULPLAB_LANES 8
#define ULPLAB_VECTORS 2
#include "engine/ieee_product.ipp"
