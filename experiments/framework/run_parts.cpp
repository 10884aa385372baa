#include "experiments/framework/run_parts.hpp"

#include <chrono>
#include <nlohmann/json.hpp>

#include "engine/files/sha256.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/record.hpp"

namespace ulp {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

std::string digest_of(Json part) {
    part.erase("digest");
    return sha256_of(part.dump());
}

/// The part in that file; null where there is no file, or one that is damaged.
Json kept_part(const fs::path& file) {
    if (!fs::is_regular_file(file)) return nullptr;
    Json part = Json::parse(read_file(file), nullptr, false);
    if (!part.is_object() || !part.contains("digest") || part.at("digest") != digest_of(part)) return nullptr;
    return part;
}

}  // namespace

RunParts::RunParts(fs::path folder, std::string request, ProductLedger& ledger, double least)
    : folder_(std::move(folder)), request_(std::move(request)), ledger_(ledger), least_(least) {}

std::string RunParts::part(const std::string& name, const std::function<std::string()>& compute) {
    const fs::path file = folder_ / (sha256_of(request_ + "\n" + name) + ".json");
    if (const Json kept = kept_part(file); !kept.is_null()) {
        const std::lock_guard lock(mutex_);
        ++resumed_;
        ledger_.add(products_from(kept.at("products")));
        return kept.at("text");
    }
    const auto start = std::chrono::steady_clock::now();
    ProductLedger own;
    std::string text;
    {
        const ProductLedger::Share share(own);
        text = compute();
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (text.empty() || seconds.count() < least_) return text;
    Json part = {{"part", name}, {"text", text}, {"products", products_json(own.products())}};
    part["digest"] = digest_of(part);
    make_writable_folder(folder_);
    replace_whole_file(file, part.dump(2) + "\n");
    return text;
}

void RunParts::forget() const { fs::remove_all(folder_); }

}  // namespace ulp
