// Submissions that must earn nothing, leave nothing and learn nothing: programs that do not end, that reach for files,
// processes and the network, that pretend to have answered, and that let the compiler do the exercise. @SECRET@ is a file
// that they may not read, @BAIT@ a folder in which they may not write.
#pragma once

namespace ulp::test {

struct BadSubmission {
    const char* name;
    const char* exercise;
    const char* extension;
    bool quick;  // one of the selection that every run of the tests tries
    const char* program;
};

// clang-format off
constexpr BadSubmission bad_submissions[] = {
    {"endless templates", "decode_half", ".cpp", false,
     R"bad(template <int n> struct deep { static constexpr int value = deep<n + 1>::value; };
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return deep<0>::value;
}
)bad"},
    {"templates that double", "decode_half", ".cpp", false,
     R"bad(template <int a, int n> struct Bomb { Bomb<2 * a, n - 1> left; Bomb<2 * a + 1, n - 1> right; };
template <int a> struct Bomb<a, 0> {};
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return sizeof(Bomb<0, 26>) == 1;
}
)bad"},
    {"an endless constant expression", "decode_half", ".cpp", false,
     R"bad(constexpr int count() { int n = 0; while (true) ++n; return n; }
static_assert(count() == 0);
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return count();
}
)bad"},
    {"a file that includes itself", "decode_half", ".cpp", false,
     R"bad(#include __FILE__
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return 0;
}
)bad"},
    {"macros that double", "decode_half", ".cpp", false,
     R"bad(#define A 1+1+1+1+1+1+1+1
#define B A+A+A+A+A+A+A+A+A+A
#define C B+B+B+B+B+B+B+B+B+B
#define E C+C+C+C+C+C+C+C+C+C
#define F E+E+E+E+E+E+E+E+E+E
#define G F+F+F+F+F+F+F+F+F+F
#define H G+G+G+G+G+G+G+G+G+G
#define D H+H+H+H+H+H+H+H+H+H
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
int n = D; return n;
}
)bad"},
    {"a program of four gigabytes", "decode_half", ".cpp", false,
     R"bad(char big[4294967295u] = {1};
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return big[bits];
}
)bad"},
    {"a megabyte of errors", "decode_half", ".cpp", false,
     R"bad(#define e1 x
#define e10 e1 e1 e1 e1 e1 e1 e1 e1 e1 e1
#define e100 e10 e10 e10 e10 e10 e10
int f() { e100 e100 e100 }
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return e100(;
}
)bad"},
    {"/dev/zero included", "decode_half", ".cpp", false,
     R"bad(#include "/dev/zero"
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return 0;
}
)bad"},
    {"/dev/stdin included", "decode_half", ".cpp", true,
     R"bad(#include "/dev/stdin"
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return 0;
}
)bad"},
    {"a secret file included", "decode_half", ".cpp", true,
     R"bad(#include "@SECRET@"
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return 0;
}
)bad"},
    {"a secret file in a diagnostic", "decode_half", ".cpp", false,
     R"bad(#line 1 "@SECRET@"
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return nothing;
}
)bad"},
    {"__has_include asks for files", "decode_half", ".cpp", false,
     R"bad(#include "exercise.hpp"
#if __has_include("@SECRET@")
#error found xyzzy
#endif
float value_of_half(std::uint16_t) { return 0; }
)bad"},
    {".incbin in an asm statement", "decode_half", ".cpp", true,
     R"bad(asm(".incbin \"@SECRET@\"");
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return 0;
}
)bad"},
    {".incbin in pieces", "decode_half", ".cpp", false,
     R"bad(asm(".macro embed a b\n .\\a\\b \"@SECRET@\"\n.endm\nembed inc bin");
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return 0;
}
)bad"},
    {".include in an asm statement", "decode_half", ".cpp", false,
     R"bad(#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
asm(".include \"@SECRET@\""); return 0;
}
)bad"},
    {".incbin in the name of a symbol", "decode_half", ".cpp", true,
     R"bad(float other() asm("other\n.incbin \"@SECRET@\"\n");
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return other();
}
)bad"},
    {".incbin in the name of a section", "decode_half", ".cpp", false,
     R"bad(__attribute__((section(".data\n.incbin \"@SECRET@\"\n#"))) int here = 1;
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return here;
}
)bad"},
    {"a secret embedded and thrown", "decode_half", ".cpp", false,
     R"bad(#include <stdexcept>
#include <string>
extern "C" char secret[];
asm(".data\nsecret: .incbin \"@SECRET@\"\n.text");
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
throw std::runtime_error(std::string(secret, 20));
}
)bad"},
    {"a file is read", "decode_half", ".cpp", true,
     R"bad(#include <fstream>
#include <stdexcept>
#include <string>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
std::ifstream f("@SECRET@"); std::string s; f >> s; throw std::runtime_error(s);
}
)bad"},
    {"a file is read by a system call", "decode_half", ".cpp", false,
     R"bad(#include <fcntl.h>
#include <stdexcept>
#include <sys/syscall.h>
#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
char s[99]{}; read(static_cast<int>(syscall(SYS_openat, AT_FDCWD, "@SECRET@", 0)), s, 98); throw std::runtime_error(s);
}
)bad"},
    {"a file is written", "decode_half", ".cpp", true,
     R"bad(#include <fstream>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
std::ofstream("@BAIT@/file") << 1; return 0;
}
)bad"},
    {"a file is written before main", "decode_half", ".cpp", false,
     R"bad(#include <fstream>
std::ofstream file("@BAIT@/file");
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return 0;
}
)bad"},
    {"a folder is made", "decode_half", ".cpp", false,
     R"bad(#include <sys/stat.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
mkdir("@BAIT@/folder", 0777); return 0;
}
)bad"},
    {"the secret is removed", "decode_half", ".cpp", false,
     R"bad(#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
unlink("@SECRET@"); return 0;
}
)bad"},
    {"the secret is renamed", "decode_half", ".cpp", false,
     R"bad(#include <cstdio>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return static_cast<float>(rename("@SECRET@", "@BAIT@/file"));
}
)bad"},
    {"the secret is truncated", "decode_half", ".cpp", false,
     R"bad(#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return static_cast<float>(truncate("@SECRET@", 0));
}
)bad"},
    {"fork", "decode_half", ".cpp", true,
     R"bad(#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
for (;;) fork();
}
)bad"},
    {"vfork", "decode_half", ".cpp", false,
     R"bad(#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
for (;;) vfork();
}
)bad"},
    {"clone3", "decode_half", ".cpp", false,
     R"bad(#include <sys/syscall.h>
#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
for (;;) syscall(SYS_clone3, nullptr, 0);
}
)bad"},
    {"a thread", "decode_half", ".cpp", false,
     R"bad(#include <thread>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
std::thread t([] { for (;;) {} }); t.detach(); return 0;
}
)bad"},
    {"system()", "decode_half", ".cpp", false,
     R"bad(#include <cstdlib>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return static_cast<float>(std::system("touch @BAIT@/file"));
}
)bad"},
    {"popen()", "decode_half", ".cpp", false,
     R"bad(#include <cstdio>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return popen("cat @SECRET@", "r") ? 1 : 0;
}
)bad"},
    {"another program in its place", "decode_half", ".cpp", false,
     R"bad(#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
char a[] = "sh", b[] = "-c", c[] = "touch @BAIT@/file"; char* l[] = {a, b, c, nullptr}; char* e[] = {nullptr}; execve("/bin/sh", l, e); return 0;
}
)bad"},
    {"a socket", "decode_half", ".cpp", true,
     R"bad(#include <sys/socket.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return static_cast<float>(socket(AF_INET, SOCK_STREAM, 0));
}
)bad"},
    {"io_uring", "decode_half", ".cpp", false,
     R"bad(#include <sys/syscall.h>
#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
char p[256]{}; return static_cast<float>(syscall(SYS_io_uring_setup, 8, p));
}
)bad"},
    {"the grader is killed", "decode_half", ".cpp", false,
     R"bad(#include <signal.h>
#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return static_cast<float>(kill(getppid(), SIGKILL));
}
)bad"},
    {"everyone is killed", "decode_half", ".cpp", false,
     R"bad(#include <signal.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return static_cast<float>(kill(-1, SIGKILL));
}
)bad"},
    {"the grader is traced", "decode_half", ".cpp", false,
     R"bad(#include <sys/ptrace.h>
#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return static_cast<float>(ptrace(PTRACE_ATTACH, getppid(), 0, 0));
}
)bad"},
    {"the grader's memory is read", "decode_half", ".cpp", false,
     R"bad(#include <sys/uio.h>
#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
char s[8]; iovec a{s, 8}, b{reinterpret_cast<void*>(0x400000), 8}; return static_cast<float>(process_vm_readv(getppid(), &a, 1, &b, 1, 0));
}
)bad"},
    {"machine code made at run time", "decode_half", ".cpp", true,
     R"bad(#include <sys/mman.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
void* p = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); return p != MAP_FAILED;
}
)bad"},
    {"an endless loop", "decode_half", ".cpp", false,
     R"bad(#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
for (volatile int i = 0;; i = i + 1) {}
}
)bad"},
    {"an endless loop that ignores its signal", "decode_half", ".cpp", false,
     R"bad(#include <signal.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
signal(SIGXCPU, SIG_IGN); for (volatile int i = 0;; i = i + 1) {}
}
)bad"},
    {"sleep", "decode_half", ".cpp", false,
     R"bad(#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
sleep(1000); return 0;
}
)bad"},
    {"a program that stops itself", "decode_half", ".cpp", false,
     R"bad(#include <signal.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
raise(SIGSTOP); return 0;
}
)bad"},
    {"memory without end", "decode_half", ".cpp", true,
     R"bad(#include <vector>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
static std::vector<char> v; for (;;) v.resize(v.size() + 1000000, 1);
}
)bad"},
    {"a stack without end", "decode_half", ".cpp", false,
     R"bad(#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
volatile char big[10000]; big[0] = 1; return value_of_half(bits) + big[0];
}
)bad"},
    {"output without end", "decode_half", ".cpp", true,
     R"bad(#include <cstdio>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
for (;;) puts("more");
}
)bad"},
    {"answers without end", "decode_half", ".cpp", false,
     R"bad(#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
static unsigned w[999]; for (;;) if (write(3, w, sizeof w) < 0) return 0;
}
)bad"},
    {"the answers are closed", "decode_half", ".cpp", false,
     R"bad(#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
close(3); return 0;
}
)bad"},
    {"the end without answers", "decode_half", ".cpp", true,
     R"bad(#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
const unsigned end[] = {0xFFFFFFFFu, 1, 0, 0}; (void)!write(3, end, sizeof end); _exit(0);
}
)bad"},
    {"many answers before main", "decode_half", ".cpp", false,
     R"bad(#include <unistd.h>
#include <vector>
int before = [] { std::vector<unsigned> w; for (int i = 0; i < 100000; ++i) { w.push_back(1); w.push_back(0); } w.insert(w.end(), {0xFFFFFFFFu, 1u, 0u, 0u}); (void)!write(3, w.data(), 4 * w.size()); _exit(0); return 0; }();
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return 0;
}
)bad"},
    {"a wrong count of words", "decode_half", ".cpp", false,
     R"bad(#include <unistd.h>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
const unsigned w[] = {0xFFFFFFF0u}; (void)!write(3, w, 4); _exit(0);
}
)bad"},
    {"exit code 0", "decode_half", ".cpp", false,
     R"bad(#include <cstdlib>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
_Exit(0);
}
)bad"},
    {"a main of its own", "decode_half", ".cpp", false,
     R"bad(int main() {}
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
return 0;
}
)bad"},
    {"the grader's own function", "decode_half", ".cpp", false,
     R"bad(#include "exercise.hpp"
#include <vector>
namespace driver { std::vector<unsigned> answer(const std::vector<unsigned>&) { return {0}; } }
float value_of_half(std::uint16_t) { return 0; }
)bad"},
    {"an exception of no type", "decode_half", ".cpp", false,
     R"bad(#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
throw 1;
}
)bad"},
    {"nothing", "decode_half", ".cpp", false,
     R"bad()bad"},
    {"no text", "decode_half", ".cpp", false,
     "\x7f" "ELF\x01\x02"},
    {"_Float16 rounds", "round_to_half", ".cpp", true,
     R"bad(#include <cstring>
#include "exercise.hpp"
std::uint16_t half_from_single(float x) {
const auto h = static_cast<_Float16>(x); std::uint16_t b; std::memcpy(&b, &h, 2); return b;
}
)bad"},
    {"_Float16 spelt by a macro", "round_to_half", ".cpp", false,
     R"bad(#define JOIN(a, b) a##b
#define NAME JOIN(_Flo, at16)
#include <cstring>
#include "exercise.hpp"
std::uint16_t half_from_single(float x) {
const auto h = static_cast<NAME>(x); std::uint16_t b; std::memcpy(&b, &h, 2); return b;
}
)bad"},
    {"a half by its mode", "round_to_half", ".cpp", false,
     R"bad(typedef float Half __attribute__((mode(HF)));
#include <cstring>
#include "exercise.hpp"
std::uint16_t half_from_single(float x) {
const auto h = static_cast<Half>(x); std::uint16_t b; std::memcpy(&b, &h, 2); return b;
}
)bad"},
    {"_Float16 decodes", "decode_half", ".cpp", true,
     R"bad(#include <cstring>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) { _Float16 h; std::memcpy(&h, &bits, 2); return h; }
)bad"},
    {"_Float16 adds", "add_halves", ".cpp", false,
     R"bad(#include <cstring>
#include "exercise.hpp"
std::uint16_t add(std::uint16_t a, std::uint16_t b) { _Float16 x, y; std::memcpy(&x, &a, 2); std::memcpy(&y, &b, 2); x += y; std::memcpy(&a, &x, 2); return a; }
)bad"},
    {"_Float16 and double fuse", "fuse_halves", ".cpp", false,
     R"bad(#include <cstring>
#include "exercise.hpp"
static double d(std::uint16_t a) { _Float16 x; std::memcpy(&x, &a, 2); return x; }
std::uint16_t fuse(std::uint16_t a, std::uint16_t b, std::uint16_t c) { const auto r = static_cast<_Float16>(d(a) * d(b) + d(c)); std::memcpy(&a, &r, 2); return a; }
)bad"},
    {"F16C intrinsics", "round_to_half", ".cpp", true,
     R"bad(#pragma GCC target("f16c")
#include <immintrin.h>
#include <cstring>
#include "exercise.hpp"
std::uint16_t half_from_single(float x) {
return static_cast<std::uint16_t>(_cvtss_sh(x, 0));
}
)bad"},
    {"an F16C builtin", "round_to_half", ".cpp", false,
     R"bad(#include "exercise.hpp"
typedef float V __attribute__((vector_size(16)));
__attribute__((target("f16c"))) std::uint16_t half_from_single(float x) { V v = {x, 0, 0, 0}; typedef short S __attribute__((vector_size(16))); S s = (S)__builtin_ia32_vcvtps2ph(v, 0); return static_cast<std::uint16_t>(s[0]); }
)bad"},
    {"an instruction by its name", "round_to_half", ".cpp", true,
     R"bad(#include <cstring>
#include "exercise.hpp"
std::uint16_t half_from_single(float x) {
unsigned r; asm("vmovss %1, %%xmm1\n vcvtps2ph $0, %%xmm1, %%xmm2\n vmovd %%xmm2, %0" : "=r"(r) : "m"(x) : "xmm1", "xmm2"); return static_cast<std::uint16_t>(r);
}
)bad"},
    {"an instruction by its bytes", "round_to_half", ".cpp", false,
     R"bad(__attribute__((section(".text"))) extern const unsigned char code[] = {0xC4, 0xE3, 0x79, 0x1D, 0xC0, 0x00, 0xC5, 0xF9, 0x7E, 0xC0, 0xC3};
#include <cstring>
#include "exercise.hpp"
std::uint16_t half_from_single(float x) {
return reinterpret_cast<std::uint16_t (*)(float)>(const_cast<unsigned char*>(code))(x);
}
)bad"},
    {"an instruction in the name of a symbol", "round_to_half", ".cpp", false,
     R"bad(std::uint16_t call(float) asm("g\n vcvtps2ph $0, %xmm0, %xmm0\n");
#include <cstring>
#include "exercise.hpp"
std::uint16_t half_from_single(float x) {
return call(x);
}
)bad"},
    {"__float128 adds", "sum_without_swamping", ".cpp", true,
     R"bad(#include "exercise.hpp"
float sum(const float* x, int n) {
__float128 s = 0; for (int i = 0; i < n; ++i) s += x[i]; return static_cast<float>(s);
}
)bad"},
    {"quad by its mode", "sum_without_swamping", ".cpp", false,
     R"bad(typedef float Quad __attribute__((mode(TF)));
#include "exercise.hpp"
float sum(const float* x, int n) {
Quad s = 0; for (int i = 0; i < n; ++i) s += x[i]; return static_cast<float>(s);
}
)bad"},
    {"long double adds", "sum_without_swamping", ".cpp", true,
     R"bad(#include "exercise.hpp"
float sum(const float* x, int n) {
long double s = 0; for (int i = 0; i < n; ++i) s += x[i]; return static_cast<float>(s);
}
)bad"},
    {"a decimal format adds", "sum_without_swamping", ".cpp", false,
     R"bad(typedef float _Dec __attribute__((mode(TD)));
#include "exercise.hpp"
float sum(const float* x, int n) {
_Dec s = 0; for (int i = 0; i < n; ++i) s += static_cast<_Dec>(x[i]); return static_cast<float>(s);
}
)bad"},
    {"half a single sum", "sum_without_swamping", ".cpp", false,
     R"bad(#include "exercise.hpp"
float sum(const float* x, int n) {
float s = 0; for (int i = 0; i < n; ++i) s += x[i]; return s;
}
)bad"},
    {"pairs of vectors multiply", "fuse_halves", ".cpp", false,
     R"bad(#include <emmintrin.h>
#include "exercise.hpp"
std::uint16_t fuse(std::uint16_t a, std::uint16_t b, std::uint16_t) { __m128 r = _mm_mul_ps(_mm_set1_ps(a), _mm_set1_ps(b)); return static_cast<std::uint16_t>(_mm_cvtss_f32(r)); }
)bad"},
    {"the public tests by heart", "decode_half", ".cpp", false,
     R"bad(#include "exercise.hpp"
float value_of_half(std::uint16_t bits) {
(void)bits;
switch (bits) { case 0x3C00: return 1; case 0xC000: return -2; case 0x7BFF: return 65504; default: return 0; }
}
)bad"},
    {"Python: a file is read", "find_nan", ".py", true,
     R"bad(import os, sys
def find_first(operations):
    raise ValueError(open("@SECRET@").read())
)bad"},
    {"Python: a file is written", "find_nan", ".py", true,
     R"bad(import os, sys
def find_first(operations):
    open("@BAIT@/file", "w").write("x")
    return -1, "none"
)bad"},
    {"Python: a file beside it is written", "find_nan", ".py", false,
     R"bad(import os, sys
def find_first(operations):
    open("driver.py", "w").write("x")
    return 0, "overflow"
)bad"},
    {"Python: system()", "find_nan", ".py", true,
     R"bad(import os, sys
def find_first(operations):
    os.system("touch @BAIT@/file")
    return 0, "invalid"
)bad"},
    {"Python: fork", "find_nan", ".py", false,
     R"bad(import os, sys
def find_first(operations):
    while True: os.fork()
)bad"},
    {"Python: a thread", "find_nan", ".py", false,
     R"bad(import os, sys
def find_first(operations):
    import _thread
    _thread.start_new_thread(print, ())
    return 0, "none"
)bad"},
    {"Python: a socket", "find_nan", ".py", false,
     R"bad(import os, sys
def find_first(operations):
    import socket
    socket.socket()
    return 0, "none"
)bad"},
    {"Python: a C library", "find_nan", ".py", false,
     R"bad(import os, sys
def find_first(operations):
    import ctypes
    ctypes.CDLL(None).system(b"touch @BAIT@/file")
    return 0, "none"
)bad"},
    {"Python: the environment of the grader", "find_nan", ".py", false,
     R"bad(import os, sys
def find_first(operations):
    raise ValueError(open("/proc/%d/environ" % os.getppid()).read())
)bad"},
    {"Python: an endless loop", "find_nan", ".py", false,
     R"bad(import os, sys
def find_first(operations):
    while True: pass
)bad"},
    {"Python: memory without end", "find_nan", ".py", false,
     R"bad(import os, sys
def find_first(operations):
    x = [0]
    while True: x += x
)bad"},
    {"Python: the end without answers", "find_nan", ".py", true,
     R"bad(import os, sys
def find_first(operations):
    os.write(3, b"\xff" * 4 + b"\1\0\0\0" + b"\0" * 8)
    os._exit(0)
)bad"},
    {"Python: sys.exit()", "find_nan", ".py", false,
     R"bad(import os, sys
def find_first(operations):
    sys.exit(0)
)bad"},
    {"Python: no function", "find_nan", ".py", false,
     R"bad(x = 1
)bad"},
    {"Python: no Python", "find_nan", ".py", false,
     R"bad(int main() {}
)bad"},
};
// clang-format on

}  // namespace ulp::test
