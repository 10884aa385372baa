#include "gpu/devices/bulk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>

#include "gpu/devices/executor.hpp"
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

namespace {

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

/// The instruction of a family with the set's formats and the largest k that the device has, or null.
const Instruction* instruction_for(const Executor& executor, const RecordedSet& set, Family family) {
    const Instruction* best = nullptr;
    for (const Instruction& row : instructions()) {
        if (row.family != family || !executor.has(row) || !is_float(row.a)) continue;
        if (row.input_name() != lower(set.input) || name_of(row.accumulator) != lower(set.output)) continue;
        if (best == nullptr || row.shape.k > best->shape.k) best = &row;
    }
    return best;
}

constexpr std::uint64_t dots_per_tile = 8;

/// Eight dots a tile: dot i in row i of A, column i of B, and element (i, i) of C and D.
HostProduct dots_of(const RecordedSet& set, const Instruction& row) {
    const auto rows = static_cast<std::uint64_t>(set.rows);
    const auto products = static_cast<std::uint64_t>(set.products);
    const auto k = static_cast<std::uint64_t>(row.shape.k);
    HostProduct p(row,
                  {.steps_k = static_cast<std::uint32_t>((products + k - 1) / k),
                   .batch = static_cast<std::uint32_t>((rows + dots_per_tile - 1) / dots_per_tile)},
                  true);
    const bool zero_c = recorded_with_zero_c(set);
    const auto m = static_cast<std::uint64_t>(row.shape.m);
    const auto n = static_cast<std::uint64_t>(row.shape.n);
    for (std::uint64_t i = 0; i < rows; ++i) {
        const std::uint64_t tile = i / dots_per_tile;
        const std::uint64_t place = i % dots_per_tile;
        for (std::uint64_t j = 0; j < products; ++j) {
            p.a.set(tile * m + place, j, set.a[i * products + j]);
            p.b.set(tile * n + place, j, set.b[i * products + j]);
        }
        if (!zero_c) p.c.set(tile * m + place, place, set.c[i]);
    }
    return p;
}

std::uint64_t result_of(const HostProduct& p, std::uint64_t row) {
    const std::uint64_t place = row % dots_per_tile;
    return p.d.get(row / dots_per_tile * static_cast<std::uint64_t>(p.instruction->shape.m) + place, place);
}

LiveComparison compare(const Executor& executor, const RecordedSet& set, const Instruction& row) {
    LiveComparison result;
    result.set = fmt::format("{} {}->{}", set.gpu, set.input, set.output);
    result.instruction = row.name();
    result.rows = static_cast<std::uint64_t>(set.rows);
    const auto model = model_of(set);
    const std::string here = architecture_name(executor.info().architecture);
    result.must_equal_recorded =
        model && model->row.architecture == here && model->row.instruction == name_of(row.family);
    HostProduct live = dots_of(set, row);
    HostProduct expected = live;
    executor.run(live);
    result.has_model = has_reference(row, executor.info().architecture);
    if (result.has_model) expected_product(expected, executor.info().architecture);
    for (std::uint64_t i = 0; i < result.rows; ++i) {
        const std::uint64_t answer = result_of(live, i);
        const bool as_recorded = answer == set.d[i];
        const bool as_model = result.has_model && answer == result_of(expected, i);
        result.equal_recorded += as_recorded ? 1 : 0;
        result.equal_model += as_model ? 1 : 0;
        const bool wrong = (result.must_equal_recorded && !as_recorded) || (result.has_model && !as_model);
        if (wrong && result.first.empty()) {
            result.first = fmt::format("row {}: device {:X}, recorded {:X}{}", i + 1, answer, set.d[i],
                                       result.has_model ? fmt::format(", model {:X}", result_of(expected, i)) : "");
        }
    }
    return result;
}

}  // namespace

std::vector<LiveComparison> run_recorded_set(const Executor& executor, const RecordedSet& set) {
    std::vector<LiveComparison> results;
    for (const Family family : families) {
        if (const Instruction* row = instruction_for(executor, set, family)) {
            results.push_back(compare(executor, set, *row));
        }
    }
    return results;
}

}  // namespace ulp::gpu
