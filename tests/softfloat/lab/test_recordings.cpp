// What the reader of recordings says about files that are missing, truncated or malformed. The sets here are made up
// for the reader; nothing is replayed.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "softfloat/errors.hpp"
#include "softfloat/lab/recordings.hpp"

namespace fs = std::filesystem;

namespace {

/// A folder with one well-formed set of two rows, removed at the end.
class Folder {
  public:
    Folder() : root_(fs::temp_directory_path() / ("ulplab_test_recordings_" + std::to_string(getpid()))) {
        fs::remove_all(root_);
        fs::create_directories(set());
        write("a_H100_fp16.txt", "3f800000 40000000 \n3f000000 00000000 \n");
        write("b_H100_fp16.txt", "3f800000 40000000 \n3f000000 00000000 \n");
        write("c_H100_fp32.txt", "00000000000000000000000000000000\n00111111100000000000000000000000\n");
        write("d_H100_fp32.txt", "01000000101000000000000000000000\n00111111101000000000000000000000\n");
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { fs::remove_all(root_); }

    void write(const std::string& name, const std::string& text) const { std::ofstream(set() / name) << text; }
    void remove(const std::string& name) const { fs::remove(set() / name); }
    [[nodiscard]] fs::path set() const { return root_ / "H100" / "fp16"; }
    [[nodiscard]] ulp::RecordedSet read() const { return ulp::read_recording(ulp::find_recordings(root_).at(0)); }

  private:
    fs::path root_;
};

void check_refused(const Folder& folder, const char* message) {
    CAPTURE(message);
    CHECK_THROWS_WITH_AS((void)folder.read(), doctest::Contains(message), ulp::DataError);
}

}  // namespace

TEST_CASE("a well-formed set is read and replayed") {
    const Folder folder;
    const ulp::RecordedSet set = folder.read();
    CHECK(set.gpu == "H100");
    CHECK(set.rows == 2);
    CHECK(set.products == 2);
    CHECK(set.a[1] == 0x4000);
    const auto result = ulp::replay(set, ulp::model_of(set)->model, false);
    CHECK(result.equal == 2);
}

TEST_CASE("a differing bit is reported with its row and both results") {
    const Folder folder;
    folder.write("d_H100_fp32.txt", "01000000101000000000000000000000\n00111111101000000000000000000001\n");
    const ulp::RecordedSet set = folder.read();
    const auto result = ulp::replay(set, ulp::model_of(set)->model, false);
    CHECK(result.equal == 1);
    REQUIRE(result.first.has_value());
    CHECK(result.first->row == 1);
    CHECK(result.first->expected == 0x3FA00001);
    CHECK(result.first->got == 0x3FA00000);
}

TEST_CASE("bad data is refused with the file, the line and the reason") {
    const Folder folder;
    folder.write("a_H100_fp16.txt", "3f800000 40000000\n3f000000\n");
    check_refused(folder, "a_H100_fp16.txt:2: the row has 1 words, the first row 2");
    folder.write("a_H100_fp16.txt", "3f800000 4000000g\n3f000000 00000000\n");
    check_refused(folder, "a_H100_fp16.txt:1: '4000000g' is not an fp32 word");
    folder.write("a_H100_fp16.txt", "3f800000 40000000\n3f000001 00000000\n");
    check_refused(folder, "a_H100_fp16.txt:2: product 0: the word is not a value of fp16");
    folder.write("a_H100_fp16.txt", "3f800000 40000000\n");
    check_refused(folder, "b_H100_fp16.txt: has 2 rows, a_H100_fp16.txt has 1; the set is truncated");
    folder.write("a_H100_fp16.txt", "");
    check_refused(folder, "a_H100_fp16.txt: holds no rows");
    folder.remove("a_H100_fp16.txt");
    check_refused(folder, "a_H100_fp16.txt: cannot be opened");
}

TEST_CASE("bad columns of c and d are refused") {
    const Folder folder;
    folder.write("c_H100_fp32.txt", "0000000000000000000000000000000\n00111111100000000000000000000000\n");
    check_refused(folder, "c_H100_fp32.txt:1: the row has 31 characters instead of 32 binary digits");
    folder.write("c_H100_fp32.txt", "00000000000000000000000000000002\n00111111100000000000000000000000\n");
    check_refused(folder, "c_H100_fp32.txt:1: '2' is not a binary digit");
    folder.write("c_H100_fp32.txt", "00000000000000000000000000000000\n");
    check_refused(folder, "c_H100_fp32.txt: has 1 rows, a_H100_fp16.txt has 2");
}

TEST_CASE("folders that hold no set are refused, GPUs without a model are told apart") {
    CHECK_THROWS_WITH_AS(ulp::find_recordings("/nonexistent"), doctest::Contains("no such folder"), ulp::DataError);
    const Folder folder;
    ulp::RecordedSet set = folder.read();
    set.gpu = "K80";
    CHECK_FALSE(ulp::model_of(set).has_value());
    set.gpu = "A30";
    CHECK(ulp::model_of(set)->row.key() == "sm_80:mma.fp16.fp32");
    set.gpu = "B200";
    set.input = "E4M3";
    CHECK(ulp::model_of(set)->row.key() == "sm_100:mma.e4m3.fp32");
    set.gpu = "L40S";
    CHECK(ulp::model_of(set)->row.key() == "sm_89:mma.e4m3.fp32");
}
