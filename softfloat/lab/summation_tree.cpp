#include "softfloat/lab/summation_tree.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "softfloat/matrix_units/chain_dot.hpp"

namespace ulp {

namespace {

SummationTree leaf(int k) { return SummationTree::of_leaf(k); }

/// One node over a subtree and the leaves given.
SummationTree joined(SummationTree tree, const std::vector<int>& leaves) {
    std::vector<SummationTree> children{std::move(tree)};
    for (const int k : leaves) children.push_back(leaf(k));
    return SummationTree::node(std::move(children));
}

std::vector<int> every(int first, int last, int step = 1) {
    std::vector<int> leaves;
    for (int k = first; k < last; k += step) leaves.push_back(k);
    return leaves;
}

SummationTree chain(SummationTree tree, const std::vector<int>& leaves) {
    for (const int k : leaves) tree = joined(std::move(tree), {k});
    return tree;
}

/// Leaves without a start: the first one is the start.
SummationTree chain(const std::vector<int>& leaves) {
    return chain(leaf(leaves.front()), {leaves.begin() + 1, leaves.end()});
}

SummationTree balanced(int first, int count) {
    if (count == 1) return leaf(first);
    return SummationTree::node({balanced(first, count / 2), balanced(first + count / 2, count - count / 2)});
}

SummationTree all_at_once(const std::vector<int>& leaves) {
    std::vector<SummationTree> children;
    for (const int k : leaves) children.push_back(leaf(k));
    return SummationTree::node(std::move(children));
}

SummationTree emulated_tree(const TensorCoreModel& model) {
    const TensorCoreModel hmma = emulating_hmma(model);
    std::vector<int> order;
    for (const bool second : {false, true}) {
        for (const int k : every(0, model.instruction_k)) {
            if (in_second_hmma(k) == second) order.push_back(k);
        }
    }
    const auto group = static_cast<std::ptrdiff_t>(hmma.group_size);
    SummationTree tree = all_at_once({order.begin(), order.begin() + group});
    for (auto at = order.begin() + group; at != order.end(); at += group)
        tree = joined(std::move(tree), {at, at + group});
    return SummationTree::node({leaf(addend_leaf), std::move(tree)});
}

/// What one group adds to the tree so far.
SummationTree with_group(const TensorCoreModel& model, SummationTree tree, int first) {
    const int last = first + model.group_size;
    switch (model.summation) {
        case Summation::pairwise: return SummationTree::node({std::move(tree), balanced(first, model.group_size)});
        // CDNA 3 aligns even and odd products, and c, to the largest exponent once more: masking sees one node.
        default: return joined(std::move(tree), every(first, last));
    }
}

/// How many leaves the relation "lost with" gives for each pair.
using Losses = std::map<std::pair<int, int>, int>;

int lost(const Losses& losses, int i, int j) { return losses.at({std::min(i, j), std::max(i, j)}); }

/// Sets of leaves such that `together` holds within a set, for a relation that is an equivalence on trees.
template <class Together>
std::vector<std::vector<int>> parts_of(const std::vector<int>& leaves, const Together& together) {
    std::vector<std::vector<int>> parts;
    for (const int k : leaves) {
        const auto part =
            std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return together(p.front(), k); });
        if (part == parts.end()) {
            parts.push_back({k});
        } else {
            part->push_back(k);
        }
    }
    return parts;
}

/// Two leaves hang below the same child of the root exactly where they meet before all leaves are lost.
SummationTree build(const std::vector<int>& leaves, const Losses& losses) {
    if (leaves.size() == 1) return leaf(leaves.front());
    const int all = static_cast<int>(leaves.size()) - 2;
    auto parts = parts_of(leaves, [&](int i, int j) { return lost(losses, i, j) < all; });
    if (parts.size() == 1) parts = parts_of(leaves, [](int, int) { return false; });  // contradictory: no structure
    std::vector<SummationTree> children;
    for (const auto& part : parts) children.push_back(build(part, losses));
    return SummationTree::node(std::move(children));
}

/// Exact nodes: leaves of one node lose nothing to each other. A chain of such nodes, in the order in which c reaches
/// them.
SummationTree build_exact(const std::vector<int>& leaves, const Losses& losses) {
    auto groups = parts_of(leaves, [&](int i, int j) { return lost(losses, i, j) == 0; });
    std::stable_sort(groups.begin(), groups.end(), [&](const auto& x, const auto& y) {
        const auto to_c = [&](const auto& g) {
            return g.front() == addend_leaf ? -1 : lost(losses, addend_leaf, g.front());
        };
        return to_c(x) < to_c(y);
    });
    SummationTree tree = all_at_once(groups.front());
    for (std::size_t g = 1; g < groups.size(); ++g) tree = joined(std::move(tree), groups[g]);
    return tree;
}

}  // namespace

SummationTree SummationTree::node(std::vector<SummationTree> children) {
    std::sort(children.begin(), children.end(),
              [](const SummationTree& x, const SummationTree& y) { return x.least_leaf() < y.least_leaf(); });
    return {addend_leaf, std::move(children)};
}

int SummationTree::least_leaf() const { return is_leaf() ? leaf : children.front().least_leaf(); }

std::vector<int> SummationTree::leaves() const {
    if (is_leaf()) return {leaf};
    std::vector<int> all;
    for (const SummationTree& child : children) {
        const auto below = child.leaves();
        all.insert(all.end(), below.begin(), below.end());
    }
    return all;
}

std::string SummationTree::text() const {
    if (is_leaf()) return leaf == addend_leaf ? "c" : std::to_string(leaf);
    std::string text;
    for (std::size_t i = 0; i < children.size(); ++i) {
        text += (i == 0 ? "(" : " ") + children[i].text();
        std::size_t last = i;
        while (last + 1 < children.size() && children[i].is_leaf() && children[last + 1].is_leaf() &&
               children[i].leaf >= 0 && children[last + 1].leaf == children[last].leaf + 1) {
            ++last;
        }
        if (last >= i + 2) {
            text += "-" + children[last].text();
            i = last;
        }
    }
    return text + ")";
}

SummationTree tree_of(const TensorCoreModel& model) {
    const int k = model.instruction_k;
    SummationTree tree = leaf(addend_leaf);
    switch (model.summation) {
        case Summation::fp8_by_hmma: return emulated_tree(model);
        case Summation::fma_chain: return chain(std::move(tree), every(0, k));
        case Summation::fma_pairs:
            for (int first = 0; first < k; first += 2) tree = chain(std::move(tree), {first + 1, first});
            return tree;
        case Summation::even_odd_fma:
            return SummationTree::node(
                {std::move(tree), SummationTree::node({chain(every(0, k, 2)), chain(every(1, k, 2))})});
        default: break;
    }
    for (int first = 0; first < k; first += model.group_size) tree = with_group(model, std::move(tree), first);
    return tree;
}

SummationTree reveal_tree(int k, const std::function<int(int, int)>& swallowed) {
    const std::vector<int> leaves = every(addend_leaf, k);
    Losses losses;
    int most = 0;
    bool exact = k >= 2;
    for (int i = addend_leaf; i < k; ++i) {
        for (int j = i + 1; j < k; ++j) {
            const int count = swallowed(i, j);
            losses[{i, j}] = count;
            most = std::max(most, count);
        }
    }
    // In a rounding tree some pair meets last and loses every other leaf; with exact nodes none does.
    exact = exact && most < k - 1;
    return exact ? build_exact(leaves, losses) : build(leaves, losses);
}

}  // namespace ulp
