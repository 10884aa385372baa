/* A matrix unit of your own as a shared library: one C function. `ulplab discover --unit library:./unit.so` loads it
 * and asks it.
 *
 *     #include <ulplab/softfloat/lab/ulplab_unit.h>
 *
 *     int ulplab_unit_dot(int k, const uint64_t* a, const uint64_t* b, uint64_t c, uint64_t* d) {
 *         *d = ...;
 *         return ULPLAB_UNIT_INTERFACE;
 *     }
 *
 *     cc -shared -fPIC -o unit.so unit.c
 */
#ifndef ULPLAB_UNIT_H
#define ULPLAB_UNIT_H

#include <stdint.h>

/* The version of this interface. */
#define ULPLAB_UNIT_INTERFACE 1

#ifdef __cplusplus
extern "C" {
#endif

/* *d = a[0] * b[0] + ... + a[k-1] * b[k-1] + c, as the unit computes one instruction. Each number is a storage word in
 * the low bits: a and b of the input formats, c and *d of the accumulator's. Formats and k are those that the program
 * was told (--input, --output, -k). Returns ULPLAB_UNIT_INTERFACE, or 0 if the unit has no instruction of k products.
 * It is called from one thread at a time, and the same question must give the same answer. */
int ulplab_unit_dot(int k, const uint64_t* a, const uint64_t* b, uint64_t c, uint64_t* d);

#ifdef __cplusplus
}
#endif

#endif
