// .npz archives of others: stored, deflated, damaged and hostile.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/files/npy.hpp"
#include "engine/files/stored_arrays.hpp"
#include "engine/files/whole_file.hpp"
#include "engine/tensor/random.hpp"
#include "softfloat/errors.hpp"
#include "tests/engine/files/zip_writer.hpp"

namespace {

using namespace ulp;
using test::zip_of;
namespace fs = std::filesystem;

struct File {
    fs::path path = fs::temp_directory_path() / ("ulplab_npz_" + std::to_string(::getpid()) + ".npz");
    File() = default;
    ~File() { fs::remove(path); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    void write(const std::string& bytes) const { replace_whole_file(path, bytes); }
    void refuses(const std::string& bytes, const char* why) const {
        write(bytes);
        CHECK_THROWS_WITH_AS(
            {
                for (const auto& row : stored_arrays(path)) (void)row.second.numbers();
            },
            doctest::Contains(why), DataError);
    }
};

template <class Element>
std::string npy_bytes(const char* type, const std::vector<Element>& elements) {
    const File file;
    npy::write(file.path, npy::matrix(type, 1, static_cast<std::int64_t>(elements.size()), elements));
    return read_whole_file(file.path);
}

const std::vector<float> some = {1.5F, -2, 0, 3e-40F};

TEST_CASE("arrays of an .npz archive, stored or deflated, come back by name") {
    const File file;
    const std::string floats = npy_bytes("<f4", some);
    const std::string doubles = npy_bytes("<f8", std::vector<double>{0.1, 2});
    const std::string integers = npy_bytes("<i8", std::vector<std::int64_t>{-3, 1 << 24});
    for (const bool deflate : {false, true}) {
        file.write(
            zip_of({{"a.weight.npy", floats, deflate}, {"b.npy", doubles, deflate}, {"c.npy", integers, deflate}}));
        const StoredArrays arrays = stored_arrays(file.path);
        REQUIRE(arrays.size() == 3);
        const StoredArray& a = arrays.at("a.weight");
        CHECK(a.type == "<f4");
        CHECK(a.exact);
        CHECK(a.shape == Shape{1, 4});
        CHECK(a.numbers() == some);
        CHECK_FALSE(arrays.at("b").exact);
        CHECK(arrays.at("b").numbers() == std::vector<float>{0.1F, 2});
        CHECK(arrays.at("c").numbers() == std::vector<float>{-3, 1 << 24});
    }
    file.write(zip_of({}));
    CHECK(stored_arrays(file.path).empty());
}

/// A .npy file of float32, with a header by hand.
std::string npy_of(const std::string& shape, bool fortran, const std::string& data) {
    std::string header =
        "{'descr': '<f4', 'fortran_order': " + std::string(fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
    header += std::string(63 - (10 + header.size()) % 64, ' ') + "\n";
    return std::string("\x93NUMPY\x01\x00", 8) + test::little_endian(header.size(), 2) + header + data;
}

std::string all_pieces(const StoredBytes& tensor) {
    std::string all;
    const PieceReader next = tensor.open();
    for (std::string_view piece = next(); !piece.empty(); piece = next()) {
        CHECK(piece.size() <= mapped_piece_size);
        all += piece;
    }
    return all;
}

TEST_CASE("tensors come in pieces and in C order, from .npy files and from archives, stored or deflated") {
    const File file;
    std::string in_order, fortran(48, '\0'), large;
    for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
            for (std::size_t k = 0; k < 2; ++k) {
                const auto x = static_cast<float>(100 * i + 10 * j + k);
                in_order += std::string(reinterpret_cast<const char*>(&x), 4);
                std::memcpy(&fortran[4 * (i + 2 * j + 6 * k)], &x, 4);
            }
        }
    }
    // Longer than one piece, and than what is inflated at once.
    std::uint64_t state = 1;
    while (large.size() < piece_size + (std::size_t{1} << 20)) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        large += test::little_endian(state >> 32, 4);
    }
    const std::string count = std::to_string(large.size() / 4);
    for (const bool deflate : {false, true}) {
        CAPTURE(deflate);
        const std::string archive = zip_of({{"f.npy", npy_of("(2, 3, 2)", true, fortran), deflate},
                                            {"c.npy", npy_of("(2, 3, 2)", false, in_order), deflate},
                                            {"large.npy", npy_of("(" + count + ",)", false, large), deflate}});
        file.write(archive);
        const std::vector<StoredBytes> tensors = stored_bytes(file.path);
        REQUIRE(tensors.size() == 3);
        CHECK(tensors[0].name == "f");
        CHECK(tensors[0].type == "<f4");
        CHECK(tensors[0].shape == Shape{2, 3, 2});
        CHECK(tensors[0].size == 48);
        CHECK(all_pieces(tensors[0]) == in_order);
        CHECK(all_pieces(tensors[1]) == in_order);
        CHECK(all_pieces(tensors[1]) == in_order);  // a second reader starts at the beginning, too
        CHECK(all_pieces(tensors[2]) == large);
        const StoredArrays arrays = stored_arrays(file.path);
        CHECK(arrays.at("f").numbers() == arrays.at("c").numbers());
        CHECK(arrays.at("c").numbers().at(3) == 11);
        std::string damaged = archive;
        char& last = damaged[damaged.find("PK\x01\x02") - 1];  // of the last array
        last = static_cast<char>(last ^ 1);
        file.write(damaged);
        CHECK_THROWS_AS(all_pieces(stored_bytes(file.path).at(2)), DataError);
        CHECK(all_pieces(stored_bytes(file.path).at(0)) == in_order);
    }
    const std::string alone = npy_of("(2, 3, 2)", true, fortran);
    file.write(alone);
    CHECK(all_pieces(stored_bytes(file.path).at(0)) == in_order);
    file.write(npy_of("(" + count + ",)", false, large));
    CHECK(all_pieces(stored_bytes(file.path).at(0)) == large);
    for (const std::string& wrong : {alone.substr(0, alone.size() - 1), alone + "x"}) {
        file.write(wrong);
        CHECK_THROWS_AS(stored_bytes(file.path), DataError);
    }
    file.write(zip_of({{"f.npy", alone + "x"}}));
    CHECK_THROWS_AS(stored_bytes(file.path), DataError);
    // Zeros shrink a thousand times: up to 64 MiB they are read, and not a byte beyond.
    const auto zeros = [](std::size_t size) {
        const std::string shape = "(" + std::to_string((size - 128) / 4) + ",)";
        return zip_of({{"z.npy", npy_of(shape, false, std::string(size - 128, '\0')), true}});
    };
    file.write(zeros(std::size_t{1} << 26));
    CHECK(stored_bytes(file.path).at(0).size == (std::size_t{1} << 26) - 128);
    file.refuses(zeros((std::size_t{1} << 26) + 1), "more than 100 times");
}

TEST_CASE("archives with sizes and places of 64 bits are read, and fp32 holds all numbers of at most 16 bits") {
    const File file;
    const std::vector<std::pair<std::string, std::string>> members = {
        {"half.npy", npy_bytes("<f2", std::vector<std::uint16_t>{0x3C00, 0xC000})},
        {"byte.npy", npy_bytes("|i1", std::vector<std::int8_t>{-3, 7})},
        {"word.npy", npy_bytes("<i4", std::vector<std::int32_t>{5, -6})}};
    const auto archive = [&](std::size_t extra_size) {
        std::string content, directory;
        for (const auto& [name, data] : members) {
            const std::string one = zip_of({{name, data}});
            const std::size_t entry = one.find("PK\x01\x02");
            std::string row = one.substr(entry, 46 + name.size());
            row.replace(20, 8, 8, '\xFF').replace(42, 4, 4, '\xFF').replace(30, 2, test::little_endian(40, 2));
            // Behind another field, of 8 bytes.
            directory += row + test::little_endian(0x9999, 2) + test::little_endian(8, 2) + "8 bytes." +
                         test::little_endian(1, 2) + test::little_endian(extra_size, 2) +
                         test::little_endian(data.size(), 8) + test::little_endian(data.size(), 8) +
                         test::little_endian(content.size(), 8);
            content += one.substr(0, entry);
        }
        const std::string wide = "PK\x06\x06" + test::little_endian(44, 8) + std::string(12, '\0') +
                                 test::little_endian(3, 8) + test::little_endian(3, 8) +
                                 test::little_endian(directory.size(), 8) + test::little_endian(content.size(), 8);
        const std::string locator = "PK\x06\x07" + test::little_endian(0, 4) +
                                    test::little_endian(content.size() + directory.size(), 8) +
                                    test::little_endian(1, 4);
        return content + directory + wide + locator + "PK\x05\x06" + std::string(4, '\0') + std::string(12, '\xFF') +
               std::string(2, '\0');
    };
    file.write(archive(24));
    const StoredArrays arrays = stored_arrays(file.path);
    REQUIRE(arrays.size() == 3);
    CHECK(arrays.at("half").numbers() == std::vector<float>{1, -2});
    CHECK(arrays.at("byte").numbers() == std::vector<float>{-3, 7});
    CHECK(arrays.at("word").numbers() == std::vector<float>{5, -6});
    CHECK(arrays.at("half").exact);
    CHECK(arrays.at("byte").exact);
    CHECK_FALSE(arrays.at("word").exact);
    file.refuses(archive(23), "its sizes are malformed");
}

TEST_CASE("an .npz archive that is cut short anywhere, or damaged, is refused") {
    const File file;
    const std::string whole = zip_of({{"a.npy", npy_bytes("<f4", some)}, {"b.npy", npy_bytes("<f4", some), true}});
    for (std::size_t length = 2; length < whole.size(); ++length) {
        file.write(whole.substr(0, length));
        CHECK_THROWS_AS((void)stored_arrays(file.path), DataError);
    }
    Random random(1);
    for (int i = 0; i < 2000; ++i) {
        std::string text = whole;
        text[static_cast<std::size_t>(random.between(2, static_cast<std::int64_t>(whole.size()) - 1))] ^=
            static_cast<char>(1 << random.below(8));
        file.write(text);
        try {
            for (const auto& [name, array] : stored_arrays(file.path)) {
                const std::vector<float> numbers = array.numbers();
                CHECK(numbers.size() == 4);
            }
        } catch (const DataError&) {
        }
    }
}

TEST_CASE("hostile .npz archives are refused before anything large is made") {
    const File file;
    const std::string npy = npy_bytes("<f4", some);
    std::string huge = npy;
    huge.replace(huge.find("(1, 4)"), 6, "(1 << 6");
    file.refuses(zip_of({{"a.npy", huge}}), "shape");
    std::string claims = npy;
    claims.replace(claims.find("'shape': (1, 4), }             "), 31, "'shape': (1099511627775, 1), } ");
    file.refuses(zip_of({{"a.npy", claims, true}}), "does not fit its shape");
    file.refuses(zip_of({{"a.npy", npy}, {"a.npy", npy}}), "a stands twice");
    file.refuses(zip_of({{"a.txt", npy}}), "is not a .npy file");
    std::string whole = zip_of({{"a.npy", npy, true}});
    const std::size_t directory = whole.rfind("PK\x01\x02");
    const auto changed = [&](std::size_t at, const std::string& bytes) {
        std::string text = whole;
        return text.replace(directory + at, bytes.size(), bytes);
    };
    file.refuses(changed(24, test::little_endian(0xFFFFFF00, 4)), "claims 4294967040 bytes");
    file.refuses(changed(24, test::little_endian(npy.size() + 1, 4)), "a.npy is damaged");
    file.refuses(changed(16, "wrng"), "the checksum of a.npy is wrong");
    file.refuses(changed(8, "\x01"), "is encrypted");
    file.refuses(changed(10, test::little_endian(12, 2)), "compressed by method 12");
    file.refuses(changed(42, test::little_endian(0xFFFFFFFE, 4)), "cut short");
    // Two names for the same bytes.
    whole = zip_of({{"a.npy", npy}, {"b.npy", npy}});
    const std::size_t second = whole.rfind("PK\x01\x02");
    file.refuses(std::string(whole).replace(second + 42, 4, test::little_endian(0, 4)), "overlap");
    file.refuses("PK but no archive", "has no directory");
    file.refuses("neither of the two", "safetensors");
}

}  // namespace
