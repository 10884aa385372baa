#include "engine/products/unit_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "engine/files/checked_json.hpp"
#include "engine/files/whole_file.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/names.hpp"

namespace ulp {
namespace {

using namespace unit_fields;

/// The object of a file.
class Object {
  public:
    Object(const Json& json, std::string file) : json_(json), file_(std::move(file)) {
        if (!json.is_object()) throw DataError(file_ + " is not a JSON object");
    }
    [[noreturn]] void refuse(const std::string& why) const { throw DataError(file_ + ": " + why); }

    /// Says which members there may be.
    void expect(std::vector<std::string> keys) {
        known_ = std::move(keys);
        for (const auto& [key, value] : json_.items()) {
            if (std::ranges::find(known_, key) != known_.end()) continue;
            refuse(fmt::format("\"{}\" is not known here; there are {}", key, fmt::join(known_, ", ")));
        }
    }
    [[nodiscard]] const Json& member(const std::string& key) const {
        const auto entry = json_.find(key);
        if (entry != json_.end()) return *entry;
        if (known_.empty()) refuse(fmt::format("\"{}\" is missing", key));
        refuse(fmt::format("\"{}\" is missing; there are {}", key, fmt::join(known_, ", ")));
    }
    template <class M>
    void read(const Field<M>& field, M& model) const {
        const std::string key(field.key);
        if (field.optional && !json_.contains(key)) return;
        const Json& json = member(key);
        try {
            field.read(model, json);
        } catch (const std::invalid_argument& error) {
            refuse(fmt::format("\"{}\" is {}; {}", key, json.dump(), error.what()));
        }
    }
    template <class M>
    void read(const std::vector<Field<M>>& fields, unsigned kinds, M& model) const {
        for (const Field<M>& field : fields) {
            if ((field.kinds & kinds) != 0) read(field, model);
        }
    }

  private:
    const Json& json_;
    std::string file_;
    std::vector<std::string> known_;
};

std::vector<std::string> head() { return {"ulplab_unit", "name", "kind"}; }

template <class M>
void add_keys(const std::vector<Field<M>>& fields, unsigned kinds, std::vector<std::string>& keys) {
    for (const Field<M>& field : fields) {
        if ((field.kinds & kinds) != 0) keys.emplace_back(field.key);
    }
}

TensorCoreModel floating_from(Object& object) {
    TensorCoreModel model;
    const Field<TensorCoreModel>& summation = floating_fields().front();
    object.read(summation, model);
    const unsigned kinds = kind_of(model.summation);
    auto keys = head();
    add_keys(floating_fields(), kinds, keys);
    object.expect(keys);
    if (kinds == chained || kinds == late) model.rounding = Rounding::nearest_even;
    if (kinds == chained) model.fraction_bits = 0;
    object.read(floating_fields(), kinds, model);
    if (kinds == chained || kinds == late) model.output_fraction_bits = model.accumulator.fraction_bits;
    return model;
}

BlockScaledModel scaled_from(Object& object) {
    BlockScaledModel model;
    auto keys = head();
    add_keys(floating_fields(), scaled, keys);
    add_keys(scale_fields(), 1, keys);
    object.expect(keys);
    object.read(floating_fields(), scaled, model.unscaled);
    object.read(scale_fields(), 1, model);
    return model;
}

IntegerModel integer_from(Object& object) {
    IntegerModel model;
    auto keys = head();
    add_keys(integer_fields(), 1, keys);
    object.expect(keys);
    object.read(integer_fields(), 1, model);
    return model;
}

UnitModel model_from(Object& object) {
    const Json& kind = object.member("kind");
    if (kind == "floating_point") return floating_from(object);
    if (kind == "integer") return integer_from(object);
    if (kind == "block_scaled") return scaled_from(object);
    object.refuse(fmt::format("\"kind\" is {}; choose one of floating_point, integer, block_scaled", kind.dump()));
}

template <class M>
void write(const std::vector<Field<M>>& fields, unsigned kinds, const M& model, Written& json) {
    for (const Field<M>& field : fields) {
        if ((field.kinds & kinds) != 0) json[std::string(field.key)] = field.write(model);
    }
}

void write_model(const TensorCoreModel& model, Written& json) {
    json["kind"] = "floating_point";
    write(floating_fields(), kind_of(model.summation), model, json);
}
void write_model(const IntegerModel& model, Written& json) {
    json["kind"] = "integer";
    write(integer_fields(), 1, model, json);
}
void write_model(const BlockScaledModel& model, Written& json) {
    json["kind"] = "block_scaled";
    write(floating_fields(), scaled, model.unscaled, json);
    write(scale_fields(), 1, model, json);
}

std::string input_of(const TensorCoreModel& model) {
    return model.a_format == model.b_format ? name_of(model.a_format)
                                            : name_of(model.a_format) + "_" + name_of(model.b_format);
}

/// The names of a row's formats.
std::pair<std::string, std::string> formats_of(const TensorCoreModel& model) {
    return {input_of(model), name_of(model.accumulator)};
}
std::pair<std::string, std::string> formats_of(const BlockScaledModel& model) { return formats_of(model.unscaled); }
std::pair<std::string, std::string> formats_of(const IntegerModel& model) {
    const auto name = [&](bool is_signed) { return fmt::format("{}{}", is_signed ? 's' : 'u', model.bits); };
    const std::string a = name(model.a_signed), b = name(model.b_signed);
    return {a == b ? a : a + "_" + b, "s32"};
}

std::string text_of(const std::string& file) {
    if (!std::filesystem::exists(file)) throw DataError(file + ": there is no such file, or it cannot be read");
    return read_whole_file(file);
}

}  // namespace

std::string unit_json(const DescribedUnit& unit) {
    Written json = {{"ulplab_unit", unit_file_version}, {"name", unit.name}};
    std::visit([&](const auto& model) { write_model(model, json); }, unit.model);
    return json.dump(2) + "\n";
}

DescribedUnit unit_from_json(std::string_view text, const std::string& file) {
    Json json;
    try {
        json = checked_json(text);
    } catch (const std::invalid_argument& error) {
        throw DataError(fmt::format("{} is not JSON: {}", file, error.what()));
    }
    Object object(json, file);
    const Json& version = object.member("ulplab_unit");
    if (version != unit_file_version) {
        object.refuse(
            fmt::format("\"ulplab_unit\" is {}; this program reads version {}", version.dump(), unit_file_version));
    }
    const Json& name = object.member("name");
    if (!name.is_string() || name.get<std::string>().empty()) {
        object.refuse(fmt::format("\"name\" is {}; give a text", name.dump()));
    }
    DescribedUnit unit{name.get<std::string>(), model_from(object)};
    if (const std::string limit = limit_of(unit.model); !limit.empty()) object.refuse(limit);
    return unit;
}

bool is_unit_file(std::string_view name) { return name.ends_with(".json"); }

UnitRow read_unit_file(const std::string& file) {
    const DescribedUnit unit = unit_from_json(text_of(file), file);
    const auto [input, output] = std::visit([](const auto& model) { return formats_of(model); }, unit.model);
    UnitRow row{{"", "", input, output, file}, unit.model, "", Evidence::described, unit.name, {}};
    for (const Aspect aspect : all_aspects) {
        if (aspects_of(unit.model).has(aspect)) row.aspects.push_back({aspect, row.evidence, row.proof});
    }
    return row;
}

}  // namespace ulp
