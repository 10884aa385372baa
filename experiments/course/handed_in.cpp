#include "experiments/course/handed_in.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>

#include "experiments/course/course_files.hpp"
#include "experiments/framework/exit_codes.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/errors.hpp"

namespace ulp::course {
namespace fs = std::filesystem;

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}
std::string extension_of(const std::string& name) { return lower(fs::path(name).extension().string()); }
bool is_source(const std::string& name) {
    static const std::set<std::string> known = {".cpp", ".cc", ".cxx", ".c++", ".py"};
    return known.contains(extension_of(name));
}
std::string Own::text() const { return shown(fmt::format("{}", fmt::join(path, "/"))); }

namespace {

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

}  // namespace

Unpacker::Unpacker(fs::path work) : work_(std::move(work)) { fs::create_directories(work_); }

void Unpacker::add(const fs::path& place, std::vector<std::string> path, int depth) {
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

fs::path Unpacker::keep(const std::string& extension, std::string_view content) {
    const fs::path place = work_ / fmt::format("{}{}", ++count_, extension);
    write_file(place, content);
    return place;
}

void Unpacker::add_folder(const fs::path& folder, const std::vector<std::string>& path) {
    std::vector<fs::path> inside;
    for (const auto& file : fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied)) {
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

void Unpacker::unpack(const fs::path& place, const std::vector<std::string>& above, int depth) {
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

fs::path Unpacker::unpacked(const ZipArchive& archive, const ZipArchive::Member& member, std::uint64_t most,
                            const std::string& extension) {
    if (member.size > most_bytes) throw DataError("a file inside is larger than 256 MiB");
    const std::uint64_t size = std::min(member.size, most);
    if (size > left_) {
        throw DataError(fmt::format("its files are more than {} times as large as it is; --max-expansion allows more",
                                    ZipArchive::most_times));
    }
    left_ -= size;
    return keep(extension, size < member.size ? archive.contents(member, size) : archive.contents(member));
}

namespace {

// --- Which file is which exercise's.

/// The files of the students' tree beside the exercises' own.
bool is_given(const std::string& name) {
    static const std::set<std::string> given = {"test.cpp",        "adapter.cpp",      "adapter.py", "exercise.py",
                                                "exercise.hpp",    "statement.md",     "README.md",  "notation.py",
                                                "public_tests.py", "public_tests.hpp", "public.txt", "words.py",
                                                "driver.hpp"};
    return given.contains(name);
}

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

}  // namespace

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

}  // namespace ulp::course
