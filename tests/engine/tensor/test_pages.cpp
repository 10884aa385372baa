// Memory for large tensors: free places serve blocks of other sizes, and no more is kept than is allowed.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "engine/tensor/pages.hpp"
#include "engine/tensor/random.hpp"

namespace {

using namespace ulp;

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

TEST_CASE("two free neighbours serve a block of both sizes, and a part of it a smaller one") {
    Pages pages;
    auto* const first = static_cast<char*>(pages.take(3 * Pages::page, no_limit));
    void* const second = pages.take(5 * Pages::page - 1, no_limit);
    CHECK(second == first + 3 * Pages::page);
    void* const last = pages.take(Pages::page, no_limit);
    pages.give_back(first, 3 * Pages::page);
    pages.give_back(second, 5 * Pages::page - 1);
    CHECK(pages.kept() == 8 * Pages::page);
    CHECK(pages.take(8 * Pages::page, no_limit) == first);
    CHECK(pages.kept() == 0);
    pages.give_back(first, 8 * Pages::page);
    CHECK(pages.take(2 * Pages::page, no_limit) == first);
    CHECK(pages.kept() == 6 * Pages::page);
    pages.drop(Pages::page);
    CHECK(pages.kept() == Pages::page);
    // The page that stayed lies inside of what the next block takes.
    CHECK(pages.take(6 * Pages::page, no_limit) == first + 2 * Pages::page);
    CHECK(pages.kept() == 0);
    pages.give_back(last, Pages::page);
    pages.drop(0);
    CHECK(pages.kept() == 0);
}

struct Block {
    std::uint32_t* words;
    std::size_t bytes;
    std::uint32_t mark;
};

TEST_CASE("blocks of random sizes never lie on each other, and no more is kept than the limit of the last one taken") {
    Pages pages;
    Random random(1);
    std::vector<Block> blocks;
    const auto ends = [](const Block& block) {
        return std::pair{block.words[0], block.words[block.bytes / 4 - 1]} == std::pair{block.mark, block.mark};
    };
    for (std::uint32_t turn = 0; turn < 4000; ++turn) {
        if (blocks.size() > 40 || (!blocks.empty() && random.below(2) == 0)) {
            std::swap(blocks[random.below(blocks.size())], blocks.back());
            REQUIRE(ends(blocks.back()));
            pages.give_back(blocks.back().words, blocks.back().bytes);
            blocks.pop_back();
            continue;
        }
        const std::size_t bytes = 4 * (1 + random.below(100000));
        const std::size_t limit = random.below(std::uint64_t{1} << 20);
        auto* const words = static_cast<std::uint32_t*>(pages.take(bytes, limit));
        REQUIRE(pages.kept() <= limit);
        std::fill_n(words, bytes / 4, turn);
        blocks.push_back({words, bytes, turn});
    }
    for (const Block& block : blocks) {
        CHECK(std::count(block.words, block.words + block.bytes / 4, block.mark) ==
              static_cast<std::ptrdiff_t>(block.bytes / 4));
    }
}

}  // namespace
