#include "engine/analysis/tensor_counts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>

#include "engine/watching/histogram.hpp"
#include "softfloat/matrix_units/nan_payload.hpp"
#include "softfloat/quantization/quantize.hpp"
#include "softfloat/round.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp {
namespace {

constexpr std::size_t chunk_size = std::size_t{1} << 13;  // numbers that one thread takes at a time
static_assert(piece_size % (8 * chunk_size) == 0);

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
    void add(std::span<const float> numbers, const ArrayScan& scan) {
        const std::int64_t tiny = histogram.sum(ExponentHistogram::lowest, -127);
        histogram.add(numbers);
        counts.absmax = std::max(counts.absmax, static_cast<double>(scan.largest));
        if (!scan.any_powers && histogram.sum(ExponentHistogram::lowest, -127) == tiny) return;
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

void count_chunk(std::span<const float> numbers, const std::vector<JudgedFormat>& formats, Counter& counter,
                 std::vector<FormatLoss>& losses) {
    const ArrayScan scan = scan_array(numbers);
    counter.add(numbers, scan);
    for (const JudgedFormat& each : formats) {
        losses.push_back(each.blocks ? FormatLoss{} : loss_of(each.format, numbers, scan));
    }
}
void count_chunk(std::span<const double> numbers, const std::vector<JudgedFormat>& formats, Counter& counter,
                 std::vector<FormatLoss>& losses) {
    counter.add(numbers);
    for (const JudgedFormat& each : formats) {
        losses.push_back(each.blocks ? FormatLoss{} : loss_of_plain(each.format, numbers));
    }
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
#pragma omp for schedule(dynamic, 16)
        for (std::size_t c = 0; c < chunks; ++c) {
            const auto chunk = numbers.subspan(c * chunk_size, std::min(chunk_size, numbers.size() - c * chunk_size));
            count_chunk(chunk, formats, own, losses[c]);
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

/// How often each code of 8 bits occurs.
void add_words(std::span<const std::uint8_t> words, std::vector<std::int64_t>& counts) {
    constexpr std::size_t tables = 4;  // in turn, so that equal neighbours do not wait for each other's count
    std::array<std::array<std::uint32_t, 256>, tables> own{};
    for (std::size_t i = 0; i < words.size(); ++i) ++own[i % tables][words[i]];
    for (const auto& table : own) {
        for (std::size_t code = 0; code < table.size(); ++code) counts[code] += table[code];
    }
}

/// How often each magnitude of 16 bits occurs. One small table keeps close to the processor; where a count in it
/// overflows, which the sum of all shows, the numbers are counted in two halves.
void add_words(std::span<const std::uint16_t> words, std::vector<std::int64_t>& counts) {
    constexpr std::uint16_t magnitude = 0x7FFF;
    std::vector<std::uint16_t> own(magnitude + 1);
    std::size_t i = 0;
    for (; i + 4 <= words.size(); i += 4) {
        std::uint64_t four;
        std::memcpy(&four, &words[i], sizeof four);
        for (int j = 0; j < 4; ++j) ++own[four >> (16 * j) & magnitude];
    }
    for (; i < words.size(); ++i) ++own[words[i] & magnitude];
    const auto counted = std::accumulate(own.begin(), own.end(), std::size_t{0});
    if (counted != words.size()) {
        const std::size_t half = words.size() / 2;
        add_words(words.first(half), counts);
        add_words(words.subspan(half), counts);
        return;
    }
    for (std::size_t code = 0; code < own.size(); ++code) counts[code] += own[code];
}

/// How often each code of 8 bits, or each magnitude of 16 bits, occurs.
template <class Code>
std::vector<std::int64_t> code_counts(const StoredBytes& tensor) {
    constexpr std::size_t codes = std::size_t{1} << (8 * sizeof(Code));
    constexpr std::size_t at_a_time = (std::size_t{1} << 17) - 4;
    std::vector<std::int64_t> counts(codes);
    std::vector<Code> copy;
    const PieceReader next = tensor.open();
    for (std::string_view piece = next(); !piece.empty(); piece = next()) {
        const std::span<const Code> words = aligned(piece, copy);
        const std::size_t parts = (words.size() + at_a_time - 1) / at_a_time;
#pragma omp parallel if (worth_threads(parts > 2))
        {
            std::vector<std::int64_t> own(codes);
#pragma omp for schedule(dynamic, 4)
            for (std::size_t i = 0; i < parts; ++i) {
                add_words(words.subspan(i * at_a_time, std::min(at_a_time, words.size() - i * at_a_time)), own);
            }
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

/// Numbers and how often they occur.
void add_weighted(const std::vector<double>& numbers, const std::vector<std::int64_t>& weights,
                  const std::vector<JudgedFormat>& formats, TensorCounts& counts) {
    Counter counter;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (weights[i] > 0) counter.add(numbers[i], weights[i]);
    }
    std::vector<FormatLoss> losses;
    for (const JudgedFormat& each : formats) {
        losses.push_back(each.blocks ? FormatLoss{} : loss_of_weighted(each.format, numbers, weights));
    }
    add_losses(counts, losses, formats);
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

/// Calls f(code) for each code of that many bits, which follow each other from the lowest bit of the first byte on.
template <class Function>
void each_code(const StoredBytes& tensor, int bits, const Function& f) {
    const PieceReader next = tensor.open();
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    std::uint64_t waiting = 0;
    int held = 0;
    for (std::string_view piece = next(); !piece.empty(); piece = next()) {
        for (const char byte : piece) {
            waiting |= static_cast<std::uint64_t>(static_cast<unsigned char>(byte)) << held;
            for (held += 8; held >= bits; held -= bits) {
                f(waiting & mask);
                waiting = bits == 64 ? 0 : waiting >> bits;
            }
        }
    }
}

/// How often each code of 4 or 6 bits occurs.
std::vector<std::int64_t> packed_code_counts(const StoredBytes& tensor, int bits) {
    std::vector<std::int64_t> counts(std::size_t{1} << bits);
    each_code(tensor, bits, [&](std::uint64_t code) { ++counts[code]; });
    return counts;
}

float in_fp32(const FloatFormat& format, std::uint64_t code) {
    Context context;
    const std::uint64_t word = convert_keeping_nan(formats::fp32, format, code, context);
    return std::bit_cast<float>(static_cast<std::uint32_t>(word));
}

/// The elements say which are subnormal, and what they stand for the rest.
FormatLoss losses_in_blocks(const std::vector<float>& numbers, const Shape& shape, const JudgedFormat& format) {
    const auto count = static_cast<std::int64_t>(numbers.size());
    const std::int64_t k = shape.empty() ? 1 : shape.back();
    Quantized quantized = quantize(*format.blocks, MatrixView(numbers.data(), count / k, k));
    const bool whole = format.blocks->elements.whole.any();  // none of these is subnormal
    const float smallest = whole ? 0 : static_cast<float>(std::ldexp(1.0, format.format.emin()));
    std::int64_t subnormal = 0;
    for (const float x : quantized.numbers) subnormal += x != 0 && std::fabs(x) < smallest ? 1 : 0;
    std::vector<float> values = dequantize(std::move(quantized));
    std::vector<float> kept;  // with zeros where no difference can be taken
    std::int64_t overflow = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isfinite(values[i])) continue;
        if (kept.empty()) kept = numbers;
        overflow += std::isfinite(kept[i]) && kept[i] != 0 ? 1 : 0;
        kept[i] = values[i] = 0;
    }
    FormatLoss loss = loss_between(kept.empty() ? numbers : kept, values, overflow_from(formats::fp64), 0);
    loss.subnormal = subnormal;
    loss.overflow = overflow;
    return loss;
}

void add_blocks(const StoredBytes& tensor, const FloatFormat& type, const std::vector<JudgedFormat>& formats,
                TensorCounts& counts) {
    const bool wanted = std::ranges::any_of(formats, [](const JudgedFormat& each) { return each.blocks.has_value(); });
    if (!wanted || counts.count > most_in_blocks) return;
    const std::vector<float> numbers = floats_of(tensor, type);
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

std::vector<float> floats_of(const StoredBytes& tensor, const FloatFormat& format) {
    const int bits = format.storage_bits();
    std::vector<float> numbers;
    numbers.reserve(static_cast<std::size_t>(tensor.size * 8 / static_cast<std::uint64_t>(bits)));
    if (format == formats::fp32) {
        std::vector<float> copy;
        const PieceReader next = tensor.open();
        for (std::string_view piece = next(); !piece.empty(); piece = next()) {
            const std::span<const float> words = aligned(piece, copy);
            numbers.insert(numbers.end(), words.begin(), words.end());
        }
        return numbers;
    }
    std::vector<float> table(bits <= 16 ? std::size_t{1} << bits : 0);
    for (std::size_t code = 0; code < table.size(); ++code) table[code] = in_fp32(format, code);
    each_code(tensor, bits, [&](std::uint64_t code) {
        numbers.push_back(table.empty() ? in_fp32(format, code) : table[static_cast<std::size_t>(code)]);
    });
    return numbers;
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
    const FloatFormat type = counted_format(tensor.type).value();
    TensorCounts counts = nothing_yet(formats);
    switch (type.storage_bits()) {
        case 4:
        case 6: add_codes(type, packed_code_counts(tensor, type.storage_bits()), formats, counts); break;
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
