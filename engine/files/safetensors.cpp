#include "engine/files/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/files/checked_json.hpp"
#include "engine/files/stored_arrays.hpp"
#include "engine/files/whole_file.hpp"
#include "softfloat/matrix_units/nan_payload.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// The types of the format (safetensors, Dtype in tensor.rs), with their bits; those that are read have a format.
struct StoredType {
    std::string_view name;
    int bits;
    std::optional<FloatFormat> format{};
};
constexpr std::array stored_types = {
    StoredType{"F32", 32, formats::fp32},
    StoredType{"F16", 16, formats::fp16},
    StoredType{"BF16", 16, formats::bf16},
    StoredType{"F8_E4M3", 8, formats::e4m3},
    StoredType{"F8_E5M2", 8, formats::e5m2},
    StoredType{"F8_E4M3FNUZ", 8, formats::e4m3fnuz},
    StoredType{"F8_E5M2FNUZ", 8, formats::e5m2fnuz},
    StoredType{"F8_E8M0", 8, formats::e8m0},
    StoredType{"F64", 64},
    StoredType{"C64", 64},
    StoredType{"I64", 64},
    StoredType{"U64", 64},
    StoredType{"I32", 32},
    StoredType{"U32", 32},
    StoredType{"I16", 16},
    StoredType{"U16", 16},
    StoredType{"I8", 8},
    StoredType{"U8", 8},
    StoredType{"BOOL", 8},
    StoredType{"F6_E2M3", 6},
    StoredType{"F6_E3M2", 6},
    StoredType{"F4", 4},
};

const StoredType& type_of(const FloatFormat& format) {
    for (const StoredType& type : stored_types) {
        if (type.format == format) return type;
    }
    return stored_types.front();
}

void append_word(std::string& bytes, std::uint64_t word, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(word >> (8 * i) & 0xFF);
}

std::uint64_t word_at(std::string_view bytes, std::size_t count) {
    std::uint64_t word = 0;
    for (std::size_t i = count; i-- > 0;) word = word << 8 | static_cast<unsigned char>(bytes[i]);
    return word;
}

std::string bytes_of(const Tensor& tensor, const StoredType& type) {
    std::string bytes;
    for (const float x : tensor.values()) {
        Context exact;
        const std::uint64_t code =
            convert_keeping_nan(*type.format, formats::fp32, std::bit_cast<std::uint32_t>(x), exact);
        append_word(bytes, code, static_cast<std::size_t>(type.bits) / 8);
    }
    return bytes;
}

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
    throw DataError(fmt::format("{}: {}; it is no complete safetensors file", file.string(), why));
}

/// A tensor as the header describes it: bytes [begin, end) of the data.
struct Entry {
    std::string name;
    const StoredType* type;
    Shape shape;
    std::uint64_t begin, end;
};

std::uint64_t whole_number(const fs::path& file, const std::string& name, const Json& json) {
    if (!json.is_number_unsigned()) refuse(file, fmt::format("the shape or the place of {} is malformed", name));
    return json.get<std::uint64_t>();
}

/// Extents whose product of bits does not overflow.
Shape shape_of(const fs::path& file, const std::string& name, const Json& json) {
    constexpr std::uint64_t limit = std::uint64_t{1} << 48;
    Shape shape;
    std::uint64_t count = 1;
    for (const Json& each : json) {
        const std::uint64_t extent = whole_number(file, name, each);
        if (extent > limit || (extent > 0 && count > limit / extent)) {
            refuse(file, fmt::format("the shape of {} is too large", name));
        }
        count *= extent;
        shape.push_back(static_cast<Index>(extent));
    }
    return shape;
}

Entry entry_of(const fs::path& file, const std::string& name, const Json& json) {
    const auto type_name = json.at("dtype").get<std::string>();
    const auto type = std::find_if(stored_types.begin(), stored_types.end(),
                                   [&](const StoredType& each) { return each.name == type_name; });
    if (type == stored_types.end()) {
        refuse(file, fmt::format("{} is of type {}, which the format does not know", name, type_name));
    }
    const Json& place = json.at("data_offsets");
    Entry entry{name, type, shape_of(file, name, json.at("shape")), whole_number(file, name, place.at(0)),
                whole_number(file, name, place.at(1))};
    const std::uint64_t bits = static_cast<std::uint64_t>(volume(entry.shape)) * static_cast<std::uint64_t>(type->bits);
    if (entry.end < entry.begin || bits % 8 != 0 || entry.end - entry.begin != bits / 8) {
        refuse(file, fmt::format("the place of {} does not fit its shape", name));
    }
    return entry;
}

/// The tensors must fill the data without gaps, as safetensors itself requires.
void require_whole(const fs::path& file, std::vector<Entry> entries, std::uint64_t size) {
    std::sort(entries.begin(), entries.end(),
              [](const Entry& x, const Entry& y) { return x.begin != y.begin ? x.begin < y.begin : x.end < y.end; });
    std::uint64_t at = 0;
    for (const Entry& entry : entries) {
        if (entry.end > size) refuse(file, fmt::format("{} lies beyond its end (cut short)", entry.name));
        if (entry.begin != at) refuse(file, fmt::format("there is a gap or an overlap before {}", entry.name));
        at = entry.end;
    }
    if (at != size) refuse(file, fmt::format("it has {} bytes after its last tensor", size - at));
}

std::string_view bytes_of(const Entry& entry, std::string_view data) {
    return data.substr(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.end - entry.begin));
}

/// Calls set(i, the code of element i). Codes of 4 and 6 bits follow each other from the lowest bit on.
template <class Function>
void each_code(const Entry& entry, std::string_view data, const Function& set) {
    const auto bits = static_cast<std::size_t>(entry.type->bits);
    const auto each = bits / 8;
    const std::string_view bytes = bytes_of(entry, data);
    for (std::size_t i = 0; bits < 8 && (i + 1) * bits <= bytes.size() * 8; ++i) {
        const std::string_view from = bytes.substr(i * bits / 8, 2);
        set(i, word_at(from, from.size()) >> (i * bits % 8) & ((1U << bits) - 1));
    }
    if (bits < 8) return;
    for (std::size_t i = 0; i < bytes.size() / each; ++i) set(i, word_at(bytes.substr(i * each), each));
}

/// The format of packed types, whose numbers are read and never written.
FloatFormat packed_format(std::string_view type) {
    return type == "F4" ? formats::e2m1 : type == "F6_E2M3" ? formats::e2m3 : formats::e3m2;
}

std::vector<float> floats_at(const Entry& entry, std::string_view data) {
    std::vector<float> values(static_cast<std::size_t>(volume(entry.shape)));
    const FloatFormat format = entry.type->format ? *entry.type->format : packed_format(entry.type->name);
    each_code(entry, data, [&](std::size_t i, std::uint64_t code) {
        Context exact;
        const std::uint64_t word = convert_keeping_nan(formats::fp32, format, code, exact);
        values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(word));
    });
    return values;
}

/// Of the types that no format of this project stores.
float nearest_float(std::string_view type, int bits, std::uint64_t word) {
    if (type == "F64") return static_cast<float>(std::bit_cast<double>(word));
    if (type.front() == 'U' || type == "BOOL") return static_cast<float>(word);
    const int unused = 64 - bits;
    return static_cast<float>(static_cast<std::int64_t>(word << unused) >> unused);
}

std::vector<float> numbers_at(const fs::path& file, const Entry& entry, std::string_view data) {
    if (entry.type->format || entry.type->bits < 8) return floats_at(entry, data);
    if (entry.type->name.front() == 'C') {
        throw DataError(fmt::format("{}: {} is of type {}, which is not converted; save it as F32", file.string(),
                                    entry.name, entry.type->name));
    }
    std::vector<float> values(static_cast<std::size_t>(volume(entry.shape)));
    each_code(entry, data, [&](std::size_t i, std::uint64_t word) {
        values[i] = nearest_float(entry.type->name, entry.type->bits, word);
    });
    return values;
}

/// What a header says.
struct Layout {
    std::size_t data_at = 0;
    std::vector<Entry> entries{};
    std::map<std::string, std::string> metadata{};
};

void take_header(const fs::path& file, const Json& header, std::uint64_t data_size, Layout& layout) {
    for (const auto& [name, json] : header.items()) {
        if (name == "__metadata__") {
            layout.metadata = json.get<std::map<std::string, std::string>>();
        } else {
            layout.entries.push_back(entry_of(file, name, json));
        }
    }
    require_whole(file, layout.entries, data_size);
}

Layout layout_of(const fs::path& file, std::string_view bytes) {
    constexpr std::uint64_t longest_header = 100'000'000;  // as safetensors itself has it
    if (bytes.size() < 8) refuse(file, "shorter than a header");
    const std::uint64_t length = word_at(bytes, 8);
    if (length > bytes.size() - 8 || length > longest_header) refuse(file, "its header is cut short");
    Layout layout{8 + static_cast<std::size_t>(length)};
    Json header;
    try {
        header = checked_json(bytes.substr(8, static_cast<std::size_t>(length)), 4);
    } catch (const std::invalid_argument& error) {
        refuse(file, fmt::format("its header is not JSON ({})", error.what()));
    }
    if (!header.is_object()) refuse(file, "its header is not JSON");
    try {
        take_header(file, header, bytes.size() - layout.data_at, layout);
    } catch (const Json::exception& error) {
        refuse(file, fmt::format("its header is malformed ({})", error.what()));
    }
    return layout;
}

/// A file's bytes, taken apart.
struct Parsed : Layout {
    explicit Parsed(const fs::path& file, std::string all) : Layout(layout_of(file, all)), bytes(std::move(all)) {}
    std::string bytes;

    [[nodiscard]] std::string_view data() const { return std::string_view(bytes).substr(data_at); }
};

Parsed parsed_file(const fs::path& file) { return Parsed(file, read_whole_file(file)); }

}  // namespace

const Tensor& Safetensors::tensor(const fs::path& file, const std::string& name) const {
    if (const auto entry = tensors.find(name); entry != tensors.end()) return entry->second;
    if (const auto entry = skipped.find(name); entry != skipped.end()) {
        throw DataError(
            fmt::format("{}: tensor '{}' is of type {}, which is not read here; save it as F32, F16, BF16 or FP8",
                        file.string(), name, entry->second));
    }
    throw DataError(fmt::format("{}: no tensor '{}'", file.string(), name));
}

void write_safetensors(const fs::path& file, const Safetensors& contents) {
    WrittenArrays arrays;
    for (const auto& [name, tensor] : contents.tensors) {
        const StoredType& type = type_of(tensor.format());
        arrays.push_back({name, std::string(type.name), tensor.shape(), bytes_of(tensor, type)});
    }
    write_safetensors(file, arrays, contents.metadata);
}

Safetensors read_safetensors(const fs::path& file) {
    Parsed parsed = parsed_file(file);
    Safetensors contents;
    contents.metadata = std::move(parsed.metadata);
    for (const Entry& entry : parsed.entries) {
        if (entry.type->format) {
            contents.tensors.emplace(entry.name,
                                     Tensor(entry.shape, floats_at(entry, parsed.data()), *entry.type->format));
        } else {
            contents.skipped.emplace(entry.name, entry.type->name);
        }
    }
    return contents;
}

StoredArrays safetensors_arrays(const fs::path& file) {
    const auto parsed = std::make_shared<const Parsed>(parsed_file(file));
    StoredArrays arrays;
    for (const Entry& entry : parsed->entries) {
        const bool exact = entry.type->format.has_value() || entry.type->bits <= 16;
        arrays.emplace(entry.name,
                       StoredArray{std::string(entry.type->name), entry.shape, exact,
                                   [file, parsed, &entry] { return numbers_at(file, entry, parsed->data()); }});
    }
    return arrays;
}

std::vector<StoredBytes> safetensors_bytes(const fs::path& path) {
    const auto file = std::make_shared<const MappedFile>(path);
    Layout layout = layout_of(path, file->bytes());
    std::ranges::sort(layout.entries, {}, [](const Entry& entry) { return std::tie(entry.begin, entry.name); });
    std::vector<StoredBytes> tensors;
    for (const Entry& entry : layout.entries) {
        const std::string_view bytes = bytes_of(entry, file->bytes().substr(layout.data_at));
        tensors.push_back({entry.name, std::string(entry.type->name), entry.shape, bytes.size(),
                           [file, bytes] { return pieces_of(file, bytes); }});
    }
    return tensors;
}

}  // namespace ulp
