// Optimisation levels O0 to O3 as apex defines them: a table of properties, overrides, and the recipe they make.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/recipes/recipe.hpp"

namespace ulp {

/// Whether the trainer can keep numbers in the format, or compute in it; else std::invalid_argument, whose text starts
/// with `what`.
void require_kept(const std::string& what, const FloatFormat& format, bool computes = false);

/// A level's properties as text, by name: cast_model_type (none, fp32, fp16, bf16, or a format by name or file for
/// which require_kept holds), patch_functions (true, false), keep_batchnorm_fp32 (none, true, false), master_weights
/// (none, true, false), loss_scale (dynamic or a number), cast_list (apex, pytorch_cuda, pytorch_cpu; counts where
/// functions are patched).
using LevelProperties = std::map<std::string, std::string>;

/// The defaults of "O0" to "O3". Throws std::invalid_argument for another name.
const LevelProperties& level_defaults(std::string_view level);

/// A level with some properties overridden.
class Level {
  public:
    /// Throws std::invalid_argument for an unknown level, property or value, and for a senseless combination, with the
    /// reason: any cast_model_type but none or fp32, keep_batchnorm_fp32, or master_weights with O1 (it casts
    /// functions, not the model); patched functions outside O1.
    explicit Level(std::string_view name, LevelProperties overrides = {});

    [[nodiscard]] const LevelProperties& effective() const { return effective_; }
    /// Two columns: before and after the overrides.
    [[nodiscard]] std::string table() const;
    [[nodiscard]] Recipe recipe() const;

  private:
    void require_sensible() const;
    [[nodiscard]] LossScaleOptions loss_scale() const;

    std::string name_;
    LevelProperties defaults_;
    LevelProperties overrides_;
    LevelProperties effective_;
};

}  // namespace ulp
