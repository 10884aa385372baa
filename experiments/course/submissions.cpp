#include "experiments/course/submissions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>

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

// --- All files, those inside of archives among them.

struct HandedIn {
    std::vector<std::string> path;  // folders, archives without ".zip", and the file's name
    fs::path place;                 // empty: only its name is known, or it could not be read
    std::string problem{};          // with an archive
};

/// The parts of a name with folders as any system writes it; none for a system's own files. Throws DataError for a part
/// that no file system holds: std::regex takes a stack as deep as its text is long.
std::vector<std::string> parts_of(std::string name) {
    constexpr std::size_t longest = 255;
    std::ranges::replace(name, '\\', '/');
    std::vector<std::string> parts;
    std::istringstream text(name);
    for (std::string part; std::getline(text, part, '/');) {
        if (part == "__MACOSX" || (part.starts_with('.') && part != "." && part != "..")) return {};
        if (part.size() > longest) throw DataError("a name inside is longer than 255 bytes");
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

    /// All files below a folder.
    void add_folder(const fs::path& folder, const std::vector<std::string>& path) {
        std::vector<fs::path> inside;
        for (const auto& file :
             fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied)) {
            if (!file.is_directory() || file.is_symlink()) inside.push_back(file.path());
        }
        std::ranges::sort(inside);
        for (const fs::path& file : inside) {
            std::vector<std::string> parts = parts_of(fs::relative(file, folder).string());
            if (parts.empty()) continue;
            parts.insert(parts.begin(), path.begin(), path.end());
            add(file, std::move(parts));
        }
    }

    std::vector<HandedIn> files{};

  private:
    void unpack(const fs::path& place, const std::vector<std::string>& above, int depth) {
        constexpr std::size_t most_members = 20000;
        constexpr std::uint64_t most_source = (1 << 20) + 1;
        if (depth > 2) throw DataError("an archive in an archive in an archive is not opened");
        const ZipArchive archive(place);
        if (depth == 0) left_ = std::max(ZipArchive::always_good, archive.size() * ZipArchive::most_times);
        const auto members = archive.members();
        if (members.size() > most_members) throw DataError("it holds more than 20,000 files");
        const std::size_t before = files.size();
        for (const ZipArchive::Member& member : members) {
            std::vector<std::string> path = parts_of(member.name);
            if (path.empty() || member.name.ends_with('/') || member.name.ends_with('\\')) continue;
            path.insert(path.begin(), above.begin(), above.end());
            const std::string extension = extension_of(path.back());
            if (extension == ".zip") {
                add(unpacked(archive, member, most_bytes, ".zip"), path, depth + 1);
            } else if (is_source(path.back()) || extension == ".hpp" || extension == ".yml") {
                // The grader refuses what is larger than it allows; one byte more says so.
                files.push_back(
                    {path, unpacked(archive, member, extension == ".yml" ? most_bytes : most_source, extension)});
            } else {
                files.push_back({path, {}});
            }
        }
        if (files.size() == before) throw DataError("it holds no files");
    }

    /// A new file of a member's first bytes, at most `most`; their checksum counts where they are all.
    fs::path unpacked(const ZipArchive& archive, const ZipArchive::Member& member, std::uint64_t most,
                      const std::string& extension) {
        if (member.size > most_bytes) throw DataError("a file inside is larger than 256 MiB");
        const std::uint64_t size = std::min(member.size, most);
        if (size > left_) throw DataError("its files are more than 100 times as large as it is");
        left_ -= size;
        return keep(extension, size < member.size ? archive.contents(member, size) : archive.contents(member));
    }

    static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 28;
    fs::path work_;
    std::uint64_t left_ = 0;  // bytes that what is in the present file may still unfold to, archives inside and all
    int count_ = 0;
};

// --- Whose they are.

struct Owner {
    std::string name{};      // of the submission
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
    const bool in_folder = file.path.size() > wrapping + (file.problem.empty() ? 1 : 0);
    return in_folder ? Owner{file.path[wrapping], wrapping + 1} : Owner{};
}

/// What Gradescope's export says of a submission: submission_metadata.yml of all, or metadata.yml in its folder.
struct Metadata {
    std::vector<Student> submitters{};
    std::optional<std::int64_t> created{};  // seconds since 1970
};

void read_metadata(const std::string& text, std::string submission, std::map<std::string, Metadata>& known) {
    constexpr std::size_t longest = 4096;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        static const std::regex field(R"(( *)(- )?:?([a-z_0-9]+):\s*(.*?)\s*)");
        std::smatch match;
        if (line.size() > longest || !std::regex_match(line, match, field)) continue;
        const std::string key = match[3];
        std::string value = match[4];
        if (value.size() > 1 && (value[0] == '\'' || value[0] == '"') && value.back() == value[0])
            value = value.substr(1, value.size() - 2);
        const auto indent = match[1].length() + match[2].length();
        if (indent == 0 && key.starts_with("submission_")) submission = key;
        if (submission.empty() || indent > 6) continue;
        Metadata& metadata = known[submission];
        // What happened to earlier attempts comes below, further in.
        if (key == "created_at" && !metadata.created) {
            try {
                metadata.created = seconds_of(value);
            } catch (const DataError&) {
                metadata.created.reset();  // nobody is late by a time that is none
            }
        }
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
    static const std::set<std::string> given = {"test.cpp",        "adapter.cpp",      "adapter.py", "exercise.py",
                                                "exercise.hpp",    "statement.md",     "README.md",  "notation.py",
                                                "public_tests.py", "public_tests.hpp", "public.txt", "words.py",
                                                "driver.hpp"};
    return given.contains(name);
}

/// A file of a student, and where it lies in what he handed in.
struct Own {
    const HandedIn* file;
    std::vector<std::string> path;
    int rank = 9;  // 0: where the exercise's page says; the higher, the less like its name
    int copy = 0;  // "(2)", "-2"
    [[nodiscard]] std::string text() const { return shown(fmt::format("{}", fmt::join(path, "/"))); }
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

/// The exercise that a source file is for, by its name or its folder's, and how far it is from the name; or none.
const Exercise* exercise_of(Own& file) {
    const fs::path last = file.path.back();
    const std::string stem = last.stem().string(), name = plain(stem);
    const bool in_python = extension_of(file.path.back()) == ".py";
    static const std::regex copy_of("(?:copyof)?(.*?)(?:copy)?([0-9]{0,3})");
    std::smatch match;
    std::regex_match(name, match, copy_of);
    const std::string bare = match[1];
    const Exercise* best = nullptr;
    for (const Exercise& exercise : exercises()) {
        if (in_python && !exercise.in_python) continue;
        const std::string own = plain(exercise.name);
        const std::string above = file.path.size() > 1 ? file.path[file.path.size() - 2] : "";
        const bool named_by_folder = bare == "main" || bare == "solution" || bare == "submission" || bare == "code";
        int rank = 9;
        if (stem == exercise.name && (last.extension() == ".cpp" || last.extension() == ".py")) {
            rank = file.path.size() == 1 ? 0 : file.path.size() == 2 && above == exercise.name ? 1 : 2;
        } else if (name == own || bare == own) {
            rank = 3;
        } else if (named_by_folder && plain(above) == own) {
            rank = 4;
        } else if (name.find(own) != std::string::npos) {
            rank = 5;
        } else if (const std::size_t distance = differences(bare, own); distance <= 2) {
            rank = 5 + static_cast<int>(distance);
        }
        if (rank == file.rank) best = nullptr;  // as near to two
        if (rank >= file.rank) continue;
        file.rank = rank;
        best = &exercise;
        file.copy = name != own && match[2].length() > 0 ? std::stoi(match[2]) : 0;
    }
    return best;
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

/// The file's text without carriage returns; "" where it is not there to be read.
std::string text_of(const fs::path& file) {
    constexpr std::uintmax_t most = 1 << 20;
    if (!fs::is_regular_file(fs::symlink_status(file)) || fs::file_size(file) > most) return "";
    std::string text = read_file(file);
    std::erase(text, '\r');
    return text;
}

/// Names the files to be graded, and says what is odd about all of them.
void choose_files(Submission& submission, const std::vector<Own>& files, Unpacker& unpacked) {
    std::map<const Exercise*, std::vector<Own>> candidates;
    std::vector<std::string> unused;
    const auto note = [&submission](std::string text) { submission.notes.push_back(std::move(text)); };
    for (Own file : files) {
        const std::string& name = file.path.empty() ? "" : file.path.back();
        const std::string above = file.path.size() > 1 ? file.path[file.path.size() - 2] : "";
        const auto given = std::ranges::find(exercises(), above, &Exercise::name);
        if (!file.file->problem.empty()) {
            note(file.file->problem);
        } else if (name == "exercise.hpp" && given != exercises().end()) {
            if (text_of(file.file->place) == course_file(*given, name)) continue;
            note(fmt::format("{}/exercise.hpp is not that of this version of the course: compare the statements",
                             above));
        } else if (is_source(name) && !is_given(name) && !file.file->place.empty()) {
            const Exercise* exercise = exercise_of(file);
            if (exercise != nullptr) candidates[exercise].push_back(file);
            if (exercise == nullptr) unused.push_back(file.text());
        } else if (!is_given(name) && file.path.front() != "pages") {
            unused.push_back(file.text());
        }
    }
    for (auto& [exercise, list] : candidates) {
        // The nearest name first, of those the last copy; C++ before Python. Starters count where there is nothing
        // else.
        const auto order = [exercise = exercise](const Own& own) {
            const bool in_python = extension_of(own.path.back()) == ".py";
            const bool starter =
                text_of(own.file->place) == course_file(*exercise, in_python ? "starter.py" : "starter.cpp");
            return std::tuple(starter, own.rank, -own.copy, in_python, own.path);
        };
        std::ranges::sort(list, {}, order);
        const Own& chosen = list.front();
        const std::string extension = extension_of(chosen.path.back()) == ".py" ? ".py" : ".cpp";
        fs::path& file = submission.files[std::string(exercise->name)] = chosen.file->place;
        if (chosen.rank > 1) note(fmt::format("{} is graded as {}{}", chosen.text(), exercise->name, extension));
        for (std::size_t i = 1; i < list.size(); ++i) {
            if (!std::get<0>(order(list[i])))
                note(fmt::format("{} is not graded: {} is", list[i].text(), chosen.text()));
        }
        std::string text = text_of(file);
        if (fs::is_regular_file(fs::symlink_status(file)) && fs::is_empty(file)) note(chosen.text() + " is empty");
        if (text.empty()) continue;  // the grader says why not
        const auto ascii = from_utf16(read_file(file));
        if (ascii) note(chosen.text() + " is in UTF-16 and is read as ASCII; save it as UTF-8");
        if (ascii || file.extension() != extension) file = unpacked.keep(extension, ascii ? *ascii : text);
    }
    if (files.empty()) note("nothing was handed in");
    if (unused.empty()) return;
    constexpr std::size_t most = 3;
    const std::size_t all = unused.size();
    unused.resize(std::min(all, most));
    std::string names = fmt::format("{}", fmt::join(unused, ", "));
    if (all > most) names += fmt::format(" and {} more", all - most);
    note(fmt::format("{} {} of no exercise by {} name", names, all == 1 ? "is" : "are", all == 1 ? "its" : "their"));
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

Submission read_submission(const fs::path& folder, const fs::path& work) {
    Unpacker unpacked(work);
    unpacked.add_folder(folder, {});
    Submission submission{.name = folder.filename().string()};
    std::vector<Own> files;
    for (const HandedIn& file : unpacked.files) files.push_back({&file, file.path});
    choose_files(submission, files, unpacked);
    return submission;
}

namespace {

/// Says who it is, as the roster has it, and how late.
void identify(Submission& one, const Owner& owner, const std::vector<Student>& roster, const Class& all) {
    if (const Student* found = found_on(roster, one, !owner.canvas_id.empty())) {
        one.student = *found;
        one.on_roster = true;
    } else if (all.has_roster) {
        one.notes.push_back("the roster has no such student, or several");
    }
    if (one.student.days_late) one.days_late = *one.student.days_late;
    if (one.student.name.empty()) one.student.name = one.name;
    if (one.days_late == 0) return;
    const bool unknown = owner.late && !one.student.days_late;
    one.notes.push_back(
        fmt::format("late: {} day{} counted{}", one.days_late, one.days_late == 1 ? "" : "s",
                    unknown ? ", because Canvas says no more; days_late in roster.csv corrects it" : ""));
}

}  // namespace

Class read_class(const fs::path& folder, const fs::path& work) {
    Class all{.rules = read_rules(folder / "class.json"), .has_roster = fs::exists(folder / "roster.csv")};
    const std::vector<Student> roster = read_roster(folder / "roster.csv");
    Unpacker unpacked(work);
    std::set<std::string> folders;
    std::size_t archives = 0, others = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with('.') || name == "class.json" || name == "roster.csv") continue;
        ++(extension_of(name) == ".zip" ? archives : others);
        if (entry.is_directory() && !entry.is_symlink()) {
            folders.insert(name);
            unpacked.add_folder(entry.path(), {name});
        } else {
            unpacked.add(entry.path(), {name});
        }
    }
    std::ranges::sort(unpacked.files, {}, &HandedIn::path);
    // One archive and nothing else is the whole class, unless it holds a student's files themselves.
    const auto is_own_file = [](const HandedIn& file) {
        return file.path.size() == 2 && is_source(file.path[1]) && !std::regex_match(file.path[1], canvas_name());
    };
    const std::size_t wrapping =
        archives == 1 && others == 0 && std::ranges::none_of(unpacked.files, is_own_file) ? 1 : 0;

    std::map<std::string, Metadata> metadata;
    std::vector<std::pair<HandedIn*, Owner>> owned;
    std::set<std::string> downloads;  // folders that hold submissions of several
    for (HandedIn& file : unpacked.files) {
        const std::string first = file.path[std::min(wrapping, file.path.size() - 1)];
        const Owner owner = owner_of(file, wrapping);
        if (owner.name != first && owner.inside > wrapping) downloads.insert(first);
        if (!file.path.back().ends_with("metadata.yml") || file.place.empty()) {
            owned.emplace_back(&file, owner);
        } else {
            read_metadata(read_file(file.place), owner.name.starts_with("submission_") ? owner.name : "", metadata);
        }
    }
    std::map<std::string, std::pair<Owner, std::vector<Own>>> students;
    for (const auto& [file, owner] : owned) {
        if (owner.name.empty() || downloads.contains(owner.name)) {
            all.notes.push_back(file->problem.empty() ? shown(file->path.back()) + " is in no student's folder"
                                                      : file->problem);
            continue;
        }
        auto& [known, files] = students.try_emplace(owner.name, owner, std::vector<Own>()).first->second;
        known.late = known.late || owner.late;
        files.push_back({file, {file->path.begin() + static_cast<std::ptrdiff_t>(owner.inside), file->path.end()}});
    }
    for (const std::string& name : folders) {
        if (!downloads.contains(name)) students.try_emplace(name);
    }

    std::map<std::string, std::vector<std::pair<std::int64_t, std::size_t>>>
        of_id;  // with the time, of each on the roster
    for (const auto& [name, own] : students) {
        const auto& [owner, files] = own;
        Submission submission{.name = name, .student = {.id = owner.canvas_id, .name = owner.canvas_name}};
        choose_files(submission, files, unpacked);
        Metadata said = metadata[name];
        if (said.submitters.empty()) said.submitters.push_back(submission.student);
        const std::int64_t after =
            all.rules.due && said.created ? std::max<std::int64_t>(0, *said.created - *all.rules.due) : 0;
        submission.days_late = owner.late ? 1 : static_cast<int>((after + 86399) / 86400);
        for (std::size_t i = 0; i < said.submitters.size(); ++i) {
            Submission one = submission;
            one.student = said.submitters[i];
            if (i > 0) one.name = fmt::format("{}-{}", name, i + 1);
            identify(one, owner, roster, all);
            if (one.on_roster) of_id[one.student.id].emplace_back(said.created.value_or(0), all.submissions.size());
            all.submissions.push_back(std::move(one));
        }
    }
    for (auto& [id, list] : of_id) {
        const std::size_t last = std::ranges::max(list).second;
        for (const auto& [time, at] : list) {
            Submission& one = all.submissions[at];
            one.counts = at == last;
            if (at != last)
                one.notes.push_back(fmt::format("a second submission of {}: {} counts", shown(one.student.name),
                                                shown(all.submissions[last].name)));
        }
    }
    std::ranges::sort(all.submissions, {}, &Submission::name);
    for (const Student& student : roster) {
        if (of_id.contains(student.id)) continue;
        all.submissions.push_back({.name = student.name,
                                   .student = student,
                                   .on_roster = true,
                                   .notes = {"is on the roster, and handed in nothing"}});
    }
    if (all.submissions.empty()) throw DataError(folder.string() + " holds no folders of students and no archives");
    return all;
}

}  // namespace ulp::course
