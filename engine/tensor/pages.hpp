// Memory for large tensors: blocks side by side in the address space, so that what is free between two of them serves
// tensors of other sizes, too. Free pages stay in memory until they are dropped. (A Transformer's step of 900 MB was a
// fifth slower with mimalloc 2.0.9, which asks the system for large blocks anew: bench_engine, transformer/fp32/eigen.)
#pragma once

#include <cstddef>
#include <map>

namespace ulp {

/// Not for several threads at once.
class Pages {
  public:
    static constexpr std::size_t page = 4096;
    static std::size_t rounded(std::size_t bytes) { return (bytes + page - 1) / page * page; }

    /// Page-aligned memory, contents arbitrary, all in memory; first drops free pages until those that stay, without
    /// the block's own, are at most `limit` bytes. Throws std::bad_alloc.
    void* take(std::size_t bytes, std::size_t limit);
    /// `bytes` as it was asked for.
    void give_back(void* memory, std::size_t bytes);
    /// Gives free pages back to the system until at most `limit` bytes are kept, from the largest free places.
    void drop(std::size_t limit);
    /// Bytes of free pages in memory.
    [[nodiscard]] std::size_t kept() const { return kept_; }

  private:
    struct Free {
        std::size_t size;
        bool in_memory;
    };
    using Place = std::map<char*, Free>::iterator;
    /// Free places without a gap between them.
    struct Stretch {
        char* first = nullptr;
        std::size_t size = 0;
        std::size_t in_memory = 0;
    };

    [[nodiscard]] Place smallest_in_memory(std::size_t size);
    [[nodiscard]] Stretch best_stretch(std::size_t size) const;
    [[nodiscard]] std::size_t in_memory(const char* first, std::size_t size) const;
    void add(char* first, Free free);
    void remove(char* first, std::size_t size);
    void reserve(std::size_t size);

    std::map<char*, Free> free_;  // by address; two neighbours differ in in_memory
    std::size_t kept_ = 0, reserved_ = 0;
};

}  // namespace ulp
