// Submissions that must earn nothing, leave nothing and learn nothing: programs that do not end, that reach for files,
// processes and the network, that pretend to have answered, and that let the compiler do the exercise. @SECRET@ is a
// file that they may not read, @BAIT@ a folder in which they may not write.
#pragma once

#include <string>

namespace ulp::test {

/// What surrounds the body of a submission to an exercise.
struct Frame {
    const char* exercise;
    const char* extension;
    const char* head;
    const char* tail;
};
constexpr Frame decodes{"decode_half", ".cpp",
                        "#include \"exercise.hpp\"\nfloat value_of_half(std::uint16_t bits) {\n(void)bits;\n", "\n}\n"};
constexpr Frame rounds{"round_to_half", ".cpp",
                       "#include \"exercise.hpp\"\nstd::uint16_t half_from_single(float x) {\n", "\n}\n"};
constexpr Frame sums{"sum_without_swamping", ".cpp", "#include \"exercise.hpp\"\nfloat sum(const float* x, int n) {\n",
                     "\n}\n"};
constexpr Frame finds{"find_nan", ".py", "import os, sys\ndef find_first(operations):\n    ", "\n"};
// Programs that are written down whole.
constexpr Frame whole_decodes{"decode_half", ".cpp", "", ""}, whole_rounds{"round_to_half", ".cpp", "", ""};
constexpr Frame whole_adds{"add_halves", ".cpp", "", ""}, whole_fuses{"fuse_halves", ".cpp", "", ""};
constexpr Frame whole_finds{"find_nan", ".py", "", ""};

struct BadSubmission {
    const char* name;
    Frame frame;
    bool quick;          // one of the selection that every run of the tests tries
    const char* before;  // what stands above the frame: headers, templates, objects
    const char* body;

    [[nodiscard]] std::string program() const {
        const std::string above = before[0] == '\0' ? "" : std::string(before) + "\n";
        return above + frame.head + body + frame.tail;
    }
};

// clang-format off
/// Halves as doubles and back, rightly rounded: right answers that need no understanding of sums.
constexpr const char* in_double = R"(#include <cmath>
#include "exercise.hpp"
static double value(std::uint16_t x) {
    const int field = x >> 10 & 31, fraction = x & 1023;
    const double size = field == 31 ? (fraction ? NAN : INFINITY)
        : field == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, field - 25);
    return x & 0x8000 ? -size : size;
}
static std::uint16_t half(double x) {
    const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    const double size = std::fabs(x);
    if (std::isnan(x)) return 0x7E00;
    if (size >= 65520) return sign | 0x7C00;
    const int e = size < std::ldexp(1, -14) ? -14 : std::ilogb(size);
    const auto kept = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - e)));
    return static_cast<std::uint16_t>(sign | (kept + (e + 14) * 1024));
})";

constexpr BadSubmission bad_submissions[] = {
    {"endless templates", decodes, false, "template <int n> struct deep { static constexpr int value = deep<n + 1>::value; };",
     "return deep<0>::value;"},
    {"templates that double", decodes, false, R"(template <int a, int n> struct Bomb { Bomb<2 * a, n - 1> left; Bomb<2 * a + 1, n - 1> right; };
template <int a> struct Bomb<a, 0> {};)",
     "return sizeof(Bomb<0, 26>) == 1;"},
    {"an endless constant expression", decodes, false, "constexpr int count() { int n = 0; while (true) ++n; return n; }\nstatic_assert(count() == 0);",
     "return count();"},
    {"a file that includes itself", decodes, false, "#include __FILE__", "return 0;"},
    {"macros that double", decodes, false, R"(#define A 1+1+1+1+1+1+1+1
#define B A+A+A+A+A+A+A+A+A+A
#define C B+B+B+B+B+B+B+B+B+B
#define E C+C+C+C+C+C+C+C+C+C
#define F E+E+E+E+E+E+E+E+E+E
#define G F+F+F+F+F+F+F+F+F+F
#define H G+G+G+G+G+G+G+G+G+G
#define D H+H+H+H+H+H+H+H+H+H)",
     "int n = D; return n;"},
    {"a program of four gigabytes", decodes, false, "char big[4294967295u] = {1};", "return big[bits];"},
    {"a megabyte of errors", decodes, false, R"(#define e1 x
#define e10 e1 e1 e1 e1 e1 e1 e1 e1 e1 e1
#define e100 e10 e10 e10 e10 e10 e10
int f() { e100 e100 e100 })",
     "return e100(;"},
    {"/dev/zero included", decodes, false, R"(#include "/dev/zero")", "return 0;"},
    {"/dev/stdin included", decodes, true, R"(#include "/dev/stdin")", "return 0;"},
    {"a secret file included", decodes, true, R"(#include "@SECRET@")", "return 0;"},
    {"a secret file in a diagnostic", decodes, false, R"(#line 1 "@SECRET@")", "return nothing;"},
    {"__has_include asks for files", whole_decodes, false, "", R"(#include "exercise.hpp"
#if __has_include("@SECRET@")
#error found xyzzy
#endif
float value_of_half(std::uint16_t) { return 0; }
)"},
    {".incbin in an asm statement", decodes, true, R"(asm(".incbin \"@SECRET@\"");)", "return 0;"},
    {".incbin in pieces", decodes, false, R"(asm(".macro embed a b\n .\\a\\b \"@SECRET@\"\n.endm\nembed inc bin");)",
     "return 0;"},
    {".include in an asm statement", decodes, false, "", R"(asm(".include \"@SECRET@\""); return 0;)"},
    {".incbin in the name of a symbol", decodes, true, R"(float other() asm("other\n.incbin \"@SECRET@\"\n");)",
     "return other();"},
    {".incbin in the name of a section", decodes, false, R"(__attribute__((section(".data\n.incbin \"@SECRET@\"\n#"))) int here = 1;)",
     "return here;"},
    {"a secret embedded and thrown", decodes, false, R"(#include <stdexcept>
#include <string>
extern "C" char secret[];
asm(".data\nsecret: .incbin \"@SECRET@\"\n.text");)",
     "throw std::runtime_error(std::string(secret, 20));"},
    {"a file is read", decodes, true, "#include <fstream>\n#include <stdexcept>\n#include <string>",
     R"(std::ifstream f("@SECRET@"); std::string s; f >> s; throw std::runtime_error(s);)"},
    {"a file is read by a system call", decodes, false, "#include <stdexcept>\n#include <syscall.h>\n#include <unistd.h>",
     R"(char s[99]{}; read(static_cast<int>(syscall(SYS_openat, -100, "@SECRET@", 0)), s, 98); throw std::runtime_error(s);)"},
    {"a file is written", decodes, true, "#include <fstream>", R"(std::ofstream("@BAIT@/file") << 1; return 0;)"},
    {"a file is written before main", decodes, false, R"(#include <fstream>
std::ofstream file("@BAIT@/file");)",
     "return 0;"},
    {"a folder is made", decodes, false, R"(extern "C" int mkdir(const char*, unsigned);)", R"(mkdir("@BAIT@/folder", 0777); return 0;)"},
    {"the secret is removed", decodes, false, "#include <unistd.h>", R"(unlink("@SECRET@"); return 0;)"},
    {"the secret is renamed", decodes, false, "#include <cstdio>",
     R"(return static_cast<float>(rename("@SECRET@", "@BAIT@/file"));)"},
    {"the secret is truncated", decodes, false, "#include <unistd.h>",
     R"(return static_cast<float>(truncate("@SECRET@", 0));)"},
    {"fork", decodes, true, "#include <unistd.h>", "for (;;) fork();"},
    {"vfork", decodes, false, "#include <unistd.h>", "for (;;) vfork();"},
    {"clone3", decodes, false, "#include <syscall.h>\n#include <unistd.h>",
     "for (;;) syscall(SYS_clone3, nullptr, 0);"},
    {"a thread", decodes, false, "#include <thread>", "std::thread t([] { for (;;) {} }); t.detach(); return 0;"},
    {"system()", decodes, false, "#include <cstdlib>",
     R"(return static_cast<float>(std::system("touch @BAIT@/file"));)"},
    {"popen()", decodes, false, "#include <cstdio>", R"(return popen("cat @SECRET@", "r") ? 1 : 0;)"},
    {"another program in its place", decodes, false, "#include <unistd.h>",
     R"(char a[] = "sh", b[] = "-c", c[] = "touch @BAIT@/file"; char* l[] = {a, b, c, nullptr}; char* e[] = {nullptr}; execve("/bin/sh", l, e); return 0;)"},
    {"a socket", decodes, true, R"(extern "C" int socket(int, int, int);)",
     "return static_cast<float>(socket(2, 1, 0));"},
    {"io_uring", decodes, false, "#include <syscall.h>\n#include <unistd.h>",
     "char p[256]{}; return static_cast<float>(syscall(SYS_io_uring_setup, 8, p));"},
    {"the grader is killed", decodes, false, "#include <signal.h>\n#include <unistd.h>",
     "return static_cast<float>(kill(getppid(), SIGKILL));"},
    {"everyone is killed", decodes, false, "#include <signal.h>", "return static_cast<float>(kill(-1, SIGKILL));"},
    {"the grader is traced", decodes, false, "#include <unistd.h>\nextern \"C\" long ptrace(int, ...);",
     "return static_cast<float>(ptrace(16, getppid(), 0, 0));"},
    {"the grader's memory is read", decodes, false, "#include <unistd.h>\nstruct iovec { void* at; unsigned long size; };\nextern \"C\" long process_vm_readv(int, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);",
     "char s[8]; iovec a{s, 8}, b{reinterpret_cast<void*>(0x400000), 8}; return static_cast<float>(process_vm_readv(getppid(), &a, 1, &b, 1, 0));"},
    {"machine code made at run time", decodes, true, R"(extern "C" void* mmap(void*, unsigned long, int, int, int, long);)",
     "void* p = mmap(nullptr, 4096, 7, 0x22, -1, 0); return p != reinterpret_cast<void*>(-1);"},
    {"an endless loop", decodes, false, "", "for (volatile int i = 0;; i = i + 1) {}"},
    {"an endless loop that ignores its signal", decodes, false, "#include <signal.h>",
     "signal(SIGXCPU, SIG_IGN); for (volatile int i = 0;; i = i + 1) {}"},
    {"sleep", decodes, false, "#include <unistd.h>", "sleep(1000); return 0;"},
    {"a program that stops itself", decodes, false, "#include <signal.h>", "raise(SIGSTOP); return 0;"},
    {"memory without end", decodes, true, "#include <vector>",
     "static std::vector<char> v; for (;;) v.resize(v.size() + 1000000, 1);"},
    {"a stack without end", decodes, false, "",
     "volatile char big[10000]; big[0] = 1; return value_of_half(bits) + big[0];"},
    {"output without end", decodes, true, "#include <cstdio>", R"(for (;;) puts("more");)"},
    {"answers without end", decodes, false, "#include <unistd.h>",
     "static unsigned w[999]; for (;;) if (write(3, w, sizeof w) < 0) return 0;"},
    {"the answers are closed", decodes, false, "#include <unistd.h>", "close(3); return 0;"},
    {"the end without answers", decodes, true, "#include <unistd.h>",
     "const unsigned end[] = {0xFFFFFFFFu, 1, 0, 0}; (void)!write(3, end, sizeof end); _exit(0);"},
    {"many answers before main", decodes, false, R"(#include <unistd.h>
#include <vector>
int before = [] { std::vector<unsigned> w; for (int i = 0; i < 100000; ++i) { w.push_back(1); w.push_back(0); } w.insert(w.end(), {0xFFFFFFFFu, 1u, 0u, 0u}); (void)!write(3, w.data(), 4 * w.size()); _exit(0); return 0; }();)",
     "return 0;"},
    {"a wrong count of words", decodes, false, "#include <unistd.h>",
     "const unsigned w[] = {0xFFFFFFF0u}; (void)!write(3, w, 4); _exit(0);"},
    {"exit code 0", decodes, false, "#include <cstdlib>", "_Exit(0);"},
    {"a main of its own", decodes, false, "int main() {}", "return 0;"},
    {"the grader's own function", whole_decodes, false, "", R"(#include "exercise.hpp"
#include <vector>
namespace driver { std::vector<unsigned> answer(const std::vector<unsigned>&) { return {0}; } }
float value_of_half(std::uint16_t) { return 0; }
)"},
    {"an exception of no type", decodes, false, "", "throw 1;"},
    {"nothing", whole_decodes, false, "", ""},
    {"no text", whole_decodes, false, "", "\x7f" "ELF\x01\x02"},
    {"_Float16 rounds", rounds, true, "#include <cstring>",
     "const auto h = static_cast<_Float16>(x); std::uint16_t b; std::memcpy(&b, &h, 2); return b;"},
    {"_Float16 spelt by a macro", rounds, false, "#define JOIN(a, b) a##b\n#define NAME JOIN(_Flo, at16)\n#include <cstring>",
     "const auto h = static_cast<NAME>(x); std::uint16_t b; std::memcpy(&b, &h, 2); return b;"},
    {"a half by its mode", rounds, false, "typedef float Half __attribute__((mode(HF)));\n#include <cstring>",
     "const auto h = static_cast<Half>(x); std::uint16_t b; std::memcpy(&b, &h, 2); return b;"},
    {"_Float16 decodes", whole_decodes, true, "", R"(#include <cstring>
#include "exercise.hpp"
float value_of_half(std::uint16_t bits) { _Float16 h; std::memcpy(&h, &bits, 2); return h; }
)"},
    {"_Float16 adds", whole_adds, false, "", R"(#include <cstring>
#include "exercise.hpp"
std::uint16_t add(std::uint16_t a, std::uint16_t b) { _Float16 x, y; std::memcpy(&x, &a, 2); std::memcpy(&y, &b, 2); x += y; std::memcpy(&a, &x, 2); return a; }
)"},
    {"_Float16 and double fuse", whole_fuses, false, "", R"(#include <cstring>
#include "exercise.hpp"
static double d(std::uint16_t a) { _Float16 x; std::memcpy(&x, &a, 2); return x; }
std::uint16_t fuse(std::uint16_t a, std::uint16_t b, std::uint16_t c) { const auto r = static_cast<_Float16>(d(a) * d(b) + d(c)); std::memcpy(&a, &r, 2); return a; }
)"},
    {"F16C intrinsics", rounds, true, R"(#pragma GCC target("f16c")
#include <immintrin.h>
#include <cstring>)",
     "return static_cast<std::uint16_t>(_cvtss_sh(x, 0));"},
    {"an F16C builtin", whole_rounds, false, "", R"(#include "exercise.hpp"
typedef float V __attribute__((vector_size(16)));
__attribute__((target("f16c"))) std::uint16_t half_from_single(float x) { V v = {x, 0, 0, 0}; typedef short S __attribute__((vector_size(16))); S s = (S)__builtin_ia32_vcvtps2ph(v, 0); return static_cast<std::uint16_t>(s[0]); }
)"},
    {"an instruction by its name", rounds, true, "#include <cstring>",
     R"(unsigned r; asm("vmovss %1, %%xmm1\n vcvtps2ph $0, %%xmm1, %%xmm2\n vmovd %%xmm2, %0" : "=r"(r) : "m"(x) : "xmm1", "xmm2"); return static_cast<std::uint16_t>(r);)"},
    {"an instruction by its bytes", rounds, false, R"(__attribute__((section(".text"))) extern const unsigned char code[] = {0xC4, 0xE3, 0x79, 0x1D, 0xC0, 0x00, 0xC5, 0xF9, 0x7E, 0xC0, 0xC3};
#include <cstring>)",
     "return reinterpret_cast<std::uint16_t (*)(float)>(const_cast<unsigned char*>(code))(x);"},
    {"an instruction in the name of a symbol", rounds, false, R"(std::uint16_t call(float) asm("g\n vcvtps2ph $0, %xmm0, %xmm0\n");
#include <cstring>)",
     "return call(x);"},
    {"__float128 adds", sums, true, "",
     "__float128 s = 0; for (int i = 0; i < n; ++i) s += x[i]; return static_cast<float>(s);"},
    {"quad by its mode", sums, false, "typedef float Quad __attribute__((mode(TF)));",
     "Quad s = 0; for (int i = 0; i < n; ++i) s += x[i]; return static_cast<float>(s);"},
    {"long double adds", sums, true, "",
     "long double s = 0; for (int i = 0; i < n; ++i) s += x[i]; return static_cast<float>(s);"},
    {"a decimal format adds", sums, false, "typedef float _Dec __attribute__((mode(TD)));",
     "_Dec s = 0; for (int i = 0; i < n; ++i) s += static_cast<_Dec>(x[i]); return static_cast<float>(s);"},
    {"half a single sum", sums, false, "", "float s = 0; for (int i = 0; i < n; ++i) s += x[i]; return s;"},
    {"double fuses", whole_fuses, true, in_double,
     "std::uint16_t fuse(std::uint16_t a, std::uint16_t b, std::uint16_t c) { return half(value(a) * value(b) + value(c)); }"},
    {"the library fuses", whole_fuses, false, in_double,
     "std::uint16_t fuse(std::uint16_t a, std::uint16_t b, std::uint16_t c) { return half(std::fma(value(a), value(b), value(c))); }"},
    {"single and double fuse", whole_fuses, false, in_double,
     R"(std::uint16_t fuse(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
    const float product = static_cast<float>(value(a)) * static_cast<float>(value(b));
    return half(static_cast<double>(product) + value(c));
})"},
    {"long double fuses", whole_fuses, false, in_double,
     R"(std::uint16_t fuse(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
    return half(static_cast<double>(static_cast<long double>(value(a)) * value(b) + value(c)));
})"},
    {"double adds halves", whole_adds, true, in_double,
     "std::uint16_t add(std::uint16_t a, std::uint16_t b) { return half(value(a) + value(b)); }"},
    {"single adds halves", whole_adds, false, in_double,
     "std::uint16_t add(std::uint16_t a, std::uint16_t b) { return half(static_cast<float>(value(a)) + static_cast<float>(value(b))); }"},
    {"_Float16 and single add", whole_adds, false, "#include <cstring>\n#include \"exercise.hpp\"",
     R"(std::uint16_t add(std::uint16_t a, std::uint16_t b) {
    _Float16 x, y; std::memcpy(&x, &a, 2); std::memcpy(&y, &b, 2);
    x = static_cast<_Float16>(static_cast<float>(x) + static_cast<float>(y)); std::memcpy(&a, &x, 2); return a;
})"},
    {"pairs of vectors multiply", whole_fuses, false, "", R"(#include <emmintrin.h>
#include "exercise.hpp"
std::uint16_t fuse(std::uint16_t a, std::uint16_t b, std::uint16_t) { __m128 r = _mm_mul_ps(_mm_set1_ps(a), _mm_set1_ps(b)); return static_cast<std::uint16_t>(_mm_cvtss_f32(r)); }
)"},
    {"the public tests by heart", decodes, false, "",
     "switch (bits) { case 0x3C00: return 1; case 0xC000: return -2; case 0x7BFF: return 65504; default: return 0; }"},
    {"Python: a file is read", finds, true, "", R"(raise ValueError(open("@SECRET@").read()))"},
    {"Python: a file is written", finds, true, "", R"(open("@BAIT@/file", "w").write("x")
    return -1, "none")"},
    {"Python: a file beside it is written", finds, false, "",
     R"(open("driver.py", "w").write("x")
    return 0, "overflow")"},
    {"Python: system()", finds, true, "", R"(os.system("touch @BAIT@/file")
    return 0, "invalid")"},
    {"Python: fork", finds, false, "", "while True: os.fork()"},
    {"Python: a thread", finds, false, "",
     R"(import _thread
    _thread.start_new_thread(print, ())
    return 0, "none")"},
    {"Python: a socket", finds, false, "", R"(import socket
    socket.socket()
    return 0, "none")"},
    {"Python: a C library", finds, false, "",
     R"(import ctypes
    ctypes.CDLL(None).system(b"touch @BAIT@/file")
    return 0, "none")"},
    {"Python: the environment of the grader", finds, false, "",
     R"(raise ValueError(open("/proc/%d/environ" % os.getppid()).read()))"},
    {"Python: an endless loop", finds, false, "", "while True: pass"},
    {"Python: memory without end", finds, false, "", "x = [0]\n    while True: x += x"},
    {"Python: the end without answers", finds, true, "",
     R"(os.write(3, b"\xff" * 4 + b"\1\0\0\0" + b"\0" * 8)
    os._exit(0))"},
    {"Python: sys.exit()", finds, false, "", "sys.exit(0)"},
    {"Python: no function", whole_finds, false, "", "x = 1\n"},
    {"Python: no Python", whole_finds, false, "", "int main() {}\n"},
};
// clang-format on

/// Right programs that would earn all points, but for what stands above them: it reaches for what others wrote.
struct Borrowing {
    const char* exercise;  // with ".py": in Python
    bool quick;
    const char* above;
};

// clang-format off
constexpr Borrowing borrowings[] = {
    {"add_halves", true, "#include <eigen3/Eigen/Core>"},
    {"add_halves", false, "#include <eigen3/unsupported/Eigen/FFT>"},
    {"add_halves", false, "#include \"/usr/include/eigen3/Eigen/Core\""},
    {"add_halves", false, "#include \"/usr/include/../include/./eigen3/Eigen/Core\""},
    {"add_halves", false, "#include <../c++/12/../../eigen3/Eigen/Core>"},
    {"add_halves", false, "#define WHERE <eigen3/Eigen/Core>\n#include WHERE"},
    {"add_halves", false, "#if __has_include(<eigen3/Eigen/Core>)\n#include <eigen3/Eigen/Core>\n#else\n#error none\n#endif"},
    {"add_halves", false, "#include_next <eigen3/Eigen/Core>"},
    {"add_halves", false, "#import <eigen3/Eigen/Core>"},
    {"add_halves", false, "#include <boost/multiprecision/cpp_int.hpp>"},
    {"add_halves", false, "#include <softfloat/formats.hpp>"},
    {"add_halves", false, "#include <ulplab/softfloat/formats.hpp>"},
    {"add_halves", true, "#include <fmt/core.h>"},
    {"add_halves", false, "#include <zlib.h>"},
    {"add_halves", false, "#include <libdeflate.h>"},
    {"add_halves", false, "#include <nlohmann/json.hpp>"},
    {"add_halves", false, "#include <CLI/CLI.hpp>"},
    {"add_halves", false, "#include <doctest/doctest.h>"},
    {"add_halves", false, "#include <sys/mman.h>"},
    {"add_halves", false, "#include <sys/socket.h>"},
    {"add_halves", false, "#include <linux/bpf.h>"},
    {"add_halves", false, "#include <dlfcn.h>"},
    {"add_halves", false, "#include <spawn.h>"},
    {"add_halves", false, "#include \"driver.hpp\""},
    {"add_halves", false, "#include \"../adapter-add_halves/driver.hpp\""},
    {"find_nan.py", true, "import numpy"},
    {"find_nan.py", false, "import ulplab"},
    {"find_nan.py", false, "import torch"},
    {"find_nan.py", false, "import pip"},
    {"find_nan.py", false, "import yaml"},
    {"find_nan.py", false, "import sys\nsys.path += ['/usr/lib/python3/dist-packages', '/usr/local/lib/python3.11/dist-packages']\nimport numpy"},
    {"find_nan.py", false, "__import__('num' + 'py')"},
    {"find_nan.py", false, "import importlib\nimportlib.import_module('numpy')"},
    {"find_nan.py", true, "import importlib.util as u\ns = u.spec_from_file_location('json2', '/usr/lib/python3/dist-packages/yaml/__init__.py')\ns.loader.exec_module(u.module_from_spec(s))"},
    {"find_nan.py", false, "import sys\nsys.path.append('/usr/lib/python3/dist-packages')\nsys.stdlib_module_names = frozenset(['yaml', 'numpy'])\nimport yaml"},
    {"find_nan.py", false, "import site\nsite.main()\nimport numpy"},
    {"find_nan.py", true, "import ctypes"},
    {"find_nan.py", false, "import _ctypes"},
    {"find_nan.py", false, "import subprocess"},
    {"find_nan.py", false, "import multiprocessing"},
    {"find_nan.py", false, "import _posixsubprocess"},
    {"find_nan.py", false, "exec(open('/usr/share/doc/python3/copyright').read())"},
    {"find_nan.py", false, "import runpy\nrunpy.run_path('/usr/lib/python3/dist-packages/yaml/__init__.py')"},
    {"find_nan.py", false, "import os\nos.read(os.open('/usr/include/stdio.h', os.O_RDONLY), 1)"},
    {"find_nan.py", false, "import zipimport\nzipimport.zipimporter('/usr/share/python-wheels/numpy.whl')"},
};
// clang-format on

}  // namespace ulp::test
