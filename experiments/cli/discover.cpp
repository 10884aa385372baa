// `ulplab discover --unit SPEC`: the parameters of a matrix unit, found by asking it.
#include "engine/products/matmul.hpp"
#include "engine/products/unit_file.hpp"
#include "experiments/cli/black_box.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/product_options.hpp"
#include "softfloat/lab/block_scaled_discovery.hpp"
#include "softfloat/lab/discovery.hpp"
#include "softfloat/lab/integer_discovery.hpp"
#include "softfloat/lab/match_check.hpp"
#include "softfloat/lab/operand_discovery.hpp"
#include "softfloat/lab/x86_units.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/names.hpp"
#include "softfloat/text.hpp"

namespace ulp {
namespace {

struct DiscoverOptions {
    std::string unit;
    std::string input = "fp16";
    std::string output = "fp32";
    int k = 16;
    int blocks = 100'000;
    std::uint64_t seed = 1;
    bool fit = false;
    std::string against, out;
    bool table = false;
};

/// A backend of the trainer as a black box of one dot product.
DotUnit unit_of_backend(const DiscoverOptions& options) {
    const FloatFormat input = format_by_name(options.input);
    const FloatFormat accumulator = format_by_name(options.output);
    if (options.k < 2 || options.k > most_unit_k) throw UsageError("-k must lie between 2 and 256");
    const std::shared_ptr<const MatmulBackend> backend = make_backend(options.unit);
    const ProductTypes types{input, accumulator};
    return {input, input, accumulator, options.k,
            [=](std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c) {
                const auto containers = [&](const FloatFormat& format, std::span<const std::uint64_t> codes) {
                    std::vector<float> values;
                    for (const std::uint64_t code : codes) {
                        values.push_back(in_fp32_container(format, static_cast<std::uint32_t>(code)));
                    }
                    return values;
                };
                const auto x = containers(input, a);
                const auto y = containers(input, b);
                const float addend = in_fp32_container(accumulator, static_cast<std::uint32_t>(c));
                const auto k = static_cast<Index>(x.size());
                const Matrix d = matmul(*backend, types, MatrixView(x.data(), 1, k), MatrixView(y.data(), k, 1),
                                        MatrixView(&addend, 1, 1));
                return std::uint64_t{operand_code(accumulator, d(0, 0))};
            }};
}

void check_length(const DiscoverOptions& options) {
    if (options.k >= 1 && options.k <= most_unit_k) return;
    throw UsageError(fmt::format("-k is {}; units have 1 to {} products", options.k, most_unit_k));
}

DotUnit dot_unit_named(const DiscoverOptions& options) {
    if (is_black_box(options.unit)) {
        const FloatFormat input = format_by_name(options.input);
        check_length(options);
        return open_black_box(options.unit, input, input, format_by_name(options.output), options.k);
    }
    if (options.unit == "x86:vdpbf16ps" || options.unit == "x86:tdpbf16ps") {
        const bool tile = options.unit == "x86:tdpbf16ps";
        if (tile ? !x86::has_tdpbf16ps() : !x86::has_vdpbf16ps()) {
            throw UsageError("this processor cannot run " + options.unit.substr(4) +
                             "; its row of the table can be asked instead: " + options.unit + ".bf16.fp32");
        }
        return tile ? x86::tdpbf16ps_unit() : x86::vdpbf16ps_unit();
    }
    const auto architecture = options.unit.substr(0, options.unit.find(':') + 1);
    for (const std::string& key : model_keys()) {
        if (!architecture.empty() && key.starts_with(architecture)) throw_no_model(options.unit);
    }
    return unit_of_backend(options);
}

std::string_view name_of_rounding(const std::optional<Rounding>& rounding) {
    if (!rounding) return "not found";
    switch (*rounding) {
        case Rounding::nearest_even: return "to nearest, ties to even";
        case Rounding::nearest_away: return "to nearest, ties away from zero";
        case Rounding::toward_zero: return "toward zero";
        case Rounding::down: return "down";
        case Rounding::up: return "up";
        case Rounding::odd: return "to odd";
        default: return "other";
    }
}

/// Policy sets whose answers, with the found parameters of a fused unit, are the unit's on the deciding kinds of input.
std::string consistent_policies(const DotUnit& unit, const TensorCoreModel& model) {
    const std::vector<RandomBlock> blocks = deciding_blocks(unit);
    std::string names;
    for (const PolicySet& set : policy_sets) {
        const TensorCoreModel tried = with_policies(model, set);
        const bool same = std::all_of(blocks.begin(), blocks.end(), [&](const RandomBlock& each) {
            return unit.dot(each.a, each.b, each.c) == chain_dot(tried, each.a.data(), each.b.data(), each.c, unit.k);
        });
        if (same) names += (names.empty() ? "" : ", ") + std::string(set.name);
    }
    return names.empty() ? "none" : names;
}

void print(const FloatFormat& input, const Discovery& found) {
    fmt::print("summation tree        {}\n", found.tree.text());
    fmt::print("terms added at once   {}\n", found.fused_terms);
    if (found.fraction_bits) fmt::print("alignment             F = {} fraction bits\n", *found.fraction_bits);
    if (found.exact_alignment) fmt::print("alignment             exact as far as the formats can ask\n");
    if (found.fraction_bits && !found.alignment) {
        fmt::print("aligned terms cut     cannot be asked in these formats\n");
    }
    if (found.alignment) fmt::print("aligned terms cut     {}\n", name_of_rounding(found.alignment));
    if (found.addend_alignment) fmt::print("aligned c cut         {}\n", name_of_rounding(found.addend_alignment));
    if (!found.exact_products) fmt::print("products added exactly cannot be asked beside this rounding\n");
    if (found.exact_products.value_or(1) > 1) fmt::print("products added exactly {}\n", *found.exact_products);
    if (found.normalises_products) fmt::print("products normalised   {}\n", *found.normalises_products ? "yes" : "no");
    fmt::print("sum rounded           {}\n", name_of_rounding(found.rounding));
    fmt::print("output fraction bits  {}\n", found.output_fraction_bits);
    fmt::print("subnormal operands    {}\n", found.uses_subnormal_inputs ? "used" : "flushed to zero");
    if (input.has_nan()) fmt::print("NaN                   {:X}\n", found.nan);
}

void print_evidence(const std::vector<std::string>& evidence) {
    fmt::print("\nevidence\n");
    for (const std::string& line : evidence) fmt::print("  {}\n", line);
}

void print_rows(const std::vector<const UnitRow*>& rows) {
    fmt::print("\nrows of the table with these parameters{}\n", rows.empty() ? ": none" : "");
    for (const UnitRow* row : rows) fmt::print("  {}  ({}: {})\n", row->key(), name_of(row->evidence), row->proof);
}

/// How the unit compares with the rows that have the parameters found.
struct RowChecks {
    std::vector<const UnitRow*> rows;
    std::vector<MatchCheck> checks;

    [[nodiscard]] const UnitRow* agreeing() const {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (checks[i].agrees()) return rows[i];
        }
        return nullptr;
    }
};

RowChecks check_rows(const DiscoverOptions& options, const DotUnit& unit, std::vector<const UnitRow*> rows) {
    std::vector<const TensorCoreModel*> models;
    for (const UnitRow* row : rows) models.push_back(row->as<TensorCoreModel>());
    return {std::move(rows), check_matches(unit, models, options.blocks, options.seed)};
}

void print_checks(const DiscoverOptions& options, const DotUnit& unit, const RowChecks& checked) {
    if (checked.rows.empty() || options.blocks == 0) return;
    fmt::print("\n{} random dot products of all classes, each asked twice\n", options.blocks);
    for (std::size_t i = 0; i < checked.rows.size(); ++i) {
        print_check(unit, checked.rows[i]->key(), checked.checks[i]);
    }
    const std::int64_t unstable = checked.checks.front().unstable;
    if (unstable > 0) fmt::print("  {} of them gave two different results: the unit is not deterministic\n", unstable);
    if (checked.agreeing() != nullptr) return;
    fmt::print("  so no row of the table computes what this unit computes, though their parameters are those found\n");
}

std::string type_of(bool is_signed, int bits) { return (is_signed ? "s" : "u") + std::to_string(bits); }

std::string integers_of(const std::vector<std::uint8_t>& codes) {
    std::string text;
    for (const std::uint8_t code : codes) text += (text.empty() ? "" : ",") + std::to_string(code);
    return text;
}

void print_integer_check(const std::string& name, const IntegerCheck& check) {
    fmt::print("{} random dot products of bytes, each asked twice\n  {}: {}\n", check.blocks, name,
               check.differ == 0 ? "none differs" : fmt::format("{} differ", check.differ));
    if (check.unstable > 0) {
        fmt::print("  {} of them gave two different results: the unit is not deterministic\n", check.unstable);
    }
    if (!check.first) return;
    fmt::print("    the first: unit {}, model {}: a {} b {} c {}\n", check.first->unit, check.first->model,
               integers_of(check.first->a), integers_of(check.first->b), check.first->c);
}

ExitCode check_integers_against(const DiscoverOptions& options, const IntegerUnit& unit) {
    const UnitRow row = unit_named(options.against);
    const auto* model = row.as<IntegerModel>();
    if (model == nullptr || unit.k % model->instruction_k != 0) {
        throw UsageError(fmt::format("{} is {} -> {}, and the unit asked is one of integers -> s32 with k = {}",
                                     row.key(), row.input, row.output, unit.k));
    }
    const IntegerCheck check = check_match(unit, *model, options.blocks, options.seed);
    print_integer_check(row.key(), check);
    return check.agrees() ? ExitCode::good : ExitCode::bits_differ;
}

ExitCode discover_integers(const DiscoverOptions& options, const IntegerUnit& unit) {
    if (!options.against.empty()) return check_integers_against(options, unit);
    const IntegerDiscovery found = discover(unit);
    const IntegerModel& model = found.model;
    fmt::print("{}: integers -> s32, k = {}\n\n", options.unit, model.instruction_k);
    fmt::print("operands              {} x {}\n", type_of(model.a_signed, model.bits),
               type_of(model.b_signed, model.bits));
    if (model.bits == 1) {
        fmt::print("products              {}\n", model.product == IntegerProduct::exclusive_or ? "xor" : "and");
    }
    fmt::print("sums beyond s32       {}\n", model.saturates ? "clamped" : "wrap");
    if (model.saturates)
        fmt::print("clamp                 {}\n",
                   found.clamps_once ? "once, after all products and c are added" : "not asked");
    print_evidence(found.evidence);
    const IntegerCheck check = check_match(unit, model, options.blocks, options.seed);
    if (check.agrees()) print_rows(matching_rows(found));
    if (check.blocks > 0) {
        fmt::print("\n");
        print_integer_check("the unit found", check);
    }
    if (check.unstable > 0) return ExitCode::bits_differ;
    if (!check.agrees()) {
        fmt::print("  so none of the integer units that a file describes computes what this unit computes\n");
        return ExitCode::bits_differ;
    }
    write_description(options.out, options.unit, model);
    return ExitCode::good;
}

ExitCode discover_model(const DiscoverOptions& options, const IntegerModel& asked) {
    return discover_integers(options, unit_of(asked));
}

ExitCode discover_model(const DiscoverOptions& options, const BlockScaledModel& asked) {
    if (!options.against.empty()) {
        throw UsageError("--against compares units without block scales, and " + options.unit + " has them");
    }
    const ScaledUnit scaled = unit_of(asked);
    const ScaledDiscovery found = discover(scaled);
    fmt::print("{}: {} x {} with block scales -> {}, k = {}\n\n", options.unit, name_of(scaled.a_format),
               name_of(scaled.b_format), name_of(scaled.accumulator), scaled.k);
    fmt::print("scales                {}, {} to {}{}\n",
               found.scale_format ? name_of(*found.scale_format) : "of no known format", found.least_scale,
               found.greatest_scale, found.signed_scales ? "" : ", no sign");
    fmt::print("elements of a scale   {}\n", found.scale_block == 0 ? "not found" : std::to_string(found.scale_block));
    fmt::print("scales enter          {} terms are aligned\n", found.scales_before_alignment ? "before" : "after");
    if (found.normalises_scales) fmt::print("scales normalised     {}\n", *found.normalises_scales ? "yes" : "no");
    print(scaled.a_format, found.products);
    print_evidence(found.evidence);
    for (const std::string& line : found.products.evidence) fmt::print("  {}\n", line);
    print_rows(matching_rows(scaled, found));
    return ExitCode::good;
}

void print_findings(const DotUnit& unit, const Discovery& found, const std::vector<const UnitRow*>& rows) {
    print(unit.a_format, found);
    const TensorCoreModel* first = rows.empty() ? nullptr : rows.front()->as<TensorCoreModel>();
    if (first != nullptr && takes_decoded(*first)) {
        fmt::print("matching policy sets  {}\n", consistent_policies(unit, *first));
    }
    print_evidence(found.evidence);
    print_rows(rows);
}

std::string reading_text(const FloatFormat& format, const OperandReading& reading) {
    std::string bits = fmt::format("{} of {} bits read", reading.fraction_bits + 1, format.precision());
    if (reading.rounding) bits += fmt::format(", rounded {}", name_of_rounding(reading.rounding));
    return bits + (reading.subnormals ? "" : "; subnormals flushed to zero");
}

/// What the unit reads of its operands, where that is less than all of them.
void print_operands(const DotUnit& unit, const DotUnit& narrow, const OperandDiscovery& found) {
    fmt::print("operands a            {}\n", reading_text(unit.a_format, found.a));
    fmt::print("operands b            {}\n", reading_text(unit.b_format, found.b));
    if (found.piece_bits) {
        fmt::print("operands split        into pieces of {} bits; products of lower pieces are left out\n",
                   *found.piece_bits + 1);
    }
    if (found.checked > 0) {
        fmt::print("operands cut before   {} random dot products give the same\n", found.checked);
    }
    print_evidence(found.evidence);
    if (found.piece_bits) {
        fmt::print("\nwhat follows is of the unit with whole operands, and may hold for some of them alone\n\n");
    } else {
        fmt::print("\nthe unit with operands as it reads them, {} x {}\n\n", name_of(narrow.a_format),
                   name_of(narrow.b_format));
    }
}

ExitCode discover_dots(const DiscoverOptions& options, const DotUnit& given) {
    const FitRequest request{options.unit, options.blocks, options.seed, options.out};
    if (!options.against.empty()) return check_against(given, options.against, request);
    fmt::print("{}: {} x {} -> {}, k = {}\n\n", options.unit, name_of(given.a_format), name_of(given.b_format),
               name_of(given.accumulator), given.k);
    if (const std::optional<std::uint64_t> answer = constant_answer(given)) {
        fmt::print("constant: the unit answers {} ({}) whatever a and b are, so there is nothing to discover\n",
                   to_hex_bits(given.accumulator, *answer), to_decimal(given.accumulator, *answer));
        return ExitCode::bits_differ;
    }
    DotUnit unit = given;
    if (can_mask(given)) {
        const OperandDiscovery operands = discover_operands(given);
        if (operands.cuts() && !operands.piece_bits) unit = narrowed(given, operands);
        if (operands.cuts()) print_operands(given, unit, operands);
    }
    const Discovery found = discover(unit);
    const RowChecks checked = check_rows(options, unit, matching_rows(unit, found));
    const UnitRow* row = checked.agreeing();
    const bool is_foreign = is_black_box(options.unit) || is_unit_file(options.unit);
    // What single questions tell of a unit that no row matches may be wrong: a description is sought instead.
    const bool seeks = row == nullptr && options.blocks > 0 && (is_foreign || options.fit || !checked.rows.empty());
    if (!seeks || !checked.rows.empty()) print_findings(unit, found, checked.rows);
    print_checks(options, unit, checked);
    if (seeks) return fit_unit(unit, request);
    if (row != nullptr) write_description(options.out, row->key(), row->model);
    return ExitCode::good;
}

ExitCode discover_model(const DiscoverOptions& options, const TensorCoreModel& asked) {
    return discover_dots(options, unit_of(asked));
}

ExitCode discover_unit(const DiscoverOptions& options) {
    if (options.unit.empty()) throw UsageError("name the unit to ask with --unit; --table alone lists predictions");
    const bool is_file = is_unit_file(options.unit) && options.unit.find(':') == std::string::npos;
    if (is_black_box(options.unit) && options.output == "s32") {
        check_length(options);
        return discover_integers(options, open_integer_box(options.unit, options.k));
    }
    if (!is_file && unit_or_null(options.unit) == nullptr) return discover_dots(options, dot_unit_named(options));
    const UnitRow row = unit_named(options.unit);
    return std::visit([&](const auto& model) { return discover_model(options, model); }, row.model);
}

/// Whether the name is that of something to be asked, and not of a GPU whose models are listed.
bool is_asked(const std::string& unit) {
    const auto specs = backend_specs();
    const bool backend = std::ranges::any_of(specs, [&](const auto& spec) { return spec.first == unit; });
    return backend || unit == "cuda" || unit.find_first_of(":(") != std::string::npos || is_unit_file(unit);
}

ExitCode discover_table(const DiscoverOptions& options) {
    check_length(options);
    if (!is_asked(options.unit)) {
        const std::string gpu = options.unit.empty() ? "sm_90" : options.unit;
        return print_probe_table({gpu, "", options.input, options.output, options.k, {}, options.out});
    }
    const auto open = [&] {
        const bool is_file = is_unit_file(options.unit) && options.unit.find(':') == std::string::npos;
        if (!is_file && unit_or_null(options.unit) == nullptr) return dot_unit_named(options);
        const FloatFormat input = format_by_name(options.input);
        return open_unit(options.unit, input, input, format_by_name(options.output), options.k);
    };
    return print_probe_table({"", options.unit, options.input, options.output, options.k, open, options.out});
}

Action declare_discover(OptionParser& app) {
    const auto options = std::make_shared<DiscoverOptions>();
    app.add_option("--unit", options->unit,
                   "what to ask: a backend (soft:h100, eigen, soft:ieee), a row of the model table "
                   "(sm_90:wgmma.fp16.fp32), the description of one (FILE.json), a unit of this processor "
                   "(x86:vdpbf16ps, x86:tdpbf16ps), or a black box: " +
                       std::string(black_box_forms) +
                       "; with --table also a GPU, generation or architecture: H100, Ampere, sm_100")
        .type_name("SPEC|KEY|FILE|GPU");
    declare_unit_formats(app, options->input, options->output);
    app.add_option("-k", options->k, "length of the dot product, for backends and black boxes").capture_default_str();
    app.add_option("--blocks", options->blocks,
                   "number of random dot products on which each matching floating-point row is checked; 0 for none")
        .range(0, 1'000'000'000)
        .capture_default_str();
    app.add_option("--seed", options->seed, "seed of these dot products").capture_default_str();
    app.add_flag("--fit", options->fit,
                 "seek a description where no row matches, for backends, too; for black boxes that is always done");
    app.add_option("--against", options->against,
                   "only compare the unit with this row or FILE.json on the random dot products");
    app.add_option("--out", options->out,
                   "file for the description of what was found, as FILE.json; with --table, for a card's answers");
    app.add_flag("--table", options->table,
                 "print what hypotheses and models predict for the inputs that decide between them; with --unit, what "
                 "it answers and which hypotheses that supports, where cuda (or software:sm_90) asks all instructions "
                 "of the card, and ends with exit code 4 where an answer is not its row's");
    return [options] { return options->table ? discover_table(*options) : discover_unit(*options); };
}

}  // namespace

Command discover_command() { return {"discover", "find a matrix unit's parameters by asking it", declare_discover}; }

}  // namespace ulp
