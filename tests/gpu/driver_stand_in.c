// In place of libcuda.so.1: a driver that is too old (OLD), or one that finds no GPU. CUDA's runtime asks it for its
// version and its functions and gives up.
#include <string.h>

#ifdef OLD
enum { version = 11000, count_result = 36 };
#else
enum { version = 13000, count_result = 100 };  // CUDA_ERROR_NO_DEVICE
#endif

int cuDriverGetVersion(int* out) {
    *out = version;
    return 0;
}
int cuInit(unsigned flags) {
    (void)flags;
    return count_result == 100 ? 100 : 0;
}
static int fails(void) { return count_result; }

int cuGetProcAddress_v2(const char* name, void** function, int asked, unsigned long long flags, int* found) {
    (void)asked;
    (void)flags;
    if (found != 0) *found = 0;
    if (strcmp(name, "cuDriverGetVersion") == 0) {
        *function = (void*)cuDriverGetVersion;
    } else if (strcmp(name, "cuInit") == 0) {
        *function = (void*)cuInit;
    } else if (strcmp(name, "cuGetProcAddress") == 0) {
        *function = (void*)cuGetProcAddress_v2;
    } else {
        *function = (void*)fails;
    }
    return 0;
}
int cuGetProcAddress(const char* name, void** function, int asked, unsigned long long flags) {
    return cuGetProcAddress_v2(name, function, asked, flags, 0);
}
