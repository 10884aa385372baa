#include "engine/analysis/inspection_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "softfloat/errors.hpp"

namespace ulp {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json number_or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json json_of(const FormatLoss& loss) {
    return {{"lost", loss.lost},
            {"subnormal", loss.subnormal},
            {"overflow", loss.overflow},
            {"mean_relative_error", number_or_null(loss.mean_relative_error())},
            {"worst_relative_error", loss.judged == 0 ? Json(nullptr) : Json(loss.worst)},
            {"snr_db", number_or_null(loss.snr_db())}};
}

void add_counts(Json& json, const TensorCounts& counts, const std::vector<JudgedFormat>& formats) {
    json["count"] = counts.count;
    json["zeros"] = counts.zeros;
    json["infinities"] = counts.infinities;
    json["nans"] = counts.nans;
    json["absmax"] = counts.absmax;
    Json histogram = Json::object();
    for (const auto& [exponent, binade] : counts.binades) histogram[std::to_string(exponent)] = binade.numbers;
    json["histogram"] = histogram;
    Json losses = Json::object();
    for (std::size_t f = 0; f < formats.size(); ++f) {
        losses[formats[f].name] = counts.losses[f] ? json_of(*counts.losses[f]) : Json(nullptr);
    }
    json["formats"] = losses;
}

Json header_of(const InputTensor& input) {
    return {{"name", input.name},
            {"file", input.file.string()},
            {"step", number_or_null(input.step)},
            {"type", input.stored.type},
            {"shape", input.stored.shape}};
}

}  // namespace

Inspection inspect_tensors(const InspectionRequest& request) {
    Inspection result;
    for (const std::string& name : request.formats) result.formats.push_back(judged_format(name));
    const JudgedFormat target = judged_format(request.target);
    if (target.blocks) {
        throw UsageError(fmt::format("--target {} scales its blocks itself; give a format of single numbers, as fp16",
                                     request.target));
    }
    result.target = request.target;
    result.all.losses.assign(result.formats.size(), FormatLoss{});
    for (InputTensor& input : input_tensors(request.files)) {
        if (request.before_each_tensor) request.before_each_tensor();
        if (!counted_format(input.stored.type)) {
            result.skipped.push_back(std::move(input));
            continue;
        }
        result.tensors.push_back({input.name, count_tensor(input.stored, result.formats)});
        result.all.add(result.tensors.back().counts);
        result.inputs.push_back(std::move(input));
    }
    if (result.tensors.empty()) {
        throw DataError(fmt::format("{}: no tensor of floating-point numbers; {} of other types",
                                    fmt::join(request.files, ", "), result.skipped.size()));
    }
    result.scale = scale_range(result.tensors, target.format);
    const auto says_grad = [](const std::string& name) { return name.find("grad") != std::string::npos; };
    result.are_weights =
        std::ranges::none_of(request.files, says_grad) && std::ranges::all_of(result.tensors, [&](const auto& each) {
            return !says_grad(each.name) && (each.name.ends_with("weight") || each.name.ends_with("bias"));
        });
    return result;
}

const std::string loss_scale_caveat =
    "These exponents hold for the dumped gradients. Inside the net more is lost and overflows earlier than a histogram "
    "of final gradients shows: activations' gradients and partial sums have a wider range.";
const std::string weights_caveat =
    "These tensors have the names of weights, and a loss scale is for gradients. If they are gradients, say \"grad\" "
    "in the file's name.";

Json json_of(const Inspection& inspection) {
    Json tensors = Json::array();
    for (std::size_t i = 0; i < inspection.tensors.size(); ++i) {
        Json tensor = header_of(inspection.inputs[i]);
        add_counts(tensor, inspection.tensors[i].counts, inspection.formats);
        tensors.push_back(tensor);
    }
    Json skipped = Json::array();
    for (const InputTensor& input : inspection.skipped) skipped.push_back(header_of(input));
    Json all = Json::object();
    add_counts(all, inspection.all, inspection.formats);
    const ScaleRange& scale = inspection.scale;
    return {{"tensors", tensors},
            {"skipped", skipped},
            {"all", all},
            {"loss_scale",
             {{"target", inspection.target},
              {"smallest", number_or_null(scale.smallest)},
              {"recommended", number_or_null(inspection.are_weights ? std::nullopt : scale.recommended)},
              {"largest", number_or_null(scale.largest)},
              {"limited_by", {{"smallest", scale.limits_smallest}, {"largest", scale.limits_largest}}},
              {"caveat", inspection.are_weights ? weights_caveat : loss_scale_caveat}}}};
}

}  // namespace ulp
