// `ulplab models`: the tables of matrix instructions, with what stands behind each row, and the backends.
#include "softfloat/matrix_units/models.hpp"

#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "engine/matmul.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/framework/markdown.hpp"
#include "softfloat/format_names.hpp"
#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/integer_models.hpp"
#include "softfloat/rounding_names.hpp"

namespace ulp {
namespace {

struct Options {
    std::string gpu;
    std::string format = "console";
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

std::string fraction_bits(const TensorCoreModel& model) {
    return aligns_terms(model) ? std::to_string(model.fraction_bits) : "";
}

nlohmann::ordered_json to_json(const ModelRow& row) {
    const TensorCoreModel& model = row.model;
    nlohmann::ordered_json json = {{"model", row.key()},
                                   {"architecture", row.architecture},
                                   {"instruction", row.instruction},
                                   {"input", row.input},
                                   {"accumulator", row.output},
                                   {"summation", summation_name(model.summation)},
                                   {"instruction_k", model.instruction_k},
                                   {"group", model.group_size}};
    if (aligns_terms(model)) json["fraction_bits"] = model.fraction_bits;
    json["rounding"] = name_of(model.rounding);
    json["output_fraction_bits"] = model.output_fraction_bits;
    json["evidence"] = name_of(row.evidence);
    json["proof"] = row.proof;
    return json;
}

/// A row of the other two tables, of integers and of block-scaled elements.
struct OtherRow {
    std::string key;
    std::string what;
    int instruction_k;
    std::string_view evidence, proof;
};

std::string described(const IntegerModel& model) {
    if (model.product == IntegerProduct::exclusive_or) return "xor, ones counted";
    if (model.product == IntegerProduct::conjunction) return "and, ones counted";
    return model.saturates ? "clamped" : "modulo 2^32";
}

std::string described(const BlockScaledModel& model) {
    return fmt::format("F {}, {} scales for {}", model.unscaled.fraction_bits, name_of(model.scale_format),
                       model.scale_block);
}

std::vector<OtherRow> other_rows(const std::string& architecture) {
    std::vector<OtherRow> rows;
    const auto add = [&](const auto& row, int k) {
        if (!architecture.empty() && !row.key.starts_with(architecture + ":")) return;
        rows.push_back({row.key, described(row.model), k, name_of(row.evidence), row.proof});
    };
    for (const IntegerRow& row : integer_table()) add(row, row.model.instruction_k);
    for (const BlockScaledRow& row : block_scaled_table()) add(row, row.model.unscaled.instruction_k);
    return rows;
}

nlohmann::ordered_json to_json(const OtherRow& row) {
    return {{"model", row.key},
            {"summation", row.what},
            {"instruction_k", row.instruction_k},
            {"evidence", row.evidence},
            {"proof", row.proof}};
}

std::string markdown_of(const std::vector<OtherRow>& rows) {
    std::vector<std::vector<std::string>> cells;
    for (const OtherRow& row : rows) {
        cells.push_back({"`" + row.key + "`", row.what, std::to_string(row.instruction_k), std::string(row.evidence),
                         std::string(row.proof)});
    }
    return "\n## Integers, and elements with scales\n\n" +
           markdown_table({"model", "sums", "k", "evidence", "what proves it, or who claims it"}, cells);
}

void print_backends() {
    fmt::print("\n{:<26} {}\n", "backend", "what it is");
    for (const auto& specs : {backend_specs(), wrapper_specs()}) {
        for (const auto& [name, description] : specs) fmt::print("{:<26} {}\n", name, description);
    }
}

void print_markdown(const std::vector<ModelRow>& rows, const std::vector<OtherRow>& others) {
    std::vector<std::vector<std::string>> cells;
    for (const ModelRow& row : rows) {
        const TensorCoreModel& model = row.model;
        cells.push_back({"`" + row.key() + "`", std::string(summation_name(model.summation)),
                         std::to_string(model.instruction_k), std::to_string(model.group_size), fraction_bits(model),
                         std::string(name_of(model.rounding)), std::to_string(model.output_fraction_bits),
                         std::string(name_of(row.evidence)), row.proof});
    }
    const std::string explanation =
        "A row is one matrix instruction: what its unit computes, as parameters that "
        "[softfloat/matrix_units/block_dot.hpp](../../softfloat/matrix_units/block_dot.hpp) and its neighbours read. "
        "k: "
        "products of one instruction; group: products added at once; F: aligned terms are cut below 2^(M-F), M the "
        "largest exponent of the group; bits: fraction bits kept by the rounding of a group's sum.\n\n"
        "Evidence: *recorded*: recordings of the GPU agree with the row, bit for bit; *verified live*: compared with "
        "the "
        "unit itself; *published*: stated by the source named, not checked here.\n\n";
    fmt::print("{}", generated_document("Matrix instructions", "ulplab models --format markdown",
                                        explanation +
                                            markdown_table({"model", "summation", "k", "group", "F", "rounding", "bits",
                                                            "evidence", "what proves it, or who claims it"},
                                                           cells) +
                                            markdown_of(others)));
}

ExitCode print_models(const Options& options) {
    std::vector<ModelRow> rows;
    const std::string architecture = options.gpu.empty() ? "" : architecture_of(options.gpu);
    for (const ModelRow& row : model_table()) {
        if (architecture.empty() || row.architecture == architecture) rows.push_back(row);
    }
    const auto others = other_rows(architecture);
    if (options.format == "markdown") {
        print_markdown(rows, others);
    } else if (options.format == "json") {
        auto list = nlohmann::ordered_json::array();
        for (const ModelRow& row : rows) list.push_back(to_json(row));
        for (const OtherRow& row : others) list.push_back(to_json(row));
        fmt::print("{}\n", list.dump(2));
    } else {
        fmt::print("{:<32} {:<20} {:>2} {:>5} {:>2} {:<12} {:>4}  {:<9} {}\n", "model", "summation", "k", "group", "F",
                   "rounding", "bits", "evidence", "proof or source");
        for (const ModelRow& row : rows) {
            fmt::print("{:<32} {:<20} {:>2} {:>5} {:>2} {:<12} {:>4}  {:<9} {}\n", row.key(),
                       summation_name(row.model.summation), row.model.instruction_k, row.model.group_size,
                       fraction_bits(row.model), name_of(row.model.rounding), row.model.output_fraction_bits,
                       name_of(row.evidence), row.proof);
        }
        if (!others.empty()) {
            fmt::print("\n{:<32} {:<32} {:>3} {:<9} {}\n", "model", "sums", "k", "evidence", "proof or source");
        }
        for (const OtherRow& row : others) {
            fmt::print("{:<32} {:<32} {:>3} {:<9} {}\n", row.key, row.what, row.instruction_k, row.evidence, row.proof);
        }
        if (architecture.empty()) print_backends();
    }
    return ExitCode::good;
}

Action declare(OptionParser& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--gpu", options->gpu, "only those of a GPU, generation or architecture: H100, Ampere, sm_100");
    app.add_option("--format", options->format, "console, json or markdown").one_of({"console", "json", "markdown"});
    return [options] { return print_models(*options); };
}

}  // namespace

Command models_command() { return {"models", "the matrix instructions with their models and evidence", declare}; }

}  // namespace ulp
