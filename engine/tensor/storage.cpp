#include "engine/tensor/storage.hpp"

#include <fmt/format.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "engine/tensor/pages.hpp"

namespace ulp {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t smallest_kept = 4096;  // smaller ones are left to the system, which is quick with them
constexpr std::size_t smallest_of_pages = std::size_t{1} << 17;  // from here on blocks lie in Pages

/// Smaller blocks come in sizes of 8 to an octave, so that nearly equal tensors share them.
std::size_t block_size(std::size_t bytes) {
    if (bytes < smallest_kept) return bytes;
    if (bytes >= smallest_of_pages) return Pages::rounded(bytes);
    const std::size_t grain = std::bit_floor(bytes) / 8;
    return (bytes + grain - 1) / grain * grain;
}

/// What is kept may raise the memory above its peak by one part in this: fresh pages in every step cost more.
constexpr std::int64_t slack = 16;

#ifdef __SANITIZE_ADDRESS__
constexpr bool keeps = false;  // the sanitizer is to see every use after the end
#else
constexpr bool keeps = true;
#endif

class Pool {
  public:
    void* take(std::size_t bytes) {
        const std::size_t size = block_size(bytes);
        const std::lock_guard lock(mutex_);
        require_memory(static_cast<double>(size), "a tensor", static_cast<double>(bytes_.live));
        try {
            void* memory = block(size);
            bytes_.live += static_cast<std::int64_t>(size);
            bytes_.peak = std::max(bytes_.peak, bytes_.live);
            return memory;
        } catch (const std::bad_alloc&) {
            require_memory(static_cast<double>(size), "a tensor", static_cast<double>(bytes_.live), true);
            throw;  // is not reached
        }
    }

    void give_back(void* memory, std::size_t bytes) noexcept {
        const std::size_t size = block_size(bytes);
        const std::lock_guard lock(mutex_);
        bytes_.live -= static_cast<std::int64_t>(size);
        if (keeps && size >= smallest_of_pages) {
            pages_.give_back(memory, size);
        } else if (keeps && size >= smallest_kept) {
            small_[size].push_back(memory);
            small_kept_ += size;
        } else {
            ::operator delete (memory, std::align_val_t{alignment});
        }
    }

    StorageBytes bytes() {
        const std::lock_guard lock(mutex_);
        StorageBytes bytes = bytes_;
        bytes.kept = static_cast<std::int64_t>(pages_.kept() + small_kept_);
        return bytes;
    }
    void restart_peak() {
        const std::lock_guard lock(mutex_);
        drop_kept(0);
        bytes_.peak = bytes_.live;
    }

  private:
    void* block(std::size_t size) {
        const auto live = bytes_.live + static_cast<std::int64_t>(size);
        const std::int64_t peak = std::max(bytes_.peak, live);
        const auto limit = static_cast<std::size_t>(peak + peak / slack - live);
        if (keeps && size >= smallest_of_pages) {
            void* memory = pages_.take(size, limit - std::min(limit, small_kept_));
            drop_kept(limit);
            return memory;
        }
        const auto blocks = small_.find(size);
        if (blocks != small_.end() && !blocks->second.empty()) {
            void* memory = blocks->second.back();
            blocks->second.pop_back();
            small_kept_ -= size;
            return memory;
        }
        drop_kept(limit);
        return ::operator new (size, std::align_val_t{alignment});
    }

    /// Gives blocks back to the system until at most `limit` bytes are kept: pages first, then the largest.
    void drop_kept(std::size_t limit) {
        pages_.drop(limit - std::min(limit, small_kept_));
        for (auto blocks = small_.rbegin(); blocks != small_.rend() && small_kept_ > limit; ++blocks) {
            while (!blocks->second.empty() && small_kept_ > limit) {
                ::operator delete (blocks->second.back(), std::align_val_t{alignment});
                blocks->second.pop_back();
                small_kept_ -= blocks->first;
            }
        }
    }

    std::mutex mutex_;
    Pages pages_;
    std::map<std::size_t, std::vector<void*>> small_;  // by size
    std::size_t small_kept_ = 0;
    StorageBytes bytes_;
};

/// Never destroyed: tensors of static duration may end after anything here would.
Pool& pool() {
    static Pool& the_one = *new Pool;
    return the_one;
}

class PoolResource : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t) override { return pool().take(bytes); }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t) override { pool().give_back(memory, bytes); }
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

std::pmr::memory_resource* storage_resource() {
    static PoolResource& the_one = *new PoolResource;
    return &the_one;
}
void* take_storage(std::size_t bytes) { return pool().take(bytes); }
void give_storage_back(void* memory, std::size_t bytes) noexcept { pool().give_back(memory, bytes); }
StorageBytes storage_bytes() { return pool().bytes(); }
void restart_storage_peak() { pool().restart_peak(); }

namespace {

/// What std::bad_alloc does not say.
class OutOfMemory : public std::bad_alloc {
  public:
    explicit OutOfMemory(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}
    [[nodiscard]] const char* what() const noexcept override { return text_->c_str(); }

  private:
    std::shared_ptr<const std::string> text_;
};

double memory_of_machine() {
    struct sysinfo info {};
    if (sysinfo(&info) != 0) return HUGE_VAL;
    return (static_cast<double>(info.totalram) + static_cast<double>(info.totalswap)) * info.mem_unit;
}

}  // namespace

void require_memory(double bytes, const char* what, double beside, bool always) {
    static const double most = memory_of_machine();
    if (bytes + beside <= most && !always) return;
    throw OutOfMemory(fmt::format(
        "out of memory: {} of {:.1f} GB beside {:.1f} GB in tensors, on a machine with {:.1f} GB; use smaller sizes",
        what, bytes / 1e9, beside / 1e9, most / 1e9));
}

}  // namespace ulp
