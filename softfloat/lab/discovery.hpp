// Finding the parameters of a matrix unit by asking it: the published tests (Fasi, Higham, Mikaitis, Pranesh, PeerJ CS
// 7:e330; Khattak and Mikaitis, arXiv 2512.07004) and FPRev's masking (arXiv 2411.00442), on a black box.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "softfloat/lab/summation_tree.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp {

/// A black box: a[0] b[0] + ... + a[k-1] b[k-1] + c on storage words.
struct DotUnit {
    FloatFormat a_format, b_format, accumulator;
    int k = 0;
    std::function<std::uint64_t(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c)>
        dot;
};

/// The unit that computes what a model says, for one instruction.
DotUnit unit_of(const TensorCoreModel& model);

/// What was found. Each is found by its own question; `evidence` says by which inputs and answers.
struct Discovery {
    SummationTree tree;
    int fused_terms = 0;                       // children of the widest node; 2 in a unit of two-term additions
    std::optional<int> fraction_bits;          // F, of the widest node: nothing in a unit of two-term additions
    bool exact_alignment = false;              // no bit was seen to be cut
    std::optional<Rounding> alignment;         // how aligned terms are cut, where F was found
    std::optional<Rounding> addend_alignment;  // the same for c, where it is in that node
    std::optional<bool> normalises_products;   // before the largest exponent is sought
    bool inverts_opposing = false;             // terms against c's sign lie one unit of 2^(M-F) below their negation
    std::optional<int> exact_products = 1;     // added exactly before they are aligned; nothing: cannot be asked
    std::optional<Rounding> rounding;          // of the sum
    int output_fraction_bits = 0;
    bool uses_subnormal_inputs = false;
    std::uint64_t nan = 0;              // the storage word of NaN times one
    std::vector<std::string> evidence;  // a sentence each
};

/// Whether products of the formats lie far enough apart for masking. Those of FP6 and FP4 do not; there c, which has
/// more binades, asks (narrow_discovery.hpp), and what it cannot ask `evidence` says.
bool can_mask(const DotUnit& unit);

/// Asks the unit; takes about k^2 / 2 dot products.
Discovery discover(const DotUnit& unit);

/// Rows of the table with exactly these findings and formats.
std::vector<const UnitRow*> matching_rows(const DotUnit& unit, const Discovery& found);

/// Whether the findings are those that discover() must make of the model, whose terms are sums of that many products.
bool agrees(const Discovery& found, const TensorCoreModel& model, int exact_products = 1);

}  // namespace ulp
