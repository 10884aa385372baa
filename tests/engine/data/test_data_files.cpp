#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "engine/data/data_files.hpp"
#include "tests/shared_data.hpp"

namespace {

using namespace ulp;
namespace fs = std::filesystem;

/// A file with these bytes, removed at the end.
struct File {
    fs::path path =
        fs::temp_directory_path() / ("ulplab_data_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
    explicit File(const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
    ~File() { fs::remove(path); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
};

std::string refusal(const std::string& bytes, const std::function<void(const fs::path&)>& read) {
    const File file(bytes);
    try {
        read(file.path);
    } catch (const DataError& error) {
        return error.what();
    }
    return {};
}
bool says(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

std::string cifar_record(char label) {
    std::string record(1, label);
    for (int i = 0; i < 3072; ++i) record += static_cast<char>(i / 1024 * 50 + i % 7);
    return record;
}

TEST_CASE("CIFAR-10's records are read, and files that are none are refused") {
    const File file(cifar_record(3) + cifar_record(9));
    const Dataset data = read_cifar10({file.path, file.path});
    CHECK(data.size() == 4);
    CHECK(data.labels[1] == 9);
    CHECK(data.features() == 3072);
    CHECK(data.pixels[3072 + 2048 + 5] == 100 + (2048 + 5) % 7);  // the blue plane of the second record
    const auto read = [](const fs::path& path) { (void)read_cifar10({path}); };
    CHECK(says(refusal(cifar_record(1).substr(1), read), "3072 bytes are no whole number of records of 3073"));
    CHECK(says(refusal("", read), "0 bytes"));
    CHECK(says(refusal(cifar_record(10), read), "record 0 has the label 10"));
    CHECK_THROWS_AS((void)read_cifar10({"/nonexistent"}), DataError);
}

TEST_CASE("PGM and PPM pictures are read with comments in their headers") {
    const File grey("P5\n# a comment\n3 2\n255\nabcdef");
    const Picture p = read_netpbm(grey.path);
    CHECK(p.channels == 1);
    CHECK(p.width == 3);
    CHECK(p.height == 2);
    CHECK(p.pixels[5] == 'f');
    const File colour("P6 2 1 255\nRGBrgb");
    const Picture c = read_netpbm(colour.path);
    CHECK(c.channels == 3);
    CHECK(std::string(c.pixels.begin(), c.pixels.end()) == "RrGgBb");
    const auto read = [](const fs::path& path) { (void)read_netpbm(path); };
    CHECK(says(refusal("P2 2 1 255\n1 2", read), "does not begin with P5 or P6"));
    CHECK(says(refusal("P5 x 1 255\n1", read), "its header is damaged"));
    CHECK(says(refusal("P5 2", read), "its header is damaged"));
    CHECK(says(refusal("P5 2 2 255\nabc", read), "cut short"));
    CHECK(says(refusal("P5 2 2 65535\nabcdefgh", read), "more than 255 levels"));
}

TEST_CASE("CSV tables are read, and lines that do not fit are named") {
    const File file("day,price,shop\r\n1,2.5,-3\r\n2, 1e3 ,4\r\n");
    const Table table = read_csv(file.path);
    CHECK(table.columns == std::vector<std::string>{"day", "price", "shop"});
    CHECK(table.rows.rows() == 2);
    CHECK(table.rows(1, 1) == 1000.0F);
    CHECK(table.rows(0, 2) == -3.0F);
    const auto read = [](const fs::path& path) { (void)read_csv(path); };
    CHECK(says(refusal("a,b\n1,2\n3\n", read), "line 3: 1 fields where the header names 2 columns"));
    CHECK(says(refusal("a,b\n1,red\n", read), "line 2: 'red' is no number"));
    CHECK(says(refusal("", read), "it is empty"));
}

TEST_CASE("texts become tokens, one for each character that occurs") {
    const File file("banana");
    const CharacterText text = read_characters(file.path);
    CHECK(text.alphabet == "abn");
    CHECK(text.tokens == std::vector<int>{1, 0, 2, 0, 2, 0});
    CHECK(says(refusal("", [](const fs::path& path) { (void)read_characters(path); }), "the text is empty"));
    if (const auto folder = ulp::test::shared_folder("data")) {
        const CharacterText shakespeare = read_characters(*folder / "tinyshakespeare.txt");
        CHECK(shakespeare.alphabet.size() == 65);
        CHECK(shakespeare.tokens.size() == 1115394);
    }
}

}  // namespace
