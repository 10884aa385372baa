// NumPy's files: what is written is read again, and what is not a good file is named.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/files/npy.hpp"
#include "softfloat/errors.hpp"

namespace fs = std::filesystem;

namespace {

class File {
  public:
    File() : path_(fs::temp_directory_path() / ("ulplab_test_npy_" + std::to_string(getpid()) + ".npy")) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { fs::remove(path_); }
    [[nodiscard]] const fs::path& path() const { return path_; }
    void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  private:
    fs::path path_;
};

/// A version 1 file with this dictionary and elements.
std::string npy(const std::string& dictionary, const std::string& elements) {
    const std::string header = dictionary + "\n";
    return std::string("\x93NUMPY\x01", 7) + '\0' + static_cast<char>(header.size() & 0xFF) +
           static_cast<char>(header.size() >> 8) + header + elements;
}

void check_refused(const File& file, const std::string& bytes, const char* message) {
    file.write(bytes);
    CAPTURE(message);
    CHECK_THROWS_WITH_AS(ulp::npy::read(file.path()), doctest::Contains(message), ulp::DataError);
}

}  // namespace

TEST_CASE("a matrix written is the matrix read") {
    const File file;
    const std::vector<float> elements{1.0F, -2.5F, 3.0F, 0.0F, 1e-40F, 6.0F};
    ulp::npy::write(file.path(), ulp::npy::matrix("<f4", 2, 3, elements));
    const ulp::npy::Array array = ulp::npy::read(file.path());
    CHECK(array.dtype == "<f4");
    CHECK(array.shape == std::vector<std::int64_t>{2, 3});
    CHECK_FALSE(array.fortran_order);
    REQUIRE(array.data.size() == 24);
    CHECK(std::memcmp(array.data.data(), elements.data(), 24) == 0);
    CHECK(fs::file_size(file.path()) == 128 + 24);  // NumPy aligns the elements to 64 bytes
    const std::string name = file.path().filename().string();
    int left = 0;
    for (const auto& entry : fs::directory_iterator(file.path().parent_path())) {
        left += entry.path().filename().string().starts_with(name) ? 1 : 0;
    }
    CHECK(left == 1);  // nothing temporary
}

TEST_CASE("other versions, Fortran order, scalars and empty arrays are read") {
    const File file;
    const std::string header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 1), }";
    file.write(std::string("\x93NUMPY\x02", 7) + '\0' + static_cast<char>(header.size()) + std::string(3, '\0') +
               header + "\x01\x02");
    const ulp::npy::Array array = ulp::npy::read(file.path());
    CHECK(array.fortran_order);
    CHECK(array.shape == std::vector<std::int64_t>{2, 1});
    file.write(npy("{'descr': '<f2', 'fortran_order': False, 'shape': (), }", "ab"));
    CHECK(ulp::npy::read(file.path()).size() == 1);
    file.write(npy("{'descr': '<f2', 'fortran_order': False, 'shape': (0, 7), }", ""));
    CHECK(ulp::npy::read(file.path()).size() == 0);
    file.write(npy("{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }", "ab"));
    CHECK(ulp::npy::read(file.path()).shape == std::vector<std::int64_t>{1});
    // A header whose length takes two bytes.
    file.write(npy("{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }" + std::string(300, ' '), "ab"));
    CHECK(ulp::npy::read(file.path()).size() == 1);
}

TEST_CASE("bad files are refused with the reason") {
    const File file;
    check_refused(file, "hello", "is not a .npy file");
    check_refused(file, std::string("\x93NUMPY\x01", 7), "truncated in its header");
    check_refused(file, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", "123456"),
                  "has 6 bytes of elements, its shape says 16; the file is truncated");
    check_refused(file, npy("{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }", "abcd"),
                  "has 4 bytes of elements, its shape says 2");
    check_refused(file, npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "abcd"), "is big-endian");
    check_refused(file, npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "abcd"),
                  "'<c8' is not read; supported are float16");
    check_refused(file, npy("{'descr': '|V2', 'fortran_order': False, 'shape': (1,), }", "ab"),
                  "array.view(numpy.uint8");
    check_refused(file, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 2), }", ""),
                  "malformed");
    check_refused(file, npy("{'descr': '<f4', 'shape': (1,), }", "abcd"), "fortran_order");
    check_refused(file, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }", "abcd"), "malformed");
    check_refused(file, npy("{'descr': '<f4', 'fortran_order': False, 'shape': ", "abcd"), "no shape");
    check_refused(file, std::string("\x93NUMPY\x09", 7) + std::string(10, '\0'), "version 9");
    fs::remove(file.path());
    CHECK_THROWS_WITH_AS(ulp::npy::read(file.path()), doctest::Contains("cannot be opened"), ulp::DataError);
    CHECK_THROWS_WITH_AS(ulp::npy::write("/nonexistent/a.npy", ulp::npy::matrix("<f4", 0, 0, std::vector<float>{})),
                         doctest::Contains("cannot be written"), ulp::DataError);
}

TEST_CASE("an array that would make a corrupt file is not written, and leaves the old file") {
    const File file;
    file.write("old");
    const auto check = [&](const ulp::npy::Array& array, const char* message) {
        CAPTURE(message);
        CHECK_THROWS_WITH_AS(ulp::npy::write(file.path(), array), doctest::Contains(message), ulp::DataError);
        CHECK(fs::file_size(file.path()) == 3);
    };
    const std::vector<float> two{1.0F, 2.0F};
    check(ulp::npy::matrix("<f4", 1, 3, two), "8 bytes do not fill the shape (1, 3) of type '<f4'");
    check(ulp::npy::matrix("<f2", 1, 2, two), "8 bytes do not fill the shape (1, 2) of type '<f2'");
    check(ulp::npy::matrix("<f4", -1, -2, two), "do not fill");
    check(ulp::npy::matrix("<f3", 1, 2, two), "there is no type '<f3'");
    ulp::npy::Array many{"<f4", std::vector<std::int64_t>(40'000, 1), false, std::vector<std::byte>(4)};
    check(many, "too many dimensions");
}

TEST_CASE("numbers are read from every type, exactly") {
    const File file;
    const auto read = [&](const std::string& dtype, const std::string& elements, int count) {
        file.write(
            npy("{'descr': '" + dtype + "', 'fortran_order': False, 'shape': (" + std::to_string(count) + ",), }",
                elements));
        return ulp::npy::read_numbers(file.path()).values;
    };
    CHECK(read("<f2", std::string("\x00\x3C\x01\x00\x00\xC0", 6), 3) == std::vector<double>{1.0, 0x1p-24, -2.0});
    CHECK(read("<f4", std::string("\x00\x00\x80\x3F", 4), 1) == std::vector<double>{1.0});
    CHECK(read("<f8", std::string("\x9A\x99\x99\x99\x99\x99\xB9\x3F", 8), 1) == std::vector<double>{0.1});
    CHECK(read("|i1", "\xFF\x7F", 2) == std::vector<double>{-1, 127});
    CHECK(read("|u1", "\xFF\x7F", 2) == std::vector<double>{255, 127});
    CHECK(read("<i2", "\xFE\xFF", 1) == std::vector<double>{-2});
    CHECK(read("<u2", "\xFE\xFF", 1) == std::vector<double>{65534});
    CHECK(read("<i4", "\xFE\xFF\xFF\xFF", 1) == std::vector<double>{-2});
    CHECK(read("<u4", "\xFE\xFF\xFF\xFF", 1) == std::vector<double>{4294967294.0});
    CHECK(read("<i8", "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 1) == std::vector<double>{-2});
    CHECK(read("<u8", std::string("\x00\x00\x00\x00\x00\x00\x20\x00", 8), 1) == std::vector<double>{0x1p53});
    CHECK_THROWS_WITH_AS(read("<i8", std::string("\x01\x00\x00\x00\x00\x00\x20\x00", 8), 1),
                         doctest::Contains("element 0 is an integer beyond 2^53"), ulp::DataError);
    CHECK(read("<i8", std::string("\x00\x00\x00\x00\x00\x00\xE0\xFF", 8), 1) == std::vector<double>{-0x1p53});
    CHECK_THROWS_WITH_AS(read("<i8", std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xDF\xFF", 8), 1),
                         doctest::Contains("beyond 2^53"), ulp::DataError);
    CHECK_THROWS_WITH_AS(read("<u8", std::string(8, '\xFF'), 1), doctest::Contains("beyond 2^53"), ulp::DataError);
    file.write(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 1), }", "ab"));
    CHECK(ulp::npy::read_numbers(file.path()).values == std::vector<double>{97, 98});
    CHECK(ulp::npy::Numbers{{2}, {3, -1}}.integers() == std::vector<int>{3, -1});
    CHECK_THROWS_AS((void)(ulp::npy::Numbers{{1}, {0.5}}.integers()), ulp::DataError);
}

TEST_CASE("a .npy file cut at any byte, or with any byte changed, is refused or read, never more") {
    const File file;
    const std::string good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", "12345678");
    int refused = 0, cut_refused = 0;
    const auto read = [&](const std::string& bytes, int& count) {
        file.write(bytes);
        try {
            (void)ulp::npy::read_numbers(file.path());
        } catch (const ulp::DataError&) {
            ++count;
        }
    };
    for (std::size_t i = 0; i < good.size(); ++i) {
        read(good.substr(0, i), cut_refused);
        for (const char byte : {'\0', '9', '-', '(', '\'', '\xFF'}) {
            std::string bytes = good;
            bytes[i] = byte;
            read(bytes, refused);
        }
    }
    CHECK(cut_refused == static_cast<int>(good.size()));
    CHECK(refused > static_cast<int>(good.size()));
}
