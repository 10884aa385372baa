// ulplab diagnose: dumped tensors of a divergence, and the net if there is one: what to try first.
#include <nlohmann/json.hpp>

#include "engine/analysis/diagnosis.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/cli/search_parts.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/html.hpp"

namespace ulp {
namespace {

struct DiagnoseOptions : SearchOptions {
    DiagnoseOptions() {
        net.clear();
        steps = 50;
    }
    std::vector<std::string> files;
    std::string target = "fp16";
    double carried = 1;  // loss scale of the files
    std::string page;
    bool json = false;
};

/// Throws UsageError for what is no power of two.
int exponent_of(double scale) {
    const int exponent = scale > 0 && std::isfinite(scale) ? std::ilogb(scale) : 0;
    if (std::ldexp(1.0, exponent) == scale) return exponent;
    throw UsageError(fmt::format("--loss-scale is {}; give the power of two that the dumped numbers carry", scale));
}

/// What a short training of the net shows.
struct NetDiagnosis {
    std::string first_nonfinite;  // the report of the watch; empty where every number was finite
    std::int64_t skips = 0;
    RecipeStudy study;
};

/// The recipe as it is, with the loss scale that the tensors ask for, and in bf16.
std::vector<std::string> recipes_to_try(const DiagnoseOptions& options, const Inspection& inspection, int carried) {
    std::vector<std::string> names{options.recipe};
    if (const std::optional<int> scale = recommended_scale(inspection, carried)) {
        names.push_back(fmt::format("{}@2^{}", options.recipe.substr(0, options.recipe.find('@')), *scale));
    }
    if (options.recipe != "bf16") names.emplace_back("bf16");
    return names;
}

/// Trains until a number is not finite.
void watch_a_run(const NetDescription& net, const DiagnoseOptions& options, NetDiagnosis& found) {
    const Arithmetic arithmetic = arithmetic_of_text(options.recipe, options);
    NetTraining training(options, net, Engine(arithmetic.recipe, make_backend(arithmetic.backend)), options.seed,
                         optimizer_of(options));
    Watch watch;
    training.trainer.observers().watch = &watch;
    while (training.trainer.steps() < options.steps && !watch.first_nonfinite) (void)training.step();
    found.skips = watch.skips;
    if (watch.first_nonfinite) found.first_nonfinite = watch.first_nonfinite->text();
}

NetDiagnosis diagnose_net(const DiagnoseOptions& options, const Inspection& inspection, int carried) {
    const NetDescription net = net_of(options.net);
    NetDiagnosis found;
    watch_a_run(net, options, found);
    std::vector<Arithmetic> tried;
    for (const std::string& name : recipes_to_try(options, inspection, carried)) {
        tried.push_back(arithmetic_of_text(name, options));
    }
    Trials trials = trials_of(options, net);
    found.study = study_recipes(trials, reference_arithmetic("fp32", options), tried,
                                {options.seeds, options.margin, true}, [](const RecipeStudy&) {});
    return found;
}

void print_findings(const std::vector<TensorFinding>& findings) {
    for (std::size_t i = 0; i < findings.size(); ++i) {
        fmt::print("{}. {}\n", i + 1, findings[i].what);
        if (!findings[i].remedy.empty()) fmt::print("   Try: {}\n", findings[i].remedy);
    }
}

void print_net(const DiagnoseOptions& options, const NetDiagnosis& found) {
    fmt::print("\nThe net {} in {}, {} steps:\n", options.net, options.recipe, options.steps);
    if (found.first_nonfinite.empty()) {
        fmt::print("every number was finite; {} steps skipped by the loss scale\n", found.skips);
    } else {
        fmt::print("{}", found.first_nonfinite);
    }
    fmt::print("Tried, {} seeds each:\n", options.seeds);
    for (const StudyArm& arm : found.study.arms) {
        const ArmVerdict verdict = verdict_of(found.study, arm);
        fmt::print("  {:<22} loss {}{}\n", arm.arithmetic.name, loss_text(verdict.loss),
                   &arm == &found.study.arms.front() ? "" : ", " + outcome_text(verdict));
    }
    fmt::print("Verdict: {}.\n", verdict_sentence(found.study));
}

/// Whether the recipe's mean loss is within the margin, as it is or with another loss scale.
bool recipe_is_mended(const DiagnoseOptions& options, const RecipeStudy& study) {
    const std::string recipe = arithmetic_of_text(options.recipe, options).recipe.name;
    const double most = margin_of(losses_of(study.arms.front().runs), study.margin).size;
    return std::ranges::any_of(study.arms, [&](const StudyArm& arm) {
        return arm.arithmetic.recipe.name == recipe && verdict_of(study, arm).difference.mean <= most;
    });
}

/// Where no loss scale suffices for the recipe, operations in fp32 may.
void search_operations(const DiagnoseOptions& options, const Inspection& inspection, int carried) {
    SearchOptions search = options;
    search.recipe = options.recipe.substr(0, options.recipe.find('@'));
    if (const std::optional<int> scale = recommended_scale(inspection, carried)) {
        search.loss_scale = std::ldexp(1.0, *scale);
    }
    fmt::print("\nNo loss scale suffices for {}. Which operations must stay in fp32 (ulplab search fp32):\n",
               search.recipe);
    std::fflush(stdout);
    (void)search_fp32(search);
}

std::string diagnosis_page(const DiagnoseOptions& options, const Inspection& inspection, int carried,
                           const std::vector<TensorFinding>& findings, const std::optional<NetDiagnosis>& net) {
    // Where numbers are not finite the first finding names the first of them, and the second says what to do.
    const bool is_second = inspection.all.infinities + inspection.all.nans > 0 && findings.size() > 1;
    const TensorFinding verdict =
        net ? TensorFinding{verdict_sentence(net->study) + ".", ""} : findings.at(is_second ? 1 : 0);
    std::string body = fmt::format("<p class=\"lead\"><strong>{} {}</strong></p>\n<h2>What to try first</h2>\n<ol>\n",
                                   prose_html(verdict.what), prose_html(verdict.remedy));
    for (const TensorFinding& each : findings) {
        body += fmt::format("<li>{}{}</li>\n", prose_html(each.what),
                            each.remedy.empty() ? "" : "<br><strong>Try:</strong> " + prose_html(each.remedy));
    }
    body += "</ol>\n";
    if (net) {
        body += fmt::format("<h2>The net in {}</h2>\n<pre>{}</pre>\n", escaped(options.recipe),
                            net->first_nonfinite.empty() ? "Every number was finite." : escaped(net->first_nonfinite));
    }
    return single_page(
        "ulplab diagnose", printable(fmt::format("{}", fmt::join(options.files, ", "))),
        body + "<h2>The tensors</h2>\n" + inspection_summary_html(inspection, scale_to_use(inspection, carried)));
}

nlohmann::ordered_json diagnosis_json(const std::vector<TensorFinding>& findings,
                                      const std::optional<NetDiagnosis>& net) {
    nlohmann::ordered_json json{{"findings", nlohmann::ordered_json::array()}};
    for (const TensorFinding& each : findings)
        json["findings"].push_back({{"what", each.what}, {"remedy", each.remedy}});
    if (!net) return json;
    json["first_nonfinite"] = net->first_nonfinite;
    json["verdict"] = verdict_sentence(net->study);
    for (const StudyArm& arm : net->study.arms) {
        const bool is_reference = &arm == &net->study.arms.front();
        json["recipes"].push_back(
            {{"recipe", arm.arithmetic.name},
             {"verdict", is_reference ? "reference" : outcome_text(verdict_of(net->study, arm))}});
    }
    return json;
}

ExitCode diagnose(const DiagnoseOptions& options) {
    const int carried = exponent_of(options.carried);
    require_search(options);
    require_writable(options.page);
    const Inspection inspection =
        inspect_tensors({options.files, {"fp16", "bf16", "e4m3", "e5m2", "mxfp8"}, options.target});
    const std::vector<TensorFinding> findings = findings_of(inspection, carried);
    std::optional<NetDiagnosis> net;
    if (!options.net.empty()) net = diagnose_net(options, inspection, carried);
    if (options.json) {
        fmt::print("{}\n",
                   diagnosis_json(findings, net).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    } else {
        print_findings(findings);
        if (net) print_net(options, *net);
        if (net && !recipe_is_mended(options, net->study)) search_operations(options, inspection, carried);
    }
    if (!options.page.empty()) {
        write_output(options.page, diagnosis_page(options, inspection, carried, findings, net));
        fmt::print(stderr, "Page: {}\n", options.page);
    }
    return ExitCode::good;
}

Action declare_diagnose(OptionParser& app) {
    const auto o = std::make_shared<DiagnoseOptions>();
    app.add_option("FILES", o->files,
                   "dumped gradients: files (.npy, .npz, .safetensors), folders of them, and patterns")
        .required();
    app.add_option("--loss-scale", o->carried, "loss scale that the dumped numbers still carry; 1 for unscaled ones")
        .capture_default_str();
    app.add_option("--target", o->target, "number format for which the loss scale is chosen").capture_default_str();
    app.add_option("--recipe", o->recipe, "recipe of the training with --net; RECIPE@2^N has that constant loss scale")
        .capture_default_str();
    declare_search(app, *o);
    app.add_option("--page", o->page, "file for one HTML page with the findings and the histograms");
    app.add_flag("--json", o->json, "prints JSON");
    add_expansion_option(app);
    return [o] { return searched([&] { return diagnose(*o); }); };
}

}  // namespace

Command diagnose_command() {
    return {"diagnose", "why a training diverged, from its tensors and its net: what to try first", declare_diagnose};
}

}  // namespace ulp
