// `ulplab compare A B`: where two training runs, traces of them, dumps of tensors or the log-probabilities of two
// engines differ.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/analysis/comparison.hpp"
#include "engine/analysis/product_difference.hpp"
#include "engine/analysis/token_mismatch.hpp"
#include "engine/training/trace.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/explain_whole_product.hpp"
#include "experiments/cli/net_declarations.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/support/read_number.hpp"

namespace ulp {
namespace {

std::string share_text(std::int64_t part, std::int64_t all) {
    return part == 0 ? "0" : fmt::format("{:.3g}%", 100 * static_cast<double>(part) / static_cast<double>(all));
}

nlohmann::ordered_json step_or_null(const std::optional<std::int64_t>& step) {
    return step ? nlohmann::ordered_json(*step) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json json_of(const TensorDifference& found) {
    nlohmann::ordered_json json{{"name", found.name}, {"step", step_or_null(found.step)}, {"count", found.count}};
    json["differ"] = found.differ;
    json["first"] = found.differ > 0 ? nlohmann::ordered_json(found.first) : nlohmann::ordered_json(nullptr);
    json["largest_ulps"] = found.most_ulps;
    json["largest_difference"] = found.largest_difference;
    json["only_one_nan"] = found.only_one_nan;
    return json;
}

nlohmann::ordered_json json_of(const StepDrift& at) {
    return {{"step", step_or_null(at.step)},
            {"tensors", at.tensors},
            {"tensors_differ", at.tensors_differ},
            {"count", at.count},
            {"differ", at.differ},
            {"largest_ulps", at.most_ulps},
            {"largest_difference", at.largest_difference},
            {"first", at.first.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(at.first)}};
}

void print_drift(const std::vector<StepDrift>& drift) {
    if (drift.size() < 2) return;
    fmt::print("{:>10} {:>16} {:>14} {:>19} {:>12}\n", "step", "tensors differ", "numbers", "largest difference",
               "most ulps");
    for (const StepDrift& each : drift) {
        fmt::print("{:>10} {:>16} {:>14} {:>19.3g} {:>12}\n", each.step ? fmt::format("{}", *each.step) : "-",
                   fmt::format("{} of {}", each.tensors_differ, each.tensors), share_text(each.differ, each.count),
                   each.largest_difference, each.most_ulps);
    }
    fmt::print("{}\n", drift_sentence(drift));
}

void print_difference(const TensorDifference& found) {
    if (found.differ == 0) {
        fmt::print("{}: equal, {} numbers\n", printable(found.name), found.count);
        return;
    }
    fmt::print("{}: {} of {} numbers differ, first at {} (0x{:x}, 0x{:x})", printable(found.name), found.differ,
               found.count, found.first, found.first_bits, found.first_other_bits);
    if (found.most_ulps > 0) fmt::print(", by at most {} ulp (at {})", found.most_ulps, found.most_ulps_at);
    if (found.only_one_nan > 0) fmt::print(", {} are NaN in one dump alone", found.only_one_nan);
    fmt::print("\n");
}

/// Writes the page where a file for it was named.
template <class Page>
void put_page(const std::string& file, const Page& page) {
    if (file.empty()) return;
    write_output(file, page());
    fmt::print(stderr, "Page: {}\n", file);
}

/// Files, folders or patterns of tensors: tensor by tensor how many numbers differ, the first and by how many ulps;
/// with several steps how the difference grows. `page` is a file for one HTML page, or empty. bits_differ where they
/// do. Throws DataError as input_tensors and differences do.
ExitCode compare_dumps(const std::string& a, const std::string& b, bool as_json, const std::string& page) {
    const std::vector<TensorDifference> found = differences(input_tensors({a}), input_tensors({b}));
    const std::vector<StepDrift> drift = drift_over_steps(found);
    const auto first = std::ranges::find_if(found, [](const TensorDifference& each) { return each.differ > 0; });
    if (as_json) {
        nlohmann::ordered_json json{{"tensors", nlohmann::ordered_json::array()},
                                    {"steps", nlohmann::ordered_json::array()},
                                    {"first", nullptr}};
        for (const TensorDifference& each : found) json["tensors"].push_back(json_of(each));
        for (const StepDrift& each : drift) json["steps"].push_back(json_of(each));
        if (first != found.end()) json["first"] = first->name;
        fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    } else {
        for (const TensorDifference& each : found) print_difference(each);
        print_drift(drift);
        if (first != found.end()) fmt::print("The first tensor that differs is {}.\n", printable(first->name));
    }
    put_page(page, [&] { return drift_page(found, drift, fmt::format("{} against {}", printable(a), printable(b))); });
    return first == found.end() ? ExitCode::good : ExitCode::bits_differ;
}

struct CompareOptions : NetOptions {
    std::string a, b, page;
    bool json = false;
    ExplainOptions product;  // of which A and B are two results
    std::string against;     // the second result's unit
    std::optional<Tolerance> tolerance;
};

constexpr const char* unit_option = "--unit";

std::string unit_in(const TraceFile& file) {
    const auto unit = std::ranges::find(file.options, unit_option, [](const auto& option) { return option.first; });
    return unit == file.options.end() ? "" : unit->second;
}

/// The options of a trace but its unit's.
std::vector<std::pair<std::string, std::string>> settings_of(const TraceFile& file) {
    std::vector<std::pair<std::string, std::string>> settings = file.options;
    std::erase_if(settings, [](const auto& option) { return option.first == unit_option; });
    return settings;
}

std::string text_of_settings(const TraceFile& file) {
    std::string text;
    for (const auto& [name, value] : settings_of(file)) text += fmt::format(" {} {}", name, value);
    return text;
}

std::string named(const std::string& path, const TraceFile& file) {
    return file.options.empty() ? path : fmt::format("{} ({}, {})", path, unit_in(file), file.device);
}

/// The first step at which the traces differ, if both have one there.
std::optional<std::size_t> first_different_step(const Trace& a, const Trace& b) {
    for (std::size_t i = 0; i < a.steps.size() && i < b.steps.size(); ++i) {
        if (a.steps[i] != b.steps[i]) return i;
    }
    return std::nullopt;
}

/// Whether this build gives a trace's first steps.
std::string trained_again(const TraceFile& file, const std::string& path, std::size_t steps) {
    const NetOptions options = net_options_of(file.options);
    NetTraining training(options, net_of(options.net), Engine(recipe_of(options), make_backend(unit_in(file))),
                         options.seed, optimizer_of(options));
    for (std::size_t i = 0; i < steps; ++i) (void)training.step();
    Trace again = training.trainer.trace();
    shorten_digests(again);
    const bool same = std::equal(again.steps.begin(), again.steps.end(), file.trace.steps.begin());
    return fmt::format("trained again here, {} {} {}", unit_in(file), same ? "reproduces" : "does not reproduce", path);
}

/// Two software runs of the same settings can be trained again, in step, to see the product and the element. Hardware's
/// cannot be without it: there the text says what to do.
std::string closer_look(const TraceFile& a, const TraceFile& b, const CompareOptions& options, std::size_t steps) {
    if (a.options.empty() || b.options.empty() || a.trace.steps.front().step != 0) return "";
    if (settings_of(a) != settings_of(b)) {
        return fmt::format("the training runs differ by more than what multiplies:{};{}\n", text_of_settings(a),
                           text_of_settings(b));
    }
    for (const TraceFile* file : {&a, &b}) {
        if (file->device == "software") continue;
        return fmt::format("for the product and the element, on a machine with {}: ulplab compare {} {}{}\n",
                           file->device, unit_in(a), unit_in(b), text_of_settings(a));
    }
    if (unit_in(a) == unit_in(b)) {
        return trained_again(a, options.a, steps) + "\n" + trained_again(b, options.b, steps) + "\n";
    }
    NetOptions run = net_options_of(a.options);
    run.steps = static_cast<std::int64_t>(steps);
    const std::string difference = first_training_difference(make_backend(unit_in(a)), make_backend(unit_in(b)), run);
    return difference.empty() ? "trained again here, both give the same: one of the traces comes from another build\n"
                              : "trained again here: " + difference + "\n";
}

/// Prints what differs, if anything; `closer` is more about it, asked for only then.
ExitCode report_difference(const CompareOptions& options, const std::string& of, std::string difference,
                           const std::string& equal, const std::function<std::string()>& closer) {
    if (options.json) {
        nlohmann::ordered_json json{{"a", options.a}, {"b", options.b}, {"difference", nullptr}};
        if (!difference.empty()) json["difference"] = difference;
        if (const std::string more = difference.empty() ? "" : closer(); !more.empty()) json["closer"] = more;
        fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    } else {
        fmt::print("{}: {}\n", of, difference.empty() ? equal : difference);
        std::fflush(stdout);
        if (!difference.empty()) fmt::print("{}", closer());
    }
    return difference.empty() ? ExitCode::good : ExitCode::bits_differ;
}

ExitCode compare_traces(const CompareOptions& options) {
    const TraceFile a = read_trace(options.a);
    const TraceFile b = read_trace(options.b);
    return report_difference(options, fmt::format("{} and {}", named(options.a, a), named(options.b, b)),
                             first_difference(a.trace, b.trace).value_or(""),
                             fmt::format("equal in all {} steps", a.trace.steps.size()), [&] {
                                 const auto step = first_different_step(a.trace, b.trace);
                                 try {
                                     return step ? closer_look(a, b, options, *step + 1) : "";
                                 } catch (const std::exception& error) {  // a file of the training is gone
                                     return fmt::format("not trained again: {}\n", error.what());
                                 }
                             });
}

ExitCode compare_units(const CompareOptions& options) {
    require_sensible(options);
    const auto opened = [&](const std::string& unit) {
        NetOptions own = options;
        own.backend = unit;
        return make_backend(backend_for(own, recipe_of(own)));
    };
    return report_difference(options, fmt::format("{} and {}", options.a, options.b),
                             first_training_difference(opened(options.a), opened(options.b), options),
                             fmt::format("equal in all {} steps, every product, every parameter", options.steps),
                             [] { return ""; });
}

/// {"layers=24", "width=896"}
LanguageModelSize model_size(const std::vector<std::string>& properties) {
    LanguageModelSize size;
    for (const std::string& text : properties) {
        const std::string name = text.substr(0, text.find('='));
        const auto value = read_number<std::int64_t>(text.substr(std::min(text.size(), name.size() + 1)));
        std::int64_t* place = name == "layers"       ? &size.layers
                              : name == "width"      ? &size.width
                              : name == "vocabulary" ? &size.vocabulary
                                                     : nullptr;
        if (place == nullptr || !value || *value < 1) {
            throw UsageError("two files of tokens take --set layers=N, width=N and vocabulary=N, N 1 or more, not " +
                             text);
        }
        *place = *value;
    }
    return size;
}

ExitCode compare_tokens(const CompareOptions& options) {
    const TokenMismatch found =
        token_mismatch(read_token_sequences(options.a), read_token_sequences(options.b), model_size(options.overrides));
    if (options.json) {
        fmt::print("{}\n", json_of(found).dump(2));
    } else {
        fmt::print("{}", text_of(found, options.a, options.b));
    }
    put_page(options.page, [&] { return mismatch_page(found, fmt::format("{} against {}", options.a, options.b)); });
    return found.equal ? ExitCode::good : ExitCode::bits_differ;
}

/// Two results of one product.
ExitCode compare_products(const CompareOptions& options) {
    if (options.product.unit.empty() || options.product.a_file.empty() || options.product.b_file.empty()) {
        throw UsageError("two products are compared with their operands and unit: --a A.npy --b B.npy --unit KEY");
    }
    const auto question = [&](const std::string& result, const std::string& unit) {
        ExplainOptions own = options.product;
        own.d_file = result;
        const UnitRow row = unit_named(unit);
        if (row.output == "fp64") throw UsageError(unit + ": products of fp64 units are explained one by one");
        return product_question(own, row);
    };
    const std::string& unit = options.product.unit;
    const ProductDifference difference =
        difference_of(question(options.a, unit), question(options.b, options.against.empty() ? unit : options.against),
                      options.tolerance);
    fmt::print("{}", options.json ? difference_json(difference) : difference_text(difference));
    return difference.explained ? ExitCode::good : ExitCode::bits_differ;
}

/// "rtol=1e-3,atol=1e-5"
Tolerance tolerance_of(const std::string& text) {
    Tolerance tolerance;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        const std::string word = part.substr(0, part.find('='));
        char* end = nullptr;
        const char* number = part.c_str() + std::min(part.size(), word.size() + 1);
        const double value = std::strtod(number, &end);
        if ((word != "rtol" && word != "atol") || end == number || *end != 0 || !(value >= 0)) {
            throw UsageError("--limit takes rtol=N, atol=N or both with a comma, N 0 or more, not '" + part + "'");
        }
        (word == "rtol" ? tolerance.rtol : tolerance.atol) = value;
    }
    return tolerance;
}

enum class Compared { traces, tensors, units, tokens };

Compared kind_of(const std::string& name) {
    namespace fs = std::filesystem;
    if (is_token_file(name)) return Compared::tokens;
    if (fs::is_regular_file(name) && is_trace(name)) return Compared::traces;
    if (name.ends_with(".trace") || name.ends_with(".csv")) return Compared::traces;
    const bool is_pattern = name.find_first_of("*?") != std::string::npos;
    const bool is_path = name.find('/') != std::string::npos && name.find(':') == std::string::npos;
    const bool is_tensor_file = name.ends_with(".npy") || name.ends_with(".npz") || name.ends_with(".safetensors");
    return fs::exists(name) || is_pattern || is_path || is_tensor_file ? Compared::tensors : Compared::units;
}

ExitCode compare(const CompareOptions& options) {
    const ExplainOptions& product = options.product;
    if (!product.unit.empty() || !product.a_file.empty() || !product.b_file.empty()) return compare_products(options);
    if (!options.against.empty() || options.tolerance || !product.c_file.empty()) {
        throw UsageError("--against, --c and --limit are for two products: give --a, --b and --unit, too");
    }
    const Compared kind = kind_of(options.a);
    if (kind != kind_of(options.b)) {
        const auto of = [](const std::string& name) {
            constexpr const char* words[] = {"a trace", "tensors", "a unit", "tokens"};
            return fmt::format("{} is {}", name, words[static_cast<int>(kind_of(name))]);
        };
        throw UsageError(
            fmt::format("{}, and {}; give two traces, two dumps of tensors, two files of tokens or two units",
                        of(options.a), of(options.b)));
    }
    if (kind == Compared::tensors) return compare_dumps(options.a, options.b, options.json, options.page);
    if (kind == Compared::tokens) return compare_tokens(options);
    if (!options.page.empty())
        throw UsageError("--page is for two dumps of tensors or two files of tokens; leave it out");
    if (kind == Compared::units) return compare_units(options);
    for (const std::string& name : {options.a, options.b}) {
        if (std::filesystem::exists(name)) continue;
        throw DataError(fmt::format("there is no trace {}; make one with `ulplab train --trace`", name));
    }
    return compare_traces(options);
}

Action declare_compare(OptionParser& app) {
    const auto options = std::make_shared<CompareOptions>();
    app.add_option("A", options->a,
                   "a trace (ulplab train --trace), tensors (.npy, .npz, .safetensors, a folder of them or a pattern), "
                   "tokens with log-probabilities (.jsonl, .npz), or a unit: cuda:mma, soft:h100, ...")
        .required();
    app.add_option("B", options->b, "another of the same kind").required();
    app.add_flag("--json", options->json, "print JSON");
    app.add_option("--page", options->page, "tensors or tokens: file for one HTML page, the verdict first");
    app.add_option("--unit", options->product.unit, "two results of one product: the unit that made the first");
    app.add_option("--against", options->against, "the unit that made the second; default: the same");
    app.add_option("--a", options->product.a_file, "the product's A as .npy");
    app.add_option("--b", options->product.b_file, "its B as .npy");
    app.add_option("--c", options->product.c_file, "its C as .npy");
    app.add_parsed(
           "--limit", [options](const std::string& text) { options->tolerance = tolerance_of(text); },
           "a test's tolerance, |D1 - D2| <= atol + rtol |D2|, which is compared with the bound")
        .type_name("rtol=N,atol=N");
    declare_net(app, *options);
    declare_arithmetic(app, *options);
    app.footer(
        "Two dumps of tensors: compares bits tensor by tensor, and over the steps in the files' names. Two traces: "
        "names the first step and tensor that differ; where both are of software and of the same settings, trains both "
        "again up to that step and names the product and element too. Two units: trains on both in step with the "
        "options above and names the first step, product and element that differ, with its operands. Two files of "
        "tokens and their log-probabilities, of a sampler and a trainer: ratios, KL divergence, growth along the "
        "sequence, and which causes would make such a gap in a model of --set layers=32, --set width=4096 and --set "
        "vocabulary=N (the largest token + 1). Two results of one product (--a, --b, --unit): says whether "
        "orders and units explain both, and what share of both bounds the difference is; exit code 0 where they do. "
        "Else exit code 4 on a difference.\n\n" +
        recipe_lines());
    add_expansion_option(app);
    return [options] { return compare(*options); };
}

}  // namespace

Command compare_command() {
    return {"compare", "find where two training runs, traces, dumps of tensors or log-probabilities differ",
            declare_compare};
}

}  // namespace ulp
