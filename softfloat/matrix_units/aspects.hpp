// Of what a unit's arithmetic consists, where evidence is counted separately.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ulp {

/// What stands behind a statement about a unit.
enum class Evidence : std::uint8_t {
    recorded,        // recordings of the GPU agree with it, bit for bit
    verified_live,   // compared with the unit itself, in bulk runs too, on a machine that has it
    published,       // stated by a published model or paper, not checked here
    described,       // stated by a file, not checked here
    published_twice  // stated by two published models, not checked here
};
std::string_view name_of(Evidence evidence);

enum class Aspect : std::uint8_t {
    ordinary,        // finite operands: groups, alignment, rounding, order
    zeros,           // whether a zero product or a zero c counts in the search for the largest exponent
    exponent_floor,  // how small the largest exponent of a group can be
    subnormals,      // subnormal operands, c and results; the sign of a result that underflows
    specials,        // infinities and overflow; of integers sums beyond s32
    nan              // which NaN results
};
inline constexpr std::array all_aspects{Aspect::ordinary,   Aspect::zeros,    Aspect::exponent_floor,
                                        Aspect::subnormals, Aspect::specials, Aspect::nan};
std::string_view name_of(Aspect aspect);

/// A set of aspects.
class AspectSet {
  public:
    constexpr AspectSet() = default;
    /// A letter each: o, z, f, s, i, n, in the order of all_aspects.
    constexpr explicit AspectSet(std::string_view letters) {
        for (const Aspect aspect : all_aspects) {
            if (letters.find(letter_of(aspect)) != std::string_view::npos) add(aspect);
        }
    }
    constexpr void add(Aspect aspect) { bits_ |= 1U << static_cast<unsigned>(aspect); }
    constexpr void remove(Aspect aspect) { bits_ &= ~(1U << static_cast<unsigned>(aspect)); }
    constexpr void add(const AspectSet& other) { bits_ |= other.bits_; }
    [[nodiscard]] constexpr bool has(Aspect aspect) const { return (bits_ >> static_cast<unsigned>(aspect) & 1U) != 0; }
    [[nodiscard]] std::string letters() const {
        std::string text;
        for (const Aspect aspect : all_aspects) {
            if (has(aspect)) text += letter_of(aspect);
        }
        return text;
    }
    constexpr bool operator==(const AspectSet&) const = default;

  private:
    static constexpr char letter_of(Aspect aspect) { return "ozfsin"[static_cast<unsigned>(aspect)]; }
    unsigned bits_ = 0;
};

/// What stands behind a row in one aspect.
struct AspectEvidence {
    Aspect aspect;
    Evidence evidence;
    std::string data;  // the recordings, the runs, or the source
};

/// What a set of recordings can decide about a row: replayed under other hypotheses
/// (softfloat/matrix_units/alternatives.hpp), it leaves open none of an aspect named (of ordinary values: it
/// contradicts at least one), and nothing of it differs from the row's own model.
struct DecidedAspects {
    std::string_view key;      // "sm_90:mma.fp16.fp32"
    std::string_view folder;   // "tests/recordings/h100_80gb_hbm3", or a GPU of the published recordings: "A100"
    std::string_view letters;  // of an AspectSet
};

/// All there is; a test makes it anew from the recordings and compares.
const std::vector<DecidedAspects>& decided_aspects();

/// Whether a folder of decided_aspects lies in the repository.
constexpr bool is_in_repository(std::string_view folder) { return folder.starts_with("tests/"); }

/// What stands behind the aspects of a row: its hardware runs and recordings where they decide an aspect, `weaker`
/// elsewhere. `applicable`: the aspects that the row's unit has. An aspect that recordings of the repository decide is
/// verified live where a bulk run of the row is named, else recorded.
std::vector<AspectEvidence> evidence_of_row(std::string_view key, const AspectSet& applicable,
                                            const AspectEvidence& weaker);
/// The same of other recordings and runs. `decided`: of this row and others; `runs`: the row's own, in words.
std::vector<AspectEvidence> evidence_of_row(std::string_view key, const AspectSet& applicable,
                                            const AspectEvidence& weaker, std::span<const DecidedAspects> decided,
                                            const std::optional<std::string>& runs);

}  // namespace ulp
