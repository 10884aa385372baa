// The search for the first number that is not finite: which operation made it, of what.
#include <algorithm>
#include <cmath>

#include "engine/tape/tape.hpp"

namespace ulp::inline ULPLAB_MODE {
namespace {

/// How bad a number is. An operation is to blame where its result is worse than all that it read: an infinity among
/// its operands (a mask) explains infinities, and a NaN explains everything.
int severity_of(Real x) { return std::isnan(x) ? 2 : std::isinf(x) ? 1 : 0; }

int severity_of(const Tensor& tensor) {
    int worst = 0;
    for (const Real x : tensor.values()) worst = std::max(worst, severity_of(x));
    return worst;
}

/// "scale" of "block0/attention/queries/scale_2".
std::string_view operation_of(std::string_view label) {
    label.remove_prefix(label.rfind('/') + 1);
    const std::size_t last = label.find_last_not_of("0123456789");
    if (last + 1 < label.size() && label[last] == '_') label = label.substr(0, last);
    return label;
}

/// Whether element i of the result is made of element i (modulo its size) of each operand.
bool element_by_element(std::string_view label) {
    const std::string_view op = operation_of(label);
    return op == "cast" || op == "store" || std::ranges::count(pointwise_operations(), op) > 0;
}

LargestTerm largest_term(const ProductTerms& terms, Index element) {
    const Index area = terms.a.rows * terms.b.cols;
    const Index i = element % area / terms.b.cols;
    const Index j = element % terms.b.cols;
    const auto at = [&](const BasicMatrixView<const Real>& view, Index step, Index row, Index col) {
        return static_cast<double>(view.data[element / area * step + row * view.row_stride + col * view.col_stride]);
    };
    LargestTerm largest{.count = terms.a.cols};
    double most = -1;
    for (Index k = 0; k < terms.a.cols; ++k) {
        const double a = at(terms.a, terms.a_step, i, k);
        const double b = at(terms.b, terms.b_step, k, j);
        largest.sum += a * b;
        if (std::abs(a * b) <= most) continue;
        most = std::abs(a * b);
        largest.k = k, largest.a = static_cast<float>(a), largest.b = static_cast<float>(b);
    }
    return largest;
}

}  // namespace

void Tape::search(const std::string& label, const Pass& pass, const Tensor& result, const std::vector<Var>& operands,
                  const Terms& terms) {
    std::vector<Read> reads;
    for (const Var& var : operands) {
        const Node& node = nodes_[var.id];
        // Backward, what is turned into gradients of inputs is the gradient of the result, with the inputs' help.
        reads.push_back({&node, pass.of.empty() ? &node.value : &node.gradient, pass.of.empty()});
        if (pass.of.empty()) continue;
        for (const Var& input : node.inputs) reads.push_back({&nodes_[input.id], &nodes_[input.id].value, true});
    }
    const bool by_element = element_by_element(label);
    const auto corresponds = [&](const Read& read) {
        return by_element && !read.tensor->empty() && result.size() % read.tensor->size() == 0;
    };
    int of_whole = 0;
    for (const Read& read : reads) {
        if (!corresponds(read)) of_whole = std::max(of_whole, severity_of(*read.tensor));
    }
    const auto to_blame = [&](Index i) {
        int most = of_whole;
        for (const Read& read : reads) {
            if (corresponds(read)) most = std::max(most, severity_of((*read.tensor)[i % read.tensor->size()]));
        }
        return severity_of(result[i]) > most;
    };
    Index bad = 0;
    while (bad < result.size() && !to_blame(bad)) ++bad;
    if (bad == result.size()) return report_given(reads);
    NonFinite found{.label = label,
                    .pass = std::string(pass.name).append(pass.of),
                    .step = run_->step,
                    .element = bad,
                    .shape = result.shape(),
                    .value = static_cast<float>(result[bad]),
                    .format = result.format(),
                    .operands = {}};
    for (const Read& read : reads) {
        SuspectOperand operand{read.given ? read.node->label : "gradient of " + read.node->label, read.tensor->shape(),
                               std::nullopt, 0, 0};
        for (const Real x : read.tensor->values()) {
            operand.not_finite += std::isfinite(x) ? 0 : 1;
            if (!std::isnan(x)) operand.largest = std::max(operand.largest, static_cast<float>(std::abs(x)));
        }
        if (corresponds(read)) operand.value = static_cast<float>((*read.tensor)[bad % read.tensor->size()]);
        found.operands.push_back(std::move(operand));
    }
    if (terms) found.term = largest_term(*terms, bad);
    run_->observers.watch->first_nonfinite = std::move(found);
}

/// No operation made it, so it was given: a NaN in data, an infinity in a parameter.
void Tape::report_given(const std::vector<Read>& reads) {
    for (const Read& read : reads) {
        if (!read.given || !read.node->leaf) continue;
        const int least = read.node->parameter ? 1 : 2;
        for (Index i = 0; i < read.tensor->size(); ++i) {
            const Real x = (*read.tensor)[i];
            if (severity_of(x) < least) continue;
            run_->observers.watch->first_nonfinite = NonFinite{.label = read.node->label,
                                                               .pass = "given",
                                                               .step = run_->step,
                                                               .element = i,
                                                               .shape = read.tensor->shape(),
                                                               .value = static_cast<float>(x),
                                                               .format = read.tensor->format(),
                                                               .operands = {}};
            return;
        }
    }
}

/// Of a sum of gradients whose parts were finite and which is not.
void Tape::search_sum(const std::string& label, const Tensor& sum) {
    for (Index i = 0; i < sum.size(); ++i) {
        if (std::isfinite(sum[i])) continue;
        run_->observers.watch->first_nonfinite = NonFinite{.label = label,
                                                           .pass = "backward, sum of gradients",
                                                           .step = run_->step,
                                                           .element = i,
                                                           .shape = sum.shape(),
                                                           .value = static_cast<float>(sum[i]),
                                                           .format = sum.format(),
                                                           .operands = {}};
        return;
    }
}

}  // namespace ulp::inline ULPLAB_MODE
