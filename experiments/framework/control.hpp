// Negative controls: the setting "control" of an experiment switches its effect off, and the claims about the effect
// must then fail. tests/experiments/test_controls.cpp sees to it that every experiment has one, and that the claims do.
#pragma once

#include "experiments/framework/experiment.hpp"
#include "softfloat/float.hpp"

namespace ulp {

/// The setting "control": "none", or one of these; `help` says of each what it does.
Setting control_setting(const std::string& help, std::vector<std::string> controls);
bool has_control(const RunContext& context, std::string_view control);

/// The control "wide": fp32 takes the place of the 16-bit formats.
Setting wide_control();
/// f<fp16, bf16>(), or f<fp32, fp32>() under the control "wide".
template <class F>
void with_16_bit_formats(const RunContext& context, const F& f) {
    if (has_control(context, "wide")) {
        f.template operator()<fp32, fp32>();
    } else {
        f.template operator()<fp16, bf16>();
    }
}

}  // namespace ulp
