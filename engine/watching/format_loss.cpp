#include "engine/watching/format_loss.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/kernels/format_losses.hpp"
#include "engine/tensor/steps.hpp"
#include "softfloat/array/array.hpp"
#include "softfloat/round.hpp"
#include "softfloat/support/float_environment.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp {
namespace {

constexpr std::uint32_t infinity_word = 0x7F800000;

/// The first magnitude from which on `holds` is true of the rounded number; infinity's where it never is.
template <class Condition>
std::uint32_t first_magnitude(const FloatFormat& format, const Condition& holds) {
    std::uint32_t below = 0;
    std::uint32_t from = infinity_word;
    while (from - below > 1) {
        const std::uint32_t middle = below + (from - below) / 2;
        (holds(round_to(format, std::bit_cast<float>(middle))) ? from : below) = middle;
    }
    return from;
}

std::uint32_t overflow_word(const FloatFormat& format) {
    const double overflow = overflow_from(format);
    if (overflow > std::numeric_limits<float>::max()) return infinity_word;
    const auto nearest = static_cast<float>(overflow);
    return std::bit_cast<std::uint32_t>(nearest) + (nearest < overflow ? 1 : 0);
}

/// A format that the kernels know.
struct KernelFormat {
    FloatFormat format;
    bool fits = false;  // fewer digits than fp32 by two, and no smaller exponents
    LossLimits limits{};
    std::uint32_t numbers_below = 0;  // word: beyond, the addend of the rounding would overflow
};

KernelFormat kernel_format(const FloatFormat& format) {
    KernelFormat found{format};
    const int cut = 23 - format.fraction_bits;
    found.fits = cut >= 2 && format.emin() >= -126 && format.has_sign && format.has_subnormals && !format.even_codes &&
                 !format.is_table();
    if (!found.fits) return found;
    const double smallest_normal = std::ldexp(1.0, format.emin());
    found.limits.kept_at = first_magnitude(format, [](float y) { return y != 0; });
    found.limits.normal_at = first_magnitude(format, [&](float y) { return !(y < smallest_normal); });
    found.limits.overflow_at = overflow_word(format);
    found.limits.lowest_exponent = static_cast<std::uint32_t>(format.emin() + 127) << 23;
    found.limits.cut = static_cast<std::uint32_t>(cut) << 23;
    found.numbers_below = static_cast<std::uint32_t>(254 - cut) << 23;
    return found;
}

/// Kept, since the limits of a format cost a hundred roundings.
const KernelFormat& known_format(const FloatFormat& format) {
    thread_local std::vector<KernelFormat> known;
    for (const KernelFormat& each : known) {
        if (each.format == format) return each;
    }
    known.push_back(kernel_format(format));
    return known.back();
}

double in_order(const double (&sums)[loss_sums]) {
    double sum = 0;
    for (const double each : sums) sum += each;
    return sum;
}

/// A loss of each number, as the kernels sum them.
template <class Real>
class PlainSums {
  public:
    PlainSums(double overflow_at, double smallest_normal) : overflow_at_(overflow_at), normal_(smallest_normal) {}

    /// The number, `weight` times.
    void add(Real number, Real rounded, std::int64_t weight = 1) {
        const std::size_t at = count_++ % loss_sums;
        const Real size = std::fabs(number);
        if (!(size > 0) || !std::isfinite(size) || weight == 0) return;
        if (size >= overflow_at_) {
            loss_.overflow += weight;
            return;
        }
        loss_.judged += weight;
        loss_.lost += rounded == 0 ? weight : 0;
        loss_.subnormal += rounded != 0 && std::fabs(rounded) < normal_ ? weight : 0;
        const Real error = std::fabs(number - rounded);
        const Real share = error / size;
        const auto times = static_cast<double>(weight);
        loss_.worst = std::max(loss_.worst, static_cast<double>(share));
        relative_[at] += times * static_cast<double>(share);
        signal_[at] += times * (static_cast<double>(size) * static_cast<double>(size));
        noise_[at] += times * (static_cast<double>(error) * static_cast<double>(error));
    }
    FormatLoss result() {
        loss_.relative_error = in_order(relative_);
        loss_.signal = in_order(signal_);
        loss_.noise = in_order(noise_);
        return loss_;
    }

  private:
    double overflow_at_, normal_;
    FormatLoss loss_;
    double relative_[loss_sums] = {}, signal_[loss_sums] = {}, noise_[loss_sums] = {};
    std::size_t count_ = 0;
};

/// `weights` may be empty: each number once.
template <class Real>
FormatLoss plain_loss(const FloatFormat& format, std::span<const Real> numbers,
                      std::span<const std::int64_t> weights = {}) {
    std::vector<Real> rounded(numbers.size());
    round_array(format, numbers, std::span<Real>(rounded));
    PlainSums<Real> sums(overflow_from(format), std::ldexp(1.0, format.emin()));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        sums.add(numbers[i], rounded[i], weights.empty() ? 1 : weights[i]);
    }
    return sums.result();
}

/// Calls a kernel with the numbers, and with the last few of them, filled up with zeros.
template <class Function>
void in_whole_registers(std::span<const float> numbers, const Function& call) {
    const std::size_t whole = numbers.size() / loss_sums * loss_sums;
    if (whole > 0) call(numbers.data(), whole);
    if (whole == numbers.size()) return;
    std::array<float, loss_sums> last{};
    std::ranges::copy(numbers.subspan(whole), last.begin());
    call(last.data(), last.size());
}

}  // namespace

void FormatLoss::add(const FormatLoss& other) {
    lost += other.lost;
    subnormal += other.subnormal;
    overflow += other.overflow;
    judged += other.judged;
    relative_error += other.relative_error;
    worst = std::max(worst, other.worst);
    signal += other.signal;
    noise += other.noise;
}

std::optional<double> FormatLoss::mean_relative_error() const {
    return judged == 0 ? std::nullopt : std::optional(relative_error / static_cast<double>(judged));
}

std::optional<double> FormatLoss::snr_db() const {
    const double ratio = signal / noise;
    if (!(noise > 0) || !std::isfinite(ratio) || ratio == 0) return std::nullopt;
    return 10 * step::log(ratio) / step::log(10.0);
}

namespace {
/// Of a table: the first positive fp64 number that raises the flag.
double table_overflow_from(const FloatFormat& format) {
    std::uint64_t below = 0, from = formats::fp64.infinity_magnitude();
    while (from - below > 1) {
        const std::uint64_t middle = below + (from - below) / 2;
        Context context;
        convert_bits(format, formats::fp64, middle, context);
        ((context.flags & flag::overflow) != 0 ? from : below) = middle;
    }
    return std::bit_cast<double>(from);
}
}  // namespace

double overflow_from(const FloatFormat& format) {
    if (format == formats::fp64) return std::numeric_limits<double>::infinity();
    if (format.is_table()) return table_overflow_from(format);
    Context exact;
    const std::uint64_t code = format.max_finite_magnitude() << format.padding_bits;
    const double largest = std::bit_cast<double>(convert_bits(formats::fp64, format, code, exact));
    const double middle = largest + std::ldexp(0.5, format.emax() - format.fraction_bits);
    const bool tie_overflows = (format.max_finite_magnitude() & 1) != 0;
    return tie_overflows ? middle : std::nextafter(middle, std::numeric_limits<double>::infinity());
}

ArrayScan scan_array(std::span<const float> numbers, Simd simd) {
    const LossKernels& kernels = kernels_of<LossKernels>(simd);
    LossScan all;
    in_whole_registers(numbers, [&](const float* values, std::size_t count) {
        LossScan part;
        kernels.scan(values, count, &part);
        all.largest = std::max(all.largest, part.largest);
        all.powers |= part.powers;
        all.zeros += part.zeros;
    });
    const std::size_t rest = numbers.size() % loss_sums;
    if (rest > 0) all.zeros -= static_cast<std::int64_t>(loss_sums - rest);
    ArrayScan scan{all.largest < infinity_word, all.powers != 0, all.zeros, std::bit_cast<float>(all.largest)};
    if (scan.all_finite) return scan;
    scan.largest = 0;
    for (const float x : numbers) {
        if (std::isfinite(x)) scan.largest = std::max(scan.largest, std::fabs(x));
    }
    return scan;
}

FormatLoss loss_of(const FloatFormat& format, std::span<const float> numbers, const ArrayScan& scan, Simd simd) {
    const KernelFormat& known = known_format(format);
    const auto largest = std::bit_cast<std::uint32_t>(scan.largest);
    if (!known.fits || std::min(largest, known.limits.overflow_at) >= known.numbers_below) {
        return loss_of_plain(format, numbers);
    }
    const bool all_inside = scan.all_finite && largest < known.limits.overflow_at;
    const LossKernels& kernels = kernels_of<LossKernels>(simd);
    const auto kernel = all_inside ? kernels.count : kernels.count_inside;
    const support::FloatEnvironment environment;
    LossSums sums;
    in_whole_registers(numbers, [&](const float* values, std::size_t count) {
        LossSums part;
        kernel(known.limits, values, count, &part);
        sums.lost += part.lost;
        sums.small += part.small;
        sums.worst = std::max(sums.worst, part.worst);
        for (std::size_t j = 0; j < loss_sums; ++j) {
            sums.relative[j] += part.relative[j];
            sums.signal[j] += part.signal[j];
            sums.noise[j] += part.noise[j];
        }
    });
    FormatLoss loss{sums.lost, sums.small - sums.lost};
    loss.judged = static_cast<std::int64_t>(numbers.size()) - scan.zeros;
    if (!all_inside) {
        for (const float x : numbers) {
            const std::uint32_t size = std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF;
            loss.overflow += size >= known.limits.overflow_at && size < infinity_word ? 1 : 0;
            loss.judged -= size >= known.limits.overflow_at ? 1 : 0;
        }
    }
    loss.relative_error = in_order(sums.relative);
    loss.worst = sums.worst;
    loss.signal = in_order(sums.signal);
    loss.noise = in_order(sums.noise);
    return loss;
}

FormatLoss loss_of_plain(const FloatFormat& format, std::span<const float> numbers) {
    return plain_loss<float>(format, numbers);
}
FormatLoss loss_of_plain(const FloatFormat& format, std::span<const double> numbers) {
    return plain_loss<double>(format, numbers);
}
FormatLoss loss_of_weighted(const FloatFormat& format, std::span<const double> numbers,
                            std::span<const std::int64_t> weights) {
    return plain_loss<double>(format, numbers, weights);
}

FormatLoss loss_between(std::span<const float> numbers, std::span<const float> rounded, double overflow_at,
                        double smallest_normal) {
    PlainSums<float> sums(overflow_at, smallest_normal);
    for (std::size_t i = 0; i < numbers.size(); ++i) sums.add(numbers[i], rounded[i]);
    return sums.result();
}

}  // namespace ulp
