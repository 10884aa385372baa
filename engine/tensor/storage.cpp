#include "engine/tensor/storage.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "engine/tensor/memory.hpp"

namespace ulp {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t smallest_kept = 4096;  // smaller ones are left to the system, which is quick with them

/// Blocks come in sizes of 8 to an octave, so that nearly equal tensors share them.
std::size_t block_size(std::size_t bytes) {
    if (bytes < smallest_kept) return bytes;
    const std::size_t grain = std::bit_floor(bytes) / 8;
    return (bytes + grain - 1) / grain * grain;
}

/// Large blocks are the system's own pages: given back they are gone, and leave no holes among other memory.
constexpr std::size_t smallest_mapped = std::size_t{1} << 17;

/// Asks for all pages at once: one by one, as they are first written, they cost several times as much. Where the system
/// cannot do that they come one by one.
void populate([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t first, [[maybe_unused]] std::size_t last) {
#ifdef MADV_POPULATE_WRITE
    if (first < last) madvise(static_cast<char*>(memory) + first, last - first, MADV_POPULATE_WRITE);
#endif
}

/// `bytes` of it will be written.
void* new_block(std::size_t size, std::size_t bytes) {
    if (size < smallest_mapped) return ::operator new (size, std::align_val_t{alignment});
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    populate(memory, 0, bytes);
    return memory;
}
void delete_block(void* memory, std::size_t size) noexcept {
    if (size < smallest_mapped) {
        ::operator delete (memory, std::align_val_t{alignment});
    } else {
        munmap(memory, size);
    }
}

/// The block with another size: the pages that both have stay, so that few are fresh.
void* resized_block(void* memory, std::size_t size, std::size_t new_size, std::size_t bytes) {
    void* moved = mremap(memory, size, new_size, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) throw std::bad_alloc();
    populate(moved, size, bytes);
    return moved;
}

/// What is kept may raise the memory above its peak by one part in this: fresh pages in every step cost more.
constexpr std::int64_t slack = 16;

class Pool {
  public:
    void* take(std::size_t bytes) {
        const std::size_t size = block_size(bytes);
        {
            const std::lock_guard lock(mutex_);
            require_memory(static_cast<double>(size), "a tensor", static_cast<double>(bytes_.live));
            bytes_.live += static_cast<std::int64_t>(size);
            bytes_.peak = std::max(bytes_.peak, bytes_.live);
            const auto blocks = kept_.find(size);
            if (blocks != kept_.end() && !blocks->second.empty()) {
                void* memory = blocks->second.back();
                blocks->second.pop_back();
                bytes_.kept -= static_cast<std::int64_t>(size);
                return memory;
            }
            const std::int64_t limit = bytes_.peak + bytes_.peak / slack - bytes_.live;
            void* memory = bytes_.kept > limit && size >= smallest_mapped ? take_of_other_size(size, bytes) : nullptr;
            drop_kept(limit);
            if (memory != nullptr) return memory;
        }
        try {
            return new_block(size, bytes);
        } catch (const std::bad_alloc&) {
            const std::lock_guard lock(mutex_);
            bytes_.live -= static_cast<std::int64_t>(size);
            require_memory(static_cast<double>(size), "a tensor", static_cast<double>(bytes_.live), true);
            throw;  // is not reached
        }
    }

    void give_back(void* memory, std::size_t bytes) noexcept {
        const std::size_t size = block_size(bytes);
        const std::lock_guard lock(mutex_);
        bytes_.live -= static_cast<std::int64_t>(size);
        if (size >= smallest_kept && keeps) {
            kept_[size].push_back(memory);
            bytes_.kept += static_cast<std::int64_t>(size);
        } else {
            delete_block(memory, size);
        }
    }

    StorageBytes bytes() {
        const std::lock_guard lock(mutex_);
        return bytes_;
    }
    void restart_peak() {
        const std::lock_guard lock(mutex_);
        drop_kept(0);
        bytes_.peak = bytes_.live;
    }

  private:
#ifdef __SANITIZE_ADDRESS__
    static constexpr bool keeps = false;  // the sanitizer is to see every use after the end
#else
    static constexpr bool keeps = true;
#endif

    /// The kept block of the nearest larger size, or else of the largest, made to fit; null where there is none.
    void* take_of_other_size(std::size_t size, std::size_t bytes) {
        const auto holds_some = [](const auto& blocks) { return !blocks.second.empty(); };
        auto blocks = std::find_if(kept_.lower_bound(size), kept_.end(), holds_some);
        if (blocks == kept_.end()) {
            const auto largest = std::find_if(kept_.rbegin(), kept_.rend(), holds_some);
            if (largest == kept_.rend() || largest->first < smallest_mapped) return nullptr;
            blocks = std::prev(largest.base());
        }
        void* memory = resized_block(blocks->second.back(), blocks->first, size, bytes);
        blocks->second.pop_back();
        bytes_.kept -= static_cast<std::int64_t>(blocks->first);
        return memory;
    }

    /// Gives blocks back to the system until at most `limit` bytes are kept, largest first.
    void drop_kept(std::int64_t limit) {
        for (auto blocks = kept_.rbegin(); blocks != kept_.rend() && bytes_.kept > limit; ++blocks) {
            while (!blocks->second.empty() && bytes_.kept > limit) {
                delete_block(blocks->second.back(), blocks->first);
                blocks->second.pop_back();
                bytes_.kept -= static_cast<std::int64_t>(blocks->first);
            }
        }
    }

    std::mutex mutex_;
    std::map<std::size_t, std::vector<void*>> kept_;  // by size
    StorageBytes bytes_;
};

/// Never destroyed: tensors of static duration may end after anything here would.
Pool& pool() {
    static Pool& the_one = *new Pool;
    return the_one;
}

}  // namespace

void* take_storage(std::size_t bytes) { return pool().take(bytes); }
void give_storage_back(void* memory, std::size_t bytes) noexcept { pool().give_back(memory, bytes); }
StorageBytes storage_bytes() { return pool().bytes(); }
void restart_storage_peak() { pool().restart_peak(); }

}  // namespace ulp
