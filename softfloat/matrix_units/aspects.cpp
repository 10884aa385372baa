#include "softfloat/matrix_units/aspects.hpp"

#include "softfloat/matrix_units/hardware_runs.hpp"

namespace ulp {

namespace {

/// Names joined by " and ".
void join(std::string& text, std::string_view more) {
    if (!text.empty()) text += " and ";
    text += more;
}

AspectEvidence evidence_of_aspect(std::string_view key, Aspect aspect, const AspectEvidence& weaker,
                                  std::span<const DecidedAspects> all, const std::optional<std::string>& runs) {
    std::string here;
    std::string elsewhere;
    for (const DecidedAspects& decided : all) {
        if (decided.key != key || !AspectSet(decided.letters).has(aspect)) continue;
        join(is_in_repository(decided.folder) ? here : elsewhere, decided.folder);
    }
    if (!here.empty() && runs) return {aspect, Evidence::verified_live, here + ", " + *runs};
    if (!here.empty()) return {aspect, Evidence::recorded, here};
    if (!elsewhere.empty()) {
        return {aspect, Evidence::recorded,
                "published recordings of " + elsewhere + " by Khattak and Mikaitis, not in this repository"};
    }
    return {aspect, weaker.evidence, weaker.data};
}

}  // namespace

std::string_view name_of(Evidence evidence) {
    switch (evidence) {
        case Evidence::recorded: return "recorded";
        case Evidence::verified_live: return "verified live";
        case Evidence::published: return "published";
        case Evidence::described: return "described in a file";
        case Evidence::published_twice: return "published twice";
    }
    return "";
}

std::string_view name_of(Aspect aspect) {
    switch (aspect) {
        case Aspect::ordinary: return "ordinary values";
        case Aspect::zeros: return "zeros";
        case Aspect::exponent_floor: return "exponent floor";
        case Aspect::subnormals: return "subnormals";
        case Aspect::specials: return "infinities and overflow";
        case Aspect::nan: return "NaN";
    }
    return "";
}

const std::vector<DecidedAspects>& decided_aspects() {
    static const std::vector<DecidedAspects> table{
#include "softfloat/matrix_units/decided_aspects.inc"
    };
    return table;
}

std::vector<AspectEvidence> evidence_of_row(std::string_view key, const AspectSet& applicable,
                                            const AspectEvidence& weaker, std::span<const DecidedAspects> decided,
                                            const std::optional<std::string>& runs) {
    std::vector<AspectEvidence> all;
    for (const Aspect aspect : all_aspects) {
        if (applicable.has(aspect)) all.push_back(evidence_of_aspect(key, aspect, weaker, decided, runs));
    }
    return all;
}

std::vector<AspectEvidence> evidence_of_row(std::string_view key, const AspectSet& applicable,
                                            const AspectEvidence& weaker) {
    return evidence_of_row(key, applicable, weaker, decided_aspects(), seen_on_hardware(key));
}

}  // namespace ulp
