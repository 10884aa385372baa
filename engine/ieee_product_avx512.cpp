#define ULPLAB_IEEE_PRODUCT ieee_product_avx512
#define ULPLAB_IEEE_ROUNDED_ROW ieee_rounded_row_avx512
#define ULPLAB_LANES 16
#define ULPLAB_VECTORS 4
#include "engine/ieee_product.ipp"
