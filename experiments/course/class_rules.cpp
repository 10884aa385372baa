#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "engine/files/sha256.hpp"
#include "experiments/course/submissions.hpp"
#include "experiments/framework/exit_codes.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/errors.hpp"

namespace ulp::course {
namespace fs = std::filesystem;

std::string plain(std::string_view text) {
    std::string result;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 128 || std::isalnum(byte) != 0) result += static_cast<char>(std::tolower(byte));
    }
    return result;
}

/// Seconds since 1970 of "2026-11-27T23:59:00Z", "2026-11-27 23:59:00.0 -0800" or "2026-11-27"; UTC where it names no
/// other. Throws DataError for another text.
std::int64_t seconds_of(const std::string& text) {
    static const std::regex time(
        R"((\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d*)?)?)? ?(?:Z|UTC|([+-])(\d\d):?(\d\d))?)");
    std::smatch match;
    const auto part = [&match](std::size_t i) { return match[i].matched ? std::stoi(match[i]) : 0; };
    if (text.size() < 64 && std::regex_match(text, match, time)) {
        const std::chrono::year_month_day date{std::chrono::year(part(1)),
                                               std::chrono::month(static_cast<unsigned>(part(2))),
                                               std::chrono::day(static_cast<unsigned>(part(3)))};
        const std::int64_t zone = (match[7] == "-" ? -1 : 1) * (part(8) * 3600 + part(9) * 60);
        if (date.ok())
            return std::chrono::sys_days(date).time_since_epoch().count() * std::int64_t{86400} + part(4) * 3600 +
                   part(5) * 60 + part(6) - zone;
    }
    throw DataError(shown(text) + " is no time, such as 2026-11-27T23:59:00Z");
}

namespace {

void require(bool good, const char* sentence) {
    if (!good) throw DataError(sentence);
}

/// How a setting of class.json is read. They are read in the order of their names: "visible_from" after "visible".
using Value = nlohmann::json;
const std::map<std::string, void (*)(ClassRules&, const Value&)>& settings() {
    static const std::map<std::string, void (*)(ClassRules&, const Value&)> all = {
        {"assignment", [](ClassRules& rules, const Value& value) { value.get_to(rules.assignment); }},
        {"due", [](ClassRules& rules, const Value& value) { rules.due = seconds_of(value); }},
        {"exercises",
         [](ClassRules& rules, const Value& value) {
             value.get_to(rules.exercises);
             for (const std::string& name : rules.exercises) exercise_by_name(name);
         }},
        {"late",
         [](ClassRules& rules, const Value& value) {
             const bool named = value.is_object() && value.size() == value.count("percent_a_day") + value.count("days");
             rules.percent_a_day = value.value("percent_a_day", 0.0);
             rules.days = value.value("days", 0);
             require(named && rules.percent_a_day >= 0 && rules.percent_a_day <= 100 && rules.days >= 0,
                     "late is {\"percent_a_day\": 0 to 100, \"days\": a number of days}");
         }},
        {"secret",
         [](ClassRules& rules, const Value& value) {
             value.get_to(rules.secret);
             require(rules.secret.size() >= 16, "secret has at least 16 characters; `openssl rand -hex 16` makes one");
         }},
        {"similar",
         [](ClassRules& rules, const Value& value) {
             value.get_to(rules.similar);
             require(rules.similar > 0 && rules.similar <= 1, "similar is a number above 0, at most 1");
         }},
        {"visible",
         [](ClassRules& rules, const Value& value) {
             const std::vector<std::string> names = {"all", "failed", "none"};
             const auto at = std::ranges::find(names, value.get<std::string>()) - names.begin();
             require(at < 3, "visible is all, failed or none");
             rules.visible = static_cast<Visibility>(at);
         }},
        {"visible_from", [](ClassRules& rules, const Value& value) {
             const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
             if (now.time_since_epoch().count() < seconds_of(value)) rules.visible = Visibility::none;
         }}};
    return all;
}

}  // namespace

ClassRules read_rules(const fs::path& file) {
    ClassRules rules;
    if (!fs::exists(file)) return rules;
    std::string setting;
    try {
        const auto json = nlohmann::json::parse(read_file(file), nullptr, false);
        require(json.is_object(), "it is no JSON object, such as {\"due\": \"2026-11-27T23:59:00Z\"}");
        for (const auto& [key, value] : json.items()) {
            setting = key;
            if (!settings().contains(key)) {
                std::string names;
                for (const auto& [name, read] : settings()) names += (names.empty() ? "" : ", ") + name;
                throw DataError(fmt::format("there is no setting {}; there are {}", shown(key), names));
            }
            settings().at(key)(rules, value);
        }
    } catch (const nlohmann::json::exception&) {
        throw DataError(fmt::format("{}: the value of {} is of a wrong kind; docs/exercises/README.md has an example",
                                    file.string(), setting));
    } catch (const std::exception& error) {
        throw DataError(fmt::format("{}: {}", file.string(), error.what()));
    }
    return rules;
}

std::vector<Student> read_roster(const fs::path& file) {
    std::vector<Student> students;
    if (!fs::exists(file)) return students;
    static const std::map<std::string, std::string Student::*> columns = {{"id", &Student::id},
                                                                          {"sid", &Student::id},
                                                                          {"name", &Student::name},
                                                                          {"student", &Student::name},
                                                                          {"email", &Student::email},
                                                                          {"section", &Student::section},
                                                                          {"sections", &Student::section},
                                                                          {"sisuserid", &Student::sis_user_id},
                                                                          {"sisloginid", &Student::sis_login_id}};
    const auto rows = csv_rows(read_file(file));
    std::vector<std::string> heading;
    std::set<std::string> ids;
    for (std::size_t row = 0; row < std::max<std::size_t>(rows.size(), 1); ++row) {
        const auto refuse = [&](const std::string& why) {
            throw DataError(fmt::format("{}, row {}: {}", file.string(), row + 1, why));
        };
        if (row == 0) {
            for (const std::string& name : rows.empty() ? std::vector<std::string>() : rows[0])
                heading.push_back(plain(name));
            const auto has = [&](const char* a, const char* b) {
                return std::ranges::count(heading, a) + std::ranges::count(heading, b) > 0;
            };
            if (!has("id", "sid") || !has("name", "student"))
                refuse("a roster begins with its columns: id,name,email,section");
            continue;
        }
        Student student;
        for (std::size_t i = 0; i < std::min(heading.size(), rows[row].size()); ++i) {
            const std::string& field = rows[row][i];
            if (const auto known = columns.find(heading[i]); known != columns.end()) student.*known->second = field;
            if (heading[i] != "dayslate" || field.empty()) continue;
            if (field.size() > 4 || field.find_first_not_of("0123456789") != std::string::npos)
                refuse(fmt::format("days_late is {}, not a number of days", shown(field)));
            student.days_late = std::stoi(field);
        }
        // Canvas's gradebook has a row of the possible points, and a student of the teacher's own to try things.
        const std::string name = plain(student.name);
        if (student.id.empty() && (name.empty() || name == "pointspossible" || name == "studenttest")) continue;
        if (student.id.empty()) refuse(shown(student.name) + " has no id");
        if (!ids.insert(student.id).second) refuse(fmt::format("the id {} stands twice", shown(student.id)));
        students.push_back(std::move(student));
    }
    return students;
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
