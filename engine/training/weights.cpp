#include "engine/training/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "engine/files/safetensors.hpp"
#include "engine/files/stored_arrays.hpp"
#include "engine/layers/decoding.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> endings = {
    {{".in_proj.weight", ".in_proj_weight"},
     {".in_proj.bias", ".in_proj_bias"},
     {".weight_ih", ".weight_ih_l0"},
     {".weight_hh", ".weight_hh_l0"},
     {".bias_ih", ".bias_ih_l0"},
     {".bias_hh", ".bias_hh_l0"},
     {"/mean", ".running_mean"},
     {"/variance", ".running_var"}}};
constexpr std::array<std::string_view, 2> wrappers = {"module.", "_orig_mod."};

/// Calls f(name, tensor as it is stored in files) for all of a model.
template <class Function>
void each_tensor(Model& model, const Function& f) {
    for (Parameter& p : model.parameters()) f(p.name, p.updated());
    for (auto& [name, statistics] : model.statistics()) {
        f(name + "/mean", statistics.mean);
        f(name + "/variance", statistics.variance);
    }
}

/// The names as they count here: without wrappers and what PyTorch only counts with.
StoredArrays relevant(const StoredArrays& arrays) {
    StoredArrays result;
    for (const auto& [name, array] : arrays) {
        std::string_view bare = name;
        for (const std::string_view wrapper : wrappers) {
            if (bare.starts_with(wrapper)) bare.remove_prefix(wrapper.size());
        }
        if (!bare.ends_with(".num_batches_tracked")) result.emplace(bare, array);
    }
    return result;
}

/// Of some names the one that the fewest changed letters make of `name`; nothing where more than half would change.
std::optional<std::string> nearest(const std::string& name, const std::vector<std::string>& others) {
    constexpr std::size_t longest = 200;
    if (name.size() > longest) return std::nullopt;
    const std::vector<int> letters(name.begin(), name.end());
    std::optional<std::string> best;
    auto least = static_cast<Index>(name.size() / 2 + 1);
    for (const std::string& other : others) {
        if (other.size() > longest) continue;
        const Index distance = edit_distance(letters, std::vector<int>(other.begin(), other.end()));
        if (distance < least) best = other, least = distance;
    }
    return best;
}

/// "fc1.wieght (fc1.weight?), fc3.bias", the first ten.
std::string listed(const std::vector<std::string>& names, const std::vector<std::string>& others) {
    constexpr std::size_t most = 10;
    std::string text;
    for (const std::string& name : std::span(names).first(std::min(most, names.size()))) {
        const std::optional<std::string> near = nearest(name, others);
        text += (text.empty() ? "" : ", ") + name + (near ? " (" + *near + "?)" : "");
    }
    return names.size() > most ? fmt::format("{} and {} more", text, names.size() - most) : text;
}

/// Which array of the file each tensor takes.
using Places = std::map<std::string, const StoredArray*>;

Places places_of(const fs::path& file, const StoredArrays& arrays, Model& model) {
    Places places;
    std::vector<std::string> missing;
    std::map<std::string, bool> used;
    each_tensor(model, [&](const std::string& name, const Tensor&) {
        for (const std::string& known : {stored_name(name), name}) {
            const auto entry = arrays.find(known);
            if (entry == arrays.end() || places.contains(name)) continue;
            places[name] = &entry->second;
            used[known] = true;
        }
        if (!places.contains(name)) missing.push_back(stored_name(name));
    });
    std::vector<std::string> unexpected;
    for (const auto& [name, array] : arrays) {
        if (!used.contains(name)) unexpected.push_back(name);
    }
    if (missing.empty() && unexpected.empty()) return places;
    std::string why = file.string() + ": its weights are not those of this net;";
    if (!missing.empty()) why += " missing: " + listed(missing, unexpected);
    if (!unexpected.empty())
        why += (missing.empty() ? " unexpected: " : "; unexpected: ") + listed(unexpected, missing);
    throw DataError(why);
}

bool is_transposed(const Shape& stored, const Shape& wanted) {
    return stored != wanted && wanted.size() == 2 && stored == Shape{wanted[1], wanted[0]};
}

std::vector<float> transposed(const std::vector<float>& values, const Shape& wanted) {
    std::vector<float> result(values.size());
    for (Index i = 0; i < wanted[0]; ++i) {
        for (Index j = 0; j < wanted[1]; ++j) {
            result[static_cast<std::size_t>(i * wanted[1] + j)] = values[static_cast<std::size_t>(j * wanted[0] + i)];
        }
    }
    return result;
}

/// The numbers for a tensor of the model.
std::vector<float> numbers_for(const fs::path& file, const std::string& name, const StoredArray& array,
                               const Shape& wanted) {
    if (is_transposed(array.shape, wanted)) return transposed(array.numbers(), wanted);
    if (array.shape == wanted) return array.numbers();
    throw DataError(fmt::format("{}: {} has the shape {} where this net has {}", file.string(), stored_name(name),
                                text_of(array.shape), text_of(wanted)));
}

/// "12 tensors of type F64 were rounded to fp32 (fc1.bias, ...)"
std::string remark(const std::string& what, const std::vector<std::string>& names) {
    const bool one = names.size() == 1;
    return fmt::format("{} {} {} {} ({}{})", names.size(), one ? "tensor" : "tensors", one ? "was" : "were", what,
                       names.front(), one ? "" : ", ...");
}

}  // namespace

std::string stored_name(const std::string& name) {
    for (const auto& [here, there] : endings) {
        if (name.ends_with(here)) return name.substr(0, name.size() - here.size()) + std::string(there);
    }
    return name;
}

std::vector<std::string> load_weights(const fs::path& file, Model& model) {
    const StoredArrays all = stored_arrays(file);
    const StoredArrays arrays = relevant(all);
    const Places places = places_of(file, arrays, model);
    std::map<std::string, std::vector<std::string>> changed;  // what was done, and to which
    std::map<std::string, std::vector<float>> numbers;
    each_tensor(model, [&](const std::string& name, const Tensor& tensor) {
        const StoredArray& array = *places.at(name);
        numbers[name] = numbers_for(file, name, array, tensor.shape());
        if (!array.exact) changed[fmt::format("of type {}, rounded to fp32", array.type)].push_back(stored_name(name));
        if (is_transposed(array.shape, tensor.shape())) changed["transposed"].push_back(stored_name(name));
    });
    for (Parameter& p : model.parameters()) p.assign(Tensor(p.value.shape(), numbers.at(p.name)));
    for (auto& [name, statistics] : model.statistics()) {
        statistics.mean = Tensor(statistics.mean.shape(), numbers.at(name + "/mean"));
        statistics.variance = Tensor(statistics.variance.shape(), numbers.at(name + "/variance"));
    }
    std::vector<std::string> remarks;
    for (const auto& [what, names] : changed) remarks.push_back(remark(what, names));
    if (all.size() > arrays.size()) remarks.emplace_back("num_batches_tracked was passed over");
    return remarks;
}

void save_weights(const fs::path& file, Model& model) {
    Safetensors contents;
    contents.metadata["format"] = "pt";  // as PyTorch's own writers mark names and layout
    each_tensor(model, [&](const std::string& name, const Tensor& tensor) {
        contents.tensors.emplace(stored_name(name), tensor);
    });
    write_safetensors(file, contents);
}

}  // namespace ulp
