// In which order a dot product is added, as a tree: leaves are the products and c, a node adds its children at once.
//
//     plain loop of 4      ((((c 0) 1) 2) 3)
//     Hopper, k16          (c 0-15)
//     Ampere, k16          ((c 0-7) 8-15)
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "softfloat/matrix_units/model.hpp"

namespace ulp {

inline constexpr int addend_leaf = -1;

/// A leaf (no children) or a node; children in the order of their least leaf.
struct SummationTree {
    int leaf = addend_leaf;
    std::vector<SummationTree> children;

    static SummationTree node(std::vector<SummationTree> children);
    static SummationTree of_leaf(int leaf) { return {leaf, {}}; }

    [[nodiscard]] bool is_leaf() const { return children.empty(); }
    [[nodiscard]] int least_leaf() const;
    [[nodiscard]] std::vector<int> leaves() const;
    /// As above; runs of leaves as ranges.
    [[nodiscard]] std::string text() const;
};

/// The tree of one instruction of the model.
SummationTree tree_of(const TensorCoreModel& model);

/// Reveals the tree of leaves c, 0, ..., k-1 by masking (FPRev, arXiv 2411.00442): `swallowed(i, j)` puts opposite huge
/// terms at leaves i and j and small units at all others, and says how many units did not survive. Those that did are
/// added after the huge terms have met; so the others, i and j are the leaves below the node where these meet. Where no
/// unit in the company of a huge term is lost (an exact node), the terms of a node lose none to each other.
SummationTree reveal_tree(int k, const std::function<int(int, int)>& swallowed);

}  // namespace ulp
