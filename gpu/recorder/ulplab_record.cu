// ulplab_record: what the matrix instructions of a GPU compute, written down. One file, no library but the vendor's.
//
//     NVIDIA    nvcc -O2 -std=c++17 -arch=native -o ulplab_record ulplab_record.cu                 CUDA 12 or newer
//     AMD       hipcc -O2 -std=c++17 -x hip --offload-arch=native -o ulplab_record ulplab_record.cu
//     no GPU    c++ -O2 -std=c++17 -x c++ -o ulplab_record ulplab_record.cu                        --software alone;
//               with -DULPLAB_AMD=1 in AMD's layout
//
//     ulplab_record OUT                  records every instruction of the first GPU into the new folder OUT
//     ulplab_record --software OUT       the same files from fp32 sums of this program: no evidence of anything
//     ulplab_record --list               the instructions that this build has
//     ulplab_record --answer NAME        a dot product a line on standard input, the answer on standard output
//
// NVIDIA: OUT/NAME.recording (gpu/devices/recording.hpp), for `ulplab verify OUT` and `ulplab verify --device cuda
// OUT`. The inputs of its bulk come from a seed as gpu/instructions/input_classes.hpp says, repeated here without a
// library.
//
// AMD: OUT/<GPU>/<format>/{a,b,c,d}_*.txt, the layout of the published recordings, which `ulplab verify OUT` reads.
//
// Both: `ulplab discover --unit "program:./ulplab_record --answer NAME" --format fp16,fp32 -k 16`.
#if defined(__HIP__)
#include <hip/hip_runtime.h>
#define ULPLAB_AMD 1
#define ULPLAB_HIP 1
#define VENDOR(name) hip##name
#elif defined(__CUDACC__)
#include <cuda_fp16.h>
#include <mma.h>
#define ULPLAB_NVIDIA 1
#define VENDOR(name) cuda##name
#endif

#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Word = std::uint32_t;
using Words = std::vector<Word>;

// ---- number formats ------------------------------------------------------------------------------------------------

struct Format {
    const char* name;
    int bits;      // of a code in memory
    int fraction;  // bits
    int bias;
    int emax;
    std::uint64_t largest;  // magnitude of the largest finite code
    int padding;            // unused low bits of a code
    bool one_nan;           // the code of -0 is the only NaN (AMD's FNUZ formats)
    int emin() const { return 1 - bias; }
};
const Format formats[] = {{"fp32", 32, 23, 127, 127, 0x7F7FFFFF, 0, false},
                          {"fp16", 16, 10, 15, 15, 0x7BFF, 0, false},
                          {"bf16", 16, 7, 127, 127, 0x7F7F, 0, false},
                          {"tf32", 32, 10, 127, 127, 0x3FBFF, 13, false},
                          {"e4m3", 8, 3, 7, 8, 0x7E, 0, false},
                          {"e5m2", 8, 2, 15, 15, 0x7B, 0, false},
                          {"e4m3fnuz", 8, 3, 8, 7, 0x7F, 0, true},
                          {"e5m2fnuz", 8, 2, 16, 15, 0x7F, 0, true}};

const Format& format_named(const std::string& name) {
    for (const Format& format : formats) {
        if (name == format.name) return format;
    }
    throw std::runtime_error("there is no format " + name);
}

std::uint64_t pack(const Format& f, bool sign, std::uint64_t magnitude) {
    if (f.one_nan && magnitude == 0) return 0;
    const std::uint64_t sign_bit = std::uint64_t{sign ? 1U : 0U} << (f.bits - f.padding - 1);
    return (sign_bit | magnitude) << f.padding;
}

float from_word(Word word) {
    float value = 0;
    std::memcpy(&value, &word, sizeof value);
    return value;
}
Word to_word(float value) {
    Word word = 0;
    std::memcpy(&word, &value, sizeof word);
    return word;
}
/// 2^exponent as a product of normal numbers: no library function, the same on any machine.
float scaled(float value, int exponent) {
    for (; exponent > 60; exponent -= 60) value *= 0x1p60F;
    for (; exponent < -60; exponent += 60) value *= 0x1p-60F;
    return exponent >= 0 ? value * static_cast<float>(std::uint64_t{1} << exponent)
                         : value / static_cast<float>(std::uint64_t{1} << -exponent);
}
/// A code's value in fp32, exactly; a NaN of the narrow formats is 7FC00000.
float value_of(const Format& f, std::uint64_t code) {
    if (f.bits == 32) return from_word(static_cast<Word>(code));
    const std::uint64_t mask = (std::uint64_t{1} << (f.bits - 1)) - 1;
    const bool sign = (code >> (f.bits - 1)) & 1;
    const std::uint64_t magnitude = code & mask;
    if (f.one_nan && sign && magnitude == 0) return from_word(0x7FC00000);
    if (magnitude > f.largest) {
        const bool infinite = std::strcmp(f.name, "e4m3") != 0 && magnitude == f.largest + 1;
        return from_word(infinite ? (sign ? 0xFF800000 : 0x7F800000) : 0x7FC00000);
    }
    const std::uint64_t fraction = magnitude & ((std::uint64_t{1} << f.fraction) - 1);
    const int field = static_cast<int>(magnitude >> f.fraction);
    const std::uint64_t significand = fraction | (field == 0 ? 0 : std::uint64_t{1} << f.fraction);
    const float value = scaled(static_cast<float>(significand), (field == 0 ? 1 : field) - f.bias - f.fraction);
    return sign ? -value : value;
}
/// fp32 to fp16, to nearest, ties to even.
Word to_fp16(float value) {
    const Word word = to_word(value);
    const Word sign = word >> 16 & 0x8000;
    const Word magnitude = word & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return 0x7FFF;
    if (magnitude >= 0x477FF000) return sign | 0x7C00;
    const int exponent = static_cast<int>(magnitude >> 23) - 127;
    if (exponent < -25) return sign;
    const int shift = exponent < -14 ? 13 + (-14 - exponent) : 13;
    const Word significand = (magnitude & 0x7FFFFF) | 0x800000;
    const Word half = Word{1} << (shift - 1);
    Word kept = significand >> shift;
    const Word rest = significand & (2 * half - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
    return sign | (exponent < -14 ? kept : kept + (static_cast<Word>(exponent + 14) << 10));
}

// ---- inputs: gpu/instructions/input_classes.hpp -----------------------------------------------------------------

enum Class { ordinary, wide, bits, cancellation, tiny, chain };
[[maybe_unused]] const char* const class_names[] = {"ordinary", "wide", "bits", "cancellation", "tiny", "chain"};
[[maybe_unused]] int steps_of(Class c) { return c == chain ? 4 : 1; }

std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}
enum Operand { operand_a, operand_b, operand_c };
std::uint64_t random_at(std::uint64_t seed, Operand operand, std::uint64_t row, std::uint64_t column) {
    return mix(mix(mix(seed + static_cast<std::uint64_t>(operand)) ^ row) ^ column);
}

std::uint64_t with_exponent(const Format& f, std::uint64_t random, int low, int high) {
    const std::uint64_t more = mix(random);
    const auto range = static_cast<std::uint64_t>(high - low + 1);
    const std::uint64_t field = static_cast<std::uint64_t>(low) + ((more >> 32) * range >> 32);
    const std::uint64_t magnitude = field << f.fraction | (random & ((std::uint64_t{1} << f.fraction) - 1));
    return pack(f, (more & 1) != 0, magnitude < f.largest ? magnitude : f.largest);
}
std::uint64_t float_code(Class c, const Format& f, std::uint64_t random) {
    if (c == wide) return with_exponent(f, random, 0, f.emax + f.bias);
    if (c == bits) {
        const std::uint64_t more = mix(random);
        if (more % 4 == 0) return pack(f, (more & 4) != 0, 0);
        return random << (64 - f.bits) >> (64 - f.bits);
    }
    const int low = f.emin() > -12 ? f.emin() : -12;
    const int high = f.emax < 3 ? f.emax : 3;
    return with_exponent(f, random, low + f.bias, high + f.bias);
}
std::uint64_t tiny_float(const Format& f, const Format& accumulator, std::uint64_t random) {
    const std::uint64_t more = mix(random);
    if ((more >> 1) % 8 < 5) return pack(f, (more & 1) != 0, 0);
    const int middle = accumulator.emin() / 2 + f.bias;
    return with_exponent(f, random, middle > 12 ? middle - 12 : 0, middle > 1 ? middle + 2 : 3);
}
std::uint64_t input_code(Class c, const Format& f, const Format& accumulator, std::uint64_t seed, Operand operand,
                         std::uint64_t row, std::uint64_t column) {
    const std::uint64_t random = random_at(seed, operand, row, column);
    if (operand == operand_c) {
        if (c == tiny) {
            return mix(random) % 4 < 2 ? pack(f, (random & 1) != 0, 0) : with_exponent(f, random, 0, 6);
        }
        const bool sometimes_zero = c == ordinary || c == cancellation;
        return sometimes_zero && mix(random) % 4 == 0 ? 0 : float_code(c, f, random);
    }
    if (c == tiny) return tiny_float(f, accumulator, random);
    if (c != cancellation || column % 2 == 0) return float_code(c, f, random);
    const std::uint64_t partner = float_code(c, f, random_at(seed, operand, row, column - 1));
    if (operand == operand_b) return partner ^ (std::uint64_t{1} << (f.bits - 1));
    return partner ^ ((random & 1) << f.padding);
}

// ---- a batch of tiles ----------------------------------------------------------------------------------------------

struct Shape {
    int m, n, k;
};
/// a: [tile][m][steps * k], b: [tile][n][steps * k], c and d: [tile][m][n]; codes without gaps, lowest bits first.
struct Tiles {
    Tiles(Shape s, const Format& input, const Format& second, const Format& accumulator, int tiles, int steps)
        : shape(s), a_format(&input), b_format(&second), accumulator(&accumulator), tiles(tiles), steps(steps) {
        a.resize(words(s.m * s.k * steps, input));
        b.resize(words(s.n * s.k * steps, second));
        c.resize(words(s.m * s.n, accumulator));
        d.resize(c.size());
    }
    std::size_t words(int codes, const Format& f) const {
        return static_cast<std::size_t>(tiles) * static_cast<std::size_t>(codes) * static_cast<std::size_t>(f.bits) /
               32;
    }
    Shape shape;
    const Format *a_format, *b_format, *accumulator;
    int tiles, steps;
    Words a, b, c, d;
};

std::uint64_t get(const Words& words, int bits_of_code, std::size_t index) {
    const std::size_t bit = index * static_cast<std::size_t>(bits_of_code);
    const std::uint64_t word = words[bit / 32];
    return bits_of_code == 32 ? word : word >> (bit % 32) & ((std::uint64_t{1} << bits_of_code) - 1);
}
void set(Words& words, int bits_of_code, std::size_t index, std::uint64_t code) {
    const std::size_t bit = index * static_cast<std::size_t>(bits_of_code);
    const std::uint64_t mask = bits_of_code == 32 ? 0xFFFFFFFF : (std::uint64_t{1} << bits_of_code) - 1;
    words[bit / 32] = static_cast<Word>((words[bit / 32] & ~(mask << (bit % 32))) | ((code & mask) << (bit % 32)));
}

void fill(Words& words, const Format& f, const Format& accumulator, Class c, std::uint64_t seed, Operand operand,
          std::size_t columns) {
    for (std::size_t i = 0; i < words.size() * 32 / static_cast<std::size_t>(f.bits); ++i) {
        set(words, f.bits, i, input_code(c, f, accumulator, seed, operand, i / columns, i % columns));
    }
}
void fill(Tiles& t, Class c, std::uint64_t seed) {
    const auto k = static_cast<std::size_t>(t.shape.k * t.steps);
    fill(t.a, *t.a_format, *t.accumulator, c, seed, operand_a, k);
    fill(t.b, *t.b_format, *t.accumulator, c, seed, operand_b, k);
    fill(t.c, *t.accumulator, *t.accumulator, c, seed, operand_c, static_cast<std::size_t>(t.shape.n));
}

/// fp32 sums in ascending k on the host, rounded to the accumulator after each instruction: a stand-in, no model.
void host_run(Tiles& t) {
    const auto m = static_cast<std::size_t>(t.shape.m);
    const auto n = static_cast<std::size_t>(t.shape.n);
    const auto k = static_cast<std::size_t>(t.shape.k * t.steps);
    const bool half = t.accumulator->bits == 16;
    for (std::size_t at = 0; at < static_cast<std::size_t>(t.tiles) * m * n; ++at) {
        const std::size_t row = at / n;
        const std::size_t column = row / m * n + at % n;
        float sum = value_of(*t.accumulator, get(t.c, t.accumulator->bits, at));
        for (std::size_t i = 0; i < k; ++i) {
            const float product = value_of(*t.a_format, get(t.a, t.a_format->bits, row * k + i)) *
                                  value_of(*t.b_format, get(t.b, t.b_format->bits, column * k + i));
            sum = sum + product;
            const bool instruction_ends = (i + 1) % static_cast<std::size_t>(t.shape.k) == 0;
            if (half && instruction_ends) sum = value_of(*t.accumulator, to_fp16(sum));
        }
        set(t.d, t.accumulator->bits, at, half ? to_fp16(sum) : to_word(sum));
    }
}

struct Instruction {
    const char* name;  // "mma.m16n8k16.fp16.fp32"
    Shape shape;
    const char *a, *b, *accumulator;
    int oldest;  // architecture, NVIDIA: 80
    void (*launch)(const Word* a, const Word* b, const Word* c, Word* d, int tiles, int steps);
};

// ---- NVIDIA --------------------------------------------------------------------------------------------------------

#if defined(ULPLAB_NVIDIA)
#define ULPLAB_ARCHITECTURE (__CUDA_ARCH__ / 10)

// One warp a tile. Which lane holds what: PTX ISA, "Matrix fragments for mma.m16n8k..".
template <class Op>
__global__ void mma_tiles(const Word* a, const Word* b, const Word* c, Word* d, int tiles, int steps) {
    const int tile = static_cast<int>(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
    const int group = static_cast<int>(threadIdx.x % 32) / 4;
    const int thread = static_cast<int>(threadIdx.x % 4);
    if (tile >= tiles) return;
    const int step_words = Op::k * Op::bits / 32;
    const int row_words = step_words * steps;
    const Word* tile_a = a + static_cast<std::size_t>(tile) * 16 * row_words;
    const Word* tile_b = b + static_cast<std::size_t>(tile) * 8 * row_words;
    constexpr int sums = Op::half ? 2 : 4;
    const std::size_t first = static_cast<std::size_t>(tile) * (Op::half ? 64 : 128);
    const auto place = [&](int i) {
        return first + static_cast<std::size_t>(Op::half ? (group + 8 * i) * 4 + thread
                                                         : (group + 8 * (i / 2)) * 8 + 2 * thread + i % 2);
    };
    Word x[sums];
    for (int i = 0; i < sums; ++i) x[i] = c[place(i)];
    constexpr int registers = Op::k * Op::bits / 64;  // of A: 2 or 4; of B half as many
    for (int step = 0; step < steps; ++step) {
        Word fa[registers], fb[registers / 2];
        for (int r = 0; r < registers; ++r) {
            fa[r] = tile_a[(group + 8 * (r % 2)) * row_words + step * step_words + 4 * (r / 2) + thread];
        }
        for (int r = 0; r < registers / 2; ++r) {
            fb[r] = tile_b[group * row_words + step * step_words + 4 * r + thread];
        }
        Op::apply(x, fa, fb);
    }
    for (int i = 0; i < sums; ++i) d[place(i)] = x[i];
}
template <class Op>
void launch_mma(const Word* a, const Word* b, const Word* c, Word* d, int tiles, int steps) {
    mma_tiles<Op><<<(tiles + 3) / 4, 128>>>(a, b, c, d, tiles, steps);
}

#define ULPLAB_FP32(Name, OLDEST, K, BITS, PTX, OPERANDS, ...)                                            \
    struct Name {                                                                                         \
        static constexpr int k = K, bits = BITS;                                                          \
        static constexpr bool half = false;                                                               \
        static __device__ void apply(Word (&x)[4], const Word* a, const Word* b) {                        \
            if constexpr (ULPLAB_COMPILED >= OLDEST) {                                                    \
                float f[4] = {__uint_as_float(x[0]), __uint_as_float(x[1]), __uint_as_float(x[2]),        \
                              __uint_as_float(x[3])};                                                     \
                asm volatile("mma.sync.aligned." PTX " {%0, %1, %2, %3}, " OPERANDS ", {%0, %1, %2, %3};" \
                             : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                             \
                             : __VA_ARGS__);                                                              \
                for (int i = 0; i < 4; ++i) x[i] = __float_as_uint(f[i]);                                 \
            }                                                                                             \
        }                                                                                                 \
    }
#define ULPLAB_FP16(Name, OLDEST, K, BITS, PTX, OPERANDS, ...)                            \
    struct Name {                                                                         \
        static constexpr int k = K, bits = BITS;                                          \
        static constexpr bool half = true;                                                \
        static __device__ void apply(Word (&x)[2], const Word* a, const Word* b) {        \
            if constexpr (ULPLAB_COMPILED >= OLDEST) {                                    \
                asm volatile("mma.sync.aligned." PTX " {%0, %1}, " OPERANDS ", {%0, %1};" \
                             : "+r"(x[0]), "+r"(x[1])                                     \
                             : __VA_ARGS__);                                              \
            }                                                                             \
        }                                                                                 \
    }
#if defined(__CUDA_ARCH__)
#define ULPLAB_COMPILED ULPLAB_ARCHITECTURE
#else
#define ULPLAB_COMPILED 0
#endif
#define ULPLAB_4_2_FP32 "{%4, %5, %6, %7}, {%8, %9}"
#define ULPLAB_2_1_FP32 "{%4, %5}, {%6}"
#define ULPLAB_4_2_FP16 "{%2, %3, %4, %5}, {%6, %7}"
#define ULPLAB_2_1_FP16 "{%2, %3}, {%4}"
#define ULPLAB_4_2 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])
#define ULPLAB_2_1 "r"(a[0]), "r"(a[1]), "r"(b[0])
ULPLAB_FP32(Fp16K8, 75, 8, 16, "m16n8k8.row.col.f32.f16.f16.f32", ULPLAB_2_1_FP32, ULPLAB_2_1);
ULPLAB_FP16(Fp16K8Half, 75, 8, 16, "m16n8k8.row.col.f16.f16.f16.f16", ULPLAB_2_1_FP16, ULPLAB_2_1);
ULPLAB_FP32(Fp16K16, 80, 16, 16, "m16n8k16.row.col.f32.f16.f16.f32", ULPLAB_4_2_FP32, ULPLAB_4_2);
ULPLAB_FP16(Fp16K16Half, 80, 16, 16, "m16n8k16.row.col.f16.f16.f16.f16", ULPLAB_4_2_FP16, ULPLAB_4_2);
ULPLAB_FP32(Bf16K8, 80, 8, 16, "m16n8k8.row.col.f32.bf16.bf16.f32", ULPLAB_2_1_FP32, ULPLAB_2_1);
ULPLAB_FP32(Bf16K16, 80, 16, 16, "m16n8k16.row.col.f32.bf16.bf16.f32", ULPLAB_4_2_FP32, ULPLAB_4_2);
ULPLAB_FP32(Tf32K4, 80, 4, 32, "m16n8k4.row.col.f32.tf32.tf32.f32", ULPLAB_2_1_FP32, ULPLAB_2_1);
ULPLAB_FP32(Tf32K8, 80, 8, 32, "m16n8k8.row.col.f32.tf32.tf32.f32", ULPLAB_4_2_FP32, ULPLAB_4_2);
#define ULPLAB_FP8(A, B, a_name, b_name)                                                                              \
    ULPLAB_FP32(A##B##K16, 89, 16, 8, "m16n8k16.row.col.f32." a_name "." b_name ".f32", ULPLAB_2_1_FP32, ULPLAB_2_1); \
    ULPLAB_FP16(A##B##K16Half, 89, 16, 8, "m16n8k16.row.col.f16." a_name "." b_name ".f16", ULPLAB_2_1_FP16,          \
                ULPLAB_2_1);                                                                                          \
    ULPLAB_FP32(A##B##K32, 89, 32, 8, "m16n8k32.row.col.f32." a_name "." b_name ".f32", ULPLAB_4_2_FP32, ULPLAB_4_2); \
    ULPLAB_FP16(A##B##K32Half, 89, 32, 8, "m16n8k32.row.col.f16." a_name "." b_name ".f16", ULPLAB_4_2_FP16, ULPLAB_4_2)
ULPLAB_FP8(E4m3, E4m3, "e4m3", "e4m3");
ULPLAB_FP8(E4m3, E5m2, "e4m3", "e5m2");
ULPLAB_FP8(E5m2, E4m3, "e5m2", "e4m3");
ULPLAB_FP8(E5m2, E5m2, "e5m2", "e5m2");
#define ULPLAB_LAUNCH(Op) launch_mma<Op>

// The compiler's own interface: its fragments are opaque. Its type of tf32 is hidden from Turing.
struct Tf32;
template <class T>
struct FragmentOf {
    using type = T;
};
#if ULPLAB_COMPILED == 0 || ULPLAB_COMPILED >= 80
template <>
struct FragmentOf<Tf32> {
    using type = nvcuda::wmma::precision::tf32;
};
#endif
template <int K, class Input, class Stored, class Sum, int Oldest>
__global__ void wmma_tiles(const Stored* a, const Stored* b, const Sum* c, Sum* d, int steps) {
    if constexpr (ULPLAB_COMPILED >= Oldest) {
        namespace w = nvcuda::wmma;
        using Fragment = typename FragmentOf<Input>::type;
        w::fragment<w::accumulator, 16, 16, K, Sum> sum;
        const std::size_t tile = blockIdx.x;
        const int row = K * steps;
        w::load_matrix_sync(sum, c + tile * 256, 16, w::mem_row_major);
        for (int step = 0; step < steps; ++step) {
            w::fragment<w::matrix_a, 16, 16, K, Fragment, w::row_major> fa;
            w::fragment<w::matrix_b, 16, 16, K, Fragment, w::col_major> fb;
            w::load_matrix_sync(fa, a + tile * 16 * row + step * K, row);
            w::load_matrix_sync(fb, b + tile * 16 * row + step * K, row);
            w::mma_sync(sum, fa, fb, sum);
        }
        w::store_matrix_sync(d + tile * 256, sum, 16, w::mem_row_major);
    }
}
template <int K, class Fragment, class Stored, class Sum, int Oldest>
void launch_wmma(const Word* a, const Word* b, const Word* c, Word* d, int tiles, int steps) {
    wmma_tiles<K, Fragment, Stored, Sum, Oldest>
        <<<tiles, 32>>>(reinterpret_cast<const Stored*>(a), reinterpret_cast<const Stored*>(b),
                        reinterpret_cast<const Sum*>(c), reinterpret_cast<Sum*>(d), steps);
}
#define ULPLAB_WMMA(...) launch_wmma<__VA_ARGS__>
#else
#define ULPLAB_LAUNCH(Op) nullptr
#define ULPLAB_WMMA(...) nullptr
#endif

// ---- AMD -----------------------------------------------------------------------------------------------------------

#if defined(ULPLAB_HIP)
// 64 lanes, 16 x 16 x k. Lane l holds k/4 neighbouring k of row (column) l mod 16, from k/4 * (l / 16) on; of D rows
// 4 * (l / 16) + 0 ... 3 of column l mod 16 (AMD Instinct instruction set references, MFMA).
template <class Op>
__global__ void mfma_tiles(const Word* a, const Word* b, const Word* c, Word* d, int steps) {
    const int lane = static_cast<int>(threadIdx.x);
    const int line = lane % 16;
    const int part = lane / 16;
    const int lane_words = Op::k * Op::bits / 128;  // of a lane in a step: 1 or 2
    const int row_words = 4 * lane_words * steps;
    const std::size_t tile = blockIdx.x;
    typename Op::Sum sum;
    for (int i = 0; i < 4; ++i) sum[i] = __builtin_bit_cast(float, c[tile * 256 + (4 * part + i) * 16 + line]);
    for (int step = 0; step < steps; ++step) {
        const std::size_t at = (tile * 16 + line) * row_words + (4 * step + part) * lane_words;
        Word x[2] = {a[at], a[at + lane_words - 1]};
        Word y[2] = {b[at], b[at + lane_words - 1]};
        sum = Op::apply(x, y, sum);
    }
    for (int i = 0; i < 4; ++i) d[tile * 256 + (4 * part + i) * 16 + line] = __builtin_bit_cast(Word, sum[i]);
}
template <class Op>
void launch_mfma(const Word* a, const Word* b, const Word* c, Word* d, int tiles, int steps) {
    mfma_tiles<Op><<<dim3(tiles), dim3(64), 0, 0>>>(a, b, c, d, steps);
}

using Floats4 = float __attribute__((ext_vector_type(4)));
using Floats2 = float __attribute__((ext_vector_type(2)));
using Halves4 = _Float16 __attribute__((ext_vector_type(4)));
using Shorts4 = short __attribute__((ext_vector_type(4)));
using Shorts2 = short __attribute__((ext_vector_type(2)));
struct TwoWords {
    Word w[2];
};
template <class T>
__device__ T as(const Word* x) {
    if constexpr (sizeof(T) == 4)
        return __builtin_bit_cast(T, x[0]);
    else
        return __builtin_bit_cast(T, TwoWords{{x[0], x[1]}});
}
// The host's pass has no such functions, and an older processor no such instruction.
#define ULPLAB_MFMA(Name, K, BITS, Operand, HAS, FUNCTION)                                                     \
    struct Name {                                                                                              \
        static constexpr int k = K, bits = BITS;                                                               \
        using Sum = Floats4;                                                                                   \
        static __device__ Sum apply([[maybe_unused]] const Word* x, [[maybe_unused]] const Word* y, Sum sum) { \
            HAS(return __builtin_amdgcn_mfma_f32_##FUNCTION(as<Operand>(x), as<Operand>(y), sum, 0, 0, 0);)    \
            return sum;                                                                                        \
        }                                                                                                      \
    }
#define ULPLAB_YES(...) __VA_ARGS__
#define ULPLAB_NO(...)
#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx942__) || defined(__gfx950__)
#define ULPLAB_GFX908 ULPLAB_YES
#else
#define ULPLAB_GFX908 ULPLAB_NO
#endif
#if defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx942__) || defined(__gfx950__)
#define ULPLAB_GFX90A ULPLAB_YES
#else
#define ULPLAB_GFX90A ULPLAB_NO
#endif
#if defined(__gfx908__) || defined(__gfx90a__)
#define ULPLAB_BEFORE_942 ULPLAB_YES
#else
#define ULPLAB_BEFORE_942 ULPLAB_NO
#endif
#if defined(__gfx940__) || defined(__gfx942__)
#define ULPLAB_XF32 ULPLAB_YES
#define ULPLAB_FNUZ ULPLAB_YES
#else
#define ULPLAB_XF32 ULPLAB_NO
#define ULPLAB_FNUZ ULPLAB_NO
#endif
ULPLAB_MFMA(MfmaFp32, 4, 32, float, ULPLAB_GFX908, 16x16x4f32);
ULPLAB_MFMA(MfmaFp16, 16, 16, Halves4, ULPLAB_GFX908, 16x16x16f16);
ULPLAB_MFMA(MfmaBf16, 8, 16, Shorts2, ULPLAB_BEFORE_942, 16x16x8bf16);
ULPLAB_MFMA(MfmaBf16k, 16, 16, Shorts4, ULPLAB_GFX90A, 16x16x16bf16_1k);
ULPLAB_MFMA(MfmaXf32, 8, 32, Floats2, ULPLAB_XF32, 16x16x8_xf32);
ULPLAB_MFMA(MfmaFp8, 32, 8, long, ULPLAB_FNUZ, 16x16x32_fp8_fp8);
ULPLAB_MFMA(MfmaBf8, 32, 8, long, ULPLAB_FNUZ, 16x16x32_bf8_bf8);
#define ULPLAB_LAUNCH_MFMA(Op) launch_mfma<Op>
#else
#define ULPLAB_LAUNCH_MFMA(Op) nullptr
#endif

// ---- the instructions ----------------------------------------------------------------------------------------------

#define ULPLAB_FP8_ROWS(A, B, name, a, b)                                                            \
    {"mma.m16n8k16." name ".fp32", {16, 8, 16}, a, b, "fp32", 89, ULPLAB_LAUNCH(A##B##K16)},         \
        {"mma.m16n8k16." name ".fp16", {16, 8, 16}, a, b, "fp16", 89, ULPLAB_LAUNCH(A##B##K16Half)}, \
        {"mma.m16n8k32." name ".fp32", {16, 8, 32}, a, b, "fp32", 89, ULPLAB_LAUNCH(A##B##K32)}, {   \
        "mma.m16n8k32." name ".fp16", {16, 8, 32}, a, b, "fp16", 89, ULPLAB_LAUNCH(A##B##K32Half)    \
    }

#if defined(ULPLAB_AMD)
const Instruction instructions[] = {
    {"mfma.16x16x4.fp32.fp32", {16, 16, 4}, "fp32", "fp32", "fp32", 908, ULPLAB_LAUNCH_MFMA(MfmaFp32)},
    {"mfma.16x16x16.fp16.fp32", {16, 16, 16}, "fp16", "fp16", "fp32", 908, ULPLAB_LAUNCH_MFMA(MfmaFp16)},
    {"mfma.16x16x8.bf16.fp32", {16, 16, 8}, "bf16", "bf16", "fp32", 908, ULPLAB_LAUNCH_MFMA(MfmaBf16)},
    {"mfma_1k.16x16x16.bf16.fp32", {16, 16, 16}, "bf16", "bf16", "fp32", 910, ULPLAB_LAUNCH_MFMA(MfmaBf16k)},
    {"mfma.16x16x8.tf32.fp32", {16, 16, 8}, "tf32", "tf32", "fp32", 942, ULPLAB_LAUNCH_MFMA(MfmaXf32)},
    {"mfma.16x16x32.e4m3fnuz.fp32", {16, 16, 32}, "e4m3fnuz", "e4m3fnuz", "fp32", 942, ULPLAB_LAUNCH_MFMA(MfmaFp8)},
    {"mfma.16x16x32.e5m2fnuz.fp32", {16, 16, 32}, "e5m2fnuz", "e5m2fnuz", "fp32", 942, ULPLAB_LAUNCH_MFMA(MfmaBf8)},
};
#else
const Instruction instructions[] = {
    {"mma.m16n8k8.fp16.fp32", {16, 8, 8}, "fp16", "fp16", "fp32", 75, ULPLAB_LAUNCH(Fp16K8)},
    {"mma.m16n8k8.fp16.fp16", {16, 8, 8}, "fp16", "fp16", "fp16", 75, ULPLAB_LAUNCH(Fp16K8Half)},
    {"mma.m16n8k8.bf16.fp32", {16, 8, 8}, "bf16", "bf16", "fp32", 80, ULPLAB_LAUNCH(Bf16K8)},
    {"mma.m16n8k16.fp16.fp32", {16, 8, 16}, "fp16", "fp16", "fp32", 80, ULPLAB_LAUNCH(Fp16K16)},
    {"mma.m16n8k16.fp16.fp16", {16, 8, 16}, "fp16", "fp16", "fp16", 80, ULPLAB_LAUNCH(Fp16K16Half)},
    {"mma.m16n8k16.bf16.fp32", {16, 8, 16}, "bf16", "bf16", "fp32", 80, ULPLAB_LAUNCH(Bf16K16)},
    {"mma.m16n8k4.tf32.fp32", {16, 8, 4}, "tf32", "tf32", "fp32", 80, ULPLAB_LAUNCH(Tf32K4)},
    {"mma.m16n8k8.tf32.fp32", {16, 8, 8}, "tf32", "tf32", "fp32", 80, ULPLAB_LAUNCH(Tf32K8)},
    ULPLAB_FP8_ROWS(E4m3, E4m3, "e4m3", "e4m3", "e4m3"),
    ULPLAB_FP8_ROWS(E4m3, E5m2, "e4m3_e5m2", "e4m3", "e5m2"),
    ULPLAB_FP8_ROWS(E5m2, E4m3, "e5m2_e4m3", "e5m2", "e4m3"),
    ULPLAB_FP8_ROWS(E5m2, E5m2, "e5m2", "e5m2", "e5m2"),
    {"wmma.m16n16k16.fp16.fp32", {16, 16, 16}, "fp16", "fp16", "fp32", 80, ULPLAB_WMMA(16, half, half, float, 70)},
    {"wmma.m16n16k16.fp16.fp16", {16, 16, 16}, "fp16", "fp16", "fp16", 80, ULPLAB_WMMA(16, half, half, half, 70)},
    {"wmma.m16n16k16.bf16.fp32",
     {16, 16, 16},
     "bf16",
     "bf16",
     "fp32",
     80,
     ULPLAB_WMMA(16, __nv_bfloat16, __nv_bfloat16, float, 80)},
    {"wmma.m16n16k8.tf32.fp32", {16, 16, 8}, "tf32", "tf32", "fp32", 80, ULPLAB_WMMA(8, Tf32, float, float, 80)},
};
#endif

/// softfloat/lab/probes.hpp: input, output, k, "ID C LANE:A*B ..."; lane "all" is every lane.
struct ProbeRow {
    const char *input, *output;
    int k;
    const char* text;
};
[[maybe_unused]] const ProbeRow probe_rows[] = {
    {"bf16", "fp32", 16, "Z1 0 0:0*7F00 1:3080*3F80"},
    {"bf16", "fp32", 16, "Z3 30800000 0:0*7F00"},
    {"tf32", "fp32", 8, "Z5 0 0:0*7F000000 1:30800000*3F800000"},
    {"fp16", "fp32", 16, "Z6 200 0:0*7800"},
    {"fp16", "fp32", 16, "Z7 D800000 0:0*7800"},
    {"bf16", "fp32", 16, "F1 0 0:1A80*1A00 1:9980*1900"},
    {"bf16", "fp32", 16, "F2 0 0:1A80*1A00 1:9780*1680"},
    {"bf16", "fp32", 16, "F2b 0 0:1A80*1A00 1:9800*1800"},
    {"bf16", "fp32", 16, "F2c 0 0:1A80*1A00 1:9800*1780"},
    {"bf16", "fp32", 16, "F4 0 all:1980*1900"},
    {"fp16", "fp16", 16, "H1 0 0:C00*800 1:1*1"},
    {"fp16", "fp16", 16, "H2 0 0:C00*800 1:2*2"},
    {"fp16", "fp16", 16, "H3 0 0:C00*800 1:2*1"},
    {"fp16", "fp16", 16, "H4 2 0:C00*800 1:4*4"},
    {"fp16", "fp16", 16, "H6 2 0:C00*800 1:10*10"},
    {"fp16", "fp16", 16, "H7 0 0:8C00*400"},
    {"bf16", "fp32", 16, "N1 0 0:9A00*1A00"},
    {"tf32", "fp32", 8,
     "K1 0 0:3F800000*3F800000 1:39800000*39000000 2:39800000*39000000 4:39800000*39000000 5:39800000*39000000"},
    {"fp16", "fp32", 16, "K2 0 0:3C00*3C00 1:C00*800 2:C00*800 8:C00*800 9:C00*800"},
    {"fp16", "fp32", 8, "K3 0 0:3C00*3C00 1:C00*800 2:C00*800 4:C00*800 5:C00*800"},
    {"fp16", "fp32", 16, "P2 0 0:3E00*3E00 1:8C00*800"},
    {"e5m2", "fp32", 32, "Q1 3F800000 0:C*C 1:8*C"},
    {"e5m2", "fp32", 32, "Q2 0 0:3C*3C 2:C*8 4:C*8 6:C*8 8:C*8"},
    {"e5m2", "fp32", 32, "Q3 0 0:3C*3C 1:C*8 4:C*8 5:C*8 8:C*8"},
    {"e4m3", "fp32", 32, "Q5 3F8003FF 0:38*38"},
    {"e4m3", "fp32", 32, "Q6 3F8FFFFF"},
    {"e5m2", "fp32", 32, "Q8 0 0:3E*3E 16:20*A4"},
    {"tf32", "fp32", 8, "T 0 0:3F801FFF*3F800000"},
    {"bf16", "fp32", 16, "S1 0 0:7F00*3F80 1:7F00*3F80"},
    {"bf16", "fp32", 16, "S2 0 0:7180*7180 1:F180*7180 2:3F80*3F80"},
    {"bf16", "fp32", 16, "S3 0 0:5F80*5F80 1:DF00*5F80"},
    {"fp16", "fp16", 16, "S4 0 0:7BFF*3C00 1:4C00*3C00"},
    {"bf16", "fp32", 16, "S5 0 0:7F80*0"},
    {"bf16", "fp32", 16, "S6 FF800000 0:7F80*3F80"},
    {"bf16", "fp32", 16, "S7 0 0:FFC1*3F80"},
    {"bf16", "fp32", 16, "S8 FFC12345 0:3F80*3F80"},
    {"fp16", "fp16", 16, "S9 0 0:FE01*3C00"},
    {"bf16", "fp32", 16, "S10 80000000 all:8000*3F80"},
};

// ---- the device ----------------------------------------------------------------------------------------------------

struct Device {
    bool hardware = false;
#if defined(ULPLAB_AMD)
    std::string name = "gfx942";  // the published layout has no place that says who made the numbers but the folder
    int architecture = 942;       // gfx90a is 910
#else
    std::string name = "fp32 sums of ulplab_record";
    int architecture = 90;  // sm_90
#endif
    std::string cuda = "none none";
};

#if defined(ULPLAB_NVIDIA) || defined(ULPLAB_HIP)
void check(VENDOR(Error_t) error, const char* what) {
    if (error == VENDOR(Success)) return;
    throw std::runtime_error(std::string(what) + " failed: " + VENDOR(GetErrorString)(error));
}
struct DeviceWords {
    explicit DeviceWords(const Words& words) : bytes(words.size() * sizeof(Word)) {
        check(VENDOR(Malloc)(reinterpret_cast<void**>(&data), bytes), "allocating memory on the GPU");
        check(VENDOR(Memcpy)(data, words.data(), bytes, VENDOR(MemcpyHostToDevice)), "copying to the GPU");
    }
    DeviceWords(const DeviceWords&) = delete;
    ~DeviceWords() { static_cast<void>(VENDOR(Free)(data)); }
    Word* data = nullptr;
    std::size_t bytes;
};
void device_run(const Instruction& row, Tiles& t) {
    const DeviceWords a(t.a), b(t.b), c(t.c), d(t.d);
    row.launch(a.data, b.data, c.data, d.data, t.tiles, t.steps);
    check(VENDOR(GetLastError)(), "starting the kernel (was the program compiled for this GPU?)");
    check(VENDOR(Memcpy)(t.d.data(), d.data, d.bytes, VENDOR(MemcpyDeviceToHost)), "the kernel");
}
#if defined(ULPLAB_HIP)
int architecture_number(const char* gfx) {  // "gfx90a:sramecc+" is 910, "gfx942" is 942
    const std::string name(gfx);
    return name.rfind("gfx90a", 0) == 0 ? 910 : std::atoi(name.substr(3, 3).c_str());
}
#endif
Device open_device() {
    int count = 0;
    if (VENDOR(GetDeviceCount)(&count) != VENDOR(Success) || count == 0) {
        throw std::runtime_error("no usable GPU was found: install its driver, or use --software to try the program");
    }
    Device device;
    device.hardware = true;
#if defined(ULPLAB_NVIDIA)
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0), "asking the GPU for its properties");
    device.name = properties.name;
    device.architecture = 10 * properties.major + properties.minor;
    int driver = 0;
    check(cudaDriverGetVersion(&driver), "asking for the driver's version");
    const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
    device.cuda = version(driver) + " " + version(CUDART_VERSION);
#else
    hipDeviceProp_t properties{};
    check(hipGetDeviceProperties(&properties, 0), "asking the GPU for its properties");
    device.architecture = architecture_number(properties.gcnArchName);
    device.name = std::string(properties.gcnArchName).substr(0, std::string(properties.gcnArchName).find(':'));
#endif
    return device;
}
#else
void device_run(const Instruction&, Tiles& t) { host_run(t); }
Device open_device() {
    throw std::runtime_error("this build has no GPU code; compile it with nvcc or hipcc, or use --software");
}
#endif

bool has(const Device& device, const Instruction& row) {
    if (std::strstr(row.name, "mfma.16x16x8.bf16") != nullptr && device.architecture > 910) return false;
    return device.architecture >= row.oldest;
}
void run(const Device& device, const Instruction& row, Tiles& t) {
    if (device.hardware) {
        device_run(row, t);
    } else {
        host_run(t);
    }
}
Tiles tiles_for(const Instruction& row, int tiles, int steps) {
    return {row.shape, format_named(row.a), format_named(row.b), format_named(row.accumulator), tiles, steps};
}

// ---- probes and answers --------------------------------------------------------------------------------------------

struct Lane {
    int k;
    std::uint64_t a, b;
};

/// A tile with these lanes in every row and column; throws if its elements differ.
std::uint64_t answer(const Device& device, const Instruction& row, const std::vector<Lane>& lanes, std::uint64_t c) {
    Tiles t = tiles_for(row, 1, 1);
    const auto k = static_cast<std::size_t>(row.shape.k);
    const auto m = static_cast<std::size_t>(row.shape.m);
    const auto n = static_cast<std::size_t>(row.shape.n);
    for (const Lane& lane : lanes) {
        const auto at = static_cast<std::size_t>(lane.k);
        for (std::size_t i = 0; i < m; ++i) set(t.a, t.a_format->bits, i * k + at, lane.a);
        for (std::size_t j = 0; j < n; ++j) set(t.b, t.b_format->bits, j * k + at, lane.b);
    }
    for (std::size_t i = 0; i < m * n; ++i) set(t.c, t.accumulator->bits, i, c);
    run(device, row, t);
    for (std::size_t i = 1; i < m * n; ++i) {
        if (get(t.d, t.accumulator->bits, i) == get(t.d, t.accumulator->bits, 0)) continue;
        throw std::runtime_error(std::string(row.name) + ": two elements of D differ though their inputs are the same");
    }
    return get(t.d, t.accumulator->bits, 0);
}

[[maybe_unused]] std::vector<Lane> lanes_of(std::istringstream& text, int k) {
    std::vector<Lane> lanes;
    for (std::string lane; text >> lane;) {
        const std::size_t colon = lane.find(':');
        const std::size_t star = lane.find('*');
        const std::uint64_t a = std::stoull(lane.substr(colon + 1, star - colon - 1), nullptr, 16);
        const std::uint64_t b = std::stoull(lane.substr(star + 1), nullptr, 16);
        const bool all = lane.compare(0, colon, "all") == 0;
        for (int i = 0; i < k; ++i) {
            if (all || lane.substr(0, colon) == std::to_string(i)) lanes.push_back({i, a, b});
        }
    }
    return lanes;
}

// ---- writing -------------------------------------------------------------------------------------------------------

class File {
  public:
    explicit File(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "w")) {
        if (file_ == nullptr) throw std::runtime_error(path + " cannot be written; choose another folder");
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (file_ != nullptr) std::fclose(file_);
    }
    std::FILE* get() { return file_; }
    void close() {
        const bool bad = std::ferror(file_) != 0;
        const bool unwritten = std::fclose(file_) != 0;
        file_ = nullptr;
        if (bad || unwritten) throw std::runtime_error(path_ + " could not be written whole; is the disk full?");
    }

  private:
    std::string path_;
    std::FILE* file_;
};

void make_folder(const std::string& path) {
    struct stat about {};
    if (mkdir(path.c_str(), 0777) == 0 || (stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode))) return;
    throw std::runtime_error("the folder " + path + " cannot be made");
}

[[maybe_unused]] std::uint64_t digest(const Words& words, std::size_t first, std::size_t count) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += mix(mix(i) ^ words[first + i]);
    return sum;
}
using Long = unsigned long long;

std::uint64_t seed_for(const Instruction& row, Class c, unsigned tier) {
    std::uint64_t seed = mix(1 + tier);
    for (const char* p = row.name; *p != 0; ++p) seed = mix(seed ^ static_cast<unsigned char>(*p));
    return mix(seed ^ static_cast<std::uint64_t>(c));
}

#if !defined(ULPLAB_AMD)
void write_words(std::FILE* out, const char* name, const Words& words) {
    std::fprintf(out, "%s ", name);
    for (const Word word : words) std::fprintf(out, "%08X", word);
    std::fputc('\n', out);
}

void write_probes(std::FILE* out, const Device& device, const Instruction& row) {
    std::vector<const ProbeRow*> mine;
    for (const ProbeRow& probe : probe_rows) {
        const bool formats_fit = std::strcmp(probe.input, row.a) == 0 && std::strcmp(row.a, row.b) == 0 &&
                                 std::strcmp(probe.output, row.accumulator) == 0;
        if (formats_fit && probe.k == row.shape.k) mine.push_back(&probe);
    }
    std::fprintf(out, "probes %zu\n", mine.size());
    for (const ProbeRow* probe : mine) {
        std::istringstream text(probe->text);
        std::string id, c;
        text >> id >> c;
        const std::uint64_t addend = std::stoull(c, nullptr, 16);
        const std::vector<Lane> lanes = lanes_of(text, row.shape.k);
        std::fprintf(out, "%s c=%08llX d=%08llX", id.c_str(), static_cast<Long>(addend),
                     static_cast<Long>(answer(device, row, lanes, addend)));
        for (const Lane& lane : lanes) {
            std::fprintf(out, " %d:%llX*%llX", lane.k, static_cast<Long>(lane.a), static_cast<Long>(lane.b));
        }
        std::fputc('\n', out);
    }
}

void write_samples(std::FILE* out, const Device& device, const Instruction& row) {
    const int classes = row.shape.m * row.shape.n > 128 ? 5 : 6;
    std::fprintf(out, "samples %d\n", classes);
    for (int i = 0; i < classes; ++i) {
        const auto c = static_cast<Class>(i);
        Tiles t = tiles_for(row, 1, steps_of(c));
        fill(t, c, seed_for(row, c, 2));
        run(device, row, t);
        std::fprintf(out, "tile %s seed %016llX steps %d\n", class_names[i], static_cast<Long>(seed_for(row, c, 2)),
                     t.steps);
        write_words(out, "a", t.a);
        write_words(out, "b", t.b);
        write_words(out, "c", t.c);
        write_words(out, "d", t.d);
    }
}

void write_bulk(std::FILE* out, const Device& device, const Instruction& row, int digests) {
    const int per_digest = 4096 / (row.shape.m * row.shape.n);
    std::fprintf(out, "bulk 6\n");
    for (int i = 0; i < 6; ++i) {
        const auto c = static_cast<Class>(i);
        Tiles t = tiles_for(row, digests * per_digest, steps_of(c));
        const std::uint64_t seed = seed_for(row, c, 1);
        fill(t, c, seed);
        const std::uint64_t products = mix(mix(digest(t.a, 0, t.a.size())) + digest(t.b, 0, t.b.size()));
        std::fprintf(out, "run %s seed %016llX steps %d tiles %d inputs %016llX\n", class_names[i],
                     static_cast<Long>(seed), t.steps, t.tiles,
                     static_cast<Long>(products + digest(t.c, 0, t.c.size())));
        run(device, row, t);
        const std::size_t words = t.d.size() / static_cast<std::size_t>(digests);
        for (std::size_t first = 0; first < t.d.size(); first += words) {
            std::fprintf(out, "%s%016llX", first == 0 ? "" : " ", static_cast<Long>(digest(t.d, first, words)));
        }
        std::fputc('\n', out);
    }
}

/// One instruction; the model is "none": which row answers alike is for the reader to find out.
void record(const Device& device, const Instruction& row, const std::string& folder) {
    char date[16];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
    const std::string path = folder + "/" + row.name + ".recording";
    File file(path + ".part");
    std::fprintf(file.get(),
                 "ulplab recording 1\nsource %s\ngpu %s\narchitecture sm_%d\ndriver unknown\ncuda %s\ndate %s\n"
                 "instruction %s\nmodel none\n",
                 device.hardware ? "hardware" : "software", device.name.c_str(), device.architecture,
                 device.cuda.c_str(), date, row.name);
    write_probes(file.get(), device, row);
    write_samples(file.get(), device, row);
    write_bulk(file.get(), device, row, std::strcmp(row.a, row.b) == 0 ? 16 : 2);
    std::fprintf(file.get(), "end\n");
    file.close();
    if (std::rename((path + ".part").c_str(), path.c_str()) != 0) throw std::runtime_error(path + " cannot be written");
}
#else
/// OUT/<GPU, or software>/<instruction>/<format>: 5000 dot products in the published layout: a and b as fp32 words in
/// hexadecimal, c and d as 32 binary digits.
void record(const Device& device, const Instruction& row, const std::string& out) {
    const std::string input = row.a;
    std::string folder = out;
    for (const std::string& part : {device.hardware ? device.name : "software", std::string(row.name)})
        make_folder(folder += "/" + part);
    make_folder(folder += "/" + input);
    const std::string ending = "_" + device.name + "_";
    File a(folder + "/a" + ending + input + ".txt"), b(folder + "/b" + ending + input + ".txt");
    File c(folder + "/c" + ending + "fp32.txt"), d(folder + "/d" + ending + "fp32.txt");
    const auto binary = [](std::FILE* file, Word word) {
        for (int bit = 31; bit >= 0; --bit) std::fputc('0' + static_cast<int>(word >> bit & 1), file);
        std::fputc('\n', file);
    };
    const auto k = static_cast<std::size_t>(row.shape.k);
    for (const Class input_class : {ordinary, wide, cancellation, tiny}) {
        Tiles t = tiles_for(row, 79, 1);
        fill(t, input_class, seed_for(row, input_class, 2));
        run(device, row, t);
        for (std::size_t i = 0; i < 16 * 79 && i < 1250; ++i) {  // row i with column i of its tile
            for (std::size_t j = 0; j < k; ++j) {
                const char* space = j == 0 ? "" : " ";
                std::fprintf(a.get(), "%s%08X", space,
                             to_word(value_of(*t.a_format, get(t.a, t.a_format->bits, i * k + j))));
                std::fprintf(b.get(), "%s%08X", space,
                             to_word(value_of(*t.b_format, get(t.b, t.b_format->bits, i * k + j))));
            }
            std::fputc('\n', a.get());
            std::fputc('\n', b.get());
            binary(c.get(), t.c[i * 16 + i % 16]);
            binary(d.get(), t.d[i * 16 + i % 16]);
        }
    }
    for (File* file : {&a, &b, &c, &d}) file->close();
}
#endif

// ---- the program ---------------------------------------------------------------------------------------------------

const Instruction& instruction_named(const std::string& name) {
    for (const Instruction& row : instructions) {
        if (name == row.name) return row;
    }
    throw std::runtime_error("there is no instruction " + name + "; see --list");
}

/// k words of a, k of b, and c a line; an answer a line. For ulplab discover.
int answer_lines(const Device& device, const Instruction& row) {
    if (!has(device, row)) throw std::runtime_error(device.name + " has no " + row.name);
    char line[4096];
    while (std::fgets(line, sizeof line, stdin) != nullptr) {
        std::istringstream text(line);
        std::vector<std::uint64_t> words;
        for (std::string word; text >> word;) words.push_back(std::strtoull(word.c_str(), nullptr, 16));
        const auto k = static_cast<std::size_t>(row.shape.k);
        if (words.size() != 2 * k + 1) {
            throw std::runtime_error("a line has " + std::to_string(words.size()) + " words instead of " +
                                     std::to_string(2 * k + 1) + "; is -k " + std::to_string(k) + "?");
        }
        std::vector<Lane> lanes;
        for (std::size_t i = 0; i < k; ++i) lanes.push_back({static_cast<int>(i), words[i], words[k + i]});
        std::printf("%llX\n", static_cast<Long>(answer(device, row, lanes, words[2 * k])));
        std::fflush(stdout);
    }
    return 0;
}

int record_all(const Device& device, const std::string& out) {
    if (device.architecture < 80) {
        throw std::runtime_error(device.name + " is older than recordings are (sm_80); --answer asks its instructions");
    }
    make_folder(out);
    int files = 0;
    for (const Instruction& row : instructions) {
        if (!has(device, row)) continue;
        std::printf("%s\n", row.name);
        std::fflush(stdout);
        record(device, row, out);
        ++files;
    }
    if (files == 0) throw std::runtime_error(device.name + " has none of the instructions; see --list");
    std::printf("%d instructions of %s recorded in %s%s\n", files, device.name.c_str(), out.c_str(),
                device.hardware ? "" : " (by software: no evidence)");
    return 0;
}

int program(std::vector<std::string> arguments) {
    bool software = false;
    if (!arguments.empty() && arguments[0] == "--software") {
        software = true;
        arguments.erase(arguments.begin());
    }
    if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h")) {
        std::printf(
            "ulplab_record OUT            records into the folder OUT what the first GPU's matrix instructions "
            "compute\n"
            "ulplab_record --list         names the instructions\n"
            "ulplab_record --answer NAME  answers lines of operands by one of them\n"
            "--software before OUT or --answer: plain fp32 sums in place of the GPU\n");
        return 0;
    }
    if (arguments.size() == 1 && arguments[0] == "--list") {
        for (const Instruction& row : instructions) std::printf("%s\n", row.name);
        return 0;
    }
    const auto device = [&] { return software ? Device{} : open_device(); };
    if (arguments.size() == 2 && arguments[0] == "--answer")
        return answer_lines(device(), instruction_named(arguments[1]));
    if (arguments.size() != 1 || arguments[0].empty() || arguments[0][0] == '-') {
        std::fprintf(stderr, "usage: ulplab_record [--software] OUT | --list | [--software] --answer NAME\n");
        return 2;
    }
    return record_all(device(), arguments[0]);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return program(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "ulplab_record: %s\n", error.what());
        return 3;
    }
}
