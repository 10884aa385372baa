// ulplab quantize: the tensors of a file in a narrow format, as codes, scales and the numbers that they stand for.
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "engine/analysis/input_files.hpp"
#include "engine/analysis/quantized_tensor.hpp"
#include "engine/analysis/tensor_counts.hpp"
#include "engine/files/npy.hpp"
#include "engine/files/stored_arrays.hpp"
#include "engine/tensor/random.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

struct QuantizeOptions {
    std::string input, output, format;
    std::string element, block, hadamard, rounding, scale;
    std::string along = "last";
    bool saturate = false;
    std::uint64_t seed = 1;
};

/// A whole number from `least` on, all of the text.
std::optional<int> whole_number_of(std::string_view text, int least) {
    constexpr int most_extent = 1 << 24;
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool good = error == std::errc() && end == text.data() + text.size();
    return good && number >= least && number <= most_extent ? std::optional(number) : std::nullopt;
}

ScaleBlock block_of(const std::string& text) {
    const std::size_t x = text.find('x');
    if (x != std::string::npos) {
        const auto lines = whole_number_of(std::string_view(text).substr(0, x), 0);
        const auto k = whole_number_of(std::string_view(text).substr(x + 1), 0);
        if (lines && k) return {*lines, *k};
    }
    throw UsageError(
        fmt::format("--block takes LINESxK, such as 1x32 or 16x16; 0 stands for all there are; not '{}'", text));
}

HadamardTransform transform_of(const std::string& text) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto size = whole_number_of(std::string_view(text).substr(0, colon), 0);
    const std::string signs = colon == text.size() ? "none" : text.substr(colon + 1);
    constexpr int most_size = 1 << 16;
    const bool known = signs == "none" || signs == "fixed" || signs == "fresh";
    if (!size || !known || *size > most_size || (*size & (*size - 1)) != 0) {
        throw UsageError(
            fmt::format("--hadamard takes SIZE, SIZE:fixed or SIZE:fresh, SIZE a power of two up to {} or 0, not '{}'",
                        most_size, text));
    }
    const HadamardSigns chosen = signs == "fixed"   ? HadamardSigns::fixed
                                 : signs == "fresh" ? HadamardSigns::fresh
                                                    : HadamardSigns::none;
    return {*size, *size == 0 ? HadamardSigns::none : chosen};
}

bool can_hold_numbers(const FloatFormat& format) {
    return format.has_sign && format.has_subnormals && format != formats::fp64;
}

/// The name of a format's row for whatever name is given; other texts as they are.
std::string row_name(const std::string& name) {
    try {
        return name_of(format_by_name(name));
    } catch (const std::invalid_argument&) {
        return name;
    }
}

FloatFormat element_format(const std::string& given) {
    const std::string name = row_name(given);
    constexpr int most_bits = 8;
    std::vector<std::string> known;
    for (const NamedFormat& row : named_formats()) {
        if (!can_hold_numbers(row.format) || row.format.storage_bits() > most_bits) continue;
        if (row.name == name) return row.format;
        known.emplace_back(row.name);
    }
    throw UsageError(fmt::format("--element {}: the elements of blocks are {}", name, fmt::join(known, ", ")));
}

void set_rounding(const QuantizeOptions& options, Context& context) {
    if (options.rounding.empty()) return;
    const std::size_t colon = options.rounding.find(':');
    context.rounding = rounding_by_name(options.rounding.substr(0, colon));
    const bool stochastic = context.rounding == Rounding::stochastic;
    context.random_bits = stochastic ? 32 : 0;
    if (colon == std::string::npos) return;
    const auto bits = whole_number_of(std::string_view(options.rounding).substr(colon + 1), 1);
    if (!stochastic || !bits || *bits > 32) {
        throw UsageError(
            fmt::format("--rounding {}: only stochastic rounding has random bits, from 1 to 32, such as stochastic:16",
                        options.rounding));
    }
    context.random_bits = *bits;
}

TensorScale tensor_scale_of(const std::string& text) {
    if (text.empty() || text == "none") return {};
    if (text == "amax") return {.by_largest = true};
    float factor = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
    if (error == std::errc() && end == text.data() + text.size() && factor > 0 && std::isfinite(1 / factor)) {
        return {.factor = factor};
    }
    throw UsageError(
        fmt::format("--scale takes none, amax, or a positive number whose reciprocal fp32 holds, not '{}'", text));
}

/// Options that only one of the two kinds of formats has.
void refuse_options(const std::vector<std::pair<const char*, bool>>& given, const std::string& why) {
    for (const auto& [option, is_given] : given) {
        if (is_given) throw UsageError(fmt::format("{}: {}", option, why));
    }
}

TensorFormat row_of(const NamedQuantization& named, const QuantizeOptions& options) {
    refuse_options(
        {{"--scale", !options.scale.empty()}, {"--saturate", options.saturate}},
        fmt::format("{} has scales of its own, and its elements saturate; leave the option out", named.name));
    Quantization row = named.how;
    if (!options.element.empty()) row.element = element_format(options.element);
    if (!options.block.empty()) row.block = block_of(options.block);
    if (!options.hadamard.empty()) row.transform = transform_of(options.hadamard);
    set_rounding(options, row.elements.rounding);
    return {.name = named.name, .row = row, .format = row.element};
}

TensorFormat format_of(const QuantizeOptions& options) {
    const std::string format = row_name(options.format);
    std::vector<std::string> known;
    TensorFormat how;
    for (const NamedQuantization& named : named_quantizations()) {
        if (named.name == format) how = row_of(named, options);
        known.push_back(named.name);
    }
    for (const NamedFormat& named : named_formats()) {
        if (!can_hold_numbers(named.format)) continue;
        known.emplace_back(named.name);
        if (named.name != format) continue;
        refuse_options({{"--element", !options.element.empty()},
                        {"--block", !options.block.empty()},
                        {"--hadamard", !options.hadamard.empty()}},
                       fmt::format("{} has no blocks; choose a block-scaled format such as mxfp8", named.name));
        how = {.name = format, .format = named.format, .scale = tensor_scale_of(options.scale)};
        how.rounding.saturate = options.saturate;
        set_rounding(options, how.rounding);
    }
    if (how.name.empty()) {
        throw UsageError(fmt::format("no format '{}' for tensors; did you mean {}? there are {}", options.format,
                                     nearest_names(options.format, known, 1), fmt::join(known, ", ")));
    }
    how.along_first = options.along == "first";
    return how;
}

/// A .npy file's tensor is called as the file.
StoredArrays inputs_of(const fs::path& file) {
    if (file.extension() != ".npy") return stored_arrays(file);
    const StoredBytes stored = npy_bytes(file).front();
    const bool exact = stored.type == "<f2" || stored.type == "<f4";
    const auto numbers = [file] {
        const std::vector<double> values = npy::read_numbers(file).values;
        return std::vector<float>(values.begin(), values.end());
    };
    return {{file.stem().string(), {stored.type, stored.shape, exact, numbers}}};
}

/// Whether the codes of a file are already those of the format, and nothing scales them.
bool keeps_codes(const TensorFormat& how, const FloatFormat& stored) {
    return !how.row && !how.scale.by_largest && how.scale.factor == 1 && stored == how.format && stored.has_nan();
}

/// The storage words of a tensor whose type is a number format of as many bits.
template <class Word>
std::vector<Word> stored_words(const fs::path& file, const std::string& name, const FloatFormat& format) {
    std::vector<StoredBytes> tensors = stored_bytes(file);
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const StoredBytes& each) {
        return each.name == name || each.name.empty();  // a .npy file's tensor has no name
    });
    if (found == tensors.end()) throw DataError(fmt::format("{}: has no tensor {}", file.string(), printable(name)));
    std::string bytes;
    const PieceReader read = found->open();
    for (std::string_view piece = read(); !piece.empty(); piece = read()) bytes += piece;
    const std::size_t size = static_cast<std::size_t>(format.storage_bits()) / 8;
    std::vector<Word> words(bytes.size() / size);
    for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(&words[i], bytes.data() + i * size, size);
    return words;
}

std::string snr_text(const QuantizationError& error) {
    if (error.compared == 0) return "no finite numbers";
    const std::optional<double> snr = error.snr_db();
    return snr ? fmt::format("SNR {:.2f} dB", *snr) : "no error";
}

void print_quantized(const std::string& name, const StoredArray& array, const QuantizedTensor& quantized,
                     const QuantizationError& error) {
    fmt::print("{} ({}): {}", printable(name), fmt::join(array.shape, ", "), snr_text(error));
    if (error.lost > 0) fmt::print(", {} nonzero numbers became zero", error.lost);
    if (error.not_finite > 0) fmt::print(", {} are infinite or NaN", error.not_finite);
    if (!quantized.scale_shape.empty()) fmt::print(", {} scales", quantized.scales.size());
    if (quantized.tensor_scale != 1) fmt::print(", tensor factor {:a}", quantized.tensor_scale);
    fmt::print("{}\n", !array.exact && quantized.scale_shape.size() > 1 ? "; scaled in fp32" : "");
}

/// Of float or double numbers: what is written, and printed.
template <class Real>
QuantizedTensor quantized_as(const QuantizeOptions& options, const TensorFormat& how, const std::string& name,
                             const StoredArray& array, const std::vector<Real>& numbers, const FloatFormat& stored) {
    const auto quantized = [&] {
        try {
            return quantize_tensor(how, array.shape, numbers, options.seed, hash_of(name));
        } catch (const std::range_error& error) {
            throw DataError(fmt::format("{}: {}: {}", options.input, printable(name), error.what()));
        }
    };
    QuantizedTensor made = quantized();
    if (keeps_codes(how, stored)) {
        keep_nans(how.format, stored_words<std::uint32_t>(options.input, name, how.format), made);
    }
    print_quantized(name, array, made, error_of(numbers, made.dequantized));
    return made;
}

ExitCode quantize_file(const QuantizeOptions& options) {
    const TensorFormat how = format_of(options);
    require_array_file(options.output);
    require_writable(options.output);
    WrittenArrays written;
    std::size_t quantized = 0;
    for (const auto& [name, array] : inputs_of(options.input)) {
        const std::optional<FloatFormat> stored = counted_format(array.type);
        if (!stored) {
            fmt::print("{} ({}): skipped, its type holds no floating-point numbers\n", printable(name), array.type);
            continue;
        }
        const QuantizedTensor made =
            *stored == formats::fp64
                ? quantized_as(options, how, name, array, stored_words<double>(options.input, name, *stored), *stored)
                : quantized_as(options, how, name, array, array.numbers(), *stored);
        for (WrittenArray& each : arrays_of(name, how, array.shape, made)) written.push_back(std::move(each));
        ++quantized;
    }
    if (quantized == 0) throw DataError(options.input + ": no tensor of floating-point numbers");
    write_arrays(options.output, written,
                 {{"format", how.name}, {"rule", how.row ? text_of(*how.row) : name_of(how.format)}});
    return ExitCode::good;
}

std::string row_lines() {
    std::string lines;
    for (const NamedQuantization& row : named_quantizations()) lines += fmt::format("  {:<22}{}\n", row.name, row.what);
    return lines;
}

Action declare_quantize(OptionParser& app) {
    const auto o = std::make_shared<QuantizeOptions>();
    app.add_option("IN", o->input, "tensors: .npy, .npz or .safetensors").required();
    app.add_option("OUT", o->output,
                   "file for NAME.codes, NAME.dequantized and the scales of every tensor: .npz or .safetensors")
        .required();
    app.add_option("--format", o->format,
                   "block-scaled format of the list below, or a number format such as fp16 or e4m3 (`ulplab formats`)")
        .required();
    app.add_option("--element", o->element, "format of the elements instead of the listed one, as e3m2");
    app.add_option(
        "--block", o->block,
        "numbers that share a scale instead of the listed ones: LINESxK, as 1x32 or 16x16; 0 stands for all");
    app.add_option("--hadamard", o->hadamard,
                   "Hadamard transform of that many numbers first: SIZE, SIZE:fixed (Transformer Engine's signs) or "
                   "SIZE:fresh (signs drawn by --seed); 0 for none");
    app.add_option("--along", o->along, "extent along which blocks and transforms run: last or first")
        .one_of({"last", "first"})
        .capture_default_str();
    app.add_option("--rounding", o->rounding,
                   "rounding of the elements: nearest_even, nearest_away, toward_zero, down, up, odd, stochastic or "
                   "stochastic:BITS (random bits, 1 to 32; default 32)");
    app.add_option("--seed", o->seed,
                   "seed of stochastic rounding and of fresh signs; each name has a stream of its own")
        .capture_default_str();
    app.add_option("--scale", o->scale,
                   "what multiplies a tensor before it is rounded to a number format: none, amax (the format's largest "
                   "number / the tensor's), or a number");
    app.add_flag("--saturate", o->saturate,
                 "numbers beyond a number format's largest become the largest (block-scaled formats always saturate)");
    app.footer("Block-scaled formats:\n" + row_lines());
    return [o] { return quantize_file(*o); };
}

}  // namespace

Command quantize_command() {
    return {"quantize", "write tensors in a narrow format: codes, scales and dequantised numbers", declare_quantize};
}

}  // namespace ulp
