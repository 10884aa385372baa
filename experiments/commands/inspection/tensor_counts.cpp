#include "experiments/commands/inspection/tensor_counts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "engine/rounding/step_functions.hpp"
#include "engine/watching/histogram.hpp"
#include "softfloat/array/array.hpp"
#include "softfloat/quantization/quantize.hpp"
#include "softfloat/round.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp {
namespace {

constexpr std::size_t chunk_size = std::size_t{1} << 14;  // numbers that one thread takes at a time
constexpr std::size_t lanes = 8;                          // partial sums of a chunk, whatever the processor
static_assert(piece_size % (8 * chunk_size) == 0);

/// Of a format with the numbers of Real: what is compared with.
template <class Real>
struct Limits {
    explicit Limits(const FloatFormat& format) {
        const double overflow = overflow_from(format);
        overflow_at = static_cast<Real>(overflow);
        if (overflow_at < overflow) {
            overflow_at = std::nextafter(overflow_at, std::numeric_limits<Real>::infinity());
        }
        smallest_normal = static_cast<Real>(std::ldexp(1.0, format.emin()));
    }
    Real overflow_at, smallest_normal;
};

/// x[i] became y[i]; `count` is a multiple of `lanes`. Written so that compilers vectorise it.
template <class Real>
FormatLoss losses_of(const Limits<Real>& limits, const Real* x, const Real* y, std::size_t count) {
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    using Count = std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>;
    std::array<Count, lanes> lost{}, subnormal{}, overflow{}, judged{};
    std::array<Real, lanes> worst{};
    std::array<double, lanes> relative{}, signal{}, noise{};
    for (std::size_t i = 0; i < count; i += lanes) {
        for (std::size_t j = 0; j < lanes; ++j) {
            const Real number = x[i + j];
            const Real rounded = y[i + j];
            const Real size = number < 0 ? -number : number;
            const Real rounded_size = rounded < 0 ? -rounded : rounded;
            const bool counts = (size > 0) & (size < infinity);
            const bool over = counts & (size >= limits.overflow_at);
            const bool inside = counts & (size < limits.overflow_at);
            lost[j] += static_cast<Count>(counts & (rounded_size == 0));
            subnormal[j] += static_cast<Count>(counts & (rounded_size > 0) & (rounded_size < limits.smallest_normal));
            overflow[j] += static_cast<Count>(over);
            judged[j] += static_cast<Count>(inside);
            const Real kept = inside ? number : Real(0);
            const Real difference = number - rounded;
            const Real error = inside ? (difference < 0 ? -difference : difference) : Real(0);
            const Real share = error / (inside ? size : Real(1));
            worst[j] = share > worst[j] ? share : worst[j];
            relative[j] += static_cast<double>(share);
            signal[j] += static_cast<double>(kept) * static_cast<double>(kept);
            noise[j] += static_cast<double>(error) * static_cast<double>(error);
        }
    }
    FormatLoss sum;
    for (std::size_t j = 0; j < lanes; ++j) {
        sum.add({lost[j], subnormal[j], overflow[j], judged[j], relative[j], static_cast<double>(worst[j]), signal[j],
                 noise[j]});
    }
    return sum;
}

/// The same of any count: the rest is filled up with zeros, which count for nothing.
template <class Real>
FormatLoss losses_of_all(const Limits<Real>& limits, std::span<const Real> x, std::span<const Real> y) {
    const std::size_t whole = x.size() / lanes * lanes;
    FormatLoss sum = losses_of(limits, x.data(), y.data(), whole);
    if (whole == x.size()) return sum;
    std::array<Real, lanes> last_x{}, last_y{};
    std::copy(x.begin() + static_cast<std::ptrdiff_t>(whole), x.end(), last_x.begin());
    std::copy(y.begin() + static_cast<std::ptrdiff_t>(whole), y.end(), last_y.begin());
    sum.add(losses_of(limits, last_x.data(), last_y.data(), lanes));
    return sum;
}

/// What a thread counts on its own; sums of integers, so the order of threads does not show.
class Counter {
  public:
    /// The number, `weight` times.
    void add(double number, std::int64_t weight) {
        const double size = std::fabs(number);
        if (std::isnan(number)) {
            counts.nans += weight;
        } else if (std::isinf(number)) {
            counts.infinities += weight;
        } else if (number == 0) {
            counts.zeros += weight;
        } else {
            const int exponent = std::ilogb(size);
            Binade& binade = counts.binades[exponent];
            binade.numbers += weight;
            binade.powers += std::ldexp(1.0, exponent) == size ? weight : 0;
            counts.absmax = std::max(counts.absmax, size);
        }
        counts.count += weight;
    }
    void add(std::span<const double> numbers) {
        for (const double x : numbers) add(x, 1);
    }
    /// With the vectorised histogram; powers of two are rare, and looked for one by one where there are any.
    void add(std::span<const float> numbers) {
        histogram.add(numbers);
        std::int32_t suspects = 0;
        std::int32_t largest = 0;
        for (const float x : numbers) {
            const std::int32_t magnitude = std::bit_cast<std::int32_t>(x) & 0x7FFFFFFF;
            suspects += static_cast<std::int32_t>((magnitude != 0) &
                                                  (((magnitude & 0x007FFFFF) == 0) | (magnitude < 0x00800000)));
            const std::int32_t finite = magnitude < 0x7F800000 ? magnitude : 0;
            largest = finite > largest ? finite : largest;
        }
        counts.absmax = std::max(counts.absmax, static_cast<double>(std::bit_cast<float>(largest)));
        if (suspects == 0) return;
        for (const float x : numbers) {
            const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF;
            if (magnitude == 0 || magnitude >= 0x7F800000) continue;
            const bool power = magnitude < 0x00800000 ? std::has_single_bit(magnitude) : (magnitude & 0x007FFFFF) == 0;
            if (power) ++counts.binades[std::ilogb(x)].powers;
        }
    }
    /// All that was counted.
    TensorCounts result() {
        for (int e = ExponentHistogram::lowest; e <= ExponentHistogram::highest; ++e) {
            if (histogram.at(e) > 0) counts.binades[e].numbers += histogram.at(e);
        }
        counts.zeros += histogram.zeros();
        counts.infinities += histogram.infinities();
        counts.nans += histogram.nans();
        counts.count += histogram.total();
        return counts;
    }

    TensorCounts counts;
    ExponentHistogram histogram;
};

void add_losses(TensorCounts& counts, const std::vector<FormatLoss>& losses, const std::vector<JudgedFormat>& formats) {
    for (std::size_t f = 0; f < formats.size(); ++f) {
        if (!formats[f].blocks) counts.losses[f]->add(losses[f]);
    }
}

template <class Real>
std::vector<FormatLoss> losses_in(std::span<const Real> numbers, const std::vector<JudgedFormat>& formats) {
    std::vector<FormatLoss> losses(formats.size());
    std::vector<Real> rounded(numbers.size());
    for (std::size_t f = 0; f < formats.size(); ++f) {
        if (formats[f].blocks) continue;
        round_array(formats[f].format, numbers, std::span<Real>(rounded));
        losses[f] = losses_of_all<Real>(Limits<Real>(formats[f].format), numbers, rounded);
    }
    return losses;
}

/// Adds a piece's numbers. Threads take chunks; sums of errors are added in the order of the chunks.
template <class Real>
void add_piece(std::span<const Real> numbers, const std::vector<JudgedFormat>& formats, TensorCounts& counts) {
    const std::size_t chunks = (numbers.size() + chunk_size - 1) / chunk_size;
    std::vector<std::vector<FormatLoss>> losses(chunks);
    TensorCounts counted;
#pragma omp parallel if (worth_threads(chunks > 4))
    {
        Counter own;
#pragma omp for schedule(static)
        for (std::size_t c = 0; c < chunks; ++c) {
            const auto chunk = numbers.subspan(c * chunk_size, std::min(chunk_size, numbers.size() - c * chunk_size));
            own.add(chunk);
            losses[c] = losses_in<Real>(chunk, formats);
        }
#pragma omp critical
        counted.add(own.result());
    }
    counts.add(counted);
    for (const std::vector<FormatLoss>& each : losses) add_losses(counts, each, formats);
}

/// Numbers of a piece that may lie anywhere in memory.
template <class Real>
std::span<const Real> aligned(std::string_view piece, std::vector<Real>& copy) {
    const std::size_t count = piece.size() / sizeof(Real);
    if (reinterpret_cast<std::uintptr_t>(piece.data()) % alignof(Real) == 0) {
        return {reinterpret_cast<const Real*>(piece.data()), count};
    }
    copy.resize(count);
    std::memcpy(copy.data(), piece.data(), count * sizeof(Real));
    return copy;
}

template <class Real>
void add_words(const StoredBytes& tensor, const std::vector<JudgedFormat>& formats, TensorCounts& counts) {
    std::vector<Real> copy;
    const PieceReader next = tensor.open();
    for (std::string_view piece = next(); !piece.empty(); piece = next()) {
        add_piece<Real>(aligned(piece, copy), formats, counts);
    }
}

/// How often each code of 8 or 16 bits occurs.
template <class Code>
std::vector<std::int64_t> code_counts(const StoredBytes& tensor) {
    constexpr std::size_t codes = std::size_t{1} << (8 * sizeof(Code));
    std::vector<std::int64_t> counts(codes);
    std::vector<Code> copy;
    const PieceReader next = tensor.open();
    for (std::string_view piece = next(); !piece.empty(); piece = next()) {
        const std::span<const Code> words = aligned(piece, copy);
#pragma omp parallel if (worth_threads(words.size() > (std::size_t{1} << 18)))
        {
            std::vector<std::int64_t> own(codes);
#pragma omp for schedule(static)
            for (std::size_t i = 0; i < words.size(); ++i) ++own[words[i]];
#pragma omp critical
            for (std::size_t code = 0; code < codes; ++code) counts[code] += own[code];
        }
    }
    return counts;
}

double value_of(const FloatFormat& format, std::uint64_t code) {
    Context exact;
    return std::bit_cast<double>(convert_bits(formats::fp64, format, code, exact));
}

/// `weight` times a loss of one number.
FormatLoss repeated(FormatLoss loss, std::int64_t weight) {
    for (std::int64_t* each : {&loss.lost, &loss.subnormal, &loss.overflow, &loss.judged}) *each *= weight;
    for (double* each : {&loss.relative_error, &loss.signal, &loss.noise}) *each *= static_cast<double>(weight);
    return loss;
}

/// Numbers and how often they occur.
void add_weighted(const std::vector<double>& numbers, const std::vector<std::int64_t>& weights,
                  const std::vector<JudgedFormat>& formats, TensorCounts& counts) {
    Counter counter;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (weights[i] == 0) continue;
        counter.add(numbers[i], weights[i]);
        std::vector<FormatLoss> losses = losses_in<double>(std::span(&numbers[i], 1), formats);
        for (FormatLoss& loss : losses) loss = repeated(loss, weights[i]);
        add_losses(counts, losses, formats);
    }
    counts.add(counter.result());
}

void add_codes(const FloatFormat& format, const std::vector<std::int64_t>& weights,
               const std::vector<JudgedFormat>& formats, TensorCounts& counts) {
    std::vector<double> numbers(weights.size());
    for (std::size_t code = 0; code < numbers.size(); ++code) {
        if (weights[code] > 0) numbers[code] = value_of(format, code);
    }
    add_weighted(numbers, weights, formats, counts);
}

std::vector<float> all_as_floats(const StoredBytes& tensor, const FloatFormat& format) {
    const auto bytes = static_cast<std::size_t>(format.storage_bits() / 8);
    std::vector<float> numbers;
    numbers.reserve(static_cast<std::size_t>(tensor.size / bytes));
    const PieceReader next = tensor.open();
    for (std::string_view piece = next(); !piece.empty(); piece = next()) {
        for (std::size_t i = 0; i < piece.size(); i += bytes) {
            std::uint64_t code = 0;
            std::memcpy(&code, piece.data() + i, bytes);
            numbers.push_back(static_cast<float>(value_of(format, code)));
        }
    }
    return numbers;
}

/// The elements say which are subnormal, and what they stand for the rest.
FormatLoss losses_in_blocks(const std::vector<float>& numbers, const Shape& shape, const JudgedFormat& format) {
    const auto count = static_cast<std::int64_t>(numbers.size());
    const std::int64_t k = shape.empty() ? 1 : shape.back();
    Quantized quantized = quantize(*format.blocks, MatrixView(numbers.data(), count / k, k));
    const float smallest = static_cast<float>(std::ldexp(1.0, format.format.emin()));
    std::int64_t subnormal = 0;
    for (const float x : quantized.numbers) subnormal += x != 0 && std::fabs(x) < smallest ? 1 : 0;
    std::vector<float> values = dequantize(std::move(quantized));
    std::vector<float> kept = numbers;
    std::int64_t overflow = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isfinite(values[i])) continue;
        overflow += std::isfinite(kept[i]) && kept[i] != 0 ? 1 : 0;
        kept[i] = values[i] = 0;
    }
    FormatLoss loss = losses_of_all<float>(Limits<float>(formats::fp64), kept, values);
    loss.subnormal = subnormal;
    loss.overflow = overflow;
    return loss;
}

void add_blocks(const StoredBytes& tensor, const FloatFormat& type, const std::vector<JudgedFormat>& formats,
                TensorCounts& counts) {
    const bool wanted = std::ranges::any_of(formats, [](const JudgedFormat& each) { return each.blocks.has_value(); });
    if (!wanted || counts.count > most_in_blocks) return;
    const std::vector<float> numbers = all_as_floats(tensor, type);
    for (std::size_t f = 0; f < formats.size(); ++f) {
        if (!formats[f].blocks) continue;
        counts.losses[f] = numbers.empty() ? FormatLoss{} : losses_in_blocks(numbers, tensor.shape, formats[f]);
    }
}

TensorCounts nothing_yet(const std::vector<JudgedFormat>& formats) {
    TensorCounts counts;
    for (const JudgedFormat& format : formats) {
        counts.losses.push_back(format.blocks ? std::nullopt : std::optional<FormatLoss>(FormatLoss{}));
    }
    return counts;
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

void TensorCounts::add(const TensorCounts& other) {
    count += other.count;
    zeros += other.zeros;
    infinities += other.infinities;
    nans += other.nans;
    absmax = std::max(absmax, other.absmax);
    for (const auto& [exponent, binade] : other.binades) {
        binades[exponent].numbers += binade.numbers;
        binades[exponent].powers += binade.powers;
    }
    for (std::size_t f = 0; f < other.losses.size(); ++f) {
        if (losses[f] && other.losses[f]) losses[f]->add(*other.losses[f]);
        if (!other.losses[f]) losses[f].reset();
    }
}

TensorCounts count_tensor(const StoredBytes& tensor, const std::vector<JudgedFormat>& formats) {
    const FloatFormat type = format_of_type(tensor.type).value();
    TensorCounts counts = nothing_yet(formats);
    switch (type.storage_bits()) {
        case 8: add_codes(type, code_counts<std::uint8_t>(tensor), formats, counts); break;
        case 16: add_codes(type, code_counts<std::uint16_t>(tensor), formats, counts); break;
        case 32: add_words<float>(tensor, formats, counts); break;
        default: add_words<double>(tensor, formats, counts);
    }
    add_blocks(tensor, type, formats, counts);
    return counts;
}

TensorCounts count_plain(const std::vector<double>& numbers, const std::vector<JudgedFormat>& formats) {
    TensorCounts counts = nothing_yet(formats);
    add_weighted(numbers, std::vector<std::int64_t>(numbers.size(), 1), formats, counts);
    return counts;
}

}  // namespace ulp
