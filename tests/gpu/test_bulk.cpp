// Bulk runs: the host's twin, which needs no GPU, and the shape of a launch.
#include <doctest/doctest.h>

#include <string>

#include "gpu/devices/bulk.hpp"
#include "softfloat/errors.hpp"

using namespace ulp::gpu;

namespace {

/// A device with a fault: the last bit of one element is wrong.
class FaultyDevice final : public Executor {
  public:
    [[nodiscard]] const DeviceInfo& info() const override { return good_->info(); }

  private:
    void compute(HostProduct& product) const override {
        good_->run(product);
        product.d.set(2, 3, product.d.get(2, 3) ^ 1);
    }
    std::unique_ptr<Executor> good_ = open_software_device(90);
};

}  // namespace

TEST_CASE("a bulk run counts blocks, steps and elements") {
    const auto device = open_software_device(90);
    for (const InputClass input_class : {InputClass::bits, InputClass::chain}) {
        const BulkReport report =
            run_bulk_on_host(*device, {.instruction = &instruction_by_name("mma.m16n8k16.bf16.fp32"),
                                       .input_class = input_class,
                                       .blocks = 3000});
        CHECK(report.mismatches == 0);
        CHECK(report.first.empty());
        CHECK(report.elements == (input_class == InputClass::chain ? 2048 : 4096));
        CHECK(report.blocks == report.elements * steps_of(input_class));
    }
}

TEST_CASE("a bulk run covers FP4 and block scales") {
    const auto device = open_software_device(120);
    for (const char* name : {"mma.m16n8k32.e2m1.fp32", "mma.m16n8k64.nvf4.e2m1.fp32"}) {
        const BulkReport report = run_bulk_on_host(
            *device, {.instruction = &instruction_by_name(name), .input_class = InputClass::chain, .blocks = 3000});
        CHECK(report.mismatches == 0);
        CHECK(report.elements == 2048);
    }
}

TEST_CASE("a device with one wrong bit is caught, and the place is named") {
    const FaultyDevice device;
    const BulkReport report =
        run_bulk_on_host(device, {.instruction = &instruction_by_name("wgmma.m64n8k16.fp16.fp32"), .blocks = 1});
    CHECK(report.mismatches == 1);
    CHECK(report.first.find("element (2, 3)") != std::string::npos);
    CHECK(report.first.find("class ordinary") != std::string::npos);
}

TEST_CASE("a launch is cut into matrices of 64 x 32, or of 128 x 16 where a tile has 128 rows") {
    for (const Instruction& row : instructions()) {
        CAPTURE(row.name());
        const ProductExtents extents = bulk_extents(row, InputClass::chain, 5);
        const unsigned rows = row.shape.m == 128 ? 128 : 64;
        CHECK(extents.tiles_m * static_cast<unsigned>(row.shape.m) == rows);
        CHECK(extents.tiles_n * static_cast<unsigned>(row.shape.n) == 2048 / rows);
        CHECK(extents.steps_k == 4);
        CHECK(extents.batch == 5);
    }
}
