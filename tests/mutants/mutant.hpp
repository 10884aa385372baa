// Included by the compiler before each source of the copy of the tree that mutants.py makes. The project holds none of
// it.
// ULPLAB_MUTANT=N chooses the wrong expression of mutant N. ULPLAB_MUTANTS_REACHED=FILE has a byte for each mutant that
// ran.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <type_traits>

namespace ulp {

struct Mutants {
    static constexpr int most = 65536;
    int chosen = -1;
    unsigned char own[most] = {};
    unsigned char* reached = own;
    Mutants() {
        if (const char* text = getenv("ULPLAB_MUTANT")) chosen = atoi(text);
        const char* file = getenv("ULPLAB_MUTANTS_REACHED");
        const int opened = file == nullptr ? -1 : open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (opened < 0 || ftruncate(opened, most) != 0) return;
        void* shared = mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
        if (shared != MAP_FAILED) reached = static_cast<unsigned char*>(shared);
        close(opened);
    }
    bool is(int number) {
        reached[number] = 1;
        return number == chosen;
    }
};
inline Mutants& mutants() {
    static Mutants all;
    return all;
}
constexpr bool mutant(int number) { return !std::is_constant_evaluated() && mutants().is(number); }

}  // namespace ulp
