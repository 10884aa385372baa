// ulplab quantize: the tensors of a file in a narrow format, as codes, scales and the numbers that they stand for.
#include <charconv>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "engine/analysis/input_files.hpp"
#include "engine/analysis/quantized_tensor.hpp"
#include "engine/analysis/tensor_counts.hpp"
#include "engine/files/sharded_model.hpp"
#include "engine/files/stored_arrays.hpp"
#include "engine/tensor/random.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/cli/product_options.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/values.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

struct QuantizeOptions {
    std::string input, output, format;
    std::string element, block, hadamard, rounding, scale;
    std::string along = "last", saturate;
    bool packed = false;
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
    const bool within_fp32 = format.precision() <= 24 && format.emax() <= formats::fp32.emax() &&
                             format.smallest_exponent() >= formats::fp32.smallest_exponent();
    return format.is_table() || (format.has_sign && format.has_subnormals && within_fp32);
}

/// The format of whatever name is given, or of a file.
std::optional<NamedFormat> format_or_none(const std::string& name) {
    try {
        return named_format(name);
    } catch (const std::invalid_argument&) {
        return std::nullopt;
    }
}

/// The name of a format's row for whatever name is given; other texts as they are.
std::string row_name(const std::string& name) {
    const std::optional<NamedFormat> named = format_or_none(name);
    return named ? std::string(named->name) : name;
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

/// Of a block-scaled format's scales.
FloatFormat scale_format(const std::string& row, const std::string& given) {
    try {
        return format_by_name(given);
    } catch (const std::invalid_argument&) {
        throw UsageError(
            fmt::format("--scale {}: {} has scales of its own; give their format, such as fp32 or e8m0", given, row));
    }
}

void set_rounding(const QuantizeOptions& options, Context& context) {
    if (options.rounding.empty()) return;
    const std::size_t colon = options.rounding.find(':');
    context.rounding = rounding_by_name(options.rounding.substr(0, colon));
    const bool stochastic = is_stochastic(context.rounding);
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
    refuse_options({{"--saturate", !options.saturate.empty()}},
                   fmt::format("{} has scales, and its elements saturate; leave the option out", named.name));
    QuantizationParts parts;
    if (!options.element.empty()) parts.element = element_format(options.element);
    if (!options.block.empty()) parts.block = block_of(options.block);
    if (!options.scale.empty()) parts.scale_format = scale_format(named.name, options.scale);
    Quantization row = with_parts(named.how, parts);
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
    }
    const std::optional<NamedFormat> named = how.name.empty() ? format_or_none(options.format) : std::nullopt;
    if (named && can_hold_numbers(named->format)) {
        refuse_options({{"--element", !options.element.empty()},
                        {"--block", !options.block.empty()},
                        {"--hadamard", !options.hadamard.empty()}},
                       fmt::format("{} has no blocks; choose a block-scaled format such as mxfp8", named->name));
        how = {.name = std::string(named->name), .format = named->format, .scale = tensor_scale_of(options.scale)};
        how.rounding.saturate = saturation_of_option(options.saturate);
        set_rounding(options, how.rounding);
    }
    if (how.name.empty()) {
        throw UsageError(fmt::format("no format '{}' for tensors; did you mean {}? there are {}", options.format,
                                     nearest_names(options.format, known, 1), fmt::join(known, ", ")));
    }
    how.along_first = options.along == "first";
    how.packed = options.packed;
    if (how.packed && how.format.code_bits() != 4) {
        throw UsageError(fmt::format("--packed: {} has codes of {} bits, not of 4", how.name, how.format.code_bits()));
    }
    return how;
}

/// Whether the codes of a file are already those of the format, and nothing scales them.
bool keeps_codes(const TensorFormat& how, const FloatFormat& stored) {
    return !how.row && !how.scale.by_largest && how.scale.factor == 1 && stored == how.format && stored.has_nan();
}

/// The storage words of a tensor whose type is a number format of as many bits.
template <class Word>
std::vector<Word> stored_words(const StoredBytes& tensor, const FloatFormat& format) {
    std::string bytes;
    const PieceReader read = tensor.open();
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

/// What is written of a tensor, and printed.
struct Made {
    WrittenArrays arrays;
    QuantizationError error;
    std::size_t scales = 0;
    float tensor_scale = 1;
};

void print_made(const StoredBytes& tensor, const Made& made) {
    fmt::print("{} ({}): {}", printable(tensor.name), fmt::join(tensor.shape, ", "), snr_text(made.error));
    if (made.error.lost > 0) fmt::print(", {} nonzero numbers became zero", made.error.lost);
    if (made.error.not_finite > 0) fmt::print(", {} are infinite or NaN", made.error.not_finite);
    if (made.scales > 0) fmt::print(", {} scales", made.scales);
    if (made.tensor_scale != 1) fmt::print(", tensor factor {:a}", made.tensor_scale);
    fmt::print("{}\n", counted_format(tensor.type) == formats::fp64 && made.scales > 1 ? "; scaled in fp32" : "");
}

/// Adds a piece of a tensor, float or double numbers, to what is made of those before it.
template <class Real>
void add_piece(const QuantizeOptions& options, const TensorFormat& how, const StoredBytes& piece,
               const std::vector<Real>& numbers, const FloatFormat& stored, Index first_line, Made& made) {
    const auto quantized = [&] {
        try {
            return quantize_tensor(how, piece.shape, numbers, options.seed, hash_of(piece.name),
                                   static_cast<std::uint64_t>(first_line));
        } catch (const std::range_error& error) {
            throw DataError(fmt::format("{}: {}: {}", options.input, printable(piece.name), error.what()));
        }
    };
    QuantizedTensor q = quantized();
    if (keeps_codes(how, stored)) keep_nans(how.format, stored_words<std::uint32_t>(piece, how.format), q);
    made.error.add(error_of(numbers, q.dequantized));
    made.scales += q.scale_shape.empty() ? 0 : q.scales.size();
    made.tensor_scale = q.tensor_scale;
    WrittenArrays arrays = arrays_of(piece.name, how, piece.shape, q);
    if (made.arrays.empty()) {
        made.arrays = std::move(arrays);
        return;
    }
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        const bool of_the_tensor =
            arrays[i].name == piece.name + ".tensor_scale" || arrays[i].name == piece.name + ".signs";
        if (of_the_tensor || (!how.row && arrays[i].name == piece.name + ".scales")) continue;
        made.arrays[i].bytes += arrays[i].bytes;
        made.arrays[i].shape.front() += arrays[i].shape.front();
    }
}

/// Numbers that are quantised at once, where they do not depend on the rest of their tensor.
constexpr Index numbers_of_piece = Index{1} << 21;

/// The tensor in pieces of whole lines of its last extent, each a tensor of two extents: f(piece, its first line).
template <class Function>
void each_piece(const StoredBytes& tensor, Index lines, Index all_lines, const Function& f) {
    const std::uint64_t line_bytes = tensor.size / static_cast<std::uint64_t>(all_lines);
    const PieceReader next = tensor.open();
    std::string_view rest;
    for (Index first = 0; first < all_lines; first += lines) {
        const Index count = std::min(lines, all_lines - first);
        const std::size_t size = static_cast<std::size_t>(count) * line_bytes;
        std::string bytes;
        bytes.reserve(size);
        while (bytes.size() < size) {
            if (rest.empty() && (rest = next()).empty()) throw DataError(tensor.name + ": is cut short");
            const std::size_t taken = std::min(rest.size(), size - bytes.size());
            bytes += rest.substr(0, taken);
            rest.remove_prefix(taken);
        }
        f(StoredBytes{tensor.name, tensor.type, {count, tensor.shape.back()}, size, [&] { return pieces_of(bytes); }},
          first);
    }
    next();  // lets the file's memory go
}

/// Nothing, which is said, of a tensor that holds other numbers.
WrittenArrays quantized_arrays(const QuantizeOptions& options, const TensorFormat& how, const StoredBytes& tensor) {
    const std::optional<FloatFormat> stored = counted_format(tensor.type);
    if (!stored) {
        fmt::print("{} ({}): skipped, its type holds no floating-point numbers\n", printable(tensor.name), tensor.type);
        return {};
    }
    Made made;
    const auto add = [&](const StoredBytes& piece, Index first) {
        if (stored != formats::fp64) {
            add_piece(options, how, piece, floats_of(piece, *stored), *stored, first, made);
        } else {
            add_piece(options, how, piece, stored_words<double>(piece, *stored), *stored, first, made);
        }
    };
    const Index step = lines_of_piece(how);
    const Index k = tensor.shape.empty() ? 1 : std::max<Index>(1, tensor.shape.back());
    const auto count = static_cast<Index>(tensor.size * 8 / static_cast<std::uint64_t>(stored->storage_bits()));
    const Index lines = step == 0 ? 0 : std::max(step, numbers_of_piece / k / step * step);
    if (lines == 0 || lines >= count / k) {
        add(tensor, 0);
    } else {
        each_piece(tensor, lines, count / k, [&](const StoredBytes& piece, Index first) {
            add(piece, first);
            if (first != 0) return;
            const auto pieces = static_cast<std::size_t>((count / k + lines - 1) / lines);
            for (WrittenArray& array : made.arrays) array.bytes.reserve(array.bytes.size() * pieces);
        });
        // Codes lie as the tensor where no line was filled up.
        for (WrittenArray& array : made.arrays) {
            const bool is_codes = array.name == tensor.name + ".codes";
            if (!is_codes && array.name != tensor.name + ".dequantized") continue;
            const Index last = array.shape.back();
            if (is_codes && last * (how.packed ? 2 : 1) != k) continue;
            array.shape = tensor.shape;
            array.shape.back() = last;
        }
    }
    print_made(tensor, made);
    return std::move(made.arrays);
}

std::map<std::string, std::string> metadata_of(const TensorFormat& how) {
    return {{"format", how.name}, {"rule", how.row ? text_of(*how.row) : name_of(how.format)}};
}

/// Shard by shard and tensor by tensor to a folder of the same layout.
ExitCode quantize_model(const QuantizeOptions& options, const TensorFormat& how) {
    fs::path out = (fs::path(options.output) / "").parent_path();
    if (fs::exists(fs::symlink_status(out))) {
        throw DataError(fmt::format("{}: is there already; name a new folder for the model", options.output));
    }
    const fs::path parent = out.has_parent_path() ? out.parent_path() : fs::path(".");
    if (!fs::is_directory(parent)) throw DataError(parent.string() + ": is no folder; make it first");
    const std::vector<fs::path> shards = shards_of(options.input);
    StagedFolder staged(parent, out.filename().string());
    std::map<std::string, std::string> shard_of;
    std::uint64_t size = 0;
    for (const fs::path& shard : shards) {
        ShardWriter writer(staged.path() / shard.filename());
        for (const StoredBytes& tensor : safetensors_bytes(shard)) {
            for (const WrittenArray& each : quantized_arrays(options, how, tensor)) {
                writer.add(each);
                shard_of[each.name] = shard.filename().string();
            }
        }
        writer.finish(metadata_of(how));
        size += writer.size();
    }
    if (shard_of.empty()) throw DataError(options.input + ": no tensor of floating-point numbers");
    write_model_index(staged.path(), shard_of, size);
    staged.publish();
    return ExitCode::good;
}

ExitCode quantize_file(const QuantizeOptions& options) {
    const TensorFormat how = format_of(options);
    if (is_sharded_model(options.input)) return quantize_model(options, how);
    require_array_file(options.output);
    require_writable(options.output);
    std::vector<StoredBytes> tensors = stored_bytes(options.input);
    for (StoredBytes& tensor : tensors) {  // a .npy file's tensor is called as the file
        if (tensor.name.empty()) tensor.name = fs::path(options.input).stem().string();
    }
    std::ranges::sort(tensors, {}, &StoredBytes::name);
    const std::unique_ptr<ArrayWriter> writer = array_writer(options.output);
    bool any = false;
    for (const StoredBytes& tensor : tensors) {
        for (const WrittenArray& each : quantized_arrays(options, how, tensor)) writer->add(each), any = true;
    }
    if (!any) throw DataError(options.input + ": no tensor of floating-point numbers");
    writer->finish(metadata_of(how));
    return ExitCode::good;
}

std::string row_lines() {
    std::string lines;
    for (const NamedQuantization& row : named_quantizations()) lines += fmt::format("  {:<22}{}\n", row.name, row.what);
    return lines;
}

Action declare_quantize(OptionParser& app) {
    const auto o = std::make_shared<QuantizeOptions>();
    app.add_option("IN", o->input,
                   "tensors: .npy, .npz or .safetensors, or a folder with model.safetensors.index.json and its shards")
        .required();
    app.add_option("OUT", o->output,
                   "file for NAME.codes, NAME.dequantized and the scales of every tensor: .npz or .safetensors; of a "
                   "folder a new one of the same layout")
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
    app.add_option(
        "--scale", o->scale,
        "of a block-scaled format: the format of its scales instead of the listed one, as fp32 or e8m0; else "
        "what multiplies a tensor before it is rounded to a number format: none, amax (the format's largest "
        "number / the tensor's), or a number");
    app.add_flag("--saturate", o->saturate,
                 "numbers beyond a number format's largest become the largest (block-scaled formats always saturate); "
                 "=SatPropagate leaves infinities as they are");
    app.add_flag("--packed", o->packed, "two codes of 4 bits in each byte of NAME.codes, the first in the low half");
    app.footer("Block-scaled formats:\n" + row_lines());
    add_expansion_option(app);
    return [o] { return quantize_file(*o); };
}

}  // namespace

std::string quantizations_page() {
    std::vector<std::vector<std::string>> rows;
    for (const NamedQuantization& row : named_quantizations()) {
        const auto extent = [](int count) { return count == 0 ? "all" : std::to_string(count); };
        const WholeNumbers& codes = row.how.elements.whole;
        rows.push_back({fmt::format("`{}`", row.name), row.what,
                        codes.any() ? fmt::format("{} to {}", codes.least, codes.greatest) : name_of(row.how.element),
                        fmt::format("{} x {}", extent(row.how.block.lines), extent(row.how.block.k)),
                        row.how.scale.format == formats::power_of_two ? "powers of two" : name_of(row.how.scale.format),
                        row.source, row.reproducer});
    }
    return generated_document(
        "Quantisation rules", "ulplab dev page quantizations",
        "For `--format` of [`ulplab quantize`](../quantize.md) and `ulplab inspect`, for `ulplab.quantize` and "
        "`quantization_by_name`. Blocks are lines x numbers along a line. The arithmetic of each rule is its row in "
        "[softfloat/quantization/quantization.cpp](../../softfloat/quantization/quantization.cpp), stated by the "
        "source; "
        "the reproducer is public code that computes it.\n\n" +
            markdown_table({"name", "what", "elements", "block", "scales", "source", "reproducer"}, rows));
}

Command quantize_command() {
    return {"quantize", "write tensors in a narrow format: codes, scales and dequantised numbers", declare_quantize};
}

}  // namespace ulp
