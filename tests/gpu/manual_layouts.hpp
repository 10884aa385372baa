// The fragments of mma.sync as the PTX manual prints them, a formula a shape and type: an independent statement of what
// gpu/instructions/fragment_layout.hpp condenses into one. PTX ISA 9.0, section 9.7.14.5.1 to 9.7.14.5.13.
//
// groupID = lane >> 2, threadID_in_group = lane % 4, i the index of the element in the lane's fragment.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/instructions/element.hpp"

namespace ulp::test {

using gpu::Place;
using PlaceOf = std::function<Place(int group, int thread, int i)>;

struct ManualLayout {
    std::string title;
    gpu::TileShape shape;
    int element_bits;
    PlaceOf a;
    PlaceOf b;
};

inline std::vector<ManualLayout> manual_layouts() {
    return {
        {"m16n8k4 .tf32",
         {16, 8, 4},
         32,
         [](int g, int t, int i) {
             return Place{i == 0 ? g : g + 8, t};
         },
         [](int g, int t, int) {
             return Place{t, g};
         }},
        {"m16n8k4 .f64",
         {16, 8, 4},
         64,
         [](int g, int t, int i) {
             return Place{i == 0 ? g : g + 8, t};
         },
         [](int g, int t, int) {
             return Place{t, g};
         }},
        {"m8n8k4 .f64",
         {8, 8, 4},
         64,
         [](int g, int t, int) {
             return Place{g, t};
         },
         [](int g, int t, int) {
             return Place{t, g};
         }},
        {"m16n8k8 .f16 .bf16",
         {16, 8, 8},
         16,
         [](int g, int t, int i) {
             return Place{i < 2 ? g : g + 8, t * 2 + (i & 1)};
         },
         [](int g, int t, int i) {
             return Place{t * 2 + i, g};
         }},
        {"m16n8k8 .tf32",
         {16, 8, 8},
         32,
         [](int g, int t, int i) {
             return Place{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
         },
         [](int g, int t, int i) {
             return Place{i == 0 ? t : t + 4, g};
         }},
        {"m16n8k8 .f64",
         {16, 8, 8},
         64,
         [](int g, int t, int i) {
             return Place{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
         },
         [](int g, int t, int i) {
             return Place{i == 0 ? t : t + 4, g};
         }},
        {"m16n8k16 .f16 .bf16",
         {16, 8, 16},
         16,
         [](int g, int t, int i) {
             return Place{i < 2 || (i >= 4 && i < 6) ? g : g + 8, i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8};
         },
         [](int g, int t, int i) {
             return Place{i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8, g};
         }},
        {"m16n8k16 .f64",
         {16, 8, 16},
         64,
         [](int g, int t, int i) {
             return Place{i % 2 == 0 ? g : g + 8, i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t};
         },
         [](int g, int t, int i) {
             return Place{t + i * 4, g};
         }},
        {"m8n8k16 .u8 .s8",
         {8, 8, 16},
         8,
         [](int g, int t, int i) {
             return Place{g, t * 4 + i};
         },
         [](int g, int t, int i) {
             return Place{t * 4 + i, g};
         }},
        {"m16n8k16 .u8 .s8 .e4m3 .e5m2",
         {16, 8, 16},
         8,
         [](int g, int t, int i) {
             return Place{i < 4 ? g : g + 8, t * 4 + (i & 3)};
         },
         [](int g, int t, int i) {
             return Place{t * 4 + i, g};
         }},
        {"m16n8k32 .u8 .s8 .e4m3 .e5m2 .e3m2 .e2m3 .e2m1",
         {16, 8, 32},
         8,
         [](int g, int t, int i) {
             return Place{i < 4 || (i >= 8 && i < 12) ? g : g + 8, i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16};
         },
         [](int g, int t, int i) {
             return Place{i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16, g};
         }},
        {"m8n8k32 .u4 .s4",
         {8, 8, 32},
         4,
         [](int g, int t, int i) {
             return Place{g, t * 8 + i};
         },
         [](int g, int t, int i) {
             return Place{t * 8 + i, g};
         }},
        {"m16n8k32 .u4 .s4",
         {16, 8, 32},
         4,
         [](int g, int t, int i) {
             return Place{i < 8 ? g : g + 8, t * 8 + (i & 7)};
         },
         [](int g, int t, int i) {
             return Place{t * 8 + (i & 7), g};
         }},
        {"m16n8k64 .u4 .s4 .e2m1",
         {16, 8, 64},
         4,
         [](int g, int t, int i) {
             return Place{i < 8 || (i >= 16 && i < 24) ? g : g + 8, i < 16 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32};
         },
         [](int g, int t, int i) {
             return Place{i < 8 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32, g};
         }},
        {"m8n8k128 .b1",
         {8, 8, 128},
         1,
         [](int g, int t, int i) {
             return Place{g, t * 32 + i};
         },
         [](int g, int t, int i) {
             return Place{t * 32 + i, g};
         }},
        {"m16n8k128 .b1",
         {16, 8, 128},
         1,
         [](int g, int t, int i) {
             return Place{i < 32 ? g : g + 8, t * 32 + (i & 0x1F)};
         },
         [](int g, int t, int i) {
             return Place{t * 32 + i, g};
         }},
        {"m16n8k256 .b1",
         {16, 8, 256},
         1,
         [](int g, int t, int i) {
             return Place{i < 32 || (i >= 64 && i < 96) ? g : g + 8,
                          i < 64 ? t * 32 + (i & 0x1F) : t * 32 + (i & 0x1F) + 128};
         },
         [](int g, int t, int i) {
             return Place{i < 32 ? t * 32 + (i & 0x1F) : t * 32 + (i & 0x1F) + 128, g};
         }},
    };
}

/// C and D of every shape with m = 16: c0, c1 in row groupID, c2, c3 in row groupID + 8; with m = 8 only c0, c1.
inline Place manual_accumulator(int group, int thread, int i) {
    return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
}

/// Block scales with selectors {0, 0} (PTX ISA 9.0, "Block scaling"): in each group of four lanes the first supplies
/// the scales of A's row groupID and of B's column groupID, the second those of A's row groupID + 8.
inline int manual_lane_of_a_scale(int row) { return row % 8 * 4 + row / 8; }
inline int manual_lane_of_b_scale(int column) { return column * 4; }

/// D of wgmma.m64nN (PTX ISA 9.0, figure "WGMMA .m64nNk16 register fragment layout for accumulator matrix D"): warp w
/// of the warpgroup holds rows 16w to 16w + 15; registers 4j to 4j + 3 the columns 8j to 8j + 7.
inline Place manual_wgmma_accumulator(int thread_of_warpgroup, int i) {
    const int warp = thread_of_warpgroup / 32;
    const int lane = thread_of_warpgroup % 32;
    const int row = 16 * warp + lane / 4 + ((i / 2) % 2 == 0 ? 0 : 8);
    return {row, 8 * (i / 4) + 2 * (lane % 4) + (i & 1)};
}

}  // namespace ulp::test
