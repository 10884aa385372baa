// Matrix units of 8 fp16 products with an fp32 accumulator, written without this project's arithmetic: as a shared
// library (ulplab_unit.h), or with -DBOX_PROGRAM as a program that answers lines. ULPLAB_TEST_BOX names the case.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "softfloat/lab/ulplab_unit.h"

namespace {

__extension__ typedef __int128 Int128;

enum class Cut { toward_zero, nearest, down, sticky };
enum class Addend { with, beside_zeros, after, never };

/// What a box does. The plain one: one group, F = 24, toward zero.
struct Box {
    int group = 8, f = 24;
    Cut cut = Cut::toward_zero;
    Addend addend = Addend::with;
    bool nearest = false, away = false, fp16_products = false, normalise = false, saturate = false, quiet = false;
    bool flush_operands = false, flush_addend = false, flush_results = false, descending = false;
    bool inverted = false;  // terms against c's sign, bit by bit
};

struct Term {
    bool negative;
    std::uint64_t significand;  // value: significand * 2^last
    int last, exponent;         // exponent: with which it is aligned
};

float float_of(std::uint32_t word) {
    float x;
    std::memcpy(&x, &word, sizeof x);
    return x;
}
std::uint32_t word_of(float x) {
    std::uint32_t word;
    std::memcpy(&word, &x, sizeof word);
    return word;
}

double half_value(std::uint64_t word) {
    const int exponent = static_cast<int>(word >> 10 & 31);
    const auto fraction = static_cast<double>(word & 1023);
    const double magnitude = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                             : exponent == 0 ? std::ldexp(fraction, -24)
                                             : std::ldexp(1024 + fraction, exponent - 25);
    return (word >> 15 & 1) != 0 ? -magnitude : magnitude;
}

/// x to fp16, to nearest even; a double is exact for products of two halves.
double rounded_to_half(double x) {
    if (x == 0 || !std::isfinite(x)) return x;
    const int exponent = std::ilogb(x) < -14 ? -14 : std::ilogb(x);
    const double y = std::ldexp(std::nearbyint(std::ldexp(x, 10 - exponent)), exponent - 10);
    return std::fabs(y) > 65504 ? std::copysign(INFINITY, y) : y;
}

Term term_of(double x, int exponent) {
    int e = 0;
    const double fraction = std::frexp(std::fabs(x), &e);
    return {x < 0, static_cast<std::uint64_t>(std::ldexp(fraction, 53)), e - 53, exponent};
}

int half_exponent(std::uint64_t word) {
    const int field = static_cast<int>(word >> 10 & 31);
    return field == 0 ? -14 : field - 15;
}

Int128 aligned(const Box& box, const Term& t, int largest) {
    const int up = t.last - (largest - box.f);
    const int extra = box.cut == Cut::sticky ? 1 : 0;
    if (up >= 0) return (static_cast<Int128>(t.significand) << (up + extra)) * (t.negative ? -1 : 1);
    const int down = -up > 100 ? 100 : -up;
    const auto whole = static_cast<Int128>(t.significand);
    Int128 kept = whole >> down;
    const Int128 rest = whole - (kept << down);
    const Int128 half = static_cast<Int128>(1) << (down - 1);
    if (box.cut == Cut::sticky) kept = kept * 2 + (rest != 0 ? 1 : 0);
    if (box.cut == Cut::nearest && (rest > half || (rest == half && (kept & 1) != 0))) ++kept;
    if (box.cut == Cut::down && t.negative && rest != 0) ++kept;
    return t.negative ? -kept : kept;
}

/// sum * 2^exponent as fp32.
std::uint32_t rounded(const Box& box, Int128 sum, int exponent) {
    if (sum == 0) return 0;
    const std::uint32_t sign = sum < 0 ? 0x80000000 : 0;
    Int128 magnitude = sum < 0 ? -sum : sum;
    int length = 0;
    while ((magnitude >> length) != 0) ++length;
    const int binade = exponent + length - 1 < -126 ? -126 : exponent + length - 1;
    const int down = binade - 23 - exponent;
    if (down > 0) {
        const Int128 kept = down > 120 ? 0 : magnitude >> down;
        const Int128 rest = down > 120 ? 1 : magnitude - (kept << down);
        const Int128 half = down > 120 ? 2 : static_cast<Int128>(1) << (down - 1);
        const bool up = box.nearest && (rest > half || (rest == half && (box.away || (kept & 1) != 0)));
        magnitude = kept + (up ? 1 : 0);
    } else {
        magnitude <<= -down;
    }
    if (magnitude == 0) return 0;
    const double value = std::ldexp(static_cast<double>(static_cast<std::int64_t>(magnitude)), binade - 23);
    if (value >= 0x1p128) return sign | (box.saturate ? 0x7F7FFFFF : 0x7F800000);
    if (box.flush_results && value < 0x1p-126) return 0;
    return sign | word_of(static_cast<float>(value));
}

std::uint32_t group_sum(const Box& box, const std::uint64_t* a, const std::uint64_t* b, std::uint32_t c, int count) {
    const std::uint32_t nan = box.quiet ? 0x7FC00000 : 0x7FFFFFFF;
    double special = 0;
    Term terms[9];
    int used = 0, largest = -100000;
    const auto use = [&](Term t) {
        if (t.significand == 0) return;
        if (box.normalise) t.exponent = t.last + 52;
        terms[used++] = t;
        if (t.exponent > largest) largest = t.exponent;
    };
    for (int k = 0; k < count; ++k) {
        const auto flushed = [&](std::uint64_t word) {
            return box.flush_operands && (word & 0x7C00) == 0 ? word & 0x8000 : word;
        };
        const std::uint64_t x = flushed(a[k]), y = flushed(b[k]);
        double product = half_value(x) * half_value(y);
        int exponent = half_exponent(x) + half_exponent(y);
        if (box.fp16_products) {
            product = rounded_to_half(product);
            exponent = product == 0 || std::ilogb(product) < -14 ? -14 : std::ilogb(product);
        }
        if (!std::isfinite(product))
            special += product;
        else
            use(term_of(product, exponent));
    }
    if (box.flush_addend && (c & 0x7F800000) == 0) c &= 0x80000000;
    const double addend = static_cast<double>(float_of(c));
    if (!std::isfinite(addend)) special += addend;
    if (std::isnan(special)) return nan;
    if (special != 0) return special < 0 ? 0xFF800000 : 0x7F800000;
    const bool normal = (c & 0x7F800000) != 0;
    Term t = term_of(addend, normal ? std::ilogb(addend) : -126);
    if (t.significand != 0) {
        terms[used++] = t;
        if (t.exponent > largest) largest = t.exponent;
    }
    Int128 sum = 0;
    for (int i = 0; i < used; ++i) {
        const bool opposes = box.inverted && terms[i].negative != ((c >> 31) != 0);
        sum += aligned(box, terms[i], largest) + (opposes ? (terms[i].negative ? -1 : 1) : 0);
    }
    return rounded(box, sum, largest - box.f - (box.cut == Cut::sticky ? 1 : 0));
}

std::uint32_t fused(const Box& box, const std::uint64_t* a, const std::uint64_t* b, std::uint32_t c) {
    std::uint64_t x[8], y[8];
    bool products = false;
    for (int k = 0; k < 8; ++k) {
        x[k] = a[box.descending ? 7 - k : k];
        y[k] = b[box.descending ? 7 - k : k];
        const double product = half_value(x[k]) * half_value(y[k]);
        products = products || !(product == 0);
    }
    const std::uint32_t given = c;
    if (box.addend == Addend::never || box.addend == Addend::after) c = 0;
    if (box.addend == Addend::beside_zeros && products) c = 0;
    for (int k = 0; k < 8; k += box.group) c = group_sum(box, x + k, y + k, c, box.group);
    if (box.addend != Addend::after) return c;
    const float sum = float_of(c) + float_of(given);
    return std::isnan(sum) ? 0x7FFFFFFF : word_of(sum);
}

float chain(const std::uint64_t* a, const std::uint64_t* b, float c, bool descending) {
    for (int i = 0; i < 8; ++i) {
        const int k = descending ? 7 - i : i;
        c = std::fma(static_cast<float>(half_value(a[k])), static_cast<float>(half_value(b[k])), c);
    }
    return c;
}

/// x + y in fp32, to odd: of the numbers beside an inexact sum the one whose last bit is set.
float sum_to_odd(double x, double y) {
    const double sum = x + y;
    if (!std::isfinite(sum)) return static_cast<float>(sum);
    const double error = (x - (sum - (sum - x))) + (y - (sum - x));
    const auto near = static_cast<float>(sum);
    const double rest = (sum - static_cast<double>(near)) + error;
    if (rest == 0 || (word_of(near) & 1) != 0) return near;
    return std::nextafterf(near, rest > 0 ? INFINITY : -INFINITY);
}

float chain_to_odd(const std::uint64_t* a, const std::uint64_t* b, float c) {
    for (int k = 0; k < 8; ++k) c = sum_to_odd(half_value(a[k]) * half_value(b[k]), static_cast<double>(c));
    return c;
}

std::uint32_t quiet(float x) { return std::isnan(x) ? 0x7FC00000 : word_of(x); }

std::uint32_t answer(const std::string& name, const std::uint64_t* a, const std::uint64_t* b, std::uint32_t c) {
    static std::uint64_t calls = 0;
    ++calls;
    Box box;
    if (name == "constant") return word_of(1.0F);
    if (name == "chain") return quiet(chain(a, b, float_of(c), false));
    if (name == "chain_descending") return quiet(chain(a, b, float_of(c), true));
    if (name == "chain_odd") return quiet(chain_to_odd(a, b, float_of(c)));
    if (name == "unstable") return fused(box, a, b, c) ^ (calls % 53 == 0 ? 1U : 0U);
    if (name == "double_sum") {
        double sum = static_cast<double>(float_of(c));
        for (int k = 0; k < 8; ++k) sum += half_value(a[k]) * half_value(b[k]);
        return quiet(static_cast<float>(sum * 1.0000001));
    }
    if (name == "fp16_result") {
        const float d = float_of(fused(box, a, b, c));
        return quiet(static_cast<float>(rounded_to_half(static_cast<double>(d))));
    }
    if (name == "rare") {  // wrong where an operand is one of 65,536
        const std::uint32_t d = fused(box, a, b, c);
        return a[3] == 0x3C01 ? d ^ 4U : d;
    }
    if (name == "c_ignored") box.addend = Addend::beside_zeros;
    if (name == "c_never") box.addend = Addend::never;
    if (name == "c_after") box.addend = Addend::after;
    if (name == "sticky") box.cut = Cut::sticky;
    if (name == "nearest_terms") box.cut = Cut::nearest;
    if (name == "terms_down") box.cut = Cut::down;
    if (name == "fp16_products") box.fp16_products = true;
    if (name == "flushed") box.flush_operands = box.flush_addend = box.flush_results = true;
    if (name == "c_flushed") box.flush_addend = true;
    if (name == "saturating") box.saturate = true;
    if (name == "inverted") box.inverted = true;
    if (name == "f30") box.f = 30;
    if (name == "f60") box.f = 60;
    if (name == "groups_of_4") box.group = 4;
    if (name == "descending") box.group = 2, box.descending = true;
    if (name == "quiet") box.quiet = true;
    if (name == "nearest") box.nearest = true;
    if (name == "nearest_away") box.nearest = box.away = true, box.f = 26;
    return fused(box, a, b, c);
}

/// Products of signed bytes; sums beyond 32 bits wrap, or are clamped after all of them or after each.
[[maybe_unused]] std::uint32_t integers(const std::string& name, int k, const std::uint64_t* a, const std::uint64_t* b,
                                        std::uint32_t c) {
    const auto clamped = [](std::int64_t x) { return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x; };
    std::int64_t sum = static_cast<std::int32_t>(c);
    for (int i = 0; i < k; ++i) {
        sum += static_cast<std::int8_t>(a[i]) * static_cast<std::int8_t>(b[i]);
        if (name == "s8_clamps_each") sum = clamped(sum);
    }
    static std::uint64_t calls = 0;
    if (name == "s8_unstable") return static_cast<std::uint32_t>(sum + static_cast<std::int64_t>(++calls % 2));
    return static_cast<std::uint32_t>(name == "s8" ? sum : clamped(sum));
}

const char* box_name() {
    const char* name = std::getenv("ULPLAB_TEST_BOX");
    return name == nullptr ? "" : name;
}

}  // namespace

#ifdef BOX_PROGRAM
int main(int count, char** arguments) {
    const std::string name = count > 1 ? arguments[1] : box_name();
    char line[1024];
    for (int lines = 0; std::fgets(line, sizeof line, stdin) != nullptr; ++lines) {
        std::uint64_t words[17];
        char* at = line;
        for (std::uint64_t& word : words) word = std::strtoull(at, &at, 16);
        if (name == "dies" && lines == 5) return 3;
        if (name == "aborts" && lines == 5) std::abort();
        if (name == "hangs" && lines == 5) continue;
        if (name == "silent") return 0;
        if (name == "garbage")
            std::printf("1.5\n");
        else if (name == "too_wide")
            std::printf("123456789\n");
        else if (name == "too_little")
            std::printf(lines % 2 == 0 ? "\n" : "0\n");
        else if (name.rfind("s8", 0) == 0)
            std::printf("%X\n", integers(name, 8, words, words + 8, static_cast<std::uint32_t>(words[16])));
        else
            std::printf("%X\n", answer(name, words, words + 8, static_cast<std::uint32_t>(words[16])));
        std::fflush(stdout);
    }
    return 0;
}
#elif defined(BOX_WITHOUT_FUNCTION)
extern "C" int another_function() { return answer(box_name(), nullptr, nullptr, 0) != 0 ? 1 : 0; }
#else
int ulplab_unit_dot(int k, const uint64_t* a, const uint64_t* b, uint64_t c, uint64_t* d) {
    const std::string name = box_name();
    if (name.rfind("s8", 0) == 0) {
        *d = integers(name, k, a, b, static_cast<std::uint32_t>(c));
        return ULPLAB_UNIT_INTERFACE;
    }
    if (name == "long" && k % 8 == 0) {  // a chain of groups of 8
        for (int i = 0; i < k; i += 8) c = answer("plain", a + i, b + i, static_cast<std::uint32_t>(c));
        *d = c;
        return ULPLAB_UNIT_INTERFACE;
    }
    if (k != 8) return 0;
    *d = answer(name, a, b, static_cast<std::uint32_t>(c));
    return name == "another_version" ? 2 : ULPLAB_UNIT_INTERFACE;
}
#endif
