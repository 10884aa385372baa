#include "gpu/devices/bulk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "gpu/devices/inputs.hpp"
#include "gpu/devices/reference.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {

ProductExtents bulk_extents(const Instruction& instruction, InputClass input_class, std::uint32_t matrices) {
    const auto tiles = [](int extent, int tile) { return static_cast<std::uint32_t>(std::max(1, extent / tile)); };
    const int rows = std::max(64, instruction.shape.m);
    return {.tiles_m = tiles(rows, instruction.shape.m),
            .tiles_n = tiles(2048 / rows, instruction.shape.n),
            .steps_k = steps_of(input_class),
            .batch = matrices};
}

std::string describe_mismatch(const HostProduct& product, const HostProduct& expected, std::uint64_t element,
                              std::uint64_t seed, InputClass input_class) {
    const std::uint64_t row = element / product.d.columns();
    const std::uint64_t column = element % product.d.columns();
    const std::uint64_t b_row = row / (product.d.rows() / product.extents.batch) * product.d.columns() + column;
    std::string text =
        fmt::format("{}, class {}, seed {:016X}, element ({}, {}): instruction {:X}, model {:X}, c {:X}, products",
                    product.instruction->name(), name_of(input_class), seed, row, column, product.d.get(row, column),
                    expected.d.get(row, column), product.c.get(row, column));
    for (std::uint64_t k = 0; k < product.a.columns(); ++k) {
        text += fmt::format(" {:X}*{:X}", product.a.get(row, k), product.b.get(b_row, k));
    }
    return text + scales_text(product, row, b_row);
}

namespace {

void compare(const HostProduct& product, const BulkSettings& settings, std::uint64_t seed, int architecture,
             BulkReport& report) {
    HostProduct expected = product;
    expected_product(expected, architecture);
    const std::uint64_t elements = product.d.rows() * product.d.columns();
    for (std::uint64_t i = 0; i < elements; ++i) {
        const std::uint64_t row = i / product.d.columns();
        const std::uint64_t column = i % product.d.columns();
        if (product.d.get(row, column) == expected.d.get(row, column)) continue;
        if (report.mismatches++ == 0)
            report.first = describe_mismatch(product, expected, i, seed, settings.input_class);
    }
    report.elements += elements;
    report.by_plain += elements;
    report.blocks += elements * product.extents.steps_k;
}

}  // namespace

BulkReport run_bulk_on_host(const Executor& executor, const BulkSettings& settings) {
    const Instruction& row = *settings.instruction;
    const auto start = std::chrono::steady_clock::now();
    BulkReport report;
    for (std::uint64_t launch = 0; report.blocks < settings.blocks && report.seconds < settings.seconds; ++launch) {
        HostProduct product(row, bulk_extents(row, settings.input_class, 1), true);
        const std::uint64_t seed = launch_seed(settings.seed, launch);
        fill_inputs(product, settings.input_class, seed);
        executor.run(product);
        compare(product, settings, seed, executor.info().architecture, report);
        report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    return report;
}

}  // namespace ulp::gpu
