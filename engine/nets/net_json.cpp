#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>
#include <vector>

#include "engine/files/checked_json.hpp"
#include "engine/nets/net.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

using Json = nlohmann::json;
using Written = nlohmann::ordered_json;

struct OneList {         // a list of layers
    std::size_t at = 0;  // which of those inside
};
struct ManyLists {};  // a list of such lists
using Place = std::variant<std::string Layer::*, Index Layer::*, std::optional<Index> Layer::*, double Layer::*,
                           bool Layer::*, OneList, ManyLists>;

/// A member of a layer's object. An optional one may be left out: then it is as Layer{} has it.
struct Member {
    std::string_view key;
    Place place;
    bool optional = false;
};

struct KindRow {
    LayerKind kind;
    std::string_view name;
    std::vector<Member> members{};
};

const std::vector<KindRow>& kinds() {
    const Member name{"name", &Layer::name};
    const Member inside{"inside", OneList{}};
    const Member bias{"bias", &Layer::biased, true};
    const Member dropout{"dropout", &Layer::dropout, true};
    const Member eps{"eps", &Layer::eps, true};
    const auto size = [](std::string_view key, bool optional = false) { return Member{key, &Layer::size, optional}; };
    static const std::vector<KindRow> rows = {
        {LayerKind::linear, "linear", {name, size("outputs", true), bias}},
        {LayerKind::conv,
         "conv",
         {name,
          size("channels"),
          {"kernel", &Layer::kernel},
          {"stride", &Layer::stride, true},
          {"padding", &Layer::padding, true},
          {"groups", &Layer::groups, true},
          bias}},
        {LayerKind::batch_norm, "batch_norm", {name, {"momentum", &Layer::momentum, true}, eps}},
        {LayerKind::layer_norm, "layer_norm", {name, eps}},
        {LayerKind::rms_norm, "rms_norm", {name, eps}},
        {LayerKind::attention, "attention", {name, size("heads"), {"causal", &Layer::causal, true}, dropout}},
        {LayerKind::grouped_attention,
         "grouped_attention",
         {name,
          size("heads"),
          {"key_value_heads", &Layer::key_value_heads, true},
          {"head_width", &Layer::head_width, true},
          {"causal", &Layer::causal, true},
          {"rotary", &Layer::rotary, true},
          {"adjacent", &Layer::adjacent, true},
          dropout,
          bias,
          {"out_bias", &Layer::out_biased, true}}},
        {LayerKind::cross_attention, "cross_attention", {name}},
        {LayerKind::relu, "relu"},
        {LayerKind::leaky_relu, "leaky_relu", {{"slope", &Layer::factor}}},
        {LayerKind::gelu, "gelu"},
        {LayerKind::silu, "silu"},
        {LayerKind::sigmoid, "sigmoid"},
        {LayerKind::tanh, "tanh"},
        {LayerKind::dropout, "dropout", {{"rate", &Layer::factor}}},
        {LayerKind::pool, "pool", {size("window")}},
        {LayerKind::average_pool, "average_pool", {size("window")}},
        {LayerKind::global_average, "global_average"},
        {LayerKind::scale, "scale", {{"factor", &Layer::factor}}},
        {LayerKind::tokens, "rows", {size("count")}},
        {LayerKind::flatten, "flatten"},
        {LayerKind::embedding, "embedding", {name, {"words", &Layer::words}, size("width")}},
        {LayerKind::places, "places", {name}},
        {LayerKind::lstm, "lstm", {name, size("width")}},
        {LayerKind::gru, "gru", {name, size("width")}},
        {LayerKind::sequence, "sequence", {inside}},
        {LayerKind::residual, "residual", {inside}},
        {LayerKind::sum, "sum", {{"branches", ManyLists{}}}},
        {LayerKind::product, "product", {{"branches", ManyLists{}}}},
        {LayerKind::experts, "experts", {name, size("top"), {"experts", ManyLists{}}}},
        {LayerKind::branches, "branches", {{"branches", ManyLists{}}}},
        {LayerKind::encoder_decoder,
         "encoder_decoder",
         {size("source"), {"encoder", OneList{0}}, {"decoder", OneList{1}}}},
    };
    return rows;
}

[[noreturn]] void refuse(const std::string& place, const std::string& why) {
    throw DataError(fmt::format("{} {}", place.empty() ? "the net" : place, why));
}

std::string listed_members(const KindRow& row) {
    std::string text;
    for (const Member& member : row.members) text += fmt::format("{}{}", text.empty() ? "" : ", ", member.key);
    return text;
}

// ---- Reading ----

constexpr Index most = Index{1} << 20;  // of an extent: what a tensor may have is checked by its memory

Index whole_number(const Json& json, const std::string& place, std::uint64_t least = 1) {
    if (json.is_number_unsigned() && json.get<std::uint64_t>() >= least && json.get<std::uint64_t>() <= most) {
        return json.get<Index>();
    }
    refuse(place, fmt::format("is {}; give a whole number from {} to {}", json.dump(), least, most));
}
double number(const Json& json, const std::string& place) {
    if (json.is_number() && std::isfinite(json.get<double>())) return json.get<double>();
    refuse(place, fmt::format("is {}; give a finite number", json.dump()));
}
bool flag(const Json& json, const std::string& place) {
    if (json.is_boolean()) return json.get<bool>();
    refuse(place, fmt::format("is {}; give true or false", json.dump()));
}
std::string text(const Json& json, const std::string& place) {
    const auto plain = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
    };
    if (json.is_string() && !json.get<std::string>().empty() && std::ranges::all_of(json.get<std::string>(), plain)) {
        return json.get<std::string>();
    }
    refuse(place, fmt::format("is {}; give a name of letters, digits, '.', '_' and '-'", json.dump()));
}
const Json& list(const Json& json, const std::string& place) {
    if (!json.is_array()) refuse(place, "is not a list");
    return json;
}

/// The member of that name, which must be there.
const Json& member_of(const Json& object, const std::string& key, const std::string& place) {
    if (!object.is_object()) refuse(place, "is not an object");
    const auto entry = object.find(key);
    if (entry == object.end()) refuse(place, fmt::format("has no \"{}\"", key));
    return *entry;
}
template <class Keys>
void require_known(const Json& object, const Keys& known, const std::string& place) {
    for (const auto& [key, value] : object.items()) {
        if (std::ranges::find(known, key) == std::ranges::end(known)) {
            refuse(place + "/" + key, fmt::format("is not known here; there are {}", fmt::join(known, ", ")));
        }
    }
}

Layers layers_from(const Json& json, const std::string& place);

void read_member(const Member& member, const Json& json, const std::string& place, Layer& layer) {
    struct Read {
        const Json& json;
        const std::string& place;
        Layer& layer;
        void operator()(std::string Layer::*field) const { layer.*field = text(json, place); }
        void operator()(Index Layer::*field) const { layer.*field = whole_number(json, place); }
        void operator()(std::optional<Index> Layer::*field) const { layer.*field = whole_number(json, place, 0); }
        void operator()(double Layer::*field) const { layer.*field = number(json, place); }
        void operator()(bool Layer::*field) const { layer.*field = flag(json, place); }
        void operator()(OneList list) const {
            layer.inside.resize(std::max(layer.inside.size(), list.at + 1));
            layer.inside[list.at] = layers_from(json, place);
        }
        void operator()(ManyLists) const {
            for (std::size_t i = 0; i < list(json, place).size(); ++i) {
                layer.inside.push_back(layers_from(json[i], fmt::format("{}/{}", place, i)));
            }
        }
    };
    std::visit(Read{json, place, layer}, member.place);
}

Layer layer_from(const Json& json, const std::string& place) {
    const std::string kind = text(member_of(json, "layer", place), place + "/layer");
    const auto row = std::ranges::find(kinds(), kind, &KindRow::name);
    if (row == kinds().end()) {
        std::string names;
        for (const KindRow& each : kinds()) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
        refuse(place + "/layer", fmt::format("is \"{}\"; there are {}", kind, names));
    }
    std::vector<std::string> known = {"layer"};
    Layer layer{row->kind};
    for (const Member& member : row->members) {
        const std::string key(member.key);
        known.push_back(key);
        if (member.optional && !json.contains(key)) continue;
        read_member(member, member_of(json, key, place), place + "/" + key, layer);
    }
    require_known(json, known, place);
    return layer;
}

Layers layers_from(const Json& json, const std::string& place) {
    Layers layers;
    for (std::size_t i = 0; i < list(json, place).size(); ++i) {
        layers.push_back(layer_from(json[i], fmt::format("{}/{}", place, i)));
    }
    return layers;
}

NetInput input_from(const Json& json) {
    NetInput input;
    const Json& shape = list(member_of(json, "shape", "/input"), "/input/shape");
    if (shape.empty() || shape.size() > 3) refuse("/input/shape", "has not 1 to 3 extents");
    for (std::size_t i = 0; i < shape.size(); ++i) {
        input.shape.push_back(whole_number(shape[i], fmt::format("/input/shape/{}", i)));
    }
    if (json.contains("tokens")) input.tokens = whole_number(json["tokens"], "/input/tokens");
    require_known(json, std::vector<std::string>{"shape", "tokens"}, "/input");
    return input;
}

// ---- Writing ----

Written written(const Layers& layers);

/// The value of a member, or null where it is left out.
struct Write {
    const Member& member;
    const Layer& layer;
    const Layer& plain;
    Written& json;
    template <class T>
    void operator()(T Layer::*field) const {
        if (!member.optional || layer.*field != plain.*field) json = layer.*field;
    }
    void operator()(std::optional<Index> Layer::*field) const {
        if (layer.*field) json = *(layer.*field);
    }
    void operator()(OneList list) const { json = written(layer.inside[list.at]); }
    void operator()(ManyLists) const {
        json = Written::array();
        for (const Layers& branch : layer.inside) json.push_back(written(branch));
    }
};

void write_member(const Member& member, const Layer& layer, Written& json) {
    const Layer plain{layer.kind};
    const std::string key(member.key);
    Written value;
    std::visit(Write{member, layer, plain, value}, member.place);
    if (!value.is_null()) json[key] = std::move(value);
}

Written written(const Layer& layer) {
    const KindRow& row = *std::ranges::find(kinds(), layer.kind, &KindRow::kind);
    Written json = {{"layer", row.name}};
    for (const Member& member : row.members) write_member(member, layer, json);
    return json;
}

Written written(const Layers& layers) {
    Written json = Written::array();
    for (const Layer& layer : layers) json.push_back(written(layer));
    return json;
}

}  // namespace

std::string layer_kinds() {
    std::string text;
    for (const KindRow& row : kinds()) {
        const std::string members = listed_members(row);
        text += fmt::format("{}{}{}", text.empty() ? "" : ", ", row.name, members.empty() ? "" : " (" + members + ")");
    }
    return text;
}

std::string json_of(const NetDescription& net) {
    Written input = {{"shape", net.input.shape}};
    if (net.input.tokens > 0) input["tokens"] = net.input.tokens;
    std::string text = fmt::format("{{\"name\": {}, \"task\": {}, \"input\": {}, \"outputs\": {},\n \"layers\": [",
                                   Written(net.name).dump(), Written(net.task).dump(), input.dump(), net.outputs);
    for (std::size_t i = 0; i < net.layers.size(); ++i) {
        text += fmt::format("{}\n   {}", i == 0 ? "" : ",", written(net.layers[i]).dump());
    }
    return text + "]}\n";
}

NetDescription net_from_json(std::string_view text_of_file) {
    Json json;
    try {
        json = checked_json(text_of_file);
    } catch (const std::invalid_argument& error) {
        throw DataError(fmt::format("the net is not JSON: {}", error.what()));
    }
    NetDescription net{text(member_of(json, "name", ""), "/name"), text(member_of(json, "task", ""), "/task"),
                       input_from(member_of(json, "input", "")),
                       whole_number(member_of(json, "outputs", ""), "/outputs"),
                       layers_from(member_of(json, "layers", ""), "/layers")};
    require_known(json, std::vector<std::string>{"name", "task", "input", "outputs", "layers"}, "");
    require_fitting(net);
    return net;
}

}  // namespace ulp
