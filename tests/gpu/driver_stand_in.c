// In place of libcuda.so.1: a driver that is too old (OLD), or one whose every call, but for its version and its
// functions, fails with the result RESULT: 100 no GPU, 2 its memory is full, 46 another program holds it. CUDA's
// runtime asks it and gives up.
#include <string.h>

#ifdef OLD
enum { version = 11000, call_result = 36, init_result = 0 };
#else
enum { version = 13000, call_result = RESULT, init_result = RESULT };
#endif

int cuDriverGetVersion(int* out) {
    *out = version;
    return 0;
}
int cuInit(unsigned flags) {
    (void)flags;
    return init_result;
}
static int fails(void) { return call_result; }

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
