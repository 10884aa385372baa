// How far the product of a matrix unit can lie from the exact one: bounds, what truncation loses on average, the errors
// themselves, and which tolerance of a test is just.
#include "engine/tensor/random.hpp"
#include "experiments/shared/matrix_units.hpp"
#include "softfloat/matrix_units/bound_operands.hpp"
#include "softfloat/matrix_units/bounds.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/round.hpp"

namespace ulp::error_bounds_experiment {
namespace {

using Codes = std::vector<std::uint32_t>;

const std::string derivation =
    "Bounds of this laboratory (softfloat/matrix_units/bounds.hpp), after Blanchard et al. (2020)";

struct Unit {
    std::string name;
    std::string key;
    std::string bias;       // id of the claim about its bias; empty where long sums of small products stagnate, or none
    bool truncates = true;  // groups' sums are cut toward zero, as all NVIDIA's are with fp32 accumulators
    [[nodiscard]] const TensorCoreModel& model() const { return unit_model<TensorCoreModel>(key); }
};
const std::array<Unit, 5> units = {{{"V100 fp16", "sm_70:mma.fp16.fp32", "bias_v100"},
                                    {"A100 fp16", "sm_80:mma.fp16.fp32", "bias_a100"},
                                    {"H100 fp16", "sm_90:mma.fp16.fp32", "bias_h100"},
                                    {"H100 E4M3", "sm_90:wgmma.e4m3.fp32", ""},
                                    {"MI300X fp16", "gfx942:mfma.fp16.fp32", "", false}}};

enum class Data : std::uint8_t { uniform, normal };
constexpr std::array data_names = {"uniform", "normal"};  // in the order of Data

/// Codes of k numbers: uniform in (0, 1), or standard normal.
Codes random_operand(const FloatFormat& format, Data data, std::int64_t k, Random& random) {
    Codes codes;
    for (std::int64_t i = 0; i < k; ++i) {
        const double x = data == Data::uniform ? random.uniform() : random.normal();
        codes.push_back(operand_code(format, round_to(format, static_cast<float>(x))));
    }
    return codes;
}

std::vector<double> values_of(const FloatFormat& format, const Codes& codes) {
    std::vector<double> values;
    for (const std::uint32_t code : codes) values.push_back(static_cast<double>(in_fp32_container(format, code)));
    return values;
}

/// A dot product with c = 0 or 1, and what is known of its error; relative to S, the sum of the magnitudes.
struct Judged {
    double exact;              // the sum
    double error;              // D - exact
    double magnitude;          // S
    double bound;              // for all operands
    double running, expected;  // by the unit's own partial sums; 0 for units without this bound
    [[nodiscard]] bool inside() const {
        return std::abs(error) <= bound && (running == 0 || std::abs(error) <= running);
    }
};

/// The controls: a unit that sums exactly and rounds once, and bounds of a unit that keeps a bit more than it does.
struct Doubt {
    bool exact = false, finer = false, gentle = false;
};

Judged judge(const Unit& unit, const Codes& a, const Codes& b, std::uint32_t c, const Doubt& doubt) {
    const TensorCoreModel& model = unit.model();
    const auto k = static_cast<std::int64_t>(a.size());
    const std::uint32_t d = chain_dot(model, a.data(), b.data(), c, k);
    const auto result = static_cast<double>(in_fp32_container(model.accumulator, d));
    Judged judged{0, exact_error(model, a, b, c, d), 0, 0, 0, 0};
    judged.exact = result - judged.error;
    if (doubt.exact) judged.error = round_to(formats::fp32, judged.exact) - judged.exact;
    TensorCoreModel claimed = model;
    claimed.fraction_bits += doubt.finer ? 1 : 0;
    const Magnitude m = magnitude_of(claimed, values_of(model.a_format, a), values_of(model.b_format, b),
                                     static_cast<double>(in_fp32_container(model.accumulator, c)));
    const AprioriBound bound = apriori_bound(claimed, k);
    judged.magnitude = m.plain;
    judged.bound = bound.gamma * m.lifted + bound.eta + m.unseen;
    if (model.summation == Summation::fused) {
        const ErrorInterval interval = running_interval(model, a, b, c);
        judged.expected = interval.expected;
        judged.running = doubt.finer ? running_interval(claimed, a, b, c).bound() : interval.bound();
    }
    return judged;
}

/// Many products of one unit, kind of data and k.
struct Point {
    std::vector<Judged> products;

    [[nodiscard]] double mean(double Judged::*what) const {
        double sum = 0;
        for (const Judged& p : products) sum += p.*what / p.magnitude;
        return sum / static_cast<double>(products.size());
    }
    [[nodiscard]] double largest(double Judged::*what) const {
        double most = 0;
        for (const Judged& p : products) most = larger(most, std::abs(p.*what) / p.magnitude);
        return most;
    }
    [[nodiscard]] double largest_error() const { return largest(&Judged::error); }
    /// Share of these correct products that a test with |D - exact| <= atol + rtol |exact| refuses.
    [[nodiscard]] double refused(double rtol, double atol) const {
        std::int64_t count = 0;
        for (const Judged& p : products) count += std::abs(p.error) > atol + rtol * std::abs(p.exact) ? 1 : 0;
        return static_cast<double>(count) / static_cast<double>(products.size());
    }
};

Point measure(const Unit& unit, Data data, std::int64_t k, std::int64_t products, const RunContext& context,
              const Doubt& doubt) {
    Random random(context.seed, fmt::format("{} {} {}", unit.name, data_names.at(static_cast<std::size_t>(data)), k));
    Point point;
    for (std::int64_t i = 0; i < products; ++i) {
        const Codes a = random_operand(unit.model().a_format, data, k, random);
        const Codes b = random_operand(unit.model().b_format, data, k, random);
        point.products.push_back(judge(unit, a, b, 0, doubt));
    }
    return point;
}

std::vector<std::int64_t> lengths(const RunContext& context) {
    std::vector<std::int64_t> list;
    for (std::int64_t k = 64; k <= context.settings.integer("longest_k"); k *= 4) list.push_back(k);
    return list;
}

/// Every product of a group loses as much as the alignment to c = 1 lets it; fp16 codes of a and b with their numbers.
struct Pattern {
    std::size_t unit;
    std::vector<std::array<std::uint32_t, 3>> parts;  // count, a, b
};
const std::array<Pattern, 3> patterns = {{{0, {{4, 0x0FFF, 0x0BFF}}},
                                          {1, {{7, 0x0BFF, 0x0BFF}, {1, 0x0FFF, 0x0BFF}}},
                                          {2, {{13, 0x0BFF, 0x07FF}, {3, 0x0BFF, 0x0BFF}}}}};

Judged worst_case(const Pattern& pattern, std::int64_t k, const RunContext& context, const Doubt& doubt) {
    constexpr std::uint32_t one = 0x3F800000;
    const Unit& unit = units.at(pattern.unit);
    Random random(context.seed, "gentle");
    Codes a, b;
    while (static_cast<std::int64_t>(a.size()) < k) {
        for (const auto& [count, x, y] : pattern.parts) {
            a.insert(a.end(), count, x);
            b.insert(b.end(), count, y);
        }
    }
    if (doubt.gentle) a = random_operand(unit.model().a_format, Data::uniform, k, random);
    return judge(unit, a, b, one, doubt);
}

/// Climbs from random operands to those whose error takes more of the bound, one operand at a time.
double climbed(const Unit& unit, std::int64_t steps, const RunContext& context, const Doubt& doubt) {
    constexpr std::int64_t k = 64;
    const TensorCoreModel& model = unit.model();
    Random random(context.seed, "climbing " + unit.name);
    Codes a = random_operand(model.a_format, Data::uniform, k, random);
    Codes b = random_operand(model.b_format, Data::uniform, k, random);
    const auto share = [&] {
        const Judged judged = judge(unit, a, b, 0x3F800000, doubt);
        return std::isfinite(judged.error) && judged.bound > 0 ? std::abs(judged.error) / judged.bound : 0;
    };
    double best = share();
    for (std::int64_t step = 0; step < steps; ++step) {
        Codes& operand = random.below(2) == 0 ? a : b;
        const FloatFormat& format = &operand == &a ? model.a_format : model.b_format;
        const Codes before = operand;
        const auto changed = static_cast<std::int64_t>(random.below(4) == 0 ? 16 : 1);  // sixteen: a group
        const std::int64_t first = random.between(0, k - changed);
        const std::uint32_t bits = random.below(3) == 0
                                       ? static_cast<std::uint32_t>(random.next())
                                       : 1U << random.below(static_cast<std::uint64_t>(format.storage_bits() - 1));
        const bool flips = (bits & (bits - 1)) == 0;
        for (std::int64_t i = first; i < first + changed; ++i) {
            auto& code = operand[static_cast<std::size_t>(i)];
            code = (flips ? code ^ bits : bits) & ((1U << format.storage_bits()) - 1);
            if (!std::isfinite(in_fp32_container(format, code))) code = 0;
        }
        const double now = share();
        if (now >= best) {
            best = now;
        } else {
            operand = before;
        }
    }
    return best;
}

struct Study {
    std::vector<std::int64_t> k;
    std::array<std::array<std::vector<Point>, 2>, units.size()> points;  // [unit][data][k]
};

void claim_bounds(const RunContext& context, const Study& study, const Doubt& doubt, Result& result) {
    std::int64_t products = 0, outside = 0;
    const auto count = [&](const Judged& judged) {
        ++products;
        outside += judged.inside() ? 0 : 1;
    };
    for (const auto& unit : study.points) {
        for (const auto& data : unit) {
            for (const Point& point : data) {
                for (const Judged& judged : point.products) count(judged);
            }
        }
    }
    double least = 1;
    for (const Pattern& pattern : patterns) {
        for (const std::int64_t k : study.k) {
            if (k > 4096) break;
            const Judged judged = worst_case(pattern, k, context, doubt);
            count(judged);
            least = smaller(least, std::abs(judged.error) / judged.bound);
        }
    }
    result.measured("inside", derivation, "No product leaves the bounds of its unit, those chosen for it included.",
                    equal(0, outside, fmt::format("of {} products", products)));
    const Quantity share{"share of the bound", "%", 100, 1};
    result.measured("attained", derivation,
                    "Operands chosen for V100, A100 and H100 take all of the bound but for a five-hundredth, up to k = "
                    "4096: it cannot be tightened without looking at the operands.",
                    at_least(0.998, least, share));
    double climbs = 1;
    for (const Unit& unit : units) {
        if (unit.truncates) climbs = smaller(climbs, climbed(unit, context.settings.integer("climb"), context, doubt));
    }
    result.measured(
        "climbed", derivation,
        "A search that changes random operands step by step finds half of each bound of NVIDIA's units at k = 64.",
        at_least(0.5, climbs, share));
}

void claim_bias(const Study& study, Result& result) {
    for (std::size_t u = 0; u < units.size(); ++u) {
        const Unit& unit = units.at(u);
        if (unit.bias.empty()) continue;
        const Point& point = study.points.at(u).front().back();
        result.measured(
            unit.bias, derivation,
            fmt::format("On {}, positive data lose what truncation is expected to take at k = {}, each time downwards.",
                        unit.name, study.k.back()),
            between(0.75, 1.05, point.mean(&Judged::error) / point.mean(&Judged::expected),
                    {"mean error", "of the expected one", 1, 2}));
    }
}

void claim_tolerances(const Study& study, Result& result) {
    const Point& normal = study.points.at(2).at(1).back();
    const std::int64_t k = study.k.back();
    const Quantity refused{"correct products refused", "% refused", 100, 1};
    const auto claim = [&](const char* id, const std::string& source, const char* what, double rtol, double atol) {
        result.measured(id, source,
                        fmt::format("{} (rtol {}, atol {}) tells right from wrong products: of H100's correct ones of "
                                    "normal numbers at k = {} it refuses none.",
                                    what, rtol, atol, k),
                        above(0, normal.refused(rtol, atol), refused), Verdict::refuted);
    };
    claim("torch_float32", cite(sources::pytorch_testing, "assert_close, float32"), "PyTorch's tolerance for float32",
          1.3e-6, 1e-5);
    claim("numpy_allclose", cite(sources::numpy_manual, "numpy.allclose"), "NumPy's default tolerance", 1e-5, 1e-8);
    for (const std::size_t u : {2U, 3U}) {
        const AprioriBound bound = apriori_bound(units.at(u).model(), k);
        const double ratio = 1e-6 * static_cast<double>(k) / bound.gamma;
        const Quantity times{"tolerance", "of the bound", 1, 3};
        result.arithmetic(u == 2 ? "cuda_sample_fp16" : "cuda_sample_e4m3", cite(sources::cuda_samples, "matrixMul"),
                          fmt::format("A relative error of 1e-6 for each product of the sum lets every correct product "
                                      "of positive numbers pass on {} at k = {}.",
                                      units.at(u).name, k),
                          u == 2 ? at_least(1, ratio, times) : below(1, ratio, times),
                          u == 2 ? Verdict::reproduced : Verdict::refuted);
    }
}

Figure figure_of(const Study& study, Data data, const std::string& evidence) {
    const auto index = static_cast<std::size_t>(data);
    const bool positive = data == Data::uniform;
    Figure figure{data_names.at(index),
                  positive ? "Errors and bounds: positive data" : "Errors and bounds: normal data",
                  "Relative to the sum of the magnitudes. Of many products the largest: line, bound for all operands; "
                  "dashes, bound by the unit's partial sums; marks, error measured. Dots: expected on average.",
                  "", evidence};
    const auto add = [&](const Unit& unit, const char* what, const auto& y) {
        Series series{fmt::format("{} {}", unit.name, what)};
        const auto& points = study.points.at(static_cast<std::size_t>(&unit - units.data())).at(index);
        for (std::size_t i = 0; i < points.size(); ++i)
            series.points.push_back({static_cast<double>(study.k[i]), y(points[i])});
        figure.series.push_back(std::move(series));
    };
    for (const Unit& unit : units) {
        add(unit, "bound", [](const Point& p) { return p.largest(&Judged::bound); });
        add(unit, "running", [](const Point& p) { return p.largest(&Judged::running); });
        add(unit, "expected", [](const Point& p) { return std::abs(p.mean(&Judged::expected)); });
        add(unit, "measured", [](const Point& p) { return p.largest_error(); });
    }
    for (std::size_t u = 0; u < units.size(); ++u) {
        const Point& last = study.points.at(u).at(index).back();
        figure.meaning +=
            fmt::format("{}{}: the largest error at k = {} is {:.2g} of the bound.", u == 0 ? "" : " ",
                        units.at(u).name, study.k.back(), last.largest_error() / last.largest(&Judged::bound));
    }
    figure.axes = {power_axis("k, products in a sum", 2), power_axis("error over the sum of the magnitudes", 10)};
    for (std::size_t u = 0; u < units.size(); ++u) {
        const int colour = formatless_colour(u);
        figure.looks.insert(figure.looks.end(), {{.colour = colour, .title = units.at(u).name},
                                                 {.colour = colour, .dash = 2, .title = ""},
                                                 {.colour = colour, .dash = 3, .title = ""},
                                                 {.mark = Mark::points, .colour = colour, .size = 1.2, .title = ""}});
    }
    figure.key = Key::beside;
    return figure;
}

void run(const RunContext& context, Result& result) {
    const Doubt doubt{has_control(context, "exact"), has_control(context, "finer"), has_control(context, "gentle")};
    Study study{lengths(context), {}};
    std::string evidence;
    double done = 0;
    for (std::size_t u = 0; u < units.size(); ++u) {
        evidence += (u == 0 ? "" : " ") + evidence_of_row(units.at(u).key, result);
        for (const Data data : {Data::uniform, Data::normal}) {
            for (const std::int64_t k : study.k) {
                study.points.at(u)
                    .at(static_cast<std::size_t>(data))
                    .push_back(measure(units.at(u), data, k, context.settings.integer("products"), context, doubt));
            }
            context.progress(++done / (2 * units.size()));
        }
    }
    claim_bounds(context, study, doubt, result);
    claim_bias(study, result);
    claim_tolerances(study, result);
    for (const Data data : {Data::uniform, Data::normal}) result.figure(figure_of(study, data, evidence));
}

}  // namespace

Experiment experiment() {
    return {
        "error_bounds",
        "Error bounds of matrix units",
        "How far can a matrix unit's product lie from the exact one, and which tolerance of a test is just?",
        {Chapter::hardware, 2},
        {integer_setting("products", "dot products for each unit, kind of data and k", 60, 1000, 1, 1000000).smoke(4),
         integer_setting("longest_k", "the longest sum", 4096, 16384, 64, 1 << 19).smoke(256),
         integer_setting("climb", "steps of the search for bad operands", 6000, 200000, 0, 100000000).smoke(1500),
         control_setting("exact sums without error and rounds once; finer takes bounds of units that keep a bit more; "
                         "gentle has uniform operands instead of chosen ones",
                         {"exact", "finer", "gentle"})},
        run,
        {Control("control=finer", "inside"), Control("control=gentle", "attained"), Control("climb=0", "climbed"),
         Control("control=exact", "attained climbed bias_v100 bias_a100 bias_h100 torch_float32 numpy_allclose",
                 RunSize::smoke, "products=16 longest_k=1024")},
        {},
        "its sums go to five units' models themselves, as bounds take a unit's partial sums, which no backend gives"};
}

}  // namespace ulp::error_bounds_experiment
