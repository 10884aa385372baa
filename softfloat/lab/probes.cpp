#include "softfloat/lab/probes.hpp"

namespace ulp {
namespace {

using Lanes = std::vector<ProbeLane>;

Lanes every_lane(int count, std::uint32_t a, std::uint32_t b) {
    Lanes lanes;
    for (int k = 0; k < count; ++k) lanes.push_back({k, a, b});
    return lanes;
}

std::vector<ProbePrediction> policies(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d,
                                      std::uint32_t e, std::uint32_t h) {
    return {{"A", a}, {"B", b}, {"C", c}, {"D", d}, {"E", e}, {"H", h}};
}
std::vector<ProbePrediction> agreed(std::uint32_t result) { return {{"A", result}, {"B", result}, {"H", result}}; }

constexpr std::string_view zero_question = "does a product with a zero operand set the largest exponent?";
constexpr std::string_view floor_question = "is there a floor under the largest exponent, and where?";
constexpr std::string_view half_question = "what does an fp16 accumulator do with the smallest products?";
constexpr std::string_view subnormal_question = "at which exponent does a subnormal fp16 c count?";

std::vector<Probe> make_policy_probes() {
    constexpr std::uint32_t one = 0x30800000;
    return {
        {"Z1",
         zero_question,
         "bf16",
         "fp32",
         16,
         {{0, 0x0000, 0x7F00}, {1, 0x3080, 0x3F80}},
         0,
         policies(one, 0, one, one, 0, one)},
        {"Z3", zero_question, "bf16", "fp32", 16, {{0, 0x0000, 0x7F00}}, one, policies(one, 0, one, one, 0, one)},
        {"Z5",
         zero_question,
         "tf32",
         "fp32",
         8,
         {{0, 0, 0x7F000000}, {1, one, 0x3F800000}},
         0,
         policies(one, 0, one, one, 0, one)},
        {"Z6",
         zero_question,
         "fp16",
         "fp32",
         16,
         {{0, 0x0000, 0x7800}},
         0x00000200,
         policies(0x200, 0, 0x200, 0x200, 0, 0x200)},
        {"Z7",
         "does a zero fp16 operand count as a subnormal?",
         "fp16",
         "fp32",
         16,
         {{0, 0x0000, 0x7800}},
         0x0D800000,
         policies(0x0D800000, 0x0D800000, 0x0D800000, 0x0D800000, 0, 0x0D800000)},
        {"F1",
         floor_question,
         "bf16",
         "fp32",
         16,
         {{0, 0x1A80, 0x1A00}, {1, 0x9980, 0x1900}},
         0,
         policies(0, 1, 0, 1, 1, 0)},
        {"F2",
         floor_question,
         "bf16",
         "fp32",
         16,
         {{0, 0x1A80, 0x1A00}, {1, 0x9780, 0x1680}},
         0,
         policies(1, 1, 0, 1, 1, 1)},
        {"F2b",
         floor_question,
         "bf16",
         "fp32",
         16,
         {{0, 0x1A80, 0x1A00}, {1, 0x9800, 0x1800}},
         0,
         policies(0, 1, 0, 1, 1, 0)},
        {"F2c",
         floor_question,
         "bf16",
         "fp32",
         16,
         {{0, 0x1A80, 0x1A00}, {1, 0x9800, 0x1780}},
         0,
         policies(1, 1, 0, 1, 1, 1)},
        {"F4", floor_question, "bf16", "fp32", 16, every_lane(16, 0x1980, 0x1900), 0, policies(1, 0, 1, 0, 0, 1)},
        {"H1",
         half_question,
         "fp16",
         "fp16",
         16,
         {{0, 0x0C00, 0x0800}, {1, 0x0001, 0x0001}},
         0,
         policies(0, 1, 1, 0, 0, 0)},
        {"H2",
         half_question,
         "fp16",
         "fp16",
         16,
         {{0, 0x0C00, 0x0800}, {1, 0x0002, 0x0002}},
         0,
         policies(1, 1, 1, 0, 0, 1)},
        {"H3",
         half_question,
         "fp16",
         "fp16",
         16,
         {{0, 0x0C00, 0x0800}, {1, 0x0002, 0x0001}},
         0,
         policies(0, 1, 1, 0, 0, 0)},
        {"H4",
         subnormal_question,
         "fp16",
         "fp16",
         16,
         {{0, 0x0C00, 0x0800}, {1, 0x0004, 0x0004}},
         0x0002,
         policies(3, 2, 2, 2, 2, 2)},
        {"H6",
         subnormal_question,
         "fp16",
         "fp16",
         16,
         {{0, 0x0C00, 0x0800}, {1, 0x0010, 0x0010}},
         0x0002,
         policies(3, 2, 2, 2, 2, 2)},
        {"H7",
         "which zero is a negative result that underflows?",
         "fp16",
         "fp16",
         16,
         {{0, 0x8C00, 0x0400}},
         0,
         policies(0x8000, 0, 0, 0, 0, 0)},
        {"N1",
         "which zero is a negative result that underflows?",
         "bf16",
         "fp32",
         16,
         {{0, 0x9A00, 0x1A00}},
         0,
         policies(0x80000000, 0, 0, 0, 0, 0)},
    };
}

std::vector<Probe> make_structure_probes() {
    const ProbeLane one_fp16{0, 0x3C00, 0x3C00};
    const ProbeLane one_e5m2{0, 0x3C, 0x3C};
    const auto small_fp16 = [](int k) { return ProbeLane{k, 0x0C00, 0x0800}; };
    const auto small_e5m2 = [](int k) { return ProbeLane{k, 0x0C, 0x08}; };
    const auto small_tf32 = [](int k) { return ProbeLane{k, 0x39800000, 0x39000000}; };
    return {
        {"K1",
         "are the 8 products of tf32 one group?",
         "tf32",
         "fp32",
         8,
         {{0, 0x3F800000, 0x3F800000}, small_tf32(1), small_tf32(2), small_tf32(4), small_tf32(5)},
         0,
         {{"8 fused", 0x3F800001}, {"4 + 4", 0x3F800000}}},
        {"K2",
         "are the 16 products of fp16 one group, with F = 25?",
         "fp16",
         "fp32",
         16,
         {one_fp16, small_fp16(1), small_fp16(2), small_fp16(8), small_fp16(9)},
         0,
         {{"16 fused, F 25", 0x3F800001}, {"8 + 8, or F 24", 0x3F800000}}},
        {"K3",
         "are the 8 products of fp16 k8 one group?",
         "fp16",
         "fp32",
         8,
         {one_fp16, small_fp16(1), small_fp16(2), small_fp16(4), small_fp16(5)},
         0,
         {{"8 fused, F 25", 0x3F800001}, {"4 + 4, or F 24", 0x3F800000}}},
        {"P2",
         "are products aligned as they come, in [0, 4)?",
         "fp16",
         "fp32",
         16,
         {{0, 0x3E00, 0x3E00}, {1, 0x8C00, 0x0800}},
         0,
         {{"as they come", 0x400FFFFF}, {"normalised first", 0x40100000}}},
        {"Q1",
         "is FP8 added in fp16 instructions, or natively with 13 bits?",
         "e5m2",
         "fp32",
         32,
         {{0, 0x0C, 0x0C}, {1, 0x08, 0x0C}},
         0x3F800000,
         {{"through fp16", 0x3F800001}, {"native, F 13", 0x3F800000}}},
        {"Q2",
         "which k does the first fp16 instruction take?",
         "e5m2",
         "fp32",
         32,
         {one_e5m2, small_e5m2(2), small_e5m2(4), small_e5m2(6), small_e5m2(8)},
         0,
         {{"k mod 4 in {0, 1}", 0x3F800000}, {"the lower half", 0x3F800001}}},
        {"Q3",
         "is FP8 added in fp16 instructions, or natively with 13 bits?",
         "e5m2",
         "fp32",
         32,
         {one_e5m2, small_e5m2(1), small_e5m2(4), small_e5m2(5), small_e5m2(8)},
         0,
         {{"through fp16", 0x3F800001}, {"native, F 13", 0x3F800000}}},
        {"Q5",
         "is c added to the rounded sum of FP8 products, to nearest?",
         "e4m3",
         "fp32",
         32,
         {{0, 0x38, 0x38}},
         0x3F8003FF,
         {{"through fp16", 0x40000200}, {"native, 13 bits", 0x40000000}}},
        {"Q6",
         "are c's low bits cut where FP8 products are zero?",
         "e4m3",
         "fp32",
         32,
         {},
         0x3F8FFFFF,
         {{"through fp16", 0x3F8FFFFF}, {"native, 13 bits", 0x3F8FFC00}}},
        {"Q8",
         "are the 32 products of FP8 one group?",
         "e5m2",
         "fp32",
         32,
         {{0, 0x3E, 0x3E}, {16, 0x20, 0xA4}},
         0,
         {{"32 fused, F 13", 0x400FFC00}, {"16 + 16", 0x40100000}, {"through fp16", 0x400FFE00}}},
        {"T",
         "what becomes of the low 13 bits of a tf32 operand?",
         "tf32",
         "fp32",
         8,
         {{0, 0x3F801FFF, 0x3F800000}},
         0,
         {{"cut", 0x3F800000}, {"rounded", 0x3F802000}}},
    };
}

std::vector<Probe> make_special_probes() {
    constexpr std::uint32_t nan = 0x7FFFFFFF;
    return {
        {"S1",
         "a sum beyond the fp32 range",
         "bf16",
         "fp32",
         16,
         {{0, 0x7F00, 0x3F80}, {1, 0x7F00, 0x3F80}},
         0,
         agreed(0x7F800000)},
        {"S2",
         "huge products that cancel, over a one",
         "bf16",
         "fp32",
         16,
         {{0, 0x7180, 0x7180}, {1, 0xF180, 0x7180}, {2, 0x3F80, 0x3F80}},
         0,
         agreed(0)},
        {"S3",
         "products beyond the fp32 range with a sum inside it",
         "bf16",
         "fp32",
         16,
         {{0, 0x5F80, 0x5F80}, {1, 0xDF00, 0x5F80}},
         0,
         agreed(0x7F000000)},
        {"S4",
         "a sum beyond the fp16 range",
         "fp16",
         "fp16",
         16,
         {{0, 0x7BFF, 0x3C00}, {1, 0x4C00, 0x3C00}},
         0,
         agreed(0x7C00)},
        {"S5", "infinity times zero", "bf16", "fp32", 16, {{0, 0x7F80, 0x0000}}, 0, agreed(nan)},
        {"S6", "infinities of both signs", "bf16", "fp32", 16, {{0, 0x7F80, 0x3F80}}, 0xFF800000, agreed(nan)},
        {"S7", "a NaN operand with payload and sign", "bf16", "fp32", 16, {{0, 0xFFC1, 0x3F80}}, 0, agreed(nan)},
        {"S8", "a NaN c with payload and sign", "bf16", "fp32", 16, {{0, 0x3F80, 0x3F80}}, 0xFFC12345, agreed(nan)},
        {"S9", "a NaN operand with an fp16 accumulator", "fp16", "fp16", 16, {{0, 0xFE01, 0x3C00}}, 0, agreed(0x7FFF)},
        {"S10", "a sum of nothing but -0", "bf16", "fp32", 16, every_lane(16, 0x8000, 0x3F80), 0x80000000, agreed(0)},
    };
}

}  // namespace

std::span<const Probe> policy_probes() {
    static const std::vector<Probe> table = make_policy_probes();
    return table;
}
std::span<const Probe> structure_probes() {
    static const std::vector<Probe> table = make_structure_probes();
    return table;
}
std::span<const Probe> special_probes() {
    static const std::vector<Probe> table = make_special_probes();
    return table;
}

std::span<const Probe> all_probes() {
    static const std::vector<Probe> table = [] {
        std::vector<Probe> all;
        for (const auto probes : {policy_probes(), structure_probes(), special_probes()}) {
            all.insert(all.end(), probes.begin(), probes.end());
        }
        return all;
    }();
    return table;
}

}  // namespace ulp
