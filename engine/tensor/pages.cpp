#include "engine/tensor/pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace ulp {
namespace {

/// Asks for all pages at once: one by one, as they are first written, they cost several times as much. Where the system
/// cannot do that they come one by one.
void populate([[maybe_unused]] char* first, [[maybe_unused]] std::size_t size) {
#ifdef MADV_POPULATE_WRITE
    madvise(first, size, MADV_POPULATE_WRITE);
#endif
}

}  // namespace

void* Pages::take(std::size_t bytes, std::size_t limit) {
    const std::size_t size = rounded(bytes);
    const Place fits = smallest_in_memory(size);
    if (fits != free_.end()) {
        char* const first = fits->first;
        remove(first, size);
        drop(limit);
        return first;
    }
    Stretch stretch = best_stretch(size);
    if (stretch.size == 0) {
        reserve(size);
        stretch = best_stretch(size);
    }
    char* const last = stretch.first + (stretch.size - size);
    char* const first = in_memory(last, size) > in_memory(stretch.first, size) ? last : stretch.first;
    const bool fresh = in_memory(first, size) < size;
    remove(first, size);
    drop(limit);
    if (fresh) populate(first, size);
    return first;
}

void Pages::give_back(void* memory, std::size_t bytes) { add(static_cast<char*>(memory), {rounded(bytes), true}); }

void Pages::drop(std::size_t limit) {
    while (kept_ > limit) {
        const auto largest = std::ranges::max_element(
            free_, {}, [](const auto& place) { return place.second.in_memory ? place.second.size : 0; });
        const auto [first, free] = *largest;
        const std::size_t size = std::min(free.size, rounded(kept_ - limit));
        char* const from = first + (free.size - size);
        remove(from, size);
        madvise(from, size, MADV_DONTNEED);
        add(from, {size, false});
    }
}

Pages::Place Pages::smallest_in_memory(std::size_t size) {
    Place best = free_.end();
    for (Place place = free_.begin(); place != free_.end(); ++place) {
        const Free& free = place->second;
        if (!free.in_memory || free.size < size) continue;
        if (best == free_.end() || free.size < best->second.size) best = place;
    }
    return best;
}

/// Of those that are large enough the one with most pages in memory, and of these the smallest; size 0 where none is.
Pages::Stretch Pages::best_stretch(std::size_t size) const {
    Stretch best, current;
    for (auto place = free_.begin(); place != free_.end(); ++place) {
        const auto& [first, free] = *place;
        if (first != current.first + current.size) current = {first, 0, 0};
        current.size += free.size;
        current.in_memory += free.in_memory ? free.size : 0;
        const auto next = std::next(place);
        const bool ends = next == free_.end() || next->first != current.first + current.size;
        if (!ends || current.size < size) continue;
        const bool better =
            current.in_memory != best.in_memory ? current.in_memory > best.in_memory : current.size < best.size;
        if (best.size == 0 || better) best = current;
    }
    return best;
}

std::size_t Pages::in_memory(const char* first, std::size_t size) const {
    std::size_t sum = 0;
    for (const auto& [start, free] : free_) {
        const char* const from = std::max<const char*>(start, first);
        const char* const to = std::min<const char*>(start + free.size, first + size);
        if (free.in_memory && from < to) sum += static_cast<std::size_t>(to - from);
    }
    return sum;
}

/// Joins neighbours of one kind.
void Pages::add(char* first, Free free) {
    if (free.in_memory) kept_ += free.size;
    const auto after = free_.lower_bound(first);
    if (after != free_.end() && after->first == first + free.size && after->second.in_memory == free.in_memory) {
        free.size += after->second.size;
        free_.erase(after);
    }
    const auto next = free_.lower_bound(first);
    if (next != free_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second.size == first && before->second.in_memory == free.in_memory) {
            before->second.size += free.size;
            return;
        }
    }
    free_.emplace_hint(next, first, free);
}

/// Takes free space out of the map.
void Pages::remove(char* first, std::size_t size) {
    char* const last = first + size;
    auto place = std::prev(free_.upper_bound(first));
    while (place != free_.end() && place->first < last) {
        const auto [start, free] = *place;
        char* const end = start + free.size;
        place = free_.erase(place);
        char* const from = std::max(start, first);
        char* const to = std::min(end, last);
        if (free.in_memory) kept_ -= static_cast<std::size_t>(to - from);
        if (start < from) free_.emplace(start, Free{static_cast<std::size_t>(from - start), free.in_memory});
        if (to < end) free_.emplace(to, Free{static_cast<std::size_t>(end - to), free.in_memory});
    }
}

/// More of the address space; it has no pages yet.
void Pages::reserve(std::size_t size) {
    constexpr std::size_t least = std::size_t{1} << 24;
    const std::size_t wanted = std::max({size, least, rounded(reserved_ / 4)});
    void* memory = MAP_FAILED;
    for (const std::size_t some : {wanted, size}) {
        memory = mmap(nullptr, some, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) continue;
        reserved_ += some;
        return add(static_cast<char*>(memory), {some, false});
    }
    throw std::bad_alloc();
}

}  // namespace ulp
