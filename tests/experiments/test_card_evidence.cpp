// Evidence of cards for the products of experiments, and what is said of it.
#include <doctest/doctest.h>

#include "engine/products/matmul.hpp"
#include "experiments/framework/card_evidence.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/product_ledger.hpp"
#include "softfloat/errors.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp;

const std::string head = "# source hardware\n# gpu NVIDIA H100\n" + std::string(card_evidence_header) + "\n";

std::vector<CardEvidence> evidence_from(const std::string& text) {
    const test::TemporaryFolder folder;
    write_file(folder / "experiments.csv", text);
    return read_card_evidence(folder / "experiments.csv");
}

std::vector<UnitProducts> multiplied(const char* spec, float first) {
    Matrix a = Matrix::Constant(3, 5, 2.0F);
    a(0, 0) = first;
    const auto backend = make_backend(spec);
    ProductLedger ledger;
    const ObservedProducts observed(ledger);
    matmul(*backend, {formats::fp16, formats::fp32}, a, transposed(a));
    return ledger.products();
}

}  // namespace

TEST_CASE("products are known by their digest, not by the sources: equal, changed, different or never seen") {
    const std::string line = "sample,sm_90:mma.fp16.fp32,00,12,0,abcd,2030-01-02\n";
    const std::vector<CardEvidence> evidence = evidence_from(head + line);
    const UnitProducts same{"sm_90:mma.fp16.fp32", 12, "abcd"};
    CHECK(seen_on_card(evidence, "sample", same) ==
          "12 products on sm_90:mma.fp16.fp32, compared with NVIDIA H100 on 2030-01-02: none differs");
    CHECK(is_seen_on_card(evidence, "sample", same));
    for (const UnitProducts& other : {UnitProducts{same.unit, 13, "abcd"}, UnitProducts{same.unit, 12, "abce"}}) {
        CHECK(
            seen_on_card(evidence, "sample", other).ends_with("changed since NVIDIA H100 computed them on 2030-01-02"));
        CHECK_FALSE(is_seen_on_card(evidence, "sample", other));
    }
    CHECK(seen_on_card(evidence, "another", same).ends_with("never compared with a card"));
    CHECK(
        seen_on_card(evidence, "sample", {"sm_80:mma.fp16.fp32", 12, "abcd"}).ends_with("never compared with a card"));
    const auto wrong = evidence_from(head + "sample,sm_90:mma.fp16.fp32,00,12,1,abcd,2030-01-02\n");
    CHECK(seen_on_card(wrong, "sample", same).ends_with("of which one differs on NVIDIA H100 (2030-01-02)"));
}

TEST_CASE("of an experiment that a difference ended only the unit that differed is marked") {
    const std::map<std::string, std::int64_t> counts{{"sm_90:mma.bf16.fp32", 2}, {"sm_90:mma.fp16.fp32", 1}};
    const UnitProducts equal{"sm_90:mma.bf16.fp32", 2, "abcd"};
    const std::string lines =
        card_evidence_lines("sample", "00", counts, "sm_90:mma.fp16.fp32", {&equal, 1}, "2030-01-02");
    CHECK(lines ==
          "sample,sm_90:mma.bf16.fp32,00,2,0,abcd,2030-01-02\n"
          "sample,sm_90:mma.fp16.fp32,00,1,1,0000000000000000,2030-01-02\n");
    const auto evidence = evidence_from(head + lines);
    CHECK(seen_on_card(evidence, "sample", {"sm_90:mma.fp16.fp32", 9, "ef"})
              .ends_with("one differs on NVIDIA H100 (2030-01-02)"));
    CHECK(seen_on_card(evidence, "sample", {equal.unit, 9, "ef"})
              .ends_with("not all compared with NVIDIA H100 on 2030-01-02: another unit's product differed"));
}

TEST_CASE("a run's mark tells what a card says of all its products, or why it has none") {
    const std::string line = "sample,sm_90:mma.fp16.fp32,00,12,0,abcd,2030-01-02\n";
    const std::vector<CardEvidence> evidence =
        evidence_from(head + line + "sample,sm_90:mma.e4m3.fp32,00,5,0,abcd,2030-01-02\n");
    const std::vector<UnitProducts> run = {{"sm_90:mma.fp16.fp32", 12, "abcd"},
                                           {"sm_90:mma.e4m3.fp32", 5, "changed"},
                                           {"sm_90:wgmma.fp16.fp32", 1, "new"},
                                           {"sm_70:mma.fp16.fp32", 3, "abcd"},
                                           {"sm_70:mma.fp16.fp16", 4, "abcd"}};
    CHECK(card_mark(evidence, "sample", run) ==
          "12 products compared with NVIDIA H100 on 2030-01-02, none differs; 5 products changed since NVIDIA H100 "
          "computed them on 2030-01-02; 1 products never compared with a card; 7 products never compared with a card: "
          "no sm_70 has run the experiments");
    CHECK(card_mark(evidence, "sample", run, ClaimKind::measured) == card_mark(evidence, "sample", run));
    CHECK(card_mark(evidence, "sample", run, ClaimKind::arithmetic) == "no product in it");
    CHECK(card_mark(evidence, "underflow", {}, ClaimKind::quoted) == "no product in it");
    CHECK(card_mark(evidence, "underflow", {}) == "no product to compare with a card: it multiplies no matrices");
    CHECK(card_mark(evidence, "swamping", {}) == "no product to compare with a card");
}

TEST_CASE("a file of evidence that is damaged, or that no card made, is refused with the line") {
    CHECK_THROWS_WITH_AS(evidence_from(head + "a,b,c\n"), doctest::Contains("line 4: 3 fields instead of 7"),
                         DataError);
    CHECK_THROWS_WITH_AS(evidence_from(head + "a,b,c,-1,0,d,e\n"), doctest::Contains("is no count"), DataError);
    CHECK_THROWS_WITH_AS(evidence_from("# source hardware\n# gpu X\na,b\n"), doctest::Contains("the header"),
                         DataError);
    CHECK_THROWS_WITH_AS(evidence_from("# source hardware\n" + std::string(card_evidence_header) + "\n"),
                         doctest::Contains("names the card"), DataError);
    CHECK_THROWS_WITH_AS(evidence_from("# source software\n# gpu X\n" + std::string(card_evidence_header) + "\n"),
                         doctest::Contains("no evidence"), DataError);
    CHECK_NOTHROW(committed_card_evidence());
}

TEST_CASE("the ledger counts the outermost products of matrix units, and tells operands and units apart") {
    const std::vector<UnitProducts> h100 = multiplied("soft:h100", 1);
    REQUIRE(h100.size() == 1);
    CHECK(h100.front().products == 1);
    CHECK(h100.front().unit.starts_with("sm_90:"));
    CHECK(multiplied("with_ieee(soft:h100)", 1).front().digest == h100.front().digest);
    CHECK(multiplied("checked(soft:h100,soft:h100)", 1).front().products == 1);
    CHECK(multiplied("soft:h100", 1.5F).front().digest != h100.front().digest);
    CHECK(multiplied("soft:v100", 1).front().unit.starts_with("sm_70:"));
    CHECK(multiplied("soft:ieee", 1).empty());
    CHECK(multiplied("eigen", 1).empty());
}
