#include "softfloat/lab/x86_units.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "softfloat/vector/simd_choice.hpp"

namespace ulp::x86 {

namespace {

bool cpuid_bit(unsigned leaf, unsigned subleaf, std::size_t output, int bit) {
    std::array<unsigned, 4> registers{};
    if (__get_cpuid_count(leaf, subleaf, &registers[0], &registers[1], &registers[2], &registers[3]) == 0) return false;
    return (registers[output] >> bit & 1) != 0;
}

/// Asks Linux for the tile registers (Documentation/arch/x86/xstate.rst).
bool tiles_allowed() {
    constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long tile_data = 18;               // XFEATURE_XTILEDATA
    static const bool allowed = cpuid_bit(7, 0, 3, 24) && syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
    return allowed;
}

/// The layout that LDTILECFG reads: three tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfiguration {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::array<std::uint8_t, 14> reserved{};
    std::array<std::uint16_t, 16> bytes_a_row{64, 64, 64};
    std::array<std::uint8_t, 16> rows{16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);

/// Columns of b as AMX wants them: row r holds, for every column, the `group` elements from k = r * group on.
template <class Element, int k, int group>
void interleave(const Element* columns, Element* rows) {
    for (int row = 0; row < k / group; ++row) {
        for (int column = 0; column < 16; ++column) {
            for (int i = 0; i < group; ++i) {
                rows[(row * 16 + column) * group + i] = columns[column * k + row * group + i];
            }
        }
    }
}

__attribute__((target("avx512f,avx512bf16"))) void run_vdpbf16ps(const std::uint16_t* a, const std::uint16_t* b,
                                                                 const std::uint32_t* c, std::uint32_t* d) {
    const __m512i x = _mm512_loadu_si512(a);
    const __m512i y = _mm512_loadu_si512(b);
    const __m512 sum = _mm512_dpbf16_ps(_mm512_loadu_ps(c), (__m512bh)x, (__m512bh)y);
    _mm512_storeu_ps(d, sum);
}

__attribute__((target("amx-tile,amx-bf16"))) void run_tdpbf16ps(const std::uint16_t* a, const std::uint16_t* b,
                                                                const std::uint32_t* c, std::uint32_t* d) {
    const TileConfiguration configuration;
    _tile_loadconfig(&configuration);
    _tile_loadd(0, c, 64);
    _tile_loadd(1, a, 64);
    _tile_loadd(2, b, 64);
    _tile_dpbf16ps(0, 1, 2);
    _tile_stored(0, d, 64);
    _tile_release();
}

__attribute__((target("amx-tile,amx-int8"))) void run_tdpbssd(const std::int8_t* a, const std::int8_t* b,
                                                              const std::int32_t* c, std::int32_t* d) {
    const TileConfiguration configuration;
    _tile_loadconfig(&configuration);
    _tile_loadd(0, c, 64);
    _tile_loadd(1, a, 64);
    _tile_loadd(2, b, 64);
    _tile_dpbssd(0, 1, 2);
    _tile_stored(0, d, 64);
    _tile_release();
}

void require(bool present, const char* what) {
    if (!present) throw std::runtime_error(std::string("this processor cannot run ") + what);
}

}  // namespace

bool has_vdpbf16ps() { return simd_by_name("") >= Simd::avx512 && cpuid_bit(7, 1, 0, 5); }
bool has_tdpbf16ps() { return cpuid_bit(7, 0, 3, 22) && tiles_allowed(); }
bool has_tdpbssd() { return cpuid_bit(7, 0, 3, 25) && tiles_allowed(); }

void vdpbf16ps(const std::uint16_t* a, const std::uint16_t* b, const std::uint32_t* c, std::uint32_t* d) {
    require(has_vdpbf16ps(), "vdpbf16ps");
    run_vdpbf16ps(a, b, c, d);
}

void tdpbf16ps(const std::uint16_t* a, const std::uint16_t* b, const std::uint32_t* c, std::uint32_t* d) {
    require(has_tdpbf16ps(), "tdpbf16ps");
    std::array<std::uint16_t, 512> rows{};
    interleave<std::uint16_t, 32, 2>(b, rows.data());
    run_tdpbf16ps(a, rows.data(), c, d);
}

void tdpbssd(const std::int8_t* a, const std::int8_t* b, const std::int32_t* c, std::int32_t* d) {
    require(has_tdpbssd(), "tdpbssd");
    std::array<std::int8_t, 1024> rows{};
    interleave<std::int8_t, 64, 4>(b, rows.data());
    run_tdpbssd(a, rows.data(), c, d);
}

}  // namespace ulp::x86

#else

namespace ulp::x86 {

bool has_vdpbf16ps() { return false; }
bool has_tdpbf16ps() { return false; }
bool has_tdpbssd() { return false; }

void vdpbf16ps(const std::uint16_t*, const std::uint16_t*, const std::uint32_t*, std::uint32_t*) {
    throw std::runtime_error("this processor cannot run vdpbf16ps");
}
void tdpbf16ps(const std::uint16_t*, const std::uint16_t*, const std::uint32_t*, std::uint32_t*) {
    throw std::runtime_error("this processor cannot run tdpbf16ps");
}
void tdpbssd(const std::int8_t*, const std::int8_t*, const std::int32_t*, std::int32_t*) {
    throw std::runtime_error("this processor cannot run tdpbssd");
}

}  // namespace ulp::x86

#endif

namespace ulp::x86 {

namespace {

/// Runs a unit with one row and one column filled.
template <std::size_t products, std::size_t sums, class Run>
DotUnit bf16_unit(int k, const Run& run) {
    return {formats::bf16, formats::bf16, formats::fp32, k,
            [run](std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c) {
                std::array<std::uint16_t, products> x{}, y{};
                std::array<std::uint32_t, sums> start{}, d{};
                std::transform(a.begin(), a.end(), x.begin(), [](auto v) { return static_cast<std::uint16_t>(v); });
                std::transform(b.begin(), b.end(), y.begin(), [](auto v) { return static_cast<std::uint16_t>(v); });
                start[0] = static_cast<std::uint32_t>(c);
                run(x.data(), y.data(), start.data(), d.data());
                return std::uint64_t{d[0]};
            }};
}

}  // namespace

DotUnit vdpbf16ps_unit() { return bf16_unit<32, 16>(2, vdpbf16ps); }
DotUnit tdpbf16ps_unit() { return bf16_unit<512, 256>(32, tdpbf16ps); }

}  // namespace ulp::x86
