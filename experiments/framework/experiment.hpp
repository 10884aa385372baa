// An experiment: one question, one file, experiments/<name>.cpp, which defines it as `experiment()` in a namespace of
// its own, ulp::overflow_experiment (sources are compiled together). That gives `ulplab run overflow`, the program
// `overflow`, its --help, its records, and its place in the report. An experiment starts from this header, or from
// experiments/training/figures.hpp where it trains: they bring what experiments are written with, fmt and the standard
// headers below, too.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/result.hpp"
#include "experiments/framework/settings.hpp"
#include "softfloat/float.hpp"

namespace ulp {

/// The chapters of the report, in the order of the argument.
enum class Chapter { formats, overflow, swamping, underflow, remedies, systems, language, hardware, agreement };
std::string_view chapter_name(Chapter chapter);
/// What to see in the chapter, in a few sentences.
std::string_view chapter_text(Chapter chapter);
/// Throws DataError for a name that is none.
Chapter chapter_by_name(std::string_view name);
/// In the report: experiments of a chapter stand in the order of their numbers, those of one number by name.
struct Place {
    Chapter chapter;
    int number;
};

class RunParts;

/// What a run is given.
struct RunContext {
    std::uint64_t seed;
    RunSize size;
    std::string backend;  // as on the command line; empty: the experiment's own choice
    Settings settings;
    std::function<void(double)> progress;  // from 0 to 1
    /// Told each training that was made: a net of that many parameters, that many steps; may be empty.
    std::function<void(std::int64_t parameters, std::int64_t steps)> trained{};
    /// Called where the setting "without" has left something out; may be empty.
    std::function<void()> left_out{};
    /// Keeps the training runs of a comparison one by one; null: it is made in one piece.
    RunParts* parts = nullptr;
};

/// Words of a text, which blanks separate.
struct WordList : std::vector<std::string> {
    WordList() = default;
    WordList(const char* text);
};

/// A run with the effect switched off: the claims about it must fail, and no others. The rest are the names of claims
/// and settings as `--set` takes them.
struct Control {
    WordList off;                   // settings that switch it off
    WordList fail;                  // the claims whose verdict then lies further from what they say
    RunSize size = RunSize::smoke;  // quick where a mild control needs the power of several seeds
    WordList small;                 // settings of both runs, with the effect and without, beside the size's own

    Control(WordList off_by, WordList failing, RunSize of = RunSize::smoke, WordList both = {})
        : off(std::move(off_by)), fail(std::move(failing)), size(of), small(std::move(both)) {}
};

/// The failure of low precision that an experiment shows.
struct Effect {
    std::string claim;       // its name: what it measured is the failure's size
    std::string inserted{};  // what was put in so that it fails, as a noun phrase; empty: it fails by itself
    std::vector<std::string> natural{};  // the experiments in which the same failure occurs by itself
};

struct Experiment {
    std::string name;      // [a-z0-9_]+
    std::string title;     // for people
    std::string question;  // one sentence with a question mark
    Place place;
    std::vector<Setting> settings;
    /// Computes everything; the same result, bit for bit, for the same context on every machine.
    void (*run)(const RunContext& context, Result& result);
    std::vector<Control> controls{};
    std::optional<Effect> effect{};
    std::string
        without_backend{};  // why no product of it goes through a backend, so that it takes none; empty: some do
};

/// Why no product of such an experiment goes through a backend.
inline const std::string no_product = "it multiplies no matrices";
inline const std::string fp32_alone = "it trains in fp32 alone, of which matrix units have no products";

/// The controls that name a claim by its whole id, as the settings that switch its effect off: "control=wide".
std::vector<std::string> controls_of(std::string_view claim_id);

/// By their places.
std::vector<Experiment> in_order_of_argument(std::vector<Experiment> experiments);

/// All experiments in the order of the report.
std::span<const Experiment> experiments();

/// Of an experiment in which something is inserted those that fail in the same way by themselves, and the reverse.
std::vector<const Experiment*> counterparts_of(const Experiment& experiment);
/// "Constructed: a loss times 2^-12." or "Natural: nothing is inserted."
std::string origin_text(const Effect& effect);

/// Throws UsageError that lists the names there are.
const Experiment& experiment_by_name(std::string_view name);

// Negative controls: the setting "control" of an experiment switches its effect off, and the claims about the effect
// must then fail. tests/experiments/test_controls.cpp sees to it that every experiment has one, and that the claims do.

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

/// The documents whose claims are judged, by title; a claim adds the place in it.
namespace sources {

inline constexpr std::string_view amp_slides = "Carilli and Ruberry, Automatic mixed precision in PyTorch (2019)";
inline constexpr std::string_view volta_talk = "NVIDIA talk on Volta and Turing: inference and training";
inline constexpr std::string_view notebook = "Notebook on automatic mixed precision";
inline constexpr std::string_view round_table = "Farkhari, slides on quantization and mixed precision";
inline constexpr std::string_view paperspace = "Article on mixed-precision training with PyTorch (MNIST, BERT, U-Net)";
inline constexpr std::string_view numerical_behavior =
    "Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor cores (2021)";
inline constexpr std::string_view deepseek_v3 = "DeepSeek-V3 technical report (2024), arXiv 2412.19437";
inline constexpr std::string_view ptx = "NVIDIA, PTX ISA";
inline constexpr std::string_view paper = "Micikevicius et al., Mixed precision training (ICLR 2018)";
inline constexpr std::string_view bf16_paper = "Zamirai et al., Revisiting BFloat16 training (2020)";
inline constexpr std::string_view pytorch_testing = "PyTorch manual, torch.testing";
inline constexpr std::string_view numpy_manual = "NumPy manual";
inline constexpr std::string_view cuda_samples = "NVIDIA CUDA samples";
inline constexpr std::string_view arithmetic = "IEEE 754-2019";
/// What no source says and an experiment expects all the same: where it does not hold, no source is wrong.
inline constexpr std::string_view own_prediction = "Predictions of this laboratory";

}  // namespace sources
/// cite(sources::amp_slides, "FP32 and FP16"): document and slide, cell or section.
inline std::string cite(std::string_view document, std::string_view place) {
    return std::string(document) + ", \"" + std::string(place) + "\"";
}

}  // namespace ulp
