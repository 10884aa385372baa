// What the fuzzer found worth keeping, loaded again: hostile, cut short and whole files.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fuzz/loaders.hpp"

namespace {

using namespace ulp;
namespace fs = std::filesystem;

std::vector<std::string> corpus_of(const fuzz::Loader& loader) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(fs::path(ULPLAB_FUZZ_CORPUS) / loader.name)) {
        files.push_back(entry.path());
    }
    std::ranges::sort(files);
    std::vector<std::string> contents;
    for (const fs::path& file : files) {
        std::ostringstream bytes;
        bytes << std::ifstream(file, std::ios::binary).rdbuf();
        contents.push_back(bytes.str());
    }
    return contents;
}

long peak_kilobytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

}  // namespace

TEST_CASE("every file of the fuzzer's corpus is loaded or refused with a sentence, in little memory") {
    const long before = peak_kilobytes();
    for (const fuzz::Loader& loader : fuzz::loaders()) {
        CAPTURE(std::string(loader.name));
        const std::vector<std::string> corpus = corpus_of(loader);
        CHECK(corpus.size() >= 3);
        for (std::size_t i = 0; i < corpus.size(); ++i) {
            CAPTURE(i);
            CHECK_NOTHROW(loader.load(corpus[i]));
        }
    }
    CHECK(peak_kilobytes() - before < 64 * 1024);
}

TEST_CASE("files of the corpus that are cut short anywhere, or have one byte changed, are loaded or refused") {
    for (const fuzz::Loader& loader : fuzz::loaders()) {
        CAPTURE(std::string(loader.name));
        for (const std::string& bytes : corpus_of(loader)) {
            const std::size_t step = 1 + bytes.size() / 16;
            for (std::size_t at = 0; at < bytes.size(); at += step) {
                CAPTURE(at);
                CHECK_NOTHROW(loader.load(std::string_view(bytes).substr(0, at)));
                std::string changed = bytes;
                changed[at] = static_cast<char>(changed[at] ^ 0x81);
                CHECK_NOTHROW(loader.load(changed));
            }
        }
    }
}
