#include "experiments/course/submissions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "experiments/course/handed_in.hpp"
#include "experiments/framework/exit_codes.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/errors.hpp"

namespace ulp::course {
namespace fs = std::filesystem;
namespace {

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
