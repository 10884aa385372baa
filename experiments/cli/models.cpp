// `ulplab models`: the tables of matrix instructions, with what stands behind each row, and the backends.
#include <nlohmann/json.hpp>

#include "engine/products/matmul.hpp"
#include "engine/products/unit_file.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/cli/product_options.hpp"
#include "experiments/framework/values.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"

namespace ulp {
namespace {

struct ModelsOptions {
    std::string unit;  // a row, a file, or a GPU
    bool json = false;
};

std::string_view summation_name(Summation summation) {
    switch (summation) {
        case Summation::fused: return "fused";
        case Summation::fp8_by_hmma: return "fp16 emulation";
        case Summation::fma_chain: return "fma chain";
        case Summation::fma_pairs: return "fma, odd k first";
        case Summation::even_odd_fma: return "even and odd fma";
        case Summation::pairwise: return "pairwise";
        case Summation::exact: return "exact";
        case Summation::late_addend: return "fused, c late";
        case Summation::late_addend_even_odd: return "even, odd, c late";
    }
    return "";
}

/// Whether the unit cuts aligned terms: the others have no F.
bool aligns_terms(const TensorCoreModel& model) {
    return model.summation == Summation::fused || model.summation == Summation::fp8_by_hmma ||
           model.summation == Summation::late_addend || model.summation == Summation::late_addend_even_odd;
}

/// What a row's columns show. Empty where the unit has no such thing.
struct Columns {
    std::string sums, k, group, fraction_bits, rounding, bits;
};

Columns columns_of(const TensorCoreModel& model) {
    return {std::string(summation_name(model.summation)),
            std::to_string(model.instruction_k),
            std::to_string(model.group_size),
            aligns_terms(model) ? std::to_string(model.fraction_bits) : "",
            std::string(name_of(model.rounding)),
            std::to_string(model.output_fraction_bits)};
}

Columns columns_of(const IntegerModel& model) {
    const std::string k = std::to_string(model.instruction_k);
    if (model.product == IntegerProduct::exclusive_or) return {"xor, ones counted", k, "", "", "", ""};
    if (model.product == IntegerProduct::conjunction) return {"and, ones counted", k, "", "", "", ""};
    return {model.saturates ? "clamped" : "modulo 2^32", k, "", "", "", ""};
}

Columns columns_of(const BlockScaledModel& model) {
    Columns columns = columns_of(model.unscaled);
    columns.sums = fmt::format("{} per {}", name_of(model.scale_format), model.scale_block);
    return columns;
}

Columns columns_of(const UnitRow& row) {
    return std::visit([](const auto& model) { return columns_of(model); }, row.model);
}

/// A letter for each aspect: L verified live, R recorded, P published twice, p published, - where the unit has no such
/// aspect.
std::string aspect_letters(const UnitRow& row) {
    std::string letters(all_aspects.size(), '-');
    for (const AspectEvidence& each : row.aspects) {
        const char letter = each.evidence == Evidence::verified_live     ? 'L'
                            : each.evidence == Evidence::recorded        ? 'R'
                            : each.evidence == Evidence::published_twice ? 'P'
                                                                         : 'p';
        letters[static_cast<std::size_t>(each.aspect)] = letter;
    }
    return letters;
}

nlohmann::ordered_json to_json(const UnitRow& row) {
    const Columns columns = columns_of(row);
    nlohmann::ordered_json json = {{"model", row.key()},
                                   {"architecture", row.architecture},
                                   {"instruction", row.instruction},
                                   {"input", row.input},
                                   {"accumulator", row.output},
                                   {"summation", columns.sums},
                                   {"instruction_k", std::stoi(columns.k)}};
    if (!columns.group.empty()) json["group"] = std::stoi(columns.group);
    if (!columns.fraction_bits.empty()) json["fraction_bits"] = std::stoi(columns.fraction_bits);
    if (!columns.rounding.empty()) json["rounding"] = columns.rounding;
    if (!columns.bits.empty()) json["output_fraction_bits"] = std::stoi(columns.bits);
    if (!row.policies.empty()) json["policies"] = row.policies;
    json["evidence"] = name_of(row.evidence);
    json["proof"] = row.proof;
    for (const AspectEvidence& each : row.aspects) {
        json["aspects"][std::string(name_of(each.aspect))] = {{"evidence", name_of(each.evidence)},
                                                              {"data", each.data}};
    }
    return json;
}

void print_backends() {
    fmt::print("\n{:<26} {}\n", "backend", "what it is");
    for (const auto& specs : {backend_specs(), wrapper_specs()}) {
        for (const auto& [name, description] : specs) fmt::print("{:<26} {}\n", name, description);
    }
}

void print_console(const std::vector<const UnitRow*>& rows) {
    constexpr std::string_view line = "{:<40} {:<20} {:>3} {:>5} {:>2} {:<12} {:>4} {:<6} {:<7} {}\n";
    fmt::print(line, "model", "summation", "k", "group", "F", "rounding", "bits", "policy", "aspects",
               "evidence of ordinary values");
    for (const UnitRow* row : rows) {
        const Columns c = columns_of(*row);
        fmt::print(line, row->key(), c.sums, c.k, c.group, c.fraction_bits, c.rounding, c.bits, row->policies,
                   aspect_letters(*row), fmt::format("{} ({})", name_of(row->evidence), row->proof));
    }
    fmt::print(
        "\naspects: ordinary values, zeros, exponent floor, subnormals, infinities and overflow, NaN;\n"
        "L verified live, R recorded, P published twice, p published, - not an aspect of this unit\n");
}

/// The rows of the GPU, generation or architecture. Throws UsageError that names the nearest.
std::vector<const UnitRow*> rows_of_gpu(const std::string& gpu) {
    const std::string architecture = gpu.empty() ? "" : architecture_of(gpu);
    std::vector<const UnitRow*> rows;
    for (const UnitRow& row : unit_table()) {
        if (architecture.empty() || row.architecture == architecture) rows.push_back(&row);
    }
    return rows;
}

ExitCode print_models(const ModelsOptions& options) {
    const bool one = is_unit_file(options.unit) || options.unit.find(':') != std::string::npos;
    const std::optional<UnitRow> named = one ? std::optional(unit_named(options.unit)) : std::nullopt;
    if (named && options.json) {
        fmt::print("{}", unit_json({named->file.empty() ? named->key() : named->proof, named->model}));
        return ExitCode::good;
    }
    const std::vector<const UnitRow*> rows = named ? std::vector<const UnitRow*>{&*named} : rows_of_gpu(options.unit);
    if (options.json) {
        auto list = nlohmann::ordered_json::array();
        for (const UnitRow* row : rows) list.push_back(to_json(*row));
        fmt::print("{}\n", list.dump(2));
        return ExitCode::good;
    }
    print_console(rows);
    if (named) fmt::print("evidence: {}\n", evidence_text(*named));
    if (options.unit.empty()) print_backends();
    return ExitCode::good;
}

Action declare_models(OptionParser& app) {
    const auto options = std::make_shared<ModelsOptions>();
    app.add_option("--unit", options->unit,
                   "only the rows of a GPU, generation or architecture: H100, Ampere, sm_100; or one row by its key or "
                   "file, with --json in the form that --unit FILE.json reads")
        .type_name("GPU|KEY|FILE");
    app.add_flag("--json", options->json, "prints JSON");
    return [options] { return print_models(*options); };
}

}  // namespace

std::string models_page() {
    const std::vector<const UnitRow*> rows = rows_of_gpu("");
    std::vector<std::vector<std::string>> cells;
    for (const UnitRow* row : rows) {
        const Columns c = columns_of(*row);
        cells.push_back({"`" + row->key() + "`", c.sums, c.k, c.group, c.fraction_bits, c.rounding, c.bits,
                         row->policies, "`" + aspect_letters(*row) + "`", evidence_text(*row)});
    }
    const std::string explanation =
        "A row is one matrix instruction: what its unit computes, as parameters that "
        "[softfloat/matrix_units/block_dot.hpp](../../softfloat/matrix_units/block_dot.hpp) and its neighbours read. "
        "k: products of one instruction; group: products added at once; F: aligned terms are cut below 2^(M-F), M the "
        "largest exponent of the group; bits: fraction bits kept by the rounding of a group's sum; policy: the set of "
        "[policies.hpp](../../softfloat/matrix_units/policies.hpp) on the points where the published models "
        "disagree.\n\n"
        "Evidence is given aspect by aspect: ordinary values, zeros, exponent floor, subnormals, infinities and "
        "overflow, NaN. *Verified live* (L): recordings of a GPU in this repository decide the aspect and agree with "
        "the row bit for bit, and so do the bulk runs named; or a test compares the row with the processor itself. "
        "*Recorded* (R): so do published recordings that are not in this repository. *Published* (p): stated by the "
        "source named, not checked here. A dash: the unit has no such aspect. A recording decides an aspect if it "
        "contradicts every other reading of it that can give other bits at all: each other policy set's zeros, "
        "exponent floor or subnormal rules; flushed subnormals; overflow to the largest number; another NaN. It "
        "decides ordinary values if it contradicts at least one other parameter, such as another F. A test computes "
        "this. [mma_sim.md](../mma_sim.md): the comparison with MMA-Sim's code, and the instructions that have no "
        "row.\n\n";
    return generated_document("Matrix instructions", "ulplab dev page models",
                              explanation + markdown_table({"model", "summation", "k", "group", "F", "rounding", "bits",
                                                            "policy", "aspects", "evidence"},
                                                           cells));
}

Command models_command() {
    return {"models", "the matrix instructions with their models and evidence", declare_models};
}

}  // namespace ulp
