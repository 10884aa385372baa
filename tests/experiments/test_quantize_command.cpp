// ulplab quantize: what its files hold against each rule in exact rational numbers, and what it refuses.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/analysis/quantized_tensor.hpp"
#include "engine/files/npy.hpp"
#include "engine/files/stored_arrays.hpp"
#include "engine/tensor/random.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "softfloat/support/philox.hpp"
#include "tests/experiments/temporary_folder.hpp"
#include "tests/softfloat/quantization/reference.hpp"

namespace ulp::test {
namespace {

constexpr Index lines = 12, width = 256;

/// Normal-looking numbers whose binades differ from block to block.
std::vector<float> some_numbers(std::uint32_t stream) {
    std::vector<float> numbers;
    for (std::uint32_t i = 0; i < lines * width; ++i) {
        const philox::Block words = philox::generate({i, stream, 0, 0}, {5, 0});
        const float significand = static_cast<float>(static_cast<std::int32_t>(words[0])) * 0x1p-31F;
        numbers.push_back(std::ldexp(significand, static_cast<int>(i / 16 % 7) - 3 + static_cast<int>(words[1] % 3)));
    }
    return numbers;
}

Finished quantized(const std::filesystem::path& in, const std::filesystem::path& out,
                   const std::vector<std::string>& options) {
    std::vector<std::string> command = {ULPLAB_PROGRAM, "quantize", in.string(), out.string()};
    command.insert(command.end(), options.begin(), options.end());
    return run_program(command);
}

/// Runs the command on one tensor "x" and reads what it wrote.
StoredArrays arrays_for(const std::vector<float>& numbers, const Shape& shape, const std::vector<std::string>& options,
                        const char* extension = ".npz") {
    const TemporaryFolder folder;
    write_npz(folder / "in.npz", {array_of_numbers("x", shape, numbers)});
    const std::filesystem::path out = folder / ("out" + std::string(extension));
    const Finished finished = quantized(folder / "in.npz", out, options);
    INFO(finished.output);
    REQUIRE(finished.exit_code == 0);
    StoredArrays arrays = stored_arrays(out);
    for (auto& [name, array] : arrays) {
        array.numbers = [kept = array.numbers()] { return kept; };  // the folder goes
    }
    return arrays;
}

/// The number of a code by its fields, for formats that are sign, exponent and fraction.
struct Fields {
    int exponent_bits, fraction_bits, bias;
};
Rational decoded(const Fields& format, int code) {
    const int fraction = code & ((1 << format.fraction_bits) - 1);
    const int exponent = code >> format.fraction_bits & ((1 << format.exponent_bits) - 1);
    const int sign = code >> (format.fraction_bits + format.exponent_bits) & 1;
    const int significand = exponent == 0 ? fraction : fraction + (1 << format.fraction_bits);
    const Rational magnitude = significand * power_of_two(std::max(exponent, 1) - format.bias - format.fraction_bits);
    return sign == 1 ? -magnitude : magnitude;
}
constexpr Fields as_e4m3{4, 3, 7}, as_e3m2{3, 2, 3}, as_e2m1{2, 1, 1}, as_fp16{5, 10, 15};

struct Rule {
    std::vector<std::string> options;
    Fields element;
    Index block;
    std::function<Block(const Numbers& block, const Rational& tensor)> make;
    Rational tensor_maximum = 0;  // of a factor of the tensor
    bool by_multiplying = true;   // (element * scale) * factor in fp32
};

std::vector<Rule> rules() {
    const auto plain = [](auto rule, const auto&... more) {
        return [=](const Numbers& x, const Rational&) { return rule(x, more...); };
    };
    const auto nvfp4 = [](const Numbers& x, const Rational& t) { return nvfp4_paper(x, t); };
    const auto te = [](const Numbers& x, const Rational& t) { return nvfp4_te(x, t); };
    const auto four = [](const Numbers& x, const Rational& t) { return four_over_six(x, t, true); };
    return {{{"--format", "mxfp8"}, as_e4m3, 32, plain(ocp_floor, grids::e4m3, 8)},
            {{"--format", "mxfp8_ceil", "--element", "e3m2"}, as_e3m2, 32, plain(ocp_ceil, grids::e3m2, 4)},
            {{"--format", "mxfp4_even"}, as_e2m1, 32, plain(ocp_even, grids::e2m1, 2)},
            {{"--format", "mxfp8_nv"}, as_e4m3, 32, plain(rounded_up, grids::e4m3)},
            {{"--format", "mxfp8", "--block", "1x64"}, as_e4m3, 64, plain(ocp_floor, grids::e4m3, 8)},
            {{"--format", "nvfp4"}, as_e2m1, 16, nvfp4, 2688},
            {{"--format", "nvfp4_te"}, as_e2m1, 16, te, 2688},
            {{"--format", "nvfp4_4over6"}, as_e2m1, 16, four, 1536},
            {{"--format", "te_block_1x128"}, as_e4m3, 128, plain(te_power_of_two, grids::e4m3)},
            {{"--format", "deepseek_1x128"}, as_e4m3, 128, plain(deepseek)},
            {{"--format", "te_current"}, as_e4m3, lines * width, plain(te_fp32, grids::e4m3)}};
}

Numbers exact(std::span<const float> numbers) {
    Numbers result;
    for (const float x : numbers) result.push_back(test::exact(x));
    return result;
}

/// How many codes, scales and dequantised numbers are not those of the rule.
int different(const Rule& rule, const std::vector<float>& x, const StoredArrays& arrays) {
    const std::vector<float> codes = arrays.at("x.codes").numbers();
    const std::vector<float> scales = arrays.at("x.scales").numbers();
    const std::vector<float> dequantized = arrays.at("x.dequantized").numbers();
    const Rational tensor = largest_of(exact(x));
    const Rational factor = rule.tensor_maximum == 0 ? 1 : tensor_scale(rule.tensor_maximum, tensor);
    int wrong = test::exact(arrays.at("x.tensor_scale").numbers()[0]) == factor ? 0 : 1;
    const auto block = static_cast<std::size_t>(rule.block);
    for (std::size_t first = 0; first < x.size(); first += block) {
        const Block expected = rule.make(exact(std::span(x).subspan(first, block)), tensor);
        wrong += test::exact(scales[first / block]) == expected.scale ? 0 : 1;
        for (std::size_t i = first; i < first + block; ++i) {
            const Rational& element = expected.elements[i - first];
            wrong += decoded(rule.element, static_cast<int>(codes[i])) == element ? 0 : 1;
            wrong += test::exact(dequantized[i]) == fp32(fp32(element * expected.scale) * factor) ? 0 : 1;
        }
    }
    return wrong;
}

}  // namespace

TEST_CASE("quantize: codes, scales and dequantised numbers are those of each rule's formula") {
    for (const Rule& rule : rules()) {
        CAPTURE(rule.options[1]);
        const std::vector<float> x = some_numbers(1);
        CHECK(different(rule, x, arrays_for(x, {lines, width}, rule.options)) == 0);
    }
    const Rule paper = rules()[5];
    const std::vector<float> x = some_numbers(1);
    CHECK(different(paper, x, arrays_for(x, {lines, width}, {"--format", "nvfp4_4over6"})) >
          0);  // another rule is seen
}

TEST_CASE("quantize: scales of 8 bits are there as codes, too, and both kinds of files hold the same arrays") {
    const std::vector<float> x = some_numbers(2);
    const StoredArrays npz = arrays_for(x, {lines, width}, {"--format", "nvfp4"});
    const StoredArrays safetensors = arrays_for(x, {lines, width}, {"--format", "nvfp4"}, ".safetensors");
    REQUIRE(npz.size() == safetensors.size());
    for (const auto& entry : npz) {
        CAPTURE(entry.first);
        CHECK(safetensors.at(entry.first).shape == entry.second.shape);
        CHECK(safetensors.at(entry.first).numbers() == entry.second.numbers());
    }
    CHECK(npz.at("x.codes").type == "|u1");
    CHECK(safetensors.at("x.codes").type == "U8");
    CHECK(npz.at("x.scale_codes").shape == Shape{lines, width / 16});
    const std::vector<float> codes = npz.at("x.scale_codes").numbers();
    const std::vector<float> scales = npz.at("x.scales").numbers();
    int wrong = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) {
        wrong += decoded(as_e4m3, static_cast<int>(codes[i])) == test::exact(scales[i]) ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(arrays_for(x, {lines, width}, {"--format", "deepseek_1x128"}).count("x.scale_codes") == 0);  // fp32
}

TEST_CASE("quantize: square blocks, and blocks along the first extent") {
    const std::vector<float> x = some_numbers(3);
    const StoredArrays square = arrays_for(x, {lines, width}, {"--format", "mxfp8", "--block", "4x8"});
    const std::vector<float> scales = square.at("x.scales").numbers();
    CHECK(square.at("x.scales").shape == Shape{lines / 4, width / 8});
    int wrong = 0;
    for (Index i = 0; i < lines; i += 4) {
        for (Index j = 0; j < width; j += 8) {
            Numbers block;
            for (Index at = 0; at < 32; ++at) {
                block.push_back(test::exact(x[static_cast<std::size_t>((i + at / 8) * width + j + at % 8)]));
            }
            const Rational expected = ocp_floor(block, grids::e4m3, 8).scale;
            wrong += test::exact(scales[static_cast<std::size_t>(i / 4 * (width / 8) + j / 8)]) == expected ? 0 : 1;
        }
    }
    CHECK(wrong == 0);

    std::vector<float> turned(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) turned[i % width * lines + i / width] = x[i];
    const StoredArrays rows = arrays_for(x, {lines, width}, {"--format", "nvfp4"});
    const StoredArrays cols = arrays_for(turned, {width, lines}, {"--format", "nvfp4", "--along", "first"});
    CHECK(cols.at("x.codes").shape == Shape{lines, width});
    CHECK(cols.at("x.codes").numbers() == rows.at("x.codes").numbers());
    CHECK(cols.at("x.scales").numbers() == rows.at("x.scales").numbers());
    const std::vector<float> back = cols.at("x.dequantized").numbers();
    const std::vector<float> expected = rows.at("x.dequantized").numbers();
    wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) wrong += back[i % width * lines + i / width] == expected[i] ? 0 : 1;
    CHECK(wrong == 0);
}

TEST_CASE("quantize: a Hadamard transform is undone") {
    // Sixteen elements whose transform and its inverse are exact: x has them as its coefficients.
    const Numbers elements = {6, 0, 0, 0, 4, 0, 0, 0, -2, 0, 0, 0, 0, 0, 0, 1};
    for (const std::string signs : {"16", "16:fixed", "16:fresh"}) {
        CAPTURE(signs);
        const std::vector<std::string> options = {"--format", "mxfp4", "--block", "1x16", "--hadamard", signs};
        const std::vector<float> drawn = arrays_for(std::vector<float>(16, 1), {16}, options).at("x.signs").numbers();
        const Numbers transformed = hadamard(elements, "++++++++++++++++");
        std::vector<float> x;
        for (std::size_t i = 0; i < 16; ++i) {
            x.push_back(static_cast<float>(transformed[i].convert_to<double>()) / 4 * drawn[i]);
        }
        const StoredArrays arrays = arrays_for(x, {16}, options);
        const std::vector<float> codes = arrays.at("x.codes").numbers();
        for (std::size_t i = 0; i < 16; ++i) CHECK(decoded(as_e2m1, static_cast<int>(codes[i])) == elements[i]);
        CHECK(arrays.at("x.dequantized").numbers() == x);
        CHECK((std::ranges::count(drawn, -1.0F) > 0) == (signs != "16"));
    }
    // A line that is not a multiple of the transform is filled up with zeros, and comes back in its own length.
    const StoredArrays short_line = arrays_for({1, 2, 3}, {3}, {"--format", "ufp4"});
    CHECK(short_line.at("x.codes").shape == Shape{1, 16});
    CHECK(short_line.at("x.dequantized").shape == Shape{3});
}

TEST_CASE("quantize: stochastic rounding takes a neighbour, by the seed") {
    const std::vector<float> x = some_numbers(4);
    const auto rounded_by = [&](const std::string& rounding, const std::string& seed) {
        return arrays_for(x, {lines, width}, {"--format", "mxfp8", "--rounding", rounding, "--seed", seed})
            .at("x.dequantized")
            .numbers();
    };
    const std::vector<float> first = rounded_by("stochastic", "1");
    CHECK(first == rounded_by("stochastic", "1"));
    CHECK(first == rounded_by("stochastic:32", "1"));
    CHECK(first != rounded_by("stochastic:2", "1"));
    CHECK(first != rounded_by("stochastic", "2"));
    const std::vector<float> down = rounded_by("down", "1");
    const std::vector<float> up = rounded_by("up", "1");
    int wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) wrong += first[i] == down[i] || first[i] == up[i] ? 0 : 1;
    CHECK(wrong == 0);
    CHECK(first != down);
    CHECK(first != up);
}

TEST_CASE("quantize: formats without blocks, with a scale of the tensor and with saturation") {
    const std::vector<float> x = some_numbers(5);
    const StoredArrays half = arrays_for(x, {lines, width}, {"--format", "fp16"});
    CHECK(half.at("x.codes").type == "<u2");
    CHECK(half.count("x.scales") == 0);
    const std::vector<float> codes = half.at("x.codes").numbers();
    const Grid fp16_grid{11, -14, 65504};
    int wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        wrong += decoded(as_fp16, static_cast<int>(codes[i])) == rounded(test::exact(x[i]), fp16_grid) ? 0 : 1;
    }
    CHECK(wrong == 0);

    const StoredArrays scaled = arrays_for(x, {lines, width}, {"--format", "e4m3", "--scale", "amax"});
    const Rational factor = fp32(448 / largest_of(exact(x)));
    CHECK(test::exact(scaled.at("x.scales").numbers()[0]) == fp32(1 / factor));
    const std::vector<float> scaled_codes = scaled.at("x.codes").numbers();
    wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const Rational element = rounded(fp32(test::exact(x[i]) * factor), grids::e4m3);
        wrong += decoded(as_e4m3, static_cast<int>(scaled_codes[i])) == element ? 0 : 1;
    }
    CHECK(wrong == 0);

    const std::vector<float> large = {1000, -1000, 448, 1};
    CHECK(arrays_for(large, {4}, {"--format", "e4m3", "--saturate"}).at("x.dequantized").numbers() ==
          std::vector<float>{448, -448, 448, 1});
    CHECK(std::isnan(arrays_for(large, {4}, {"--format", "e4m3"}).at("x.dequantized").numbers()[0]));
    CHECK(arrays_for(large, {4}, {"--format", "e4m3", "--scale", "0.25"}).at("x.dequantized").numbers() ==
          std::vector<float>{1024, -1024, 448, 1});
}

TEST_CASE("quantize: every code of a format passes through where nothing is converted, NaNs included") {
    struct Stored {
        const char *type, *format;
        int bits;
    };
    for (const Stored& stored : {Stored{"F16", "fp16", 16}, Stored{"BF16", "bf16", 16}, Stored{"F32", "fp32", 32},
                                 Stored{"F8_E4M3", "e4m3", 8}, Stored{"F8_E5M2", "e5m2", 8},
                                 Stored{"F8_E4M3FNUZ", "e4m3fnuz", 8}, Stored{"F8_E5M2FNUZ", "e5m2fnuz", 8}}) {
        CAPTURE(std::string(stored.type));
        std::vector<std::uint32_t> codes(stored.bits == 8 ? 256 : 65536);
        for (std::uint32_t i = 0; i < codes.size(); ++i) {
            codes[i] = stored.bits == 32 ? i << 16 | (i * 40503U & 0xFFFFU) : i;  // of fp32 every upper half
        }
        WrittenArray x = array_of_codes("x", {static_cast<Index>(codes.size())}, stored.bits, codes);
        x.type = stored.type;
        const TemporaryFolder folder;
        std::vector<std::filesystem::path> files = {folder / "in.safetensors"};
        write_safetensors(files[0], {x}, {});
        if (stored.format == std::string("fp16") || stored.format == std::string("fp32")) {
            files.push_back(folder / "in.npz");
            write_npz(files.back(), {x});
            files.push_back(folder / "x.npy");
            const char* dtype = stored.bits == 16 ? "<f2" : "<f4";
            npy::Array array{dtype, {static_cast<std::int64_t>(codes.size())}, false, {}};
            for (const char byte : x.bytes) array.data.push_back(static_cast<std::byte>(byte));
            npy::write(files.back(), array);
        }
        for (const auto& file : files) {
            CAPTURE(file.string());
            for (const char* rounding : {"nearest_even", "stochastic"}) {
                const Finished finished =
                    quantized(file, folder / "out.safetensors", {"--format", stored.format, "--rounding", rounding});
                INFO(finished.output);
                REQUIRE(finished.exit_code == 0);
                std::string kept;
                for (const StoredBytes& each : stored_bytes(folder / "out.safetensors")) {
                    if (each.name != "x.codes") continue;
                    const PieceReader read = each.open();
                    for (std::string_view piece = read(); !piece.empty(); piece = read()) kept += piece;
                }
                CHECK(kept == x.bytes);
            }
        }
    }
}

TEST_CASE("quantize: empty tensors, tensors of NaN, single numbers and other types") {
    const TemporaryFolder folder;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float one = 1;
    write_npz(folder / "in.npz",
              {array_of_numbers("none", {0, 4}, {}), array_of_numbers("nan", {2, 16}, std::vector<float>(32, nan)),
               array_of_numbers("one", {}, {&one, 1}), array_of_codes("codes", {2}, 8, {})});
    CHECK(quantized(folder / "in.npz", folder / "out.npz", {"--format", "nvfp4"}).exit_code == 3);  // bytes of codes
    write_npz(folder / "in.npz",
              {array_of_numbers("none", {0, 4}, {}), array_of_numbers("nan", {2, 16}, std::vector<float>(32, nan)),
               array_of_numbers("one", {}, {&one, 1}), array_of_codes("codes", {1}, 8, std::vector<std::uint32_t>{7})});
    for (const std::string format : {"nvfp4", "mxfp8_nv", "quartet_backward", "te_current", "e4m3", "bf16"}) {
        CAPTURE(format);
        const Finished finished = quantized(folder / "in.npz", folder / "out.npz", {"--format", format});
        CHECK(finished.exit_code == 0);
        CHECK(finished.output.find("codes (|u1): skipped") != std::string::npos);
        const StoredArrays arrays = stored_arrays(folder / "out.npz");
        CHECK(arrays.at("none.dequantized").shape == Shape{0, 4});
        for (const float x : arrays.at("nan.dequantized").numbers()) CHECK(std::isnan(x));
        CHECK(arrays.at("one.dequantized").shape == Shape{});
    }
}

TEST_CASE("quantize: an overflow to NaN keeps its sign, and fp64 is rounded once") {
    const TemporaryFolder folder;
    const auto codes_of = [&](const std::vector<double>& numbers, const std::vector<std::string>& options) {
        npy::write(folder / "x.npy", npy::matrix("<f8", 1, static_cast<Index>(numbers.size()), numbers));
        const Finished finished = quantized(folder / "x.npy", folder / "out.npz", options);
        INFO(finished.output);
        REQUIRE(finished.exit_code == 0);
        const std::vector<float> codes = stored_arrays(folder / "out.npz").at("x.codes").numbers();
        return std::vector<int>(codes.begin(), codes.end());
    };
    const double infinite = std::numeric_limits<double>::infinity();
    CHECK(codes_of({-1000, 1000, -infinite, 448}, {"--format", "e4m3"}) == std::vector{0xFF, 0x7F, 0xFF, 0x7E});
    CHECK(codes_of({-1000, 1000, -infinite}, {"--format", "e4m3", "--saturate"}) == std::vector{0xFE, 0x7E, 0xFE});
    CHECK(codes_of({-1000, -infinite}, {"--format", "e5m2"}) == std::vector{0xE4, 0xFC});
    // -432 lies between -416 and -448; in fp32 the first number is -432.
    CHECK(codes_of({-431.99999999999994, -432, -432.00000000000006}, {"--format", "e4m3"}) ==
          std::vector{0xFD, 0xFE, 0xFE});
    const std::vector<double> beside{1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11 - 0x1p-40, 0x1p-25 * (1 + 0x1p-40), 0x1p-25};
    CHECK(codes_of(beside, {"--format", "fp16"}) == std::vector{0x3C01, 0x3C00, 0x0001, 0x0000});
    CHECK(codes_of(beside, {"--format", "fp16", "--scale", "4"}) == std::vector{0x4401, 0x4400, 0x0002, 0x0002});
    CHECK(codes_of({-431.99999999999994, 256, 0x1.ffffffffffff8p8}, {"--format", "mxfp8"}) ==
          std::vector{0xFD, 0x78, 0x7E});
    npy::write(folder / "x.npy", npy::matrix("<f8", 1, 1, std::vector<double>{1e300}));
    std::filesystem::remove(folder / "out.npz");
    for (const std::vector<std::string>& options :
         {std::vector<std::string>{"--format", "mxfp8"}, {"--format", "e4m3", "--scale", "amax"}}) {
        const Finished beyond = quantized(folder / "x.npy", folder / "out.npz", options);
        CHECK(beyond.exit_code == 3);
        CHECK(beyond.output.find("lies beyond fp32") != std::string::npos);
        CHECK_FALSE(std::filesystem::exists(folder / "out.npz"));
    }
}

TEST_CASE("quantize: packed codes, other scales, whole numbers") {
    const std::vector<float> x = some_numbers(6);
    const std::vector<float> codes = arrays_for(x, {lines, width}, {"--format", "nvfp4"}).at("x.codes").numbers();
    const StoredArray packed = arrays_for(x, {lines, width}, {"--format", "nvfp4", "--packed"}).at("x.codes");
    CHECK(packed.shape == Shape{lines, width / 2});
    int wrong = 0;
    for (std::size_t i = 0; i < codes.size() / 2; ++i) {
        wrong += packed.numbers()[i] == codes[2 * i] + 16 * codes[2 * i + 1] ? 0 : 1;
    }
    CHECK(wrong == 0);
    const StoredArrays power = arrays_for(x, {lines, width}, {"--format", "deepseek_1x128", "--scale", "e8m0"});
    CHECK(power.at("x.scale_codes").shape == Shape{lines, width / 128});
    CHECK(power.at("x.scales").numbers() ==
          arrays_for(x, {lines, width}, {"--format", "deepseek_1x128_ue8m0"}).at("x.scales").numbers());
    const StoredArrays whole = arrays_for(x, {lines, width}, {"--format", "int4_affine", "--packed"});
    CHECK(whole.at("x.zero_points").shape == Shape{lines, width / 32});
    CHECK(whole.at("x.codes").shape == Shape{lines, width / 2});
}

namespace {

void write_shard(const std::filesystem::path& file, const std::vector<const char*>& names, const char* type) {
    WrittenArrays arrays;
    for (const char* name : names) {
        const std::vector<std::uint32_t> codes = {1, 2, 0x3C, 0x3D, 5, 6};
        WrittenArray array = array_of_codes(name, {2, 3}, type == std::string("BF16") ? 16 : 8, codes);
        array.type = type;
        arrays.push_back(std::move(array));
    }
    write_safetensors(file, arrays, {});
}
void write_text(const std::filesystem::path& file, const std::string& text) { replace_whole_file(file, text); }

}  // namespace

TEST_CASE("quantize: a model in shards becomes one of the same layout") {
    const TemporaryFolder folder;
    const std::filesystem::path model = folder / "model", out = folder / "out";
    std::filesystem::create_directory(model);
    write_shard(model / "a.safetensors", {"x", "y"}, "BF16");
    write_shard(model / "b.safetensors", {"z"}, "F8_E4M3");
    const auto index = [&](const std::string& map) {
        write_text(model / "model.safetensors.index.json", "{\"metadata\": {}, \"weight_map\": {" + map + "}}");
    };
    const std::string good = R"("x": "a.safetensors", "y": "a.safetensors", "z": "b.safetensors")";
    index(good);
    const Finished finished = quantized(model, out, {"--format", "fp16"});
    INFO(finished.output);
    REQUIRE(finished.exit_code == 0);
    // Each tensor as by itself, in the shard of its name.
    for (const auto& [shard, names] : std::vector<std::pair<std::string, std::vector<std::string>>>{
             {"a.safetensors", {"x", "y"}}, {"b.safetensors", {"z"}}}) {
        CHECK(quantized(model / shard, folder / "alone.safetensors", {"--format", "fp16"}).exit_code == 0);
        const StoredArrays alone = stored_arrays(folder / "alone.safetensors"), all = stored_arrays(out / shard);
        CHECK(all.size() == 2 * names.size());
        for (const auto& [name, array] : alone) CHECK(all.at(name).numbers() == array.numbers());
    }
    const std::string made = read_whole_file(out / "model.safetensors.index.json");
    CHECK(made.find("\"z.dequantized\": \"b.safetensors\"") != std::string::npos);
    CHECK(std::distance(std::filesystem::directory_iterator(out), std::filesystem::directory_iterator()) == 3);
    const Finished inspected = run_program({ULPLAB_PROGRAM, "inspect", model.string()});
    CHECK(inspected.exit_code == 0);
    CHECK(inspected.output.find("\nz (F8_E4M3, shape (2, 3))\n") != std::string::npos);
    CHECK(run_program({ULPLAB_PROGRAM, "inspect", out.string()}).exit_code == 0);  // the output is such a folder
    CHECK(quantized(model, out, {"--format", "fp16"}).output.find("is there already") != std::string::npos);

    const auto refused = [&](const std::string& map, const char* why) {
        CAPTURE(std::string(why));
        index(map);
        for (const char* command : {"quantize", "inspect"}) {
            std::vector<std::string> arguments = {ULPLAB_PROGRAM, command, model.string()};
            const bool writes = std::string(command) == "quantize";
            if (writes) arguments.insert(arguments.end(), {(folder / "new").string(), "--format", "fp16"});
            const Finished bad = run_program(arguments);
            CHECK(bad.exit_code == 3);
            CHECK(bad.output.find(why) != std::string::npos);
        }
        CHECK_FALSE(std::filesystem::exists(folder / "new"));
    };
    refused(good + R"(, "u": "c.safetensors")", "the shard c.safetensors is missing");
    refused(R"("x": "../a.safetensors")", "leads out of the folder");
    refused(R"("x": "/etc/passwd")", "leads out of the folder");
    refused(R"("x": "a.safetensors", "x": "b.safetensors")", "stands twice");
    refused(R"("x": "b.safetensors", "z": "b.safetensors")", "the tensor x is not in the shard b.safetensors");
    refused("", "needs a weight_map");
    write_shard(model / "b.safetensors", {"z", "x"}, "F8_E4M3");
    refused(good, "the tensor x stands twice, in a.safetensors and in b.safetensors");
}

TEST_CASE("quantize: what it refuses, in one sentence and without a file") {
    const TemporaryFolder folder;
    npy::write(folder / "x.npy", npy::matrix("<f4", 1, 4, std::vector<float>{1, 2, 3, 4}));
    npy::write(folder / "odd.npy", npy::matrix("<f4", 1, 3, std::vector<float>{1, 2, 3}));
    npy::write(folder / "i.npy", npy::matrix("<i4", 1, 2, std::vector<std::int32_t>{1, 2}));
    write_safetensors(folder / "up.safetensors", WrittenArrays{array_of_numbers("../x", {1}, std::vector<float>{1})},
                      {});
    struct Bad {
        const char* in;
        const char* out;
        std::vector<std::string> options;
        int code;
        const char* said;
    };
    const std::vector<Bad> cases = {
        {"x.npy", "o.txt", {"--format", "fp16"}, 2, "end the name with one of the two"},
        {"x.npy", "o.npz", {"--format", "fp15"}, 2, "no format 'fp15' for tensors; did you mean fp16? there are mxfp8"},
        {"x.npy", "o.npz", {"--format", "fp64"}, 2, "no format 'fp64'"},
        {"x.npy", "o.npz", {"--format", "fp16", "--block", "1x16"}, 2, "fp16 has no blocks"},
        {"x.npy", "o.npz", {"--format", "nvfp4", "--saturate"}, 2, "its elements saturate"},
        {"x.npy", "o.npz", {"--format", "nvfp4", "--element", "fp16"}, 2, "the elements of blocks are"},
        {"x.npy", "o.npz", {"--format", "nvfp4", "--block", "16"}, 2, "--block takes LINESxK"},
        {"x.npy", "o.npz", {"--format", "nvfp4", "--block", "-1x16"}, 2, "--block takes LINESxK"},
        {"x.npy", "o.npz", {"--format", "nvfp4", "--hadamard", "12"}, 2, "SIZE a power of two"},
        {"x.npy", "o.npz", {"--format", "nvfp4", "--rounding", "randomly"}, 2, "randomly"},
        {"x.npy", "o.npz", {"--format", "nvfp4", "--rounding", "stochastic:33"}, 2, "from 1 to 32"},
        {"x.npy", "o.npz", {"--format", "nvfp4", "--rounding", "up:8"}, 2, "only stochastic rounding has random bits"},
        {"x.npy", "o.npz", {"--format", "e4m3", "--scale", "-1"}, 2, "a positive number"},
        {"x.npy", "o.npz", {"--format", "nvfp4", "--scale", "amax"}, 2, "has scales of its own; give their format"},
        {"x.npy", "o.npz", {"--format", "mxfp8", "--scale", "e2m1"}, 2, "scales of blocks are of a format with NaN"},
        {"x.npy", "o.npz", {"--format", "mxfp8", "--packed"}, 2, "has codes of 8 bits, not of 4"},
        {"x.npy", "o.npz", {"--format", "q8_0", "--element", "e4m3"}, 2, "are whole numbers"},
        {"odd.npy", "o.npz", {"--format", "mxfp4", "--packed"}, 2, "an even last extent"},
        {"i.npy", "o.npz", {"--format", "e4m3"}, 3, "no tensor of floating-point numbers"},
        {"no.npy", "o.npz", {"--format", "e4m3"}, 3, "no.npy"},
        {"up.safetensors", "o.npz", {"--format", "e4m3"}, 3, "leads out of a folder"},
        {"x.npy", "none/o.npz", {"--format", "e4m3"}, 3, "o.npz"}};
    for (const Bad& bad : cases) {
        CAPTURE(bad.in);
        CAPTURE(bad.said);
        const Finished finished = quantized(folder / bad.in, folder / bad.out, bad.options);
        CHECK(finished.exit_code == bad.code);
        CHECK(finished.output.find(bad.said) != std::string::npos);
        CHECK(std::filesystem::exists(folder / bad.out) == (bad.code == 0));
        std::filesystem::remove(folder / bad.out);
    }
}

TEST_CASE("a tensor that is quantised in pieces gives what the whole one gives") {
    const Shape shape = {3, 1200, 640};  // more numbers than a piece has
    std::vector<float> numbers;
    for (std::uint32_t i = 0; i < 3 * 1200 * 640 / 4; ++i) {
        for (const std::uint32_t word : philox::generate({i, 9, 0, 0}, {5, 0})) {
            numbers.push_back(static_cast<float>(static_cast<std::int32_t>(word)) * 0x1p-31F);
        }
    }
    numbers[numbers.size() - 5] = 40;  // in the last piece, which decides a scale of the tensor
    const TemporaryFolder folder;
    write_safetensors(folder / "in.safetensors", {array_of_numbers("x", shape, numbers)}, {});
    const auto row = [](const char* name) {
        const Quantization& how = quantization_by_name(name);
        return TensorFormat{.name = name, .row = how, .format = how.element};
    };
    TensorFormat drawn{.name = "e4m3", .format = formats::e4m3};
    drawn.rounding = {.rounding = Rounding::stochastic, .random_bits = 32};
    TensorFormat filled = row("mxfp4");
    filled.row->transform = {256, HadamardSigns::fresh};
    filled.row->elements.rounding = drawn.rounding;
    TensorFormat packed = row("int4_affine");
    packed.packed = true;
    TensorFormat scaled{.name = "e5m2", .format = formats::e5m2, .scale = {.by_largest = true}};
    const std::pair<TensorFormat, std::vector<std::string>> cases[] = {
        {row("mxfp8"), {}},
        {row("nvfp4"), {}},
        {row("deepseek_128x128"), {}},
        {row("ao_rowwise"), {}},
        {drawn, {"--rounding=stochastic"}},
        {filled, {"--hadamard=256:fresh", "--rounding=stochastic"}},
        {packed, {"--packed"}},
        {scaled, {"--scale=amax"}}};
    for (const auto& each : cases) {
        const TensorFormat& how = each.first;
        const std::vector<std::string>& more = each.second;
        CAPTURE(how.name);
        std::vector<std::string> options = {"--format=" + how.name};
        options.insert(options.end(), more.begin(), more.end());
        const Finished finished = quantized(folder / "in.safetensors", folder / "out.npz", options);
        INFO(finished.output);
        REQUIRE(finished.exit_code == 0);
        write_npz(folder / "whole.npz",
                  arrays_of("x", how, shape, quantize_tensor(how, shape, numbers, 1, hash_of("x"))));
        CHECK(read_file(folder / "out.npz") == read_file(folder / "whole.npz"));
    }
}

}  // namespace ulp::test
