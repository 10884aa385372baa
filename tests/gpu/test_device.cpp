// On a machine with a GPU: its answers against the models. Without one: the sentence that says so.
#include <doctest/doctest.h>

#include <iostream>
#include <memory>
#include <string>

#include "gpu/devices/bulk.hpp"
#include "gpu/devices/executor.hpp"
#include "gpu/devices/recording.hpp"
#include "gpu/devices/reference.hpp"
#include "softfloat/errors.hpp"

using namespace ulp::gpu;

namespace {

/// The GPU, or nothing and a line by which ctest counts the case as skipped.
std::unique_ptr<Executor> gpu_or_skip() {
    try {
        return open_cuda_device();
    } catch (const ulp::DataError& error) {
        std::cout << "skipped: no usable GPU: " << error.what() << '\n';
        return nullptr;
    }
}

}  // namespace

TEST_CASE("opening the device gives a GPU or a sentence with a remedy") {
    try {
        const auto device = open_cuda_device();
        CHECK(device->info().hardware);
        CHECK(device->info().architecture >= 50);
        CHECK_FALSE(device->info().name.empty());
    } catch (const ulp::DataError& error) {
        const std::string text = error.what();
        CAPTURE(text);
        CHECK((text.find("; ") != std::string::npos));
        CHECK((text.find("built without CUDA") != std::string::npos || text.find("cuda") == 0));
    }
}

TEST_CASE("every instruction of this GPU equals its model on a tile of each class") {
    const auto device = gpu_or_skip();
    if (!device) return;
    const int architecture = device->info().architecture;
    for (const Instruction& row : instructions()) {
        if (!device->has(row) || !has_reference(row, architecture)) continue;
        for (const InputClass input_class : input_classes) {
            CAPTURE(row.name());
            CAPTURE(std::string(name_of(input_class)));
            HostProduct product = make_tiles(row, input_class, 11, 3);
            HostProduct expected = product;
            device->run(product);
            expected_product(expected, architecture);
            CHECK(product.d == expected.d);
        }
    }
}

TEST_CASE("without C a chain starts from zero (wgmma: scale-d = 0), over edges of several tiles") {
    const auto device = gpu_or_skip();
    if (!device) return;
    for (const Instruction& row : instructions()) {
        if (!device->has(row) || !has_reference(row, device->info().architecture)) continue;
        CAPTURE(row.name());
        HostProduct product(row, {.tiles_m = 2, .tiles_n = 3, .steps_k = 3, .batch = 2}, false);
        fill_inputs(product, InputClass::bits, 12);
        HostProduct expected = product;
        device->run(product);
        expected_product(expected, device->info().architecture);
        CHECK(product.d == expected.d);
    }
}

TEST_CASE("the device's comparison finds what the host's does: none with the model, many with one fraction bit less") {
    const auto device = gpu_or_skip();
    if (!device) return;
    for (const char* name : {"mma.m16n8k16.fp16.fp32", "mma.m16n8k8.tf32.fp32", "mma.m16n8k32.s8.s32"}) {
        for (const bool plain : {false, true}) {
            const BulkReport report = run_bulk_on_cuda(
                *device, {.instruction = &instruction_by_name(name), .blocks = 1 << 22, .plain = plain});
            CAPTURE(name);
            CHECK(report.mismatches == 0);
            CHECK(report.elements >= 1 << 22);
            if (report.mutant_elements != 0) CHECK(report.mutant_mismatches > report.mutant_elements / 10);
        }
    }
}
