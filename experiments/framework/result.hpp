// What an experiment finds: claims, figures with their data, and the evidence behind the hardware models it used.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/framework/claim.hpp"
#include "experiments/framework/values.hpp"

namespace ulp {

struct Point {
    double x;
    double y;
};

/// One curve or set of bars. The values of y lie on the format's grid; its bits are recorded in that format.
struct Series {
    std::string name;
    FloatFormat format = formats::fp64;
    std::vector<Point> points{};
};
/// y at the whole numbers from `first` to `last`, `distance` apart.
template <std::integral Whole, class Y>
Series curve(std::string name, Whole first, Whole last, const Y& y, Whole distance = 1) {
    Series series{std::move(name)};
    for (Whole x = first; x <= last; x += distance) series.points.push_back({static_cast<double>(x), y(x)});
    return series;
}
/// The x of the first point whose y is such, after `before`: "2^-24"; `none` where no y is.
std::string first_x(const Series& series, const std::function<bool(double)>& is, const std::string& before = "",
                    const std::string& none = "none");

/// What a template is told beside the data.
struct Axes {
    std::string x{}, y{};           // labels
    int log_base = 0;               // of y; 0: linear
    bool powers = false;            // y's marks are labelled as powers of the base
    std::optional<double> y_top{};  // y's upper end
};
/// A number or a text that a template reads by its name, [a-z][a-z0-9_]*.
using PlotVariable = std::pair<std::string, std::variant<double, std::string>>;

struct Figure {
    std::string name;      // file name without ending; the template is plots/<experiment>_<name>.gp
    std::string title;     // one line, on the figure
    std::string caption;   // one or two lines below it: setting, units, what the lines are
    std::string meaning;   // for the report: what to see
    std::string evidence;  // for the report: what stands behind the hardware's arithmetic; empty: no hardware model
    std::vector<Series> series{};
    std::string plot{};  // the template plots/<plot>.gp, where several figures share one
    Axes axes{};
    std::vector<PlotVariable> variables{};
    int frames = 0;          // of a moving drawing (results/animation.hpp); 0: it stands still
    std::string headline{};  // a sentence for the report's opening page; empty: the figure is not shown there
};

/// A file or generated data set that went into the result.
struct Input {
    std::string name;
    std::string sha256;
};

/// The products that a run computed on one matrix unit.
struct UnitProducts {
    std::string unit;  // the key of its row: "sm_90:wgmma.fp16.fp32"
    std::int64_t products;
    std::string digest;  // of all operands and results, 16 hexadecimal digits
};

/// Trainings of one size that a run made.
struct TrainingsMade {
    std::int64_t parameters = 0;  // of the net
    std::int64_t steps = 0;       // of each training
    std::int64_t runs = 0;        // as many trainings, of all arithmetics and seeds
};

class Result {
  public:
    explicit Result(std::string experiment) : experiment_(std::move(experiment)) {}

    /// A claim about what the run showed: `agrees` where the check holds. A control of the experiment names it.
    void measured(std::string_view id, std::string_view source, std::string_view statement, Check check,
                  Verdict agrees = Verdict::reproduced);
    /// A claim about an exact fact, which the check computed: `agrees` where it holds.
    void arithmetic(std::string_view id, std::string_view source, std::string_view statement, Check check,
                    Verdict agrees = Verdict::reproduced);

    /// What cannot be measured here: `value` stands in the source, `reason` says what it would need.
    void quoted(std::string_view id, std::string_view source, std::string_view statement, std::string value,
                std::string_view reason);

    /// The figure is owned by the result; the reference is valid until the next call. Where its meaning ends with the
    /// comma or semicolon of a list's last entry, a full stop takes its place.
    Figure& figure(Figure figure);
    void evidence(std::string text);
    void input(Input input) { inputs_.push_back(std::move(input)); }
    /// Who runs the experiment counts them (results/product_ledger.hpp).
    void products(std::vector<UnitProducts> products) { products_ = std::move(products); }

    /// Who runs the experiment counts them (RunContext::trained).
    void trained(std::int64_t parameters, std::int64_t steps);

    [[nodiscard]] const std::string& experiment() const { return experiment_; }
    [[nodiscard]] const std::vector<Claim>& claims() const { return claims_; }
    [[nodiscard]] const std::vector<Figure>& figures() const { return figures_; }
    [[nodiscard]] const std::vector<std::string>& evidence() const { return evidence_; }
    [[nodiscard]] const std::vector<Input>& inputs() const { return inputs_; }
    [[nodiscard]] const std::vector<UnitProducts>& products() const { return products_; }
    [[nodiscard]] const std::vector<TrainingsMade>& trainings() const { return trainings_; }

  private:
    void add(std::string_view id, Claim claim);
    void judge(ClaimKind kind, std::string_view id, std::string_view source, std::string_view statement, Check check,
               Verdict agrees);

    std::string experiment_;
    std::vector<Claim> claims_;
    std::vector<Figure> figures_;
    std::vector<std::string> evidence_;
    std::vector<Input> inputs_;
    std::vector<UnitProducts> products_;
    std::vector<TrainingsMade> trainings_;
};

}  // namespace ulp
