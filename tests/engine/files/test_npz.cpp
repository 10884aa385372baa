// .npz archives of others: stored, deflated, damaged and hostile.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <span>
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
