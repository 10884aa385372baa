// The table of instructions, the reference, and the devices that need no GPU.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "gpu/devices/cuda_errors.hpp"
#include "gpu/devices/executor.hpp"
#include "gpu/devices/reference.hpp"
#include "softfloat/errors.hpp"

using namespace ulp::gpu;

TEST_CASE("names of instructions are unique and read back") {
    std::set<std::string> names;
    for (const Instruction& row : instructions()) {
        CHECK(names.insert(row.name()).second);
        CHECK(&instruction_by_name(row.name()) == &row);
    }
    CHECK(names.contains("mma.m16n8k32.e4m3_e5m2.fp16"));
    CHECK(names.contains("wgmma.m64n8k256.b1_and.s32"));
    CHECK(names.contains("mma.m16n8k64.u4_s4.s32.satfinite"));
    CHECK_THROWS_WITH_AS(instruction_by_name("mma.m16n8k16.fp12.fp32"), doctest::Contains("mma.m16n8k16.fp16.fp32"),
                         std::invalid_argument);
}

TEST_CASE("the instruction for a pair of types is the one with the largest k") {
    CHECK(choose_instruction(Family::mma, Element::fp16, Element::fp16, Element::fp32, 90).name() ==
          "mma.m16n8k16.fp16.fp32");
    CHECK(choose_instruction(Family::wgmma, Element::tf32, Element::tf32, Element::fp32, 90).name() ==
          "wgmma.m64n8k8.tf32.fp32");
    CHECK_THROWS_WITH_AS(choose_instruction(Family::wgmma, Element::fp16, Element::fp16, Element::fp32, 80),
                         doctest::Contains("sm_80"), std::invalid_argument);
    CHECK_THROWS_AS(choose_instruction(Family::mma, Element::e4m3, Element::e4m3, Element::fp32, 80),
                    std::invalid_argument);
}

TEST_CASE("wgmma exists on Hopper only, FP8 from Ada on") {
    const auto device = open_software_device(80);
    CHECK(device->has(instruction_by_name("mma.m16n8k16.bf16.fp32")));
    CHECK_FALSE(device->has(instruction_by_name("mma.m16n8k32.e4m3.fp32")));
    CHECK(open_software_device(89)->has(instruction_by_name("mma.m16n8k32.e4m3.fp32")));
    CHECK_FALSE(open_software_device(100)->has(instruction_by_name("wgmma.m64n8k16.fp16.fp32")));
    HostProduct product(instruction_by_name("wgmma.m64n8k16.fp16.fp32"));
    CHECK_THROWS_WITH_AS(device->run(product), doctest::Contains("it needs sm_90 and exists nowhere else"),
                         ulp::UsageError);
}

TEST_CASE("every floating-point instruction of Hopper has a row in the model table") {
    for (const Instruction& row : instructions()) {
        CAPTURE(row.name());
        if (row.availability.on(90)) CHECK(has_reference(row, 90));
    }
    CHECK(promised_model(instruction_by_name("wgmma.m64n8k8.tf32.fp32"), 90)->model.group_size == 8);
    CHECK(promised_model(instruction_by_name("mma.m16n8k4.tf32.fp32"), 90)->model.group_size == 4);
    CHECK(promised_model(instruction_by_name("mma.m16n8k8.fp16.fp32"), 90)->model.group_size == 8);
    CHECK(promised_model(instruction_by_name("wmma.m16n16k8.tf32.fp32"), 90)->key == "sm_90:wmma.tf32.fp32");
    CHECK(promised_model(instruction_by_name("wmma.m16n16k16.fp16.fp32"), 90)->key == "sm_90:mma.fp16.fp32");
    CHECK_FALSE(promised_model(instruction_by_name("mma.m16n8k32.s8.s32"), 90).has_value());
}

TEST_CASE("mma.sync with FP6, FP4 and block scales exists on sm_120 only, each with a row in a model table") {
    int narrow = 0;
    for (const Instruction& row : instructions()) {
        CAPTURE(row.name());
        if (row.availability.on(120)) CHECK(has_reference(row, 120));
        if (row.availability != Availability{120, true}) continue;
        ++narrow;
        CHECK(claimed_key(row, 120) == "sm_120:mma." + row.input_name() + "." + std::string(name_of(row.accumulator)));
        CHECK_FALSE(has_reference(row, 90));
    }
    CHECK(narrow == 2 * 21 + 25 + 2);  // 25 pairs, of which FP8 with FP8 without scales is the instruction of sm_89
    CHECK(claimed_scaled_model(instruction_by_name("mma.m16n8k64.nvf4.e2m1.fp32"), 120)->model.scale_block == 16);
    CHECK(choose_instruction(Family::mma, Element::e4m3, Element::e4m3, Element::fp32, 120).name() ==
          "mma.m16n8k32.e4m3.fp32");
}

TEST_CASE("a block-scaled tile worked by hand") {
    HostProduct product(instruction_by_name("mma.m16n8k64.nvf4.e2m1.fp32"));
    for (std::uint64_t k = 0; k < 64; ++k) {
        product.a.set(3, k, 0x2);                 // 1
        product.b.set(5, k, k < 16 ? 0x3 : 0x1);  // 1.5 in the first block, else 0.5
    }
    for (std::uint64_t block = 0; block < 4; ++block) {
        product.a_scales.set(3, block, 0x38);                      // 1
        product.b_scales.set(5, block, block == 1 ? 0x40 : 0x38);  // 2 in the second block
    }
    product.c.set(3, 5, 0x3F800000);
    expected_product(product, 120);
    CHECK(product.d.get(3, 5) == 0x42640000);  // 1 + 24 + 16 + 8 + 8 = 57
    HostProduct byte(instruction_by_name("mma.m16n8k32.e2m1.fp32"));
    byte.a.set(0, 0, 0x7 << 2);  // 6, in the middle of its byte
    byte.b.set(0, 0, 0x2 << 2);
    expected_product(byte, 120);
    CHECK(byte.d.get(0, 0) == 0x40C00000);
}

TEST_CASE("E8M0 scales for 16 elements, worked by hand") {
    HostProduct product(instruction_by_name("tcgen05.m128n16k64.mxf4_block16.e2m1.fp32"));
    for (std::uint64_t k = 0; k < 64; ++k) {
        product.a.set(3, k, 0x2);  // 1
        product.b.set(5, k, 0x2);
    }
    for (std::uint64_t block = 0; block < 4; ++block) {
        product.a_scales.set(3, block, 127 + block);  // 1, 2, 4, 8
        product.b_scales.set(5, block, 127);
    }
    expected_product(product, 100);
    CHECK(product.d.get(3, 5) == 0x43700000);  // 16 (1 + 2 + 4 + 8) = 240
}

TEST_CASE("integer sums wrap, or saturate where the instruction says so") {
    const auto answer = [](const char* name, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
        HostProduct product(instruction_by_name(name));
        for (std::uint64_t k = 0; k < product.a.columns(); ++k) {
            product.a.set(0, k, a);
            product.b.set(0, k, b);
        }
        product.c.set(0, 0, c);
        expected_product(product, 90);
        return product.d.get(0, 0);
    };
    CHECK(answer("mma.m16n8k32.s8.s32", 0x80, 0x80, 0) == 32 * 16384);
    CHECK(answer("mma.m16n8k32.s8_u8.s32", 0x80, 0xFF, 0) == static_cast<std::uint32_t>(-128 * 255 * 32));
    CHECK(answer("mma.m16n8k32.s8.s32", 127, 127, 0x7FFFFFFF) == 0x7FFFFFFF + std::uint64_t{127 * 127 * 32});
    CHECK(answer("mma.m16n8k32.s8.s32.satfinite", 127, 127, 0x7FFFFFFF) == 0x7FFFFFFF);
    CHECK(answer("mma.m16n8k32.s8.s32.satfinite", 127, 0x80, 0x80000000) == 0x80000000);
    CHECK(answer("mma.m16n8k64.s4.s32", 0x8, 0x7, 0) == static_cast<std::uint32_t>(-56 * 64));
    CHECK(answer("mma.m16n8k256.b1_xor.s32", 1, 0, 5) == 261);
    CHECK(answer("mma.m16n8k256.b1_and.s32", 1, 0, 5) == 5);
    CHECK(answer("mma.m8n8k4.fp64.fp64", 0x3FF8000000000000, 0x4000000000000000, 0x3FF0000000000000) ==
          0x402A000000000000);  // 4 * 1.5 * 2 + 1 = 13
}

TEST_CASE("packed matrices keep every width") {
    for (const int bits : {1, 4, 8, 16, 32, 64}) {
        CAPTURE(bits);
        PackedMatrix matrix(3, 64, bits);
        const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
        const auto code = [&](std::uint64_t i, std::uint64_t j) { return (i * 64 + j) * 0x9E3779B97F4A7C15U & mask; };
        for (std::uint64_t i = 0; i < 3; ++i) {
            for (std::uint64_t j = 0; j < 64; ++j) matrix.set(i, j, code(i, j));
        }
        int differences = 0;
        for (std::uint64_t i = 0; i < 3; ++i) {
            for (std::uint64_t j = 0; j < 64; ++j) differences += matrix.get(i, j) == code(i, j) ? 0 : 1;
        }
        CHECK(differences == 0);
    }
}

TEST_CASE("a failed CUDA call is a sentence with the call and a remedy") {
    CHECK(cuda_failure("cudaMalloc of 5 bytes", "cudaErrorMemoryAllocation", "out of memory") ==
          "cudaMalloc of 5 bytes failed: out of memory (cudaErrorMemoryAllocation); close other programs on the GPU or "
          "use smaller sizes");
    CHECK(cuda_failure("cudaGetDeviceCount", "cudaErrorInsufficientDriver", "CUDA driver version is insufficient")
              .find("install a newer driver") != std::string::npos);
    CHECK(cuda_failure("x", "cudaErrorNew", "new").find("see the CUDA documentation") != std::string::npos);
}

TEST_CASE("a kernel that does not end is given up after a limit, with a sentence that says what is kept") {
    CHECK_FALSE(wait_for([] { return false; }, 0.02));
    int asked = 0;
    CHECK(wait_for([&] { return ++asked == 1100; }, 60));
    CHECK(still_running("mma.m16n8k16.fp16.fp32", 120) ==
          "mma.m16n8k16.fp16.fp32 has not ended after 120 s and is given up; what was found until then is kept in "
          "--out; see "
          "with nvidia-smi whether others use the GPU, and run compute-sanitizer if not");
}

TEST_CASE("a card's evidence lies in a folder of its name") {
    const auto name_of = [](const char* name) {
        DeviceInfo info;
        info.name = name;
        return card_name(info);
    };
    CHECK(name_of("NVIDIA H100 80GB HBM3") == "h100_80gb_hbm3");
    CHECK(name_of("NVIDIA H200") == "h200");
    CHECK(name_of("NVIDIA A100-SXM4-40GB") == "a100_sxm4_40gb");
}

TEST_CASE("devices are named cuda or software:sm_NN") {
    CHECK(open_device("software:sm_90")->info().architecture == 90);
    CHECK_FALSE(open_device("software:sm_90")->info().hardware);
    for (const char* spec : {"", "gpu", "software", "software:sm_", "software:sm_9x",
                             "software:sm_90:", "software:sm_90:x", "software:sm_90:1:2", "software:busy"}) {
        CHECK_THROWS_AS(open_device(spec), ulp::UsageError);
    }
    CHECK_THROWS_WITH_AS(open_device("software:sm_123"),
                         "no model of sm_123 to stand in for that GPU; there are sm_70, sm_75, sm_80, sm_86, sm_89, "
                         "sm_90, sm_100, sm_120, sm_103, sm_121",
                         ulp::UsageError);
}

TEST_CASE("a stand-in with little memory, or one that is held by another program, fails as a GPU does") {
    HostProduct product(instruction_by_name("mma.m16n8k16.fp16.fp32"));  // 512 + 256 + 512 + 512 bytes
    open_device("software:sm_90:1792")->run(product);
    CHECK_THROWS_WITH_AS(
        open_device("software:sm_90:1791")->run(product),
        "cudaMalloc of 512 bytes (511 of 1791 free) failed: out of memory (cudaErrorMemoryAllocation); "
        "close other programs on the GPU or use smaller sizes",
        ulp::DataError);
    CHECK_THROWS_WITH_AS(open_device("software:sm_90:busy"), doctest::Contains("nvidia-smi"), ulp::DataError);
}
