// Bulk runs on the GPU: the host's side.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include "gpu/devices/bulk.hpp"
#include "gpu/devices/cuda_check.hpp"
#include "gpu/devices/executor.hpp"
#include "gpu/devices/reference.hpp"
#include "gpu/kernels/bulk_kernels.cuh"
#include "softfloat/errors.hpp"

namespace ulp::gpu {
namespace {

BulkLayout layout_of(const Instruction& row, const ProductExtents& extents) {
    return {row,
            static_cast<int>(extents.tiles_m) * row.shape.m,
            static_cast<int>(extents.tiles_n) * row.shape.n,
            row.shape.k,
            static_cast<int>(extents.steps_k),
            extents.batch};
}

std::size_t words_for(std::uint64_t rows, std::uint64_t columns, Element element) {
    return static_cast<std::size_t>(rows * columns * static_cast<std::uint64_t>(bits_of(element)) / 32);
}

/// Device memory for one launch, and the launch.
class BulkLaunch {
  public:
    BulkLaunch(const BulkSettings& settings, int architecture, std::uint32_t matrices)
        : settings_(settings),
          architecture_(architecture),
          extents_(bulk_extents(*settings.instruction, settings.input_class, matrices)),
          layout_(layout_of(*settings.instruction, extents_)),
          launch_(find_launch(settings.instruction->name())),
          claimed_(promised_model(*settings.instruction, architecture)),
          scaled_(claimed_scaled_model(*settings.instruction, architecture)) {
        const Instruction& row = *settings.instruction;
        const auto rows = static_cast<std::uint64_t>(layout_.rows) * matrices;
        const auto columns = static_cast<std::uint64_t>(layout_.columns);
        const auto k = static_cast<std::uint64_t>(layout_.k) * static_cast<std::uint64_t>(layout_.steps);
        a_ = DeviceArray<std::uint32_t>(words_for(rows, k, row.a));
        b_ = DeviceArray<std::uint32_t>(words_for(columns * matrices, k, row.b));
        c_ = DeviceArray<std::uint32_t>(words_for(rows, columns, row.accumulator));
        d_ = DeviceArray<std::uint32_t>(words_for(rows, columns, row.accumulator));
        const auto scales = static_cast<std::uint64_t>(row.scales() * layout_.steps);
        x_ = DeviceArray<std::uint32_t>(static_cast<std::size_t>(rows * scales / 4));
        y_ = DeviceArray<std::uint32_t>(static_cast<std::size_t>(columns * matrices * scales / 4));
        tally_ = DeviceArray<BulkTally>(1);
        if (decoded()) queue_ = DeviceArray<std::uint32_t>(static_cast<std::size_t>(layout_.elements()));
    }

    /// Makes the inputs of `seed` and runs the instruction on them.
    void run(std::uint64_t seed) {
        enqueue_inputs(layout_, settings_.input_class, seed, data());
        check_launch("the kernel that makes inputs");
        d_.fill_bytes(0xA5);
        launch_(extents_, {a_.data(), b_.data(), c_.data(), d_.data(), x_.data(), y_.data()}, nullptr);
        check_launch(settings_.instruction->name());
    }
    /// Compares with the claimed model, or with it changed by `fewer_bits` fraction bits.
    BulkTally compare(int fewer_bits) {
        const std::array<BulkTally, 1> start{{{0, ~0ULL, 0}}};
        tally_.upload(start);
        if (scaled_) {
            BlockScaledModel model = scaled_->model;
            model.unscaled.fraction_bits -= fewer_bits;
            enqueue_scaled_comparison(layout_, model, data(), tally_.data());
        } else if (!claimed_) {
            enqueue_exact_comparison(layout_, data(), tally_.data());
        } else {
            TensorCoreModel model = claimed_->model;
            model.fraction_bits -= fewer_bits;
            if (!settings_.plain && has_decoded_path(model)) {
                enqueue_decoded_comparison(layout_, model, data(), tally_.data(), queue_.data());
            } else {
                enqueue_plain_comparison(layout_, model, data(), tally_.data());
            }
        }
        check_launch("the kernel that compares");
        synchronise("a bulk comparison of " + settings_.instruction->name());  // faults of the kernels show here
        std::array<BulkTally, 1> result{};
        tally_.download(result);
        return result[0];
    }
    [[nodiscard]] bool has_mutant() const { return claimed_.has_value() || scaled_.has_value(); }
    [[nodiscard]] std::uint64_t elements() const { return layout_.elements(); }
    [[nodiscard]] std::uint64_t steps() const { return extents_.steps_k; }

    /// The element in full, its inputs made again and its model computed on the host.
    [[nodiscard]] std::string describe(std::uint64_t seed, std::uint64_t element) const {
        const std::uint64_t per_matrix = elements() / extents_.batch;
        ProductExtents one = extents_;
        one.batch = 1;
        HostProduct got(*settings_.instruction, one, true);
        fill_inputs(got, settings_.input_class, seed, element / per_matrix);
        std::vector<std::uint32_t> all(d_.size());
        d_.download(all);
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(element / per_matrix * got.d.words().size());
        std::copy_n(first, got.d.words().size(), got.d.words().begin());
        HostProduct expected = got;
        expected_product(expected, architecture_);
        return describe_mismatch(got, expected, element % per_matrix, seed, settings_.input_class) +
               fmt::format(" (matrix {} of the launch)", element / per_matrix);
    }

  private:
    [[nodiscard]] bool decoded() const { return claimed_ && !settings_.plain && has_decoded_path(claimed_->model); }
    [[nodiscard]] BulkData data() const { return {a_.data(), b_.data(), c_.data(), d_.data(), x_.data(), y_.data()}; }

    const BulkSettings& settings_;
    int architecture_;
    ProductExtents extents_;
    BulkLayout layout_;
    Launch launch_;
    std::optional<PromisedModel> claimed_;
    std::optional<ClaimedScaledModel> scaled_;
    DeviceArray<std::uint32_t> a_, b_, c_, d_, x_, y_, queue_;  // x, y: the scales
    DeviceArray<BulkTally> tally_;
};

}  // namespace

BulkReport run_bulk_on_cuda(const Executor& executor, const BulkSettings& settings) {
    const Instruction& row = *settings.instruction;
    if (!executor.has(row)) {
        throw UsageError(fmt::format("{} has no {}", executor.info().name, row.name()));
    }
    if (!has_reference(row, executor.info().architecture)) {
        throw UsageError(fmt::format("the model table has no row for {} on {}", row.name(),
                                     architecture_name(executor.info().architecture)));
    }
    // 2^13 matrices of 2048 elements: 16.8 million elements and a few hundred MB a launch.
    constexpr std::uint64_t most_matrices = 1 << 13;
    const std::uint64_t per_matrix = std::uint64_t{64} * 32 * steps_of(settings.input_class);
    const std::uint64_t wanted = std::clamp<std::uint64_t>(settings.blocks / per_matrix, 1, most_matrices);
    BulkLaunch bulk(settings, executor.info().architecture, static_cast<std::uint32_t>(wanted));
    BulkReport report;
    if (bulk.has_mutant()) {
        bulk.run(launch_seed(settings.seed, 0));
        report.mutant_mismatches = bulk.compare(1).mismatches;
        report.mutant_elements = bulk.elements();
    }
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t launch = 0; report.blocks < settings.blocks && report.seconds < settings.seconds; ++launch) {
        const std::uint64_t seed = launch_seed(settings.seed, launch);
        bulk.run(seed);
        const BulkTally tally = bulk.compare(0);
        if (tally.mismatches != 0 && report.mismatches == 0) report.first = bulk.describe(seed, tally.first);
        report.mismatches += tally.mismatches;
        report.by_plain += tally.in_queue;
        report.elements += bulk.elements();
        report.blocks += bulk.elements() * bulk.steps();
        report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    return report;
}

}  // namespace ulp::gpu
