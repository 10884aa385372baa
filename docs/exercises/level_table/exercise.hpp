#pragma once

enum class Cast { none, fp32, fp16 };
enum class Choice { none, no, yes };
enum class Scale { dynamic, one, fixed_128 };

struct Properties {
    Cast cast_model_type;
    bool patch_functions;
    Choice keep_batchnorm_fp32;
    Choice master_weights;
    Scale loss_scale;
};

/// Null where a property is not overridden.
struct Overrides {
    const Cast* cast_model_type;
    const bool* patch_functions;
    const Choice* keep_batchnorm_fp32;
    const Choice* master_weights;
    const Scale* loss_scale;
};

/// The properties of level 0 to 3 with these overrides; false where they make no sense together.
bool effective(int level, const Overrides& overrides, Properties& properties);
