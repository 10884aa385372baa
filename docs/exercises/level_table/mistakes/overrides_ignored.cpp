// A planted mistake: overrides ignored.
#include "exercise.hpp"

bool effective(int level, const Overrides& overrides, Properties& properties) {
    static const Properties table[4] = {
        {Cast::fp32, false, Choice::none, Choice::no, Scale::one},
        {Cast::none, true, Choice::none, Choice::none, Scale::dynamic},
        {Cast::fp16, false, Choice::yes, Choice::yes, Scale::dynamic},
        {Cast::fp16, false, Choice::no, Choice::no, Scale::one},
    };
    properties = table[level];
    (void)overrides;
    if (level != 1) return !properties.patch_functions;
    return properties.cast_model_type != Cast::fp16 && properties.keep_batchnorm_fp32 == Choice::none &&
           properties.master_weights == Choice::none;
}
