#include "experiments/framework/control.hpp"

namespace ulp {

Setting control_setting(const std::string& help, std::vector<std::string> controls) {
    controls.insert(controls.begin(), "none");
    return text_setting("control", help + ", to see the claims fail", "none", std::move(controls));
}

bool has_control(const RunContext& context, std::string_view control) {
    return context.settings.text("control") == control;
}

Setting wide_control() { return control_setting("wide uses fp32 instead of the 16-bit formats", {"wide"}); }

}  // namespace ulp
