#include <doctest/doctest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "engine/data/dataset.hpp"
#include "tests/shared_data.hpp"

namespace {

using namespace ulp;
namespace fs = std::filesystem;

std::string word(std::uint32_t x) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(x >> shift);
    return bytes;
}
std::string images(std::uint32_t count, std::uint32_t side) {
    std::string text = word(0x803) + word(count) + word(side) + word(side);
    for (std::uint32_t i = 0; i < count * side * side; ++i) text += static_cast<char>(i);
    return text;
}
std::string labels(std::uint32_t count) {
    std::string text = word(0x801) + word(count);
    for (std::uint32_t i = 0; i < count; ++i) text += static_cast<char>(i % 10);
    return text;
}

/// A folder of its own for a test, removed at the end.
struct Folder {
    fs::path path;
    explicit Folder(const std::string& name)
        : path(fs::temp_directory_path() /
               ("ulplab_idx_" + name + std::to_string(reinterpret_cast<std::uintptr_t>(this)))) {
        fs::create_directories(path);
    }
    ~Folder() { fs::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] fs::path write(const std::string& name, const std::string& bytes) const {
        std::ofstream(path / name, std::ios::binary) << bytes;
        return path / name;
    }
    [[nodiscard]] fs::path gzip(const std::string& name, const std::string& bytes) const {
        gzFile file = gzopen((path / name).c_str(), "wb");
        gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
        gzclose(file);
        return path / name;
    }
};

/// The message of the DataError that reading these bytes gives; empty without one.
std::string refusal(const std::string& image_bytes, const std::string& label_bytes) {
    const Folder folder("refusal");
    try {
        (void)read_idx(folder.write("images", image_bytes), folder.write("labels", label_bytes));
    } catch (const DataError& error) {
        return error.what();
    }
    return {};
}
bool says(const std::string& message, const std::string& what) { return message.find(what) != std::string::npos; }

TEST_CASE("idx files are read as they stand, gzipped or not") {
    const Folder folder("good");
    const Dataset plain = read_idx(folder.write("i", images(20, 8)), folder.write("l", labels(20)));
    const Dataset zipped = read_idx(folder.gzip("i.gz", images(20, 8)), folder.gzip("l.gz", labels(20)));
    CHECK(plain.size() == 20);
    CHECK(plain.height == 8);
    CHECK(plain.width == 8);
    CHECK(plain.pixels[65] == 65);
    CHECK(plain.labels[13] == 3);
    CHECK(zipped.digest() == plain.digest());
}

TEST_CASE("idx files that are not what they should be are refused with the reason") {
    CHECK(refusal(images(20, 8), labels(20)).empty());
    CHECK(says(refusal(labels(20), labels(20)), "magic number 0x00000801 where an idx file of images has 0x00000803"));
    CHECK(says(refusal(images(20, 8), images(20, 8)), "an idx file of labels has 0x00000801"));
    CHECK(says(refusal(images(20, 8), labels(19)), "20 images but"));
    CHECK(says(refusal(images(20, 8).substr(0, 1000), labels(20)), "ends too early"));
    CHECK(says(refusal(images(20, 8).substr(0, 10), labels(20)), "ends too early"));
    CHECK(says(refusal("", labels(20)), "ends too early"));
    CHECK(says(refusal(images(20, 8), labels(20).substr(0, 27)), "ends too early"));
    CHECK(says(refusal(images(20, 8) + "x", labels(20)), "more data than its header counts"));
    CHECK(says(refusal(word(0x803) + word(4) + word(0) + word(28), labels(4)), "images of 0 x 28 pixels"));
    std::string bad_label = labels(20);
    bad_label.back() = 11;
    CHECK(says(refusal(images(20, 8), bad_label), "label 11"));
    // A count beyond all memory must end as a file cut short, not as an attempt to allocate it.
    CHECK(says(refusal(word(0x803) + word(0xFFFFFFFF) + word(4096) + word(4096), word(0x801) + word(0xFFFFFFFF)),
               "ends too early"));
}

TEST_CASE("a gzip file cut short is refused") {
    const Folder folder("gzip");
    const fs::path good = folder.gzip("i.gz", images(200, 28));
    fs::resize_file(good, fs::file_size(good) / 2);
    CHECK_THROWS_AS((void)read_idx(good, folder.write("l", labels(200))), DataError);
}

TEST_CASE("an MNIST folder with only the t10k files is split four to one") {
    const Folder folder("t10k");
    (void)folder.gzip("t10k-images-idx3-ubyte.gz", images(50, 8));
    (void)folder.write("t10k-labels-idx1-ubyte", labels(50));
    const DataSplit split = read_mnist(folder.path);
    CHECK(split.train.size() == 40);
    CHECK(split.test.size() == 10);
    CHECK(split.test.labels[0] == 0);
    (void)folder.write("train-images-idx3-ubyte", images(30, 8));
    (void)folder.write("train-labels-idx1-ubyte", labels(30));
    CHECK(read_mnist(folder.path).train.size() == 30);
    CHECK(read_mnist(folder.path).test.size() == 50);
}

TEST_CASE("a folder without MNIST files is refused") {
    const Folder folder("none");
    CHECK_THROWS_AS((void)read_mnist(folder.path), DataError);
    CHECK_THROWS_AS((void)read_mnist(folder.path / "missing"), DataError);
    CHECK_THROWS_AS((void)read_idx(folder.path / "i", folder.path / "l"), DataError);
}

TEST_CASE("the real MNIST test set is read") {
    const auto folder = ulp::test::shared_folder("data/mnist");
    if (!folder) return;
    const DataSplit split = read_mnist(*folder);
    CHECK(split.train.size() == 8000);
    CHECK(split.test.size() == 2000);
    CHECK(split.train.height == 28);
    CHECK(split.train.labels[0] == 7);  // the first image of the test set is a 7, the second a 2
    CHECK(split.train.labels[1] == 2);
}

}  // namespace
