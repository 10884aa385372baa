// A class as Canvas, Gradescope and teachers hand it over, and all that may be odd about it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/files/zip.hpp"
#include "experiments/course/course_files.hpp"
#include "experiments/course/grade_report.hpp"
#include "experiments/course/run_confined.hpp"
#include "experiments/course/submissions.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "softfloat/errors.hpp"
#include "tests/experiments/temporary_folder.hpp"
#include "tests/experiments/ulplab_program.hpp"

namespace {

using namespace ulp::course;
using ulp::test::TemporaryFolder;
namespace fs = std::filesystem;

struct Given {
    std::string path, content;
};

void write_all(const fs::path& place, const std::vector<Given>& files) {
    for (const Given& file : files) {
        fs::create_directories((place / file.path).parent_path());
        ulp::write_file(place / file.path, file.content);
    }
}

std::string zipped(const std::vector<Given>& files) {
    std::vector<ulp::ZippedFile> members;
    for (const Given& file : files) members.push_back({file.path, file.content});
    return ulp::zip_archive(members);
}

/// The class of these files; one that is empty is a folder of one student.
struct Read {
    explicit Read(const std::vector<Given>& files) {
        write_all(work / "all", files);
        all = read_class(work / "all", work / "unpacked");
    }
    [[nodiscard]] const Submission& of(const std::string& name) const {
        const auto found = std::ranges::find(all.submissions, name, &Submission::name);
        INFO(name, " of ", names());
        REQUIRE(found != all.submissions.end());
        return *found;
    }
    [[nodiscard]] std::string names() const {
        std::string text;
        for (const Submission& each : all.submissions) text += each.name + ";";
        return text;
    }
    /// The content of the file for an exercise; "none".
    [[nodiscard]] std::string file(const std::string& name, const char* exercise) const {
        const Submission& submission = of(name);
        const auto found = submission.files.find(exercise);
        return found == submission.files.end() ? "none" : ulp::read_file(found->second);
    }
    [[nodiscard]] std::string notes(const std::string& name) const {
        return fmt::format("{}", fmt::join(of(name).notes, "\n"));
    }

    TemporaryFolder work;
    Class all;
};

bool says(const std::string& text, const std::string& sentence) {
    INFO(text);
    CHECK(text.find(sentence) != std::string::npos);
    return text.find(sentence) != std::string::npos;
}

std::string solution_of(const char* exercise, const char* extension = ".cpp") {
    return ulp::read_file(fs::path(ULPLAB_SOLUTIONS) / exercise / (std::string("solution") + extension));
}

}  // namespace

TEST_CASE("Canvas's download is read as it is: flat files, late ones, resubmitted ones, archives") {
    const std::vector<Given> files = {
        {"lovelaceada_1001_5001_add_halves.cpp", "ada"},
        {"babbagecharles_LATE_1002_5002_add_halves-1.cpp", "charles 1"},
        {"babbagecharles_LATE_1002_5003_add_halves-2.cpp", "charles 2"},
        {"hopper_1003_5004_homework.zip",
         zipped({{"homework/find_nan/find_nan.py", "grace"}, {"homework/Add_Halves (1).cpp", "near"}})}};
    const auto check = [](const Read& read) {
        CHECK(read.all.submissions.size() == 3);
        CHECK(read.file("lovelaceada_1001", "add_halves") == "ada");
        CHECK(read.notes("lovelaceada_1001").empty());
        CHECK(read.file("babbagecharles_1002", "add_halves") == "charles 2");
        CHECK(read.of("babbagecharles_1002").days_late == 1);
        says(read.notes("babbagecharles_1002"), "add_halves-2.cpp is graded as add_halves.cpp");
        says(read.notes("babbagecharles_1002"), "add_halves-1.cpp is not graded: add_halves-2.cpp is");
        says(read.notes("babbagecharles_1002"), "late: 1 day counted, because Canvas says no more");
        CHECK(read.file("hopper_1003", "find_nan") == "grace");
        CHECK(read.file("hopper_1003", "add_halves") == "near");
        says(read.notes("hopper_1003"), "Add_Halves (1).cpp is graded as add_halves.cpp");
    };
    check(Read(files));
    check(Read({{"submissions.zip", zipped(files)}}));
}

TEST_CASE("Gradescope's export is read as it is: folders, who handed in, when, and teams") {
    const std::vector<Given> files = {
        {"assignment_7_export/submission_metadata.yml", R"(---
submission_11:
  :submitters:
  - :name: Ada Lovelace
    :sid: '1001'
    :email: ada@example.org
  - :name: "Grace <b>Hopper</b>, Jr"
    :sid: '1003'
    :email: grace@example.org
  :created_at: 2026-11-27 12:00:00.000000000 Z
  :history:
  - :created_at: 2026-11-20 12:00:00.000000000 Z
submission_12:
  :submitters:
  - :name: Charles Babbage
    :sid: '1002'
  :created_at: 2026-11-30 00:00:01.000000000 Z
submission_13:
  :submitters:
  - :name: Charles Babbage
    :sid: '1002'
  :created_at: 2026-11-25 10:00:00.000000000 -0800
)"},
        {"assignment_7_export/submission_11/add_halves.cpp", "team"},
        {"assignment_7_export/submission_12/add_halves.cpp", "charles again"},
        {"assignment_7_export/submission_13/src/add_halves.cpp", "charles"},
        {"class.json", R"({"due": "2026-11-27T23:59:00Z", "late": {"percent_a_day": 10, "days": 3}})"},
        {"roster.csv",
         "id;name;e-mail\n1001;Ada Lovelace;ada@example.org\n1002;\"Babbage, Charles\";\n1003;Grace "
         "Hopper;grace@example.org\n1004;Nobody;\n"}};
    const Read read(files);
    CHECK(read.names() == "submission_11;submission_11-2;submission_12;submission_13;Nobody;");
    CHECK(read.file("submission_11-2", "add_halves") == "team");
    CHECK(read.of("submission_11-2").student.name == "Grace Hopper");  // as on the roster
    CHECK(read.of("submission_11").days_late == 0);
    CHECK(read.of("submission_12").days_late == 3);
    CHECK(read.of("submission_12").counts);
    CHECK_FALSE(read.of("submission_13").counts);
    says(read.notes("submission_13"), "a second submission of Babbage, Charles: submission_12 counts");
    says(read.notes("submission_13"), "src/add_halves.cpp is graded as add_halves.cpp");
    says(read.notes("Nobody"), "is on the roster, and handed in nothing");
}

TEST_CASE("file names that are nearly an exercise's are used, and said") {
    struct Name {
        const char* path;
        const char* exercise;  // nullptr: of none
    };
    for (const Name& name : {Name{"add_halves.cpp", "add_halves"},
                             {"Add_Halves.cpp", "add_halves"},
                             {"add_halves (1).cpp", "add_halves"},
                             {"add-halves.cc", "add_halves"},
                             {"AddHalves.CPP", "add_halves"},
                             {"Copy of add_halves.cpp", "add_halves"},
                             {"add_halves - Copy.cpp", "add_halves"},
                             {"add_halvs.cpp", "add_halves"},
                             {"hw3_add_halves_final.cpp", "add_halves"},
                             {"add_halves/main.cpp", "add_halves"},
                             {"week 2/add_halves/add_halves.cpp", "add_halves"},
                             {"find_nan.py", "find_nan"},
                             {"add_halves.py", nullptr},
                             {"main.cpp", nullptr},
                             {"halves.cpp", nullptr},
                             {"test.cpp", nullptr},
                             {"add_halves/test.cpp", nullptr},
                             {"\xE4"
                              "dd_halves.cpp",
                              "add_halves"},
                             {"add_halves.cpp.txt", nullptr}}) {
        CAPTURE(std::string(name.path));
        const Read read({{std::string("Ada/") + name.path, "x"}});
        const bool exact =
            std::string_view(name.path) == "add_halves.cpp" || std::string_view(name.path) == "find_nan.py";
        const bool given = std::string_view(name.path).ends_with("test.cpp");
        CHECK(read.of("Ada").files.size() == (name.exercise == nullptr ? 0 : 1));
        if (name.exercise != nullptr) CHECK(read.file("Ada", name.exercise) == "x");
        CHECK(read.of("Ada").notes.size() == (exact || given ? 0 : 1));
        if (name.exercise == nullptr && !given) says(read.notes("Ada"), "of no exercise by its name");
    }
}

TEST_CASE("odd archives and files are each told in a sentence, and what can be graded is") {
    std::string damaged = zipped({{"add_halves.cpp", std::string(1000, 'x')}});
    damaged[damaged.size() / 3] = static_cast<char>(damaged[damaged.size() / 3] + 1);
    std::string encrypted = zipped({{"add_halves.cpp", "x"}});
    encrypted[encrypted.find("PK\x01\x02") + 8] = 1;
    const std::string exercise(course_file(exercise_by_name("add_halves"), "exercise.hpp"));
    const Read read(
        {{"Damaged.zip", damaged},
         {"Short.zip", damaged.substr(0, 50)},
         {"Text.zip", "no archive"},
         {"Empty.zip", zipped({})},
         {"Locked.zip", encrypted},
         {"Outside.zip", zipped({{"../../add_halves.cpp", "outside"}, {"/etc/find_nan.py", "root"}})},
         {"Windows.zip",
          zipped(
              {{"homework\\add_halves.cpp", "backslash"}, {"__MACOSX/._add_halves.cpp", "fork"}, {".DS_Store", "x"}})},
         {"Umlaut.zip", zipped({{"\x81"
                                 "bung/add_halves.cpp",
                                 "code page 437"},
                                {"\xC3\xBC/find_nan.py", "utf-8"}})},
         {"Nested.zip",
          zipped({{"a.zip", zipped({{"b.zip", zipped({{"add_halves.cpp", "deep"}})}})}, {"find_nan.py", "shallow"}})},
         {"Long.zip", zipped({{std::string(100000, 'a') + ".cpp", "x"}})},
         {"Lines.zip", zipped({{"metadata.yml", ":name: " + std::string(1000000, 'x')}, {"find_nan.py", "lines"}})},
         {"Swollen.zip", zipped({{"in.zip", zipped({{"notes.yml", std::string(65 << 20, 'x')}})}})},
         {"Wide/add_halves.cpp", std::string("\xFF\xFEi\0n\0t\0\xFC\0", 10)},
         {"Nothing/add_halves.cpp", ""},
         {"Last year/add_halves/exercise.hpp", "int add(int, int);\n"},
         {"Last year/add_halves/add_halves.cpp", "old"},
         {"This year/add_halves/exercise.hpp", exercise},
         {"This year/add_halves/add_halves.cpp", "new"},
         {"<b>Bob<b>, \"jr\"/find_nan.py", "bob"},
         {"Folders.zip", zipped({{"homework/", ""}})},
         {"Starter/find_nan/find_nan.cpp", std::string(course_file(exercise_by_name("find_nan"), "starter.cpp"))},
         {"Starter/find_nan/find_nan.py", "mine"},
         {"Starter/find_nan/test.cpp", "given"},
         {"Starter/pages/index.html", "given"},
         {"loose.txt", "x"}});
    says(read.notes("Folders"), "it holds no files");
    CHECK(read.file("Starter", "find_nan") == "mine");  // not the other language's starter
    CHECK(read.notes("Starter").empty());
    says(read.notes("Damaged"), "the archive Damaged.zip is not read: ");
    says(read.notes("Short"), "the archive Short.zip is not read: ");
    says(read.notes("Text"), "has no directory");
    says(read.notes("Empty"), "it holds no files");
    says(read.notes("Locked"), "add_halves.cpp is encrypted");
    CHECK(read.file("Outside", "add_halves") == "outside");
    CHECK(read.file("Outside", "find_nan") == "root");
    CHECK(read.file("Windows", "add_halves") == "backslash");
    CHECK(read.file("Umlaut", "add_halves") == "code page 437");
    CHECK(read.file("Umlaut", "find_nan") == "utf-8");
    CHECK(read.file("Nested", "add_halves") == "deep");
    CHECK(read.file("Wide", "add_halves") == "int?");
    says(read.notes("Long"), "a name inside is longer than 255 bytes");
    CHECK(read.file("Lines", "find_nan") == "lines");
    says(read.notes("Swollen"), "its files are more than 100 times as large as it is");
    says(read.notes("Wide"), "add_halves.cpp is in UTF-16 and is read as ASCII");
    says(read.notes("Nothing"), "add_halves.cpp is empty");
    says(read.notes("Last year"), "exercise.hpp is not that of this version of the course");
    CHECK(read.file("Last year", "add_halves") == "old");
    CHECK(read.notes("This year").empty());
    CHECK(read.file("<b>Bob<b>, \"jr\"", "find_nan") == "bob");
    CHECK(read.all.notes == std::vector<std::string>{"loose.txt is in no student's folder"});
    for (const Submission& each : read.all.submissions) {
        for (const std::string& note : each.notes) CHECK(note.find('\n') == std::string::npos);
    }
    const TemporaryFolder empty;
    CHECK_THROWS_AS(read_class(empty.path(), read.work / "unpacked too"), ulp::DataError);
}

TEST_CASE("students are found on the roster by id, e-mail or name, whichever is there") {
    const std::string roster =
        "\xEF\xBB\xBFStudent,ID,SIS User ID,SIS Login ID,Section,Days late\n    Points Possible,,,,,\n"
        "\"Lovelace, Ada\",1001,A1,ada,1,\n\"Babbage, Charles\",1002,A2,charles,1,2\n\"M\xC3\xBCller, "
        "J\xC3\xB6rg\",1003,A3,joerg,2,\n"
        "\"Smith, Ann\",1004,A4,ann1,2,\n\"Smith, Ann\",1005,A5,ann2,2,\n";
    const Read read({{"roster.csv", roster},
                     {"Ada Lovelace/add_halves.cpp", "x"},
                     {"1002/add_halves.cpp", "x"},
                     {"Ann Smith/add_halves.cpp", "x"},
                     {"Eve/add_halves.cpp", "x"},
                     {"m\xC3\xBCllerj\xC3\xB6rg_77_88_add_halves.cpp", "x"}});
    CHECK(read.of("Ada Lovelace").student.id == "1001");
    CHECK(read.of("Ada Lovelace").student.sis_user_id == "A1");
    CHECK(read.of("1002").student.name == "Babbage, Charles");
    CHECK(read.of("1002").days_late == 2);
    CHECK(read.of("m\xC3\xBCllerj\xC3\xB6rg_77").student.id == "1003");
    for (const char* name : {"Ann Smith", "Eve"}) {
        CHECK_FALSE(read.of(name).on_roster);
        says(read.notes(name), "the roster has no such student, or several");
    }
    CHECK(read.of("Smith, Ann").on_roster);  // handed in nothing
}

TEST_CASE("a class.json or roster.csv that is wrong is refused by name, with the remedy") {
    struct Wrong {
        const char* file;
        const char* content;
        const char* sentence;
    };
    for (const Wrong& wrong : {Wrong{"class.json", "due: tomorrow", "it is no JSON object"},
                               {"class.json", R"({"due": "tomorrow"})", "tomorrow is no time, such as"},
                               {"class.json", R"({"due": "2026-02-30"})", "2026-02-30 is no time"},
                               {"class.json", R"({"duo": 1})", "there is no setting duo"},
                               {"class.json", R"({"exercises": ["decode"]})", "there is no exercise \"decode\""},
                               {"class.json", R"({"exercises": 3})", "the value of exercises is of a wrong kind"},
                               {"class.json", R"({"secret": "short"})", "at least 16 characters"},
                               {"class.json", R"({"visible": "some"})", "visible is all, failed or none"},
                               {"class.json", R"({"late": {"percent_a_day": 101}})", "percent_a_day\": 0 to 100"},
                               {"class.json", R"({"late": {"percent": 10}})", "percent_a_day\": 0 to 100"},
                               {"class.json", R"({"similar": 0})", "similar is a number above 0"},
                               {"roster.csv", "number,who\n1,Ada\n", "a roster begins with its columns"},
                               {"roster.csv", "", "a roster begins with its columns"},
                               {"roster.csv", "id,name\n,Ada\n", "row 2: Ada has no id"},
                               {"roster.csv", "id,name\n1,Ada\n1,Bob\n", "row 3: the id 1 stands twice"},
                               {"roster.csv", "id,name,days_late\n1,Ada,two\n", "days_late is two"}}) {
        const TemporaryFolder work;
        write_all(work / "all", {{wrong.file, wrong.content}, {"Ada/add_halves.cpp", "x"}});
        CAPTURE(std::string(wrong.content));
        std::string text;
        try {
            read_class(work / "all", work / "unpacked");
        } catch (const ulp::DataError& error) {
            text = error.what();
        }
        says(text, wrong.file);
        says(text, wrong.sentence);
    }
}

TEST_CASE("a student's seed is the HMAC-SHA256 of RFC 4231, cases 1, 2 and 6") {
    CHECK(seed_of(std::string(20, '\x0b'), "Hi There") == 0xb0344c61d8db3853);
    CHECK(seed_of("Jefe", "what do ya want for nothing?") == 0x5bdcc146bf60754e);
    CHECK(seed_of(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First") ==
          0x60e431591ee0b67f);
}

TEST_CASE("one student's files may have near names as well, and an archive alone that is none is said") {
    const TemporaryFolder work;
    write_all(work / "student", {{"Find NaN (2).py", solution_of("find_nan", ".py")}, {"notes.pdf", "x"}});
    std::vector<std::string> grade = {
        "grade", "find_nan", "--student", (work / "student").string(), "--out", (work / "out").string()};
    if (!filter_available()) grade.emplace_back("--without-filter");
    const ulp::Finished graded = ulp::test::ulplab(grade);
    says(graded.output,
         "find_nan                 5 of 5\nnote: Find NaN (2).py is graded as find_nan.py\nnote: notes.pdf is of no "
         "exercise by its name\n");
    const Read read({{"class.zip", "no archive"}, {"Ada/find_nan.py", "x"}});
    says(read.notes("class"), "the archive class.zip is not read");
    write_all(work / "all", {{"submissions.zip", "no archive"}});
    CHECK_THROWS_AS(read_class(work / "all", work / "unpacked"), ulp::DataError);
}

TEST_CASE("a copy with other names, comments and lines is alike, another program is not") {
    const std::string program = solution_of("add_halves");
    std::string copy = "// my own work\n" + program;
    for (const auto& [from, to] : {std::pair{"fraction", "foo"},
                                   {"magnitude", "bar"},
                                   {"rounded", "baz"},
                                   {"\n", " \n\n"},
                                   {"// ", "/* */ // ha "}}) {
        for (std::size_t at = 0; (at = copy.find(from, at)) != std::string::npos; at += std::string_view(to).size())
            copy.replace(at, std::string_view(from).size(), to);
    }
    CHECK(copy != program);
    CHECK(similarity(program, copy) == 1);
    CHECK(similarity(program, solution_of("round_to_half")) < 0.3);
    CHECK(similarity(program, program, {program}) == 0);  // all of it was given
    CHECK(similarity(solution_of("find_nan", ".py"), solution_of("find_nan", ".py")) == 1);
    CHECK(similarity("int x;", "int x;") == 0);
}

TEST_CASE("a graded class: variants, late rule, gradebook, misconceptions, notes, and what students see") {
    std::string mistaken = solution_of("level_table");
    const std::string second = "{Cast::fp16, false, Choice::yes, Choice::yes";
    mistaken.replace(mistaken.find(second), second.size(), "{Cast::fp16, false, Choice::none, Choice::yes");
    const TemporaryFolder work;
    write_all(
        work / "all",
        {{"class.json",
          R"({"exercises": ["level_table", "find_nan"], "assignment": "Half, two", "late": {"percent_a_day": 10, "days": 2},
                                                "secret": "0123456789abcdef", "visible": "failed"})"},
         {"roster.csv",
          "id,name,email,section,days_late\n1,\"Lovelace, "
          "Ada\",ada@example.org,A,1\n2,=Bob,bob@example.org,A,3\n3,Carl,,B,\n"},
         {"Ada Lovelace/level_table.cpp", solution_of("level_table")},
         {"Ada Lovelace/find_nan.cpp", solution_of("find_nan")},
         {"bob@example.org/Level Table.cpp", mistaken},
         {"bob@example.org/find_nan.cpp", "// mine\n" + solution_of("find_nan")}});
    ClassOptions options{
        .grading = {.without_filter = !filter_available()}, .submissions = work / "all", .out = work / "out"};
    const GradedClass graded = grade_class(options);
    CHECK(ulp::read_file(work / "out/grades.csv") ==
          "student,level_table,find_nan,total\nAda Lovelace,5,5,10\nbob@example.org,3,5,8\nCarl,0,0,0\n");
    CHECK(ulp::read_file(work / "out/gradebook.csv") ==
          "Student,ID,SIS User ID,SIS Login ID,Section,\"Half, two\"\n    Points Possible,,,,,10\n"
          "\"Lovelace, Ada\",1,,ada@example.org,A,9\n'=Bob,2,,bob@example.org,A,0\nCarl,3,,,B,0\n");
    says(ulp::read_file(work / "out/misconceptions.csv"), "level_table,");
    says(ulp::read_file(work / "out/misconceptions.csv"), "lesson 11, The mixed-precision step");
    says(ulp::read_file(work / "out/similar.csv"), "find_nan,Ada Lovelace,bob@example.org,1.00");
    says(ulp::read_file(work / "out/notes.csv"), "bob@example.org,Level Table.cpp is graded as level_table.cpp");
    const std::string page = ulp::read_file(work / "out/class.html");
    for (const char* text :
         {"does not keep batch normalisation in fp32 at O2", "repeat lesson 11", "Level Table.cpp is graded as"})
        says(page, text);
    // Each has tests of his own, which the seed brings back.
    const auto seed = [&](const char* name) {
        return nlohmann::json::parse(ulp::read_file(work / "out" / name / "grade.json"))
            .at("seed")
            .get<std::uint64_t>();
    };
    CHECK(seed("Ada Lovelace") == seed_of("0123456789abcdef", "1"));
    CHECK(seed("bob@example.org") == seed_of("0123456789abcdef", "2"));
    const auto results = nlohmann::json::parse(ulp::read_file(work / "out/bob@example.org/results.json"));
    for (const auto& test : results.at("tests"))
        CHECK((test.at("visibility") == "hidden") == (test.at("status") == "passed"));
    says(results.at("output"), "Level Table.cpp is graded as");
    // Again: nobody is graded, and the tables are the same, misconceptions too.
    const std::string before = ulp::read_file(work / "out/misconceptions.csv");
    grade_class(options, [](const StudentGrade& grade) { CHECK((grade.resumed || grade.student == "Carl")); });
    CHECK(ulp::read_file(work / "out/misconceptions.csv") == before);
    CHECK(ulp::read_file(work / "out/class.html") == page);
    // Until a date nothing of the tests is seen.
    ulp::write_file(work / "all/class.json",
                    R"({"exercises": ["level_table"], "visible": "all", "visible_from": "2999-01-01"})");
    grade_class(options);
    CHECK(ulp::read_file(work / "out/bob@example.org/grade.txt") ==
          "note: Level Table.cpp is graded as level_table.cpp\nnote: late: 3 days counted\nlevel_table              3 "
          "of 5\n");
    const auto later = nlohmann::json::parse(ulp::read_file(work / "out/bob@example.org/results.json"));
    for (const auto& test : later.at("tests")) CHECK(test.at("visibility") == "hidden");
}

TEST_CASE("names with markup, commas and formulas stay text in every table and on the page") {
    const TemporaryFolder work;
    const std::string student = "+<b>x<b>,y";
    write_all(work / "all",
              {{"roster.csv", "id,name\n9,\"=<script>alert(1)</script>, \"\"jr\"\"\"\n"}, {student + "/<i>.cpp", "x"}});
    grade_class({.grading = {.without_filter = !filter_available()},
                 .exercises = {&exercise_by_name("find_nan")},
                 .submissions = work / "all",
                 .out = work / "out"});
    const std::string page = ulp::read_file(work / "out/class.html");
    CHECK(page.find("<b>x") == std::string::npos);
    CHECK(page.find("<script>alert") == std::string::npos);
    says(page, "+&lt;b&gt;x");
    says(ulp::read_file(work / "out/grades.csv"), "\"'+<b>x");
    says(ulp::read_file(work / "out/gradebook.csv"), "\"'" + std::string("=<script>alert(1)</script>, \"\"jr\"\"\",9"));
}

TEST_CASE("six students of Canvas's download are graded, and their planted mistakes counted") {
    const TemporaryFolder work;
    const std::string out = (work / "out").string();
    const std::string script = fs::path(__FILE__).parent_path() / "make_class.py";
    const ulp::Finished made = ulp::run_program(
        {"/usr/bin/python3", script, ULPLAB_SOLUTIONS, (work / "all").string(), "6", "find_nan", "level_table"});
    INFO(made.output);
    REQUIRE(made.exit_code == 0);
    std::vector<std::string> grade = {
        "grade", "--class", (work / "all").string(), "find_nan", "level_table", "--out", out, "--jobs", "2"};
    if (!filter_available()) grade.emplace_back("--without-filter");
    const ulp::Finished graded = ulp::test::ulplab(grade);
    INFO(graded.output);
    CHECK(graded.exit_code == 0);
    says(graded.output, "student000_1000         10 of 10\n");
    says(graded.output, "6 students: ");
    const std::string table = ulp::read_file(work / "out/misconceptions.csv");
    CHECK(std::ranges::count(table, '\n') - 1 == std::ranges::count(made.output, '\n'));
}
