#include "gpu/functions/functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "gpu/functions/function_list.hpp"
#include "gpu/functions/function_models.hpp"
#include "gpu/recordings/digest.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {

std::span<const HardwareFunction> hardware_functions() {
#define ULPLAB_ROW_SM80(Wrapper, name, operand_bits, Model) \
    {name, operand_bits, {80}, models::Model::known ? models::Model::bits : nullptr},
#define ULPLAB_ROW_SM90(Wrapper, name, operand_bits, Model) \
    {name, operand_bits, {90}, models::Model::known ? models::Model::bits : nullptr},
    static const HardwareFunction table[] = {ULPLAB_HARDWARE_FUNCTIONS_SM80(ULPLAB_ROW_SM80)
                                                 ULPLAB_HARDWARE_FUNCTIONS_SM90(ULPLAB_ROW_SM90)};
#undef ULPLAB_ROW_SM80
#undef ULPLAB_ROW_SM90
    return table;
}

const HardwareFunction& hardware_function_by_name(std::string_view name) {
    const auto found = std::ranges::find(hardware_functions(), name, &HardwareFunction::name);
    if (found != hardware_functions().end()) return *found;
    std::string names;
    for (const HardwareFunction& each : hardware_functions()) names += fmt::format(" {}", each.name);
    throw UsageError(fmt::format("there is no function \"{}\"; choose from{}", name, names));
}

FunctionAnswers ask_function(const Executor& device, const HardwareFunction& function, std::uint32_t first,
                             std::uint64_t count) {
    if (!function.availability.on(device.info().architecture)) {
        throw UsageError(fmt::format("{} has no {}, which needs {}", device.info().name, function.name,
                                     architecture_name(function.availability.minimum)));
    }
    if (device.info().hardware) return ask_function_on_cuda(function, first, count);
    if (function.model == nullptr) {
        throw UsageError(fmt::format("nothing says which bits {} gives: only a GPU can be asked", function.name));
    }
    FunctionAnswers answers;
    for (std::uint64_t i = first; i < first + count; ++i) {
        answers.digest += digest_term(i, function.model(static_cast<std::uint32_t>(i)));
    }
    return answers;
}

}  // namespace ulp::gpu
