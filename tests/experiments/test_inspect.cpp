// ulplab inspect: counts and loss scales against definitions one number at a time, and files that lie.
#include <doctest/doctest.h>
#include <omp.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/analysis/comparison.hpp"
#include "engine/analysis/scale_range.hpp"
#include "engine/analysis/tensor_counts.hpp"
#include "engine/files/npy.hpp"
#include "engine/files/safetensors.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/names.hpp"
#include "softfloat/quantization/quantize.hpp"
#include "softfloat/round.hpp"
#include "softfloat/support/philox.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp;

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<JudgedFormat> all_formats() {
    std::vector<JudgedFormat> formats;
    for (const NamedFormat& row : named_formats()) {
        if (row.format.has_sign && row.format.has_subnormals) formats.push_back(judged_format(std::string(row.name)));
    }
    return formats;
}

/// A tensor in memory.
template <class T>
StoredBytes stored(const std::string& type, const std::vector<T>& numbers, std::size_t piece = piece_size) {
    const auto bytes =
        std::make_shared<std::string>(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T));
    return {"", type, {static_cast<Index>(numbers.size())}, bytes->size(), [bytes, piece] {
                return PieceReader([bytes, piece, at = std::size_t{0}]() mutable {
                    const std::string_view next = std::string_view(*bytes).substr(at, piece);
                    at += next.size();
                    return next;
                });
            }};
}

double decoded(const FloatFormat& format, std::uint64_t code) {
    Context exact;
    return std::bit_cast<double>(convert_bits(formats::fp64, format, code, exact));
}

/// One number at a time, by the rounding function alone.
struct Reference {
    std::int64_t lost = 0, subnormal = 0, overflow = 0, judged = 0;
    double worst = 0;
};
Reference reference(const FloatFormat& format, const std::vector<double>& numbers) {
    Reference found;
    const double largest = decoded(format, format.max_finite_magnitude() << format.padding_bits);
    for (const double x : numbers) {
        if (x == 0 || !std::isfinite(x)) continue;
        const double y = round_to(format, x);
        bool over = !std::isfinite(y);
        if (format.specials == Specials::none && std::fabs(x) > largest) {
            const double unit = std::ldexp(1.0, format.emax() - format.fraction_bits);
            over = std::nearbyint(std::fabs(x) / unit) > largest / unit;
        }
        if (over) {
            ++found.overflow;
            continue;
        }
        ++found.judged;
        found.lost += y == 0 ? 1 : 0;
        found.subnormal += y != 0 && std::fabs(y) < std::ldexp(1.0, format.emin()) ? 1 : 0;
        found.worst = std::max(found.worst, std::fabs(x - y) / std::fabs(x));
    }
    return found;
}

/// Words of a stream.
class Words {
  public:
    explicit Words(std::uint32_t stream) : stream_(stream) {}
    std::uint32_t next() { return philox::generate({count_++, stream_, 0, 0}, {7, 0})[0]; }

  private:
    std::uint32_t stream_;
    std::uint32_t count_ = 0;
};

/// All exponents, halves of units in the last place, special values.
std::vector<float> varied_floats(std::size_t count) {
    std::vector<float> numbers;
    Words random(0);
    for (std::size_t i = 0; i < count; ++i) {
        auto word = random.next();
        if (i % 3 == 1) word &= 0xFFFFF000;
        if (i % 3 == 2) word = (word & 0xFFF00000) | (word & 1);
        if (i % 2 == 0) word = (word & 0x83FFFFFF) | 0x38000000;
        numbers.push_back(std::bit_cast<float>(word));
    }
    for (const double x : {0.0, -0.0, infinity, -infinity, std::nan(""), 65504.0, 65519.99, 65520.0, 464.0, 464.1, 7.0,
                           0x1p-24, 0x1p-25, 0x1.000002p-25, 0x1p-149, 0x1p-126, 0x1.fffffep127}) {
        numbers.push_back(static_cast<float>(x));
    }
    return numbers;
}

void check_equal(const TensorCounts& found, const TensorCounts& expected) {
    CHECK(found.count == expected.count);
    CHECK(found.zeros == expected.zeros);
    CHECK(found.infinities == expected.infinities);
    CHECK(found.nans == expected.nans);
    CHECK(found.absmax == expected.absmax);
    CHECK(found.binades == expected.binades);
}

void check_losses(const TensorCounts& found, const std::vector<double>& numbers,
                  const std::vector<JudgedFormat>& formats) {
    for (std::size_t f = 0; f < formats.size(); ++f) {
        CAPTURE(formats[f].name);
        const Reference expected = reference(formats[f].format, numbers);
        CHECK(found.losses[f]->lost == expected.lost);
        CHECK(found.losses[f]->subnormal == expected.subnormal);
        CHECK(found.losses[f]->overflow == expected.overflow);
        CHECK(found.losses[f]->judged == expected.judged);
        CHECK(static_cast<float>(found.losses[f]->worst) == static_cast<float>(expected.worst));
    }
}

std::string bytes_of_length(std::uint64_t word) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &word, 8);
    return bytes;
}

}  // namespace

TEST_CASE("fp32: vectorised counts are those of one number at a time, in every format") {
    const std::vector<JudgedFormat> formats = all_formats();
    const std::vector<float> numbers = varied_floats(100'000);
    const std::vector<double> doubles(numbers.begin(), numbers.end());
    const TensorCounts found = count_tensor(stored("F32", numbers, 1 << 16), formats);
    check_equal(found, count_plain(doubles, formats));
    check_losses(found, doubles, formats);
}

TEST_CASE("fp64: counts are those of one number at a time") {
    const std::vector<JudgedFormat> formats = all_formats();
    std::vector<double> numbers = {0x1p-1074, -0x1.8p-1060, 0x1.fffffffffffffp1023, infinity, 0, 0x1.0000000000001p-25};
    for (const float x : varied_floats(20'000)) numbers.push_back(x * 1.0000001);
    const TensorCounts found = count_tensor(stored("<f8", numbers), formats);
    check_equal(found, count_plain(numbers, formats));
    check_losses(found, numbers, formats);
}

TEST_CASE("every code of 8 and 16 bits is counted in every format") {
    const std::vector<JudgedFormat> formats = all_formats();
    for (const char* type : {"F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ"}) {
        CAPTURE(type);
        std::vector<std::uint8_t> codes(256);
        std::vector<double> numbers;
        for (std::size_t i = 0; i < codes.size(); ++i) {
            codes[i] = static_cast<std::uint8_t>(i);
            numbers.push_back(decoded(*format_of_type(type), i));
        }
        const TensorCounts found = count_tensor(stored(type, codes), formats);
        check_equal(found, count_plain(numbers, formats));
        check_losses(found, numbers, formats);
    }
    for (const char* type : {"F16", "BF16"}) {
        CAPTURE(type);
        std::vector<std::uint16_t> codes(1 << 16);
        std::vector<double> numbers;
        for (std::size_t i = 0; i < codes.size(); ++i) {
            codes[i] = static_cast<std::uint16_t>(i);
            numbers.push_back(decoded(*format_of_type(type), i));
        }
        const TensorCounts found = count_tensor(stored(type, codes), formats);
        check_equal(found, count_plain(numbers, formats));
        check_losses(found, numbers, formats);
    }
}

TEST_CASE("packed types: codes of 4 and 6 bits follow each other from the lowest bit on") {
    const std::vector<JudgedFormat> formats = {judged_format("e4m3"), judged_format("mxfp8_nv")};
    const auto packed = [](int bits, const std::vector<std::uint64_t>& codes) {
        std::vector<std::uint8_t> bytes(codes.size() * static_cast<std::size_t>(bits) / 8);
        for (std::size_t i = 0; i < codes.size() * static_cast<std::size_t>(bits); ++i) {
            const std::size_t code = i / static_cast<std::size_t>(bits);
            const std::uint64_t bit = codes[code] >> (i % static_cast<std::size_t>(bits)) & 1;
            bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] | bit << (i % 8));
        }
        return bytes;
    };
    for (const auto& [type, bits] : {std::pair{"F4", 4}, {"F6_E2M3", 6}, {"F6_E3M2", 6}}) {
        const std::string name = type;
        CAPTURE(name);
        std::vector<std::uint64_t> codes;
        std::vector<double> numbers;
        for (std::uint64_t code = 0; code < 64; ++code) {
            codes.push_back(code * 7 % (1U << bits));
            numbers.push_back(decoded(*counted_format(type), codes.back()));
        }
        StoredBytes tensor = stored(type, packed(bits, codes), 5);  // pieces of five bytes
        tensor.shape = {4, 16};
        const TensorCounts found = count_tensor(tensor, formats);
        check_equal(found, count_plain(numbers, {formats[0]}));
        check_losses(found, numbers, {formats[0]});
        CHECK(found.losses[1]->snr_db() == std::nullopt);  // holds all of them
        CHECK(found.losses[1]->judged + found.zeros == 64);
    }
}

TEST_CASE("16 bits: a number that occurs more than 65535 times is counted every time") {
    std::vector<std::uint16_t> codes(500'000, 0x3C01);
    codes[7] = 0x8000;
    codes[499'999] = 0xFC00;
    const TensorCounts found = count_tensor(stored("F16", codes), {judged_format("e4m3")});
    CHECK(found.count == 500'000);
    CHECK(found.zeros == 1);
    CHECK(found.infinities == 1);
    CHECK(found.binades.at(0).numbers == 499'998);
    CHECK(found.losses[0]->judged == 499'998);
}

TEST_CASE("sums of errors have the same bits in any number of threads") {
    std::vector<float> numbers = varied_floats(300'000);
    const int before = omp_get_max_threads();
    std::vector<FormatLoss> found;
    for (const int threads : {1, 2, 3}) {
        omp_set_num_threads(threads);
        found.push_back(*count_tensor(stored("F32", numbers), {judged_format("fp16")}).losses[0]);
    }
    omp_set_num_threads(before);
    CHECK(found[0] == found[1]);
    CHECK(found[0] == found[2]);
}

TEST_CASE("loss scales from exponents alone are those of a search by rounding every scaled number") {
    for (const char* name : {"fp16", "e4m3", "e5m2", "e2m1", "bf16"}) {
        const FloatFormat format = format_by_name(name);
        for (int trial = 0; trial < 40; ++trial) {
            CAPTURE(name);
            CAPTURE(trial);
            Words random(static_cast<std::uint32_t>(trial) + 1);
            std::vector<float> numbers;
            const int spread = 1 + trial % 20;
            for (int i = 0; i < 3000; ++i) {
                const std::uint32_t word = random.next();
                const float significand = i % 5 == 0 ? 1.0F : 1 + static_cast<float>(word >> 9) * 0x1p-23F;
                numbers.push_back(
                    std::ldexp(significand, -static_cast<int>(word % static_cast<unsigned>(spread)) - 10));
            }
            const TensorCounts counts = count_tensor(stored("F32", numbers), {});
            const ScaleRange range = scale_range({{"x", counts}}, format);
            const auto judge = [&](int n) {
                std::vector<double> scaled;
                for (const float x : numbers) scaled.push_back(std::ldexp(static_cast<double>(x), n));
                return reference(format, scaled);
            };
            REQUIRE(range.smallest);
            CHECK(judge(*range.smallest).lost * 1000 <= 3000);
            CHECK(judge(*range.smallest - 1).lost * 1000 > 3000);
            CHECK(judge(*range.largest).overflow == 0);
            CHECK(judge(*range.largest + 1).overflow > 0);
            for (int n = *range.smallest - 4; n < *range.smallest + 3; ++n) {
                CHECK(lost_up_to(counts.binades, zero_up_to(format).value() - n) == judge(n).lost);
            }
            CHECK(range.recommended.has_value() == (*range.smallest <= *range.largest));
        }
    }
}

TEST_CASE("each end of the loss scale names the tensors that limit it, and zeros alone have none") {
    const TensorCounts small = count_tensor(stored("F32", std::vector<float>(10, 0x1.8p-40F)), {});
    const TensorCounts large = count_tensor(stored("F32", std::vector<float>(10, 3.0F)), {});
    const ScaleRange range = scale_range({{"small", small}, {"large", large}}, formats::fp16);
    CHECK(range.limits_smallest == std::vector<std::string>{"small"});
    CHECK(range.limits_largest == std::vector<std::string>{"large"});
    CHECK(*range.smallest == 15);
    CHECK(*range.largest == 14);
    CHECK_FALSE(range.recommended);
    const TensorCounts nothing =
        count_tensor(stored("F32", std::vector<float>{0.0F, -0.0F, std::numeric_limits<float>::quiet_NaN()}), {});
    CHECK_FALSE(scale_range({{"nothing", nothing}}, formats::fp16).smallest);
}

TEST_CASE("block-scaled formats lose what their quantised numbers lack") {
    const std::vector<JudgedFormat> formats = {judged_format("mxfp8"), judged_format("nvfp4")};
    std::vector<float> numbers;
    Words random(99);
    for (int i = 0; i < 640; ++i) {
        const std::uint32_t word = random.next();
        numbers.push_back(std::ldexp(static_cast<float>(word >> 8), -24 - static_cast<int>(word & 15)));
    }
    const TensorCounts found = count_tensor(stored("F32", numbers), formats);
    for (std::size_t f = 0; f < formats.size(); ++f) {
        const std::vector<float> values = dequantize(quantize(*formats[f].blocks, MatrixView(numbers.data(), 1, 640)));
        std::int64_t lost = 0;
        double worst = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (numbers[i] == 0) continue;
            lost += values[i] == 0 ? 1 : 0;
            worst = std::max(worst, static_cast<double>(std::fabs(numbers[i] - values[i]) / numbers[i]));
        }
        CHECK(found.losses[f]->lost == lost);
        CHECK(found.losses[f]->worst == worst);
        CHECK(found.losses[f]->snr_db().value() > 5);
    }
    CHECK_THROWS_AS(judged_format("ufp4"), UsageError);
    CHECK_THROWS_AS(judged_format("e8m0"), UsageError);
}

TEST_CASE("files, folders and patterns give the same numbers, steps are the last number of a name") {
    const test::TemporaryFolder folder;
    const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
    npy::write(folder / "grads_9.npy", npy::matrix("<f4", 2, 3, numbers));
    npy::write(folder / "grads_10.npy", npy::matrix("<f4", 2, 3, numbers));
    const auto names = [](const std::vector<InputTensor>& tensors) {
        std::vector<std::string> list;
        for (const InputTensor& each : tensors) list.push_back(each.name);
        return list;
    };
    const std::vector<std::string> both = {"grads_9", "grads_10"};
    CHECK(names(input_tensors({folder.path().string()})) == both);
    CHECK(names(input_tensors({folder / "*.npy"})) == both);
    CHECK(names(input_tensors({folder / "grads_10.npy", folder / "grads_9.npy"})) == both);
    CHECK(count_tensor(input_tensors({folder / "grads_9.npy"})[0].stored, {}).absmax == 6);
    CHECK(step_in_name("a/run2_step0040.safetensors") == 40);
    CHECK_FALSE(step_in_name("weights.npy"));
    CHECK_THROWS_AS(input_tensors({folder / "*.npz"}), DataError);
    CHECK(printable("a\x1b[2J\n") == "a?[2J?");
}

TEST_CASE("two dumps: the first difference, the most ulps, and partners that are missing") {
    const test::TemporaryFolder folder;
    Safetensors first, second;
    first.tensors.emplace("a", Tensor({3}, {1, -0.0F, 2}, formats::fp16));
    first.tensors.emplace("b", Tensor({2}, {1, 1}, formats::fp32));
    second.tensors.emplace("a", Tensor({3}, {1, 0.0F, 2}, formats::fp16));
    second.tensors.emplace("b", Tensor({2}, {1, std::nextafter(-1.0F, 0.0F)}, formats::fp32));
    write_safetensors(folder / "1.safetensors", first);
    write_safetensors(folder / "2.safetensors", second);
    const auto found =
        differences(input_tensors({folder / "1.safetensors"}), input_tensors({folder / "2.safetensors"}));
    REQUIRE(found.size() == 2);
    CHECK(found[0].differ == 1);  // the zeros' signs
    CHECK(found[0].first == 1);
    CHECK(found[0].most_ulps == 0);
    CHECK(found[1].first == 1);
    CHECK(found[1].most_ulps == 2 * std::uint64_t{0x3F800000} - 1);
    second.tensors.erase("b");
    write_safetensors(folder / "2.safetensors", second);
    CHECK_THROWS_AS(differences(input_tensors({folder / "1.safetensors"}), input_tensors({folder / "2.safetensors"})),
                    DataError);
}

TEST_CASE("files that lie are refused before anything large is made") {
    const test::TemporaryFolder folder;
    const auto refused = [&](const std::string& name, const std::string& bytes) {
        CAPTURE(name);
        write_file(folder / name, bytes);
        CHECK_THROWS_AS(input_tensors({folder / name}), DataError);
    };
    const auto header = [](const std::string& json) { return bytes_of_length(json.size()) + json; };
    refused("empty.safetensors", "");
    refused("short.safetensors", "abc");
    refused("long_header.safetensors", bytes_of_length(~std::uint64_t{0}) + "{}");
    refused("no_data.safetensors", header(R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})"));
    refused("huge.safetensors", header(R"({"x":{"dtype":"F32","shape":[1152921504606846976],"data_offsets":[0,16]}})"));
    refused("overflow.safetensors",
            header(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})"));
    refused("backwards.safetensors",
            header(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,0]}})"));
    refused("twice.safetensors", header(R"({"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"
                                        R"("x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})"));
    refused("deep.safetensors", header(std::string(100'000, '[')));
    refused("objects.npy", std::string("\x93NUMPY\x01\x00", 8) + std::string("\x40\x00", 2) +
                               "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }       \n");
    refused("huge.npy", std::string("\x93NUMPY\x01\x00", 8) + std::string("\x50\x00", 2) +
                            "{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976,), }    \n");
    refused("cut.npz", "PK\x03\x04");
    refused("weights.pt", "PK\x03\x04");
    refused("weights.pkl", "\x80\x04");
    CHECK_THROWS_AS(input_tensors({folder / "missing.npy"}), DataError);
    write_file(folder / "zero.safetensors",
               header(R"({"../../etc/x":{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]}})"));
    const auto zero = input_tensors({folder / "zero.safetensors"});
    CHECK(zero[0].name == "../../etc/x");  // a name, and no place
    CHECK(count_tensor(zero[0].stored, {judged_format("mxfp8")}).count == 0);
}
