// A class as it is handed in: a folder of folders, Canvas's or Gradescope's download, archives inside; the roster and
// the rules beside it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/course/exercise.hpp"

namespace ulp::course {

/// What students see of the tests in results.json and grade.txt.
enum class Visibility { all, failed, none };

/// class.json in the folder of the class: {"exercises": ["add_halves"], "assignment": "Halves (4711)",
/// "due": "2026-11-27T23:59:00Z", "late": {"percent_a_day": 10, "days": 3}, "secret": "...", "visible": "failed",
/// "visible_from": "2026-12-01", "similar": 0.9}. Each setting may be left out.
struct ClassRules {
    std::vector<std::string> exercises{};
    std::string assignment = "ulplab";  // the column in the learning platform
    std::optional<std::int64_t> due{};  // seconds since 1970
    double percent_a_day = 0;           // of the points, for each day begun after `due`
    int days = 0;                       // later than that earns nothing; 0: no such end
    std::string secret{};               // gives every student hidden tests of his own; "": one seed for all
    Visibility visible = Visibility::all;
    double similar = 0.8;  // pairs of submissions that share at least this part are listed
};

/// A row of roster.csv (columns id, name, email, section; sis_user_id, sis_login_id; days_late), or Canvas's gradebook.
struct Student {
    std::string id{}, name{}, email{}, section{}, sis_user_id{}, sis_login_id{};
    std::optional<int> days_late{};  // what the teacher says of it; goes before the dates
};

struct Submission {
    std::string name;  // of its folder, of Canvas's or Gradescope's number; names the folder of results
    Student student{};
    bool on_roster = false;
    bool counts = true;  // false: the student has a later one
    int days_late = 0;
    std::map<std::string, std::filesystem::path, std::less<>> files{};  // by exercise
    std::vector<std::string> notes{};  // what a teacher is told of it, one sentence each
};

struct Class {
    ClassRules rules{};
    bool has_roster = false;
    std::vector<Submission> submissions{};  // by name; students of the roster without one come last, with no files
    std::vector<std::string> notes{};       // on files of nobody
};

/// Reads all of it. Archives and files under other names than the exercises' are copied into `work`. Whatever a student
/// handed in becomes files and notes; throws DataError for class.json and roster.csv.
Class read_class(const std::filesystem::path& folder, const std::filesystem::path& work);

/// One student's folder, for files and notes alone.
Submission read_submission(const std::filesystem::path& folder, const std::filesystem::path& work);

/// class.json and roster.csv; a file that is not there is empty. Throw DataError that names it.
ClassRules read_rules(const std::filesystem::path& file);
std::vector<Student> read_roster(const std::filesystem::path& file);
/// Seconds since 1970 of a date or time. Throws DataError for another text.
std::int64_t seconds_of(const std::string& text);

/// The seed of a student's hidden tests: the first 8 bytes of the HMAC-SHA256 (RFC 2104) of the id, big-endian.
std::uint64_t seed_of(const std::string& secret, const std::string& id);

/// Letters and digits alone, in lower case: "Add_Halves (1)" as "addhalves1". Bytes beyond ASCII are letters.
std::string plain(std::string_view text);

/// The rows of a CSV file (RFC 4180), with ',' or ';' between its fields.
std::vector<std::vector<std::string>> csv_rows(std::string_view text);

}  // namespace ulp::course
