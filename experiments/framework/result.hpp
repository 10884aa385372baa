// What an experiment finds: claims, figures with their data, and the evidence behind the hardware models it used.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiments/framework/claim.hpp"
#include "experiments/framework/figure.hpp"

namespace ulp {

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

/// Training runs of one size that a run made.
struct TrainingsMade {
    std::int64_t parameters = 0;  // of the net
    std::int64_t steps = 0;       // of each training
    std::int64_t runs = 0;        // as many training runs, of all arithmetics and seeds
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

    /// What cannot be measured here: `value` is in the source, `reason` says what it would need.
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
