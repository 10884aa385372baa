#include "engine/analysis/collective_sum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/tensor/rounder.hpp"
#include "softfloat/array/array.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp {
namespace {

constexpr std::int64_t piece = 1024;  // numbers that stay in the nearest cache while all ranks are added

void require_collective(const Collective& how, int ranks) {
    if (ranks < 1 || ranks > Collective::largest_ranks) {
        throw UsageError(fmt::format("{} ranks; give 1 to {}", ranks, Collective::largest_ranks));
    }
    if (how.kind == CollectiveKind::two_level && (how.node < 1 || ranks % how.node != 0)) {
        throw UsageError(fmt::format("a node of {} does not divide {} ranks; give a divisor", how.node, ranks));
    }
    if (how.chunk < 0) throw UsageError(fmt::format("a chunk of {} numbers; give 1 or more, or 0", how.chunk));
    const FloatFormat& f = how.format;
    if (f.precision() > 24 || f.emax() > 127 || f.smallest_exponent() < -149 || !f.has_sign || !f.has_subnormals ||
        !f.has_nan()) {
        throw UsageError(
            fmt::format("sums over ranks take fp32, bf16, fp16 or a narrower format with sign, zero and "
                        "NaN; {} is none",
                        name_of(f)));
    }
}

int orders_of(const Collective& how, int ranks) { return how.kind == CollectiveKind::tree ? 2 : ranks; }

std::int64_t chunk_of(const Collective& how, int ranks, std::int64_t n) {
    const std::int64_t orders = orders_of(how, ranks);
    return how.chunk > 0 ? how.chunk : std::max<std::int64_t>(1, (n + orders - 1) / orders);
}

int order_index(const Collective& how, int ranks, std::int64_t n, std::int64_t i) {
    return static_cast<int>(i / chunk_of(how, ranks, n) % orders_of(how, ranks));
}

/// Of a ring that ends at place `last`: last + 1, last + 2, ... `push` puts what stands at a place on the stack.
template <class Push>
void around(RankOrder& order, int places, int last, const Push& push) {
    for (int step = 1; step <= places; ++step) {
        push((last + step) % places);
        if (step > 1) order.push_back(add_topmost);
    }
}

/// The subtree of a node of the first tree, whose root is 0 and whose other nodes have their children at the distance
/// of half their lowest bit; an upper child beyond the last rank is replaced by the next nearer one. `name` gives the
/// rank at a place of the tree.
template <class Name>
void subtree(RankOrder& order, int ranks, int place, const Name& name) {
    order.push_back(name(place));
    int distance = (place == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks))) : place & -place) / 2;
    const auto child = [&](int at) {
        subtree(order, ranks, at, name);
        order.push_back(add_topmost);
    };
    if (place != 0 && distance > 0) child(place - distance);
    while (distance > 0 && place + distance >= ranks) distance /= 2;
    if (distance > 0) child(place + distance);
}

RankOrder make_order(const Collective& how, int ranks, int index) {
    RankOrder order;
    const auto push = [&](int rank) { order.push_back(rank); };
    if (how.kind == CollectiveKind::ring) around(order, ranks, index, push);
    if (how.kind == CollectiveKind::tree && index == 0) subtree(order, ranks, 0, [](int at) { return at; });
    if (how.kind == CollectiveKind::tree && index == 1) {
        const bool odd = ranks % 2 == 1;
        subtree(order, ranks, 0, [&](int at) { return odd ? (at + 1) % ranks : ranks - 1 - at; });
    }
    if (how.kind == CollectiveKind::two_level) {  // node m holds chunk (place, m) at the end
        const int nodes = ranks / how.node;
        const int place = index / nodes;
        around(order, nodes, index % nodes,
               [&](int node) { around(order, how.node, place, [&](int local) { push(node * how.node + local); }); });
    }
    return order;
}

/// Sums of up to `piece` elements.
class PieceSum {
  public:
    PieceSum(const Collective& how, std::span<const std::span<const float>> parts) : how_(how), parts_(parts) {}

    void operator()(const RankOrder& order, std::int64_t first, std::int64_t count, CollectiveSum& to) {
        first_ = first;
        count_ = static_cast<std::size_t>(count);
        depth_ = 0;
        running_.fill(0);
        exact_.fill(0);
        magnitude_.fill(0);
        for (std::size_t i = 0; i < order.size(); ++i) {
            const bool added_at_once = depth_ > 0 && i + 1 < order.size() && order[i + 1] == add_topmost;
            if (order[i] == add_topmost) {
                --depth_;
                add(stack_[static_cast<std::size_t>(depth_)].data());
            } else if (const float* part = take(order[i]); added_at_once) {
                add(part);
                ++i;
            } else {
                push(part);
            }
        }
        store(height_of(order), static_cast<double>(parts_.size()), to);
    }

  private:
    using Floats = std::array<float, piece>;
    using Doubles = std::array<double, piece>;

    const float* take(int rank) {
        const float* part = parts_[static_cast<std::size_t>(rank)].data() + first_;
        require_on_grid(rank, part);
        for (std::size_t j = 0; j < count_; ++j) exact_[j] += double{part[j]};
        for (std::size_t j = 0; j < count_; ++j) magnitude_[j] += std::abs(double{part[j]});
        return part;
    }
    void require_on_grid(int rank, const float* part) {
        if (how_.format == formats::fp32) return;
        round_array(how_.format, {part, count_}, {rounded_.data(), count_});
        std::uint32_t differ = 0;
        for (std::size_t j = 0; j < count_; ++j) {
            differ |= (std::bit_cast<std::uint32_t>(part[j]) ^ std::bit_cast<std::uint32_t>(rounded_[j]));
        }
        if (differ == 0) return;
        for (std::size_t j = 0; j < count_; ++j) {
            if (rounded_[j] == part[j] || part[j] != part[j]) continue;  // NaNs with any payload
            throw UsageError(fmt::format("element {} of rank {} is {}, which is not a number of {}; round it first",
                                         first_ + static_cast<std::int64_t>(j), rank, part[j], name_of(how_.format)));
        }
    }
    void push(const float* part) {
        const auto at = static_cast<std::size_t>(depth_++);
        if (stack_.size() <= at) stack_.emplace_back();
        std::copy_n(part, count_, stack_[at].begin());
    }
    void add(const float* part) {
        Floats& sum = stack_[static_cast<std::size_t>(depth_ - 1)];
        for (std::size_t j = 0; j < count_; ++j) sum[j] += part[j];
        if (how_.format != formats::fp32) round_array(how_.format, std::span<float>(sum.data(), count_));
        for (std::size_t j = 0; j < count_; ++j) running_[j] += std::abs(sum[j]);
    }
    void store(int height, double ranks, CollectiveSum& to) const {
        const double u = std::ldexp(1.0, -how_.format.precision());
        const double before = std::expm1(height * std::log1p(u / (1 + u)));
        // Doubles were added `ranks` times for `exact` and `magnitude`, floats for the running sum.
        const double of_doubles = 2 * ranks * 0x1p-53;
        const double of_floats = 1 / (1 - ranks * 0x1p-24) + 0x1p-20;
        for (std::size_t j = 0; j < count_; ++j) {
            const auto at = static_cast<std::size_t>(first_) + j;
            to.sum[at] = stack_[0][j];
            to.exact[at] = exact_[j];
            to.magnitude[at] = magnitude_[j];
            const double running = u * double{running_[j]} * of_floats;
            to.bound[at] = std::min(before * magnitude_[j] * (1 + 0x1p-20), running) + of_doubles * magnitude_[j];
            if (!std::isfinite(to.sum[at])) to.bound[at] = std::numeric_limits<double>::infinity();
        }
    }

    const Collective& how_;
    std::span<const std::span<const float>> parts_;
    std::int64_t first_ = 0;
    std::size_t count_ = 0;
    int depth_ = 0;
    std::vector<Floats> stack_{};
    Floats rounded_{}, running_{};
    Doubles exact_{}, magnitude_{};
};

/// What one order sums at once: elements of one chunk, at most `piece`.
struct Piece {
    std::int64_t first, count;
    int order;
};

std::vector<Piece> pieces_of(const Collective& how, int ranks, std::int64_t n) {
    const std::int64_t chunk = chunk_of(how, ranks, n);
    std::vector<Piece> pieces;
    for (std::int64_t begin = 0; begin < n; begin += chunk) {
        const std::int64_t end = std::min(n, begin + chunk);
        for (std::int64_t i = begin; i < end; i += piece) {
            pieces.push_back({i, std::min(piece, end - i), order_index(how, ranks, n, i)});
        }
    }
    return pieces;
}

}  // namespace

CollectiveKind collective_by_name(std::string_view name) {
    if (name == "ring") return CollectiveKind::ring;
    if (name == "tree") return CollectiveKind::tree;
    if (name == "two-level") return CollectiveKind::two_level;
    throw UsageError(fmt::format("there is no sum over ranks \"{}\"; there are ring, tree, two-level", name));
}

RankOrder order_of_element(const Collective& how, int ranks, std::int64_t n, std::int64_t i) {
    require_collective(how, ranks);
    if (i < 0 || i >= n) throw UsageError(fmt::format("there is no element {}; give 0 to {}", i, n - 1));
    return make_order(how, ranks, order_index(how, ranks, n, i));
}

std::optional<int> owner_of_element(const Collective& how, int ranks, std::int64_t n, std::int64_t i) {
    require_collective(how, ranks);
    const int index = order_index(how, ranks, n, i);
    if (how.kind == CollectiveKind::tree) return std::nullopt;
    if (how.kind == CollectiveKind::ring) return index;
    const int nodes = ranks / how.node;
    return index % nodes * how.node + index / nodes;
}

std::string text_of(const RankOrder& order) {
    std::vector<std::string> stack;
    for (const int step : order) {
        if (step != add_topmost) {
            stack.push_back(std::to_string(step));
            continue;
        }
        const auto bracketed = [](const std::string& s) {
            return s.find(' ') == std::string::npos ? s : "(" + s + ")";
        };
        const std::string last = bracketed(stack.back());
        stack.pop_back();
        stack.back() = bracketed(stack.back()) + " + " + last;
    }
    return stack.empty() ? "" : stack.back();
}

int height_of(const RankOrder& order) {
    std::vector<int> stack;
    for (const int step : order) {
        if (step != add_topmost) {
            stack.push_back(0);
            continue;
        }
        const int last = stack.back();
        stack.pop_back();
        stack.back() = std::max(stack.back(), last) + 1;
    }
    return stack.empty() ? 0 : stack.back();
}

CollectiveSum collective_sum(const Collective& how, std::span<const std::span<const float>> parts,
                             const std::function<bool()>& stops) {
    require_collective(how, static_cast<int>(std::min<std::size_t>(parts.size(), std::size_t{1} << 20)));
    for (std::size_t r = 1; r < parts.size(); ++r) {
        if (parts[r].size() == parts[0].size()) continue;
        throw UsageError(
            fmt::format("rank 0 has {} numbers and rank {} has {}; give as many", parts[0].size(), r, parts[r].size()));
    }
    const int ranks = static_cast<int>(parts.size());
    const std::size_t n = parts[0].size();
    CollectiveSum result{std::vector<float>(n), std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
    const std::vector<Piece> pieces = pieces_of(how, ranks, static_cast<std::int64_t>(n));
    std::vector<std::string> refused(pieces.size());  // exceptions do not leave a thread
    std::atomic<bool> stopped = false;
    for_each_index(static_cast<std::int64_t>(pieces.size()), worth_threads(n * parts.size() > piece), [&](auto at) {
        if (stopped || (stopped = stops && stops())) return;
        const Piece& each = pieces[static_cast<std::size_t>(at)];
        try {
            PieceSum(how, parts)(make_order(how, ranks, each.order), each.first, each.count, result);
        } catch (const UsageError& error) {
            refused[static_cast<std::size_t>(at)] = error.what();
        }
    });
    for (const std::string& message : refused) {
        if (!message.empty()) throw UsageError(message);
    }
    for (int index = 0; index < orders_of(how, ranks) && index < 2; ++index) {  // rings: one height
        result.height = std::max(result.height, height_of(make_order(how, ranks, index)));
    }
    result.not_finite = std::ranges::count_if(result.sum, [](float x) { return !std::isfinite(x); });
    return result;
}

}  // namespace ulp
