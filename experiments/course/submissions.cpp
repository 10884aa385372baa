#include "experiments/course/submissions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "engine/files/sha256.hpp"
#include "engine/files/zip.hpp"
#include "experiments/course/course_files.hpp"
#include "experiments/framework/exit_codes.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/errors.hpp"

namespace ulp::course {
namespace fs = std::filesystem;
namespace {

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

/// Letters and digits alone, in lower case: "Add_Halves (1)" as "addhalves1". Bytes beyond ASCII are letters.
std::string plain(std::string_view text) {
    std::string result;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 128 || std::isalnum(byte) != 0) result += static_cast<char>(std::tolower(byte));
    }
    return result;
}

/// Seconds since 1970 of "2026-11-27T23:59:00Z", "2026-11-27 23:59:00.0 -0800" or "2026-11-27"; UTC where it names no
/// other. Nothing for another text.
std::optional<std::int64_t> seconds_of(const std::string& text) {
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, zone_hours = 0, zone_minutes = 0;
    char sign = '+';
    const int read =
        std::sscanf(text.c_str(), "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d", &year, &month, &day, &hour, &minute, &second);
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    if ((read != 3 && read < 5) || !date.ok()) return std::nullopt;
    static const std::regex zone("([+-])(\\d\\d):?(\\d\\d)$");
    if (std::smatch match; read >= 5 && std::regex_search(text, match, zone)) {
        sign = *match[1].first;
        zone_hours = std::stoi(match[2]);
        zone_minutes = std::stoi(match[3]);
    }
    const std::int64_t offset = (sign == '-' ? -1 : 1) * (zone_hours * 3600 + zone_minutes * 60);
    return std::chrono::sys_days(date).time_since_epoch().count() * std::int64_t{86400} + hour * 3600 + minute * 60 +
           second - offset;
}

// --- class.json and roster.csv.

ClassRules rules_of(const fs::path& file) {
    ClassRules rules;
    if (!fs::exists(file)) return rules;
    const auto refuse = [&file](const std::string& why) { throw DataError(file.string() + ": " + why); };
    const auto json = nlohmann::json::parse(read_file(file), nullptr, false);
    if (!json.is_object()) refuse("it is no JSON object, such as {\"due\": \"2026-11-27T23:59:00Z\"}");
    std::string setting;
    try {
        for (const auto& [key, value] : json.items()) {
            setting = key;
            if (key == "exercises") {
                rules.exercises = value.get<std::vector<std::string>>();
                for (const std::string& name : rules.exercises) exercise_by_name(name);
            } else if (key == "assignment") {
                rules.assignment = value.get<std::string>();
            } else if (key == "due") {
                rules.due = seconds_of(value.get<std::string>());
                if (!rules.due) refuse("due is a time, such as 2026-11-27T23:59:00Z");
            } else if (key == "late") {
                rules.percent_a_day = value.value("percent_a_day", 0.0);
                rules.days = value.value("days", 0);
                const bool good = rules.percent_a_day >= 0 && rules.percent_a_day <= 100 && rules.days >= 0;
                if (!good) refuse("late is {\"percent_a_day\": 0 to 100, \"days\": a number of days}");
            } else if (key == "secret") {
                rules.secret = value.get<std::string>();
                if (rules.secret.size() < 16)
                    refuse("secret has at least 16 characters; `openssl rand -hex 16` makes one");
            } else if (key == "visible") {
                const auto name = value.get<std::string>();
                if (name != "all" && name != "failed" && name != "none") refuse("visible is all, failed or none");
                rules.visible = name == "all"      ? Visibility::all
                                : name == "failed" ? Visibility::failed
                                                   : Visibility::none;
            } else if (key == "visible_from") {
                const auto from = seconds_of(value.get<std::string>());
                if (!from) refuse("visible_from is a date, such as 2026-12-01");
                const auto now = std::chrono::system_clock::now().time_since_epoch();
                if (std::chrono::duration_cast<std::chrono::seconds>(now).count() < *from)
                    rules.visible = Visibility::none;
            } else if (key == "similar") {
                rules.similar = value.get<double>();
                if (!(rules.similar > 0 && rules.similar <= 1)) refuse("similar is a number above 0, at most 1");
            } else {
                refuse("there is no setting " + key +
                       "; there are exercises, assignment, due, late, secret, visible, "
                       "visible_from and similar");
            }
        }
    } catch (const nlohmann::json::exception&) {
        refuse("the value of " + setting + " is of a wrong kind; docs/exercises/README.md has an example");
    } catch (const UsageError& error) {
        refuse(error.what());
    }
    // "visible_from" is read after "visible", as the keys are sorted.
    return rules;
}

std::vector<Student> roster_of(const fs::path& file) {
    std::vector<Student> students;
    if (!fs::exists(file)) return students;
    const auto rows = csv_rows(read_file(file));
    static const std::map<std::string, std::string Student::*> columns = {{"id", &Student::id},
                                                                          {"sid", &Student::id},
                                                                          {"name", &Student::name},
                                                                          {"student", &Student::name},
                                                                          {"email", &Student::email},
                                                                          {"section", &Student::section},
                                                                          {"sections", &Student::section},
                                                                          {"sisuserid", &Student::sis_user_id},
                                                                          {"sisloginid", &Student::sis_login_id}};
    std::vector<std::string> heading;
    if (!rows.empty()) {
        for (const std::string& name : rows.front()) heading.push_back(plain(name));
    }
    for (const char* needed : {"id", "name"}) {
        const auto says = [&](const std::string& column) {
            const auto known = columns.find(column);
            return known != columns.end() && known->second == columns.at(needed);
        };
        if (std::ranges::any_of(heading, says)) continue;
        throw DataError(fmt::format("{}: its first line names no column {}; a roster begins with id,name,email,section",
                                    file.string(), needed));
    }
    std::set<std::string> ids;
    for (std::size_t row = 1; row < rows.size(); ++row) {
        Student student;
        for (std::size_t i = 0; i < std::min(heading.size(), rows[row].size()); ++i) {
            const std::string& field = rows[row][i];
            if (const auto known = columns.find(heading[i]); known != columns.end()) student.*known->second = field;
            if (heading[i] != "dayslate" || field.empty()) continue;
            int days = 0;
            const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), days);
            if (error != std::errc() || end != field.data() + field.size() || days < 0) {
                throw DataError(fmt::format("{}, row {}: days_late is {}, not a number of days", file.string(), row + 1,
                                            shown(field)));
            }
            student.days_late = days;
        }
        // Canvas's gradebook has a row of the possible points, and a student of the teacher's own to try things.
        if (student.id.empty() &&
            (student.name.empty() || plain(student.name) == "pointspossible" || plain(student.name) == "studenttest"))
            continue;
        if (student.id.empty())
            throw DataError(fmt::format("{}, row {}: {} has no id", file.string(), row + 1, shown(student.name)));
        if (!ids.insert(student.id).second) {
            throw DataError(
                fmt::format("{}, row {}: the id {} stands twice", file.string(), row + 1, shown(student.id)));
        }
        students.push_back(std::move(student));
    }
    return students;
}

// --- All files, those inside of archives among them.

struct HandedIn {
    std::vector<std::string> path;  // folders, archives without ".zip", and the file's name
    fs::path place;                 // empty: only its name is known, or it could not be read
    std::string problem{};          // with an archive
};

/// The parts of a name with folders as any system writes it; none for a system's own files.
std::vector<std::string> parts_of(std::string name) {
    std::ranges::replace(name, '\\', '/');
    std::vector<std::string> parts;
    std::istringstream text(name);
    for (std::string part; std::getline(text, part, '/');) {
        if (part == "__MACOSX" || (part.starts_with('.') && part != "." && part != "..")) return {};
        if (!part.empty() && part != "." && part != "..") parts.push_back(part);
    }
    return parts;
}

std::string extension_of(const std::string& name) { return lower(fs::path(name).extension().string()); }
bool is_source(const std::string& name) {
    static const std::set<std::string> known = {".cpp", ".cc", ".cxx", ".c++", ".py"};
    return known.contains(extension_of(name));
}

class Unpacker {
  public:
    explicit Unpacker(fs::path work) : work_(std::move(work)) { fs::create_directories(work_); }

    void add(const fs::path& place, std::vector<std::string> path, int depth = 0) {
        if (path.empty()) return;
        if (extension_of(path.back()) != ".zip" || !fs::is_regular_file(fs::symlink_status(place))) {
            files.push_back({std::move(path), place});
            return;
        }
        const std::string archive = path.back();
        path.back() = archive.substr(0, archive.size() - 4);
        try {
            unpack(place, path, depth);
        } catch (const DataError& error) {
            const std::string text = error.what();
            const std::string named = place.string() + ": ";
            files.push_back({path,
                             {},
                             fmt::format("the archive {} is not read: {}", shown(archive),
                                         shown(text.starts_with(named) ? text.substr(named.size()) : text))});
        }
    }

    /// A new file of this content.
    fs::path keep(const std::string& extension, std::string_view content) {
        const fs::path place = work_ / fmt::format("{}{}", ++count_, extension);
        write_file(place, content);
        return place;
    }

    std::vector<HandedIn> files{};

  private:
    void unpack(const fs::path& place, const std::vector<std::string>& above, int depth) {
        constexpr std::size_t most_members = 20000;
        constexpr std::uint64_t most_bytes = std::uint64_t{1} << 28, most_source = (1 << 20) + 1;
        if (depth > 2) throw DataError("an archive in an archive in an archive is not opened");
        const ZipArchive archive(place);
        const auto members = archive.members();
        if (members.size() > most_members) throw DataError("it holds more than 20,000 files");
        if (members.empty()) throw DataError("it is empty");
        for (const ZipArchive::Member& member : members) {
            std::vector<std::string> path = parts_of(member.name);
            if (path.empty() || member.name.ends_with('/') || member.name.ends_with('\\')) continue;
            path.insert(path.begin(), above.begin(), above.end());
            const std::string extension = extension_of(path.back());
            if (extension == ".zip") {
                if (member.size > most_bytes) throw DataError("an archive inside is larger than 256 MiB");
                add(keep(".zip", archive.contents(member)), path, depth + 1);
            } else if (is_source(path.back()) || extension == ".hpp" || extension == ".yml") {
                const bool large = member.size > most_source && extension != ".yml";
                if (member.size > most_bytes) throw DataError("a file inside is larger than 256 MiB");
                // The grader refuses what is larger than it allows; one byte more says so.
                files.push_back(
                    {path, keep(extension, large ? archive.contents(member, most_source) : archive.contents(member))});
            } else {
                files.push_back({path, {}});
            }
        }
    }

    fs::path work_;
    int count_ = 0;
};

// --- Whose they are.

struct Owner {
    std::string name;        // of the submission
    std::size_t inside = 0;  // parts of the path before the student's own
    std::string canvas_id{}, canvas_name{};
    bool late = false;
};

/// Canvas's names: "lovelaceada_LATE_1001_2002_add_halves.cpp", with the ids of the student and of the attachment.
const std::regex& canvas_name() {
    static const std::regex pattern("([^_]+)(_LATE)?_([0-9]+)_([0-9]+)_(.+)");
    return pattern;
}

/// The first part that is of Gradescope's or Canvas's making, or else the folder in the class's.
Owner owner_of(HandedIn& file, std::size_t wrapping) {
    for (std::size_t i = 0; i < file.path.size(); ++i) {
        std::smatch match;
        if (file.path[i].starts_with("submission_") && file.path[i].size() > 11 &&
            file.path[i].find_first_not_of("0123456789", 11) == std::string::npos) {
            return {file.path[i], i + 1};
        }
        // In a folder of the class, or in one archive.
        if (i <= wrapping + 1 && std::regex_match(file.path[i], match, canvas_name())) {
            const std::string student = match[1].str() + "_" + match[3].str();
            Owner owner{student, i, match[3].str(), match[1].str(), match[2].matched};
            file.path[i] = match[5].str();
            return owner;
        }
    }
    return file.path.size() > wrapping + 1 || !file.problem.empty() ? Owner{file.path[wrapping], wrapping + 1}
                                                                    : Owner{"", 0};
}

/// What Gradescope's export says of a submission: submission_metadata.yml of all, or metadata.yml in its folder.
struct Metadata {
    std::vector<Student> submitters{};
    std::string created{};
};

void read_metadata(const std::string& text, std::string submission, std::map<std::string, Metadata>& known) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        static const std::regex field(R"(( *)(- )?:?([a-z_0-9]+):\s*(.*?)\s*)");
        std::smatch match;
        if (!std::regex_match(line, match, field)) continue;
        const std::string key = match[3];
        std::string value = match[4];
        if (value.size() > 1 && (value[0] == '\'' || value[0] == '"') && value.back() == value[0])
            value = value.substr(1, value.size() - 2);
        const std::size_t indent = match[1].length() + match[2].length();
        if (indent == 0 && key.starts_with("submission_")) submission = key;
        if (submission.empty() || indent > 6) continue;
        Metadata& metadata = known[submission];
        // What happened to earlier attempts comes below, further in.
        if (key == "created_at" && metadata.created.empty()) metadata.created = value;
        if (key != "name" && key != "sid" && key != "email") continue;
        if (match[2].matched) metadata.submitters.emplace_back();
        if (metadata.submitters.empty()) continue;
        Student& student = metadata.submitters.back();
        (key == "name" ? student.name : key == "sid" ? student.id : student.email) = value;
    }
}

// --- Which file is which exercise's.

/// The files of the students' tree beside the exercises' own.
bool is_given(const std::string& name) {
    static const std::set<std::string> given = {"test.cpp",    "adapter.cpp",     "adapter.py", "exercise.py",
                                                "notation.py", "public_tests.py", "words.py"};
    return given.contains(name);
}

struct NearFile {
    int rank;  // 0: where the exercise's page says; the higher, the less like its name
    int copy;  // "(2)", "-2"
    const HandedIn* file;
    std::string own_path;
};

std::size_t differences(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t before = row[0]++;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, before + (a[i - 1] == b[j - 1] ? 0 : 1)});
            before = above;
        }
    }
    return row[b.size()];
}

/// The exercise that a source file is for, by its name or its folder's, and how far it is from the name.
std::pair<const Exercise*, NearFile> exercise_of(const HandedIn& file, const std::vector<std::string>& path) {
    const std::string stem = fs::path(path.back()).stem().string();
    const bool in_python = extension_of(path.back()) == ".py";
    const std::string own_path = fmt::format("{}", fmt::join(path, "/"));
    std::string name = plain(stem);
    int copy = 0;
    const Exercise* best = nullptr;
    int rank = 9;
    const auto offer = [&](const Exercise& exercise, int how) {
        if (how < rank) {
            rank = how;
            best = &exercise;
        } else if (how == rank && how >= 4) {
            best = nullptr;  // as near to two
        }
    };
    static const std::regex copy_of("(?:copyof)?(.*?)(?:copy)?([0-9]{0,3})");
    std::smatch match;
    std::regex_match(name, match, copy_of);
    const std::string bare = match[1];
    if (match[2].length() > 0) copy = std::stoi(match[2]);
    for (const Exercise& exercise : exercises()) {
        if (in_python && !exercise.in_python) continue;
        const std::string own = plain(exercise.name);
        const bool in_its_folder = path.size() > 1 && plain(path[path.size() - 2]) == own;
        if (stem == exercise.name && (extension_of(path.back()) == ".cpp" || in_python)) {
            offer(exercise, path.size() == 1 ? 0 : path.size() == 2 && path[0] == exercise.name ? 1 : 2);
        } else if (name == own || bare == own) {
            offer(exercise, 3);
        } else if (in_its_folder && (bare == "main" || bare == "solution" || bare == "submission" || bare == "code")) {
            offer(exercise, 4);
        } else if (name.find(own) != std::string::npos) {
            offer(exercise, 5);
        } else if (const std::size_t distance = differences(bare, own); distance <= 2) {
            offer(exercise, 5 + static_cast<int>(distance));
        }
    }
    if (name == (best == nullptr ? "" : plain(best->name))) copy = 0;
    return {best, {rank, copy, &file, own_path}};
}

/// UTF-16, which compilers do not read, as ASCII; what is beyond becomes "?".
std::optional<std::string> from_utf16(const std::string& text) {
    if (text.size() < 2 || (!text.starts_with("\xFF\xFE") && !text.starts_with("\xFE\xFF"))) return std::nullopt;
    const std::size_t low = text[0] == '\xFF' ? 0 : 1;
    std::string result;
    for (std::size_t i = 2; i + 1 < text.size(); i += 2) {
        const bool is_ascii = text[i + 1 - low] == 0 && static_cast<unsigned char>(text[i + low]) < 128;
        result += is_ascii ? text[i + low] : '?';
    }
    return result;
}

std::string without_returns(std::string text) {
    std::erase(text, '\r');
    return text;
}

void choose_files(Submission& submission, const std::vector<std::pair<HandedIn*, std::vector<std::string>>>& files,
                  Unpacker& unpacked) {
    std::map<std::string_view, std::vector<NearFile>> candidates;
    std::vector<std::string> unused;
    for (const auto& [file, path] : files) {
        const std::string& name = path.empty() ? "" : path.back();
        if (!file->problem.empty()) {
            submission.notes.push_back(file->problem);
        } else if (name == "exercise.hpp" && path.size() > 1 && !file->place.empty()) {
            for (const Exercise& exercise : exercises()) {
                if (path[path.size() - 2] != exercise.name || !fs::is_regular_file(fs::symlink_status(file->place)))
                    continue;
                if (without_returns(read_file(file->place)) == course_file(exercise, "exercise.hpp")) continue;
                submission.notes.push_back(
                    fmt::format("{}/exercise.hpp is not that of this version of the course: hand out the present tree, "
                                "or compare the statements",
                                exercise.name));
            }
        } else if (is_source(name) && !is_given(name) && !file->place.empty()) {
            const auto [exercise, candidate] = exercise_of(*file, path);
            if (exercise == nullptr) {
                unused.push_back(candidate.own_path);
            } else {
                candidates[exercise->name].push_back(candidate);
            }
        } else if (!name.ends_with(".hpp") && !is_given(name) && !name.ends_with(".md") && !name.ends_with(".yml") &&
                   name != "public.txt") {
            unused.push_back(fmt::format("{}", fmt::join(path, "/")));
        }
    }
    for (auto& [exercise, list] : candidates) {
        // The nearest name first, of those the last copy; C++ before Python.
        std::ranges::stable_sort(list, [](const NearFile& a, const NearFile& b) {
            return std::tuple(a.rank, -a.copy, a.own_path.ends_with(".py"), a.own_path) <
                   std::tuple(b.rank, -b.copy, b.own_path.ends_with(".py"), b.own_path);
        });
        const NearFile& chosen = list.front();
        const std::string file_name = std::string(exercise) + (extension_of(chosen.own_path) == ".py" ? ".py" : ".cpp");
        submission.files[std::string(exercise)] = chosen.file->place;
        if (chosen.rank > 1)
            submission.notes.push_back(fmt::format("{} is graded as {}", shown(chosen.own_path), file_name));
        for (std::size_t i = 1; i < list.size(); ++i) {
            submission.notes.push_back(
                fmt::format("{} is not graded: {} is", shown(list[i].own_path), shown(chosen.own_path)));
        }
        if (!fs::is_regular_file(fs::symlink_status(chosen.file->place))) continue;  // the grader says why not
        if (fs::file_size(chosen.file->place) == 0)
            submission.notes.push_back(fmt::format("{} is empty", shown(chosen.own_path)));
        if (fs::file_size(chosen.file->place) > (1 << 20)) continue;
        if (const auto text = from_utf16(read_file(chosen.file->place))) {
            submission.notes.push_back(
                fmt::format("{} is in UTF-16 and is read as ASCII; save it as UTF-8", shown(chosen.own_path)));
            submission.files[std::string(exercise)] = unpacked.keep(fs::path(file_name).extension().string(), *text);
        }
    }
    if (unused.empty()) return;
    const std::size_t most = std::min<std::size_t>(unused.size(), 3);
    submission.notes.push_back(
        shown(fmt::format("{}{} {} of no exercise by its name",
                          fmt::join(unused.begin(), unused.begin() + static_cast<std::ptrdiff_t>(most), ", "),
                          unused.size() > most ? fmt::format(" and {} more", unused.size() - most) : "",
                          unused.size() == 1 ? "is" : "are")));
}

// --- Who they are.

/// A name's words, in the order that does not depend on which comes first.
std::string sorted_words(const std::string& name) {
    std::set<std::string> words;
    std::string word;
    for (const char c : name + " ") {
        if (c != ' ' && c != ',' && c != '_') {
            word += c;
        } else if (!plain(word).empty()) {
            words.insert(plain(word));
            word.clear();
        }
    }
    return fmt::format("{}", fmt::join(words, " "));
}

/// Whether Canvas would write the name so: the words after each other, beginning with any of them.
bool is_run_together(const std::string& name, const std::string& together) {
    const std::string all = plain(name);
    return !all.empty() && all.size() == together.size() && (all + all).find(together) != std::string::npos;
}

const Student* found_on(const std::vector<Student>& roster, const Submission& submission, bool from_canvas) {
    const Student& said = submission.student;
    const auto with = [&](auto&& matches) -> const Student* {
        const Student* found = nullptr;
        for (const Student& student : roster) {
            if (!matches(student)) continue;
            if (found != nullptr) return nullptr;  // two of that name
            found = &student;
        }
        return found;
    };
    if (!said.id.empty()) {
        if (const Student* found = with([&](const Student& s) { return s.id == said.id || s.sis_user_id == said.id; }))
            return found;
    }
    if (!said.email.empty()) {
        if (const Student* found = with([&](const Student& s) { return lower(s.email) == lower(said.email); }))
            return found;
    }
    const std::string name = said.name.empty() ? submission.name : said.name;
    return with([&](const Student& s) {
        if (from_canvas) return is_run_together(s.name, plain(name));
        return s.id == name ||
               (!s.email.empty() &&
                (lower(s.email) == lower(name) || lower(s.email.substr(0, s.email.find('@'))) == lower(name))) ||
               sorted_words(s.name) == sorted_words(name);
    });
}

}  // namespace

Class read_class(const fs::path& folder, const fs::path& work) {
    Class all;
    all.rules = rules_of(folder / "class.json");
    all.has_roster = fs::exists(folder / "roster.csv");
    const std::vector<Student> roster = roster_of(folder / "roster.csv");

    Unpacker unpacked(work);
    std::set<std::string> folders;
    std::size_t entries = 0, archives = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with('.') || name == "class.json" || name == "roster.csv") continue;
        ++entries;
        archives += extension_of(name) == ".zip" ? 1 : 0;
        if (!entry.is_directory() || entry.is_symlink()) {
            unpacked.add(entry.path(), {name});
            continue;
        }
        folders.insert(name);
        std::vector<fs::path> inside;
        for (const auto& file :
             fs::recursive_directory_iterator(entry.path(), fs::directory_options::skip_permission_denied)) {
            if (!file.is_directory() || file.is_symlink()) inside.push_back(file.path());
        }
        std::ranges::sort(inside);
        for (const fs::path& file : inside) unpacked.add(file, parts_of(fs::relative(file, folder).string()));
    }
    std::ranges::sort(unpacked.files, {}, &HandedIn::path);
    // One archive and nothing else is the whole class, unless it holds a student's files themselves.
    const bool one_archive = entries == 1 && archives == 1;
    const bool has_sources = std::ranges::any_of(unpacked.files, [](const HandedIn& file) {
        return file.path.size() == 2 && is_source(file.path[1]) && !std::regex_match(file.path[1], canvas_name());
    });
    const std::size_t wrapping = one_archive && !has_sources ? 1 : 0;

    std::map<std::string, Metadata> metadata;
    std::map<std::string, std::vector<std::pair<HandedIn*, std::vector<std::string>>>> of_student;
    std::map<std::string, Owner> owners;
    std::set<std::string> wrappers;  // folders that hold submissions, and are none
    for (HandedIn& file : unpacked.files) {
        const Owner owner = owner_of(file, wrapping);
        const bool is_metadata = file.path.back().ends_with("metadata.yml") && !file.place.empty();
        if (is_metadata)
            read_metadata(read_file(file.place), owner.name.starts_with("submission_") ? owner.name : "", metadata);
        if (owner.inside > wrapping + 1 ||
            (is_metadata && owner.inside == wrapping + 1 && !owner.name.starts_with("submission_"))) {
            wrappers.insert(file.path[wrapping]);
        } else if (owner.inside == wrapping + 1 && !owner.canvas_id.empty()) {
            wrappers.insert(file.path[wrapping]);
        }
        if (is_metadata) continue;
        if (owner.name.empty()) {
            all.notes.push_back(file.problem.empty() ? shown(file.path.back()) + " is in no student's folder"
                                                     : file.problem);
            continue;
        }
        Owner& known = owners.emplace(owner.name, owner).first->second;
        known.late = known.late || owner.late;
        of_student[owner.name].emplace_back(
            &file, std::vector(file.path.begin() + static_cast<std::ptrdiff_t>(owner.inside), file.path.end()));
    }
    for (const std::string& name : folders) {
        if (!wrappers.contains(name)) owners.emplace(name, Owner{name, 1});
    }
    for (const std::string& name : wrappers) {
        // What lies in a download beside the submissions.
        if (owners.contains(name) && owners.at(name).canvas_id.empty() && !name.starts_with("submission_")) {
            for (const auto& [file, path] : of_student[name])
                all.notes.push_back(shown(file->path.back()) + " is in no student's folder");
            owners.erase(name);
        }
    }

    std::map<std::string, std::vector<std::pair<std::string, std::size_t>>>
        of_id;  // with the time, of each on the roster
    for (const auto& [name, owner] : owners) {
        Submission submission{.name = name, .student = {.id = owner.canvas_id, .name = owner.canvas_name}};
        choose_files(submission, of_student[name], unpacked);
        if (of_student[name].empty()) submission.notes.push_back("nothing was handed in");
        Metadata said = metadata[name];
        if (said.submitters.empty()) said.submitters.push_back(submission.student);
        const auto created = seconds_of(said.created);
        if (owner.late) submission.days_late = 1;
        if (all.rules.due && created && *created > *all.rules.due)
            submission.days_late = static_cast<int>((*created - *all.rules.due + 86399) / 86400);
        for (std::size_t i = 0; i < said.submitters.size(); ++i) {
            Submission one = submission;
            one.student = said.submitters[i];
            if (i > 0) one.name = fmt::format("{}-{}", name, i + 1);
            if (const Student* found = found_on(roster, one, !owner.canvas_id.empty())) {
                one.student = *found;
                one.on_roster = true;
                of_id[found->id].emplace_back(said.created, all.submissions.size());
            } else if (all.has_roster) {
                one.notes.push_back("the roster has no such student, or several");
            }
            if (one.student.days_late) one.days_late = *one.student.days_late;
            if (one.days_late > 0) {
                const bool unknown = owner.late && !one.student.days_late;
                one.notes.push_back(
                    fmt::format("late: {} day{} counted{}", one.days_late, one.days_late == 1 ? "" : "s",
                                unknown ? ", because Canvas says no more; days_late in roster.csv corrects it" : ""));
            }
            if (one.student.name.empty()) one.student.name = name;
            all.submissions.push_back(std::move(one));
        }
    }
    for (auto& [id, list] : of_id) {
        std::ranges::sort(list);
        for (std::size_t i = 0; i + 1 < list.size(); ++i) {
            Submission& earlier = all.submissions[list[i].second];
            earlier.counts = false;
            earlier.notes.push_back(fmt::format("a second submission of {}: {} counts", shown(earlier.student.name),
                                                shown(all.submissions[list.back().second].name)));
        }
    }
    std::ranges::sort(all.submissions, {}, &Submission::name);
    for (const Student& student : roster) {
        if (!of_id.contains(student.id))
            all.submissions.push_back({.name = student.name,
                                       .student = student,
                                       .on_roster = true,
                                       .notes = {"is on the roster, and handed in nothing"}});
    }
    if (all.submissions.empty())
        throw DataError(fmt::format("{} holds no folders of students and no archives", folder.string()));
    return all;
}

std::uint64_t seed_of(const std::string& secret, const std::string& id) {
    const auto bytes_of = [](const std::string& hex) {
        std::string bytes;
        for (std::size_t i = 0; i < hex.size(); i += 2)
            bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
        return bytes;
    };
    constexpr std::size_t block = 64;
    std::string inner = secret.size() > block ? bytes_of(sha256_of(secret)) : secret;
    inner.resize(block, '\0');
    std::string outer = inner;
    for (char& c : inner) c = static_cast<char>(c ^ 0x36);
    for (char& c : outer) c = static_cast<char>(c ^ 0x5C);
    return std::stoull(sha256_of(outer + bytes_of(sha256_of(inner + id))).substr(0, 16), nullptr, 16);
}

std::vector<std::vector<std::string>> csv_rows(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    const std::string_view first = text.substr(0, text.find('\n'));
    const char between = std::ranges::count(first, ';') > std::ranges::count(first, ',') ? ';' : ',';
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> row;
    std::string field;
    bool quoted = false;
    const auto end_field = [&] {
        const auto last = field.find_last_not_of(" \t");
        const auto start = field.find_first_not_of(" \t");
        row.push_back(start == std::string::npos ? "" : field.substr(start, last - start + 1));
        field.clear();
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
            field += text[++i];
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && c == between) {
            end_field();
        } else if (!quoted && c == '\n') {
            end_field();
            if (row.size() > 1 || !row[0].empty()) rows.push_back(std::move(row));
            row.clear();
        } else if (quoted || c != '\r') {
            field += c;
        }
    }
    end_field();
    if (row.size() > 1 || !row[0].empty()) rows.push_back(std::move(row));
    return rows;
}

}  // namespace ulp::course
