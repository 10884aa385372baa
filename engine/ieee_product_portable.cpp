#define ULPLAB_IEEE_PRODUCT ieee_product_portable
#define ULPLAB_IEEE_ROUNDED_ROW ieee_rounded_row_portable
#define ULPLAB_LANES 4
#define ULPLAB_VECTORS 2
#include "engine/ieee_product.ipp"
