// NumPy's files: what is written is read again, and what is not a good file is named.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/io/npy.hpp"
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
    return std::string("\x93NUMPY\x01", 7) + '\0' + static_cast<char>(header.size()) + '\0' + header + elements;
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
    CHECK_FALSE(fs::exists(file.path().string() + ".tmp"));
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
                  "'<c8' is not one of");
    check_refused(file, npy("{'descr': '<f4', 'shape': (1,), }", "abcd"), "fortran_order");
    check_refused(file, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }", "abcd"), "malformed");
    check_refused(file, npy("{'descr': '<f4', 'fortran_order': False, 'shape': ", "abcd"), "no shape");
    check_refused(file, std::string("\x93NUMPY\x09", 7) + std::string(10, '\0'), "version 9");
    fs::remove(file.path());
    CHECK_THROWS_WITH_AS(ulp::npy::read(file.path()), doctest::Contains("cannot be opened"), ulp::DataError);
    CHECK_THROWS_WITH_AS(ulp::npy::write("/nonexistent/a.npy", ulp::npy::matrix("<f4", 0, 0, std::vector<float>{})),
                         doctest::Contains("cannot be written"), ulp::DataError);
}
