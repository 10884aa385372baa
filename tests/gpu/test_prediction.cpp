// Predictions of library products, on the stand-in for the library: what holds, what is found, what is declined.
#include <doctest/doctest.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "engine/files/sha256.hpp"
#include "gpu/untried/judgement.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/product.hpp"
#include "softfloat/matrix_units/units.hpp"

using namespace ulp::gpu;

namespace {

LibraryProblem problem(const char* type, const char* layout, std::int64_t m, std::int64_t n, std::int64_t k) {
    LibraryProblem p;
    p.type = &problem_type(type);
    p.layout = layout;
    p.m = m;
    p.n = n;
    p.k = k;
    return p;
}

const LibraryInfo on_hopper{false, "test", 90, "0.0.0"};

KernelOrder order_of(const HeuristicAnswer& answer, const LibraryProblem& p) {
    const KernelPlan plan = plan_of(answer, p, on_hopper);
    REQUIRE(std::holds_alternative<KernelOrder>(plan));
    return std::get<KernelOrder>(plan);
}
std::string reason_of(const KernelPlan& plan) {
    const auto* declined = std::get_if<Declined>(&plan);
    return declined == nullptr ? "" : declined->reason;
}

/// Shapes of every kind that the stand-in answers differently.
std::vector<LibraryProblem> few_problems() {
    std::vector<LibraryProblem> list{problem("fp16", "TN", 96, 64, 512),     problem("fp16", "NT", 24, 40, 3000),
                                     problem("bf16_d16", "NN", 33, 17, 700), problem("fp16_fp16", "TT", 16, 8, 900),
                                     problem("tf32", "TN", 64, 32, 128),     problem("fp32", "TN", 20, 20, 20),
                                     problem("e4m3", "TN", 32, 16, 256),     problem("e4m3_slow", "TN", 32, 16, 256),
                                     problem("fp16", "TN", 7, 7, 65),        problem("e5m2", "TN", 30, 16, 256),
                                     problem("bf16", "TN", 1, 50, 600)};
    list[1].alpha = 0.5F;
    list[0].beta = 1;
    return list;
}

PredictionFile predict(Library& library, const std::vector<LibraryProblem>& problems) {
    PredictionFile file;
    file.info = library.info();
    file.answers_digest = "live";
    file.program = "of a test";
    file.shapes_digest = ulp::sha256_of(problems_text(problems, 1));
    for (const LibraryProblem& p : problems) {
        const auto answer = library.ask(p);
        const KernelPlan plan =
            answer ? plan_of(*answer, p, file.info) : KernelPlan{Declined{std::string(no_such_product)}};
        file.rows.push_back(predicted(p, plan, answer ? answer->text() : "-"));
    }
    return file;
}

Judgement judged(Library& library, const PredictionFile& file, std::size_t most = 1000) {
    Judgement judgement;
    judge(library, file, judgement, [&] { return judgement.verdicts.size() < most; });
    return judgement;
}

/// A file of this test, removed at its end.
class TextFile {
  public:
    explicit TextFile(const std::string& text)
        : path_(std::filesystem::temp_directory_path() / ("ulplab-prediction-" + std::to_string(getpid()))) {
        std::ofstream(path_) << text;
    }
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;
    ~TextFile() { std::filesystem::remove(path_); }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace

TEST_CASE("a list is drawn from its seed, is read back, and has every type, layout and kind of extent") {
    const auto list = draw_problems(7, 2000);
    CHECK(list == draw_problems(7, 2000));
    CHECK(list != draw_problems(8, 2000));
    std::set<std::string> types, layouts;
    bool unaligned = false, deep = false, thin = false, batched = false;
    for (const LibraryProblem& p : list) {
        types.insert(std::string(p.type->name));
        layouts.insert(p.layout);
        unaligned = unaligned || p.k % 2 == 1;
        deep = deep || p.k > 100'000;
        thin = thin || p.m == 1;
        batched = batched || p.batch > 1;
    }
    CHECK(types.size() == problem_types().size());
    CHECK(layouts.size() == 4);
    CHECK((unaligned && deep && thin && batched));
    const TextFile file(problems_text(list, 7));
    CHECK(read_problems(file.path()) == list);
    const TextFile with_returns(
        "# a list\r\ntype,layout,m,n,k,alpha,beta\r\nfp16,TN,1,2,3,1,0\r\n\r\nfp16,TN,1,2,3,1,0,5\r\n");
    CHECK(read_problems(with_returns.path()).size() == 2);
    CHECK(read_problems(with_returns.path())[1].batch == 5);
}

TEST_CASE("the list of 10,000 shapes is the committed one") {
    std::ifstream committed(ULPLAB_SHAPES_DIGEST);
    std::string digest;
    committed >> digest;
    CHECK(ulp::sha256_of(problems_text(draw_problems(1, 10'000), 1)) == digest);
}

TEST_CASE("a malformed line of a list is named with its number and fault") {
    const auto fault = [](const std::string& line) {
        const TextFile file("type,layout,m,n,k,alpha,beta\nfp16,TN,1,1,1,1,0\n" + line + "\n");
        try {
            read_problems(file.path());
        } catch (const ulp::DataError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    for (const char* line :
         {"fp16,TN,1,1,1,1", "fp17,TN,1,1,1,1,0", "fp16,TX,1,1,1,1,0", "fp16,TN,0,1,1,1,0", "fp16,TN,1,-5,1,1,0",
          "fp16,TN,1,1,99999999,1,0", "fp16,TN,1,1,1.5,1,0", "fp16,TN,1,1,1,nan,0", "fp16,TN,1,1,1,1,inf",
          "fp16,TN,1,1,1,1,0,", "fp16,TN,1,1,1,1,0,0", "fp16,TN,1,1,1,1,0,2000", "fp16,TN,1,1,1,1,0,2,2"}) {
        CAPTURE(std::string(line));
        CHECK(fault(line).find(":3: ") != std::string::npos);
    }
    CHECK(fault("").empty());
}

TEST_CASE("the plan follows the published rules") {
    const HeuristicAnswer plain{.id = 66, .stages = 35};
    CHECK(order_of(plain, problem("fp16", "TN", 64, 64, 1000)) == KernelOrder{.unit = "sm_90:wgmma.fp16.fp32"});
    const HeuristicAnswer split{.id = 66, .stages = 35, .split = 3, .reduction = 2};
    CHECK(order_of(split, problem("fp16", "TN", 64, 64, 1000)).piece == 384);  // ceil(ceil(1000/64) / 3) * 64
    // fp32 by CUTLASS is a chain of fma, in pieces where it is split.
    const HeuristicAnswer simt{.id = 21, .stages = 8, .split = 4, .reduction = 2};
    CHECK(order_of(simt, problem("fp32", "NT", 64, 64, 1000)) ==
          KernelOrder{.unit = "fp32 fma", .piece = 252, .merge = Merge::fp32});
    CHECK(reason_of(plan_of(plain, problem("fp32", "NT", 64, 64, 1000), on_hopper)).find("CUTLASS alone") !=
          std::string::npos);
    // The fault of the library: ones of k = 11528 give 11520.
    const HeuristicAnswer faulty{.id = 66, .stages = 35, .split = 9, .reduction = 2};
    const LibraryProblem lost = problem("fp16", "TN", 1, 8, 11528);
    CHECK(order_of(faulty, lost).dropped == 8);
    ProblemSample ones{.rows = {0}, .columns = {0}, .a = {}, .b = {}, .c = {}};
    ones.a.assign(11528, 0x3C00);
    ones.b = ones.a;
    CHECK(ordered_product(order_of(faulty, lost), lost, ones) ==
          std::vector<std::uint32_t>{std::bit_cast<std::uint32_t>(11520.0F)});
    // Only where it was seen; elsewhere nobody knows, but of a split that keeps the tail nothing is declined.
    for (const auto& [gpu, version, known] : {std::tuple{"NVIDIA H100 80GB HBM3", "13.1.1", true},
                                              {"NVIDIA H100 80GB HBM3", "12.8.5", true},
                                              {"NVIDIA H100 80GB HBM3", "13.1.0", false},
                                              {"NVIDIA H200", "13.1.1", false}}) {
        const LibraryInfo info{true, gpu, 90, version};
        CAPTURE(info.text());
        const KernelPlan plan = plan_of(faulty, lost, info);
        CHECK(std::holds_alternative<KernelOrder>(plan) == known);
        CHECK((reason_of(plan).find("loses such a tail") != std::string::npos) != known);
        HeuristicAnswer kept = faulty;
        kept.split = 8;
        CHECK(std::holds_alternative<KernelOrder>(plan_of(kept, lost, info)));
    }
    HeuristicAnswer eight = faulty;
    eight.split = 8;
    CHECK(order_of(eight, lost).dropped == 0);  // 180 blocks in 8 pieces: the last one takes the tail
    // CUTLASS: the wide alignment of a piece only where k lies along memory in A or B.
    const HeuristicAnswer cutlass{.id = 21, .stages = 10, .split = 2, .reduction = 4};
    CHECK(order_of(cutlass, problem("fp16", "TN", 8, 8, 640)).piece == 320);
    CHECK(order_of(cutlass, problem("fp16", "TN", 8, 8, 704)).piece == 384);
    CHECK(order_of(cutlass, problem("fp16", "NT", 8, 8, 704)).piece == 352);
    CHECK(order_of(cutlass, problem("fp16", "TN", 8, 8, 704)).merge == Merge::rounded);
    CHECK(order_of({.id = 66, .stages = 36}, problem("e4m3_slow", "TN", 16, 16, 512)).promote == 128);
    for (const char* type : {"fp16", "bf16"}) {
        CHECK(order_of({.id = 16}, problem(type, "TN", 3, 3, 9)).unit == "fp32 fma");
    }
}

TEST_CASE("the plan declines what it does not know, with the reason") {
    const LibraryProblem p = problem("fp16", "TN", 64, 64, 1000);
    CHECK(reason_of(plan_of({.id = 41, .stages = 35}, p, on_hopper)).find("family 41") != std::string::npos);
    CHECK(reason_of(plan_of({.id = 66, .stages = 17 + 20}, p, on_hopper)).find("stages 37") != std::string::npos);
    CHECK(reason_of(plan_of({.id = 66, .stages = 35, .split = 2, .reduction = 8}, p, on_hopper)).find("scheme 8") !=
          std::string::npos);
    CHECK(reason_of(plan_of({.id = 66, .stages = 35, .inner_shape = 2}, p, on_hopper)).find("inner") !=
          std::string::npos);
    const LibraryInfo on_ampere{false, "test", 80, "0.0.0"};
    CHECK(reason_of(plan_of({.id = 66, .stages = 35}, p, on_ampere)).find("model table") != std::string::npos);
    CHECK_FALSE(reason_of(plan_of({.id = 66, .stages = 35}, problem("fp32", "TN", 4, 4, 4), on_hopper)).empty());
    CHECK_FALSE(reason_of(plan_of({.id = 16}, problem("tf32", "TN", 4, 4, 4), on_hopper)).empty());
    // Split products of tf32, and of FP8 with a tail, are declined of nvjet alone; CUTLASS's are predicted.
    const HeuristicAnswer nvjet{.id = 66, .stages = 35, .split = 2, .reduction = 2};
    const HeuristicAnswer nvjet_fp8{.id = 66, .stages = 36, .split = 2, .reduction = 2};
    const HeuristicAnswer cutlass{.id = 21, .stages = 10, .split = 2, .reduction = 2};
    const LibraryProblem tf32 = problem("tf32", "TN", 64, 64, 1024);
    const LibraryProblem tail = problem("e4m3", "TN", 64, 64, 1040);
    CHECK(reason_of(plan_of(nvjet, tf32, on_hopper)).find("split tf32") != std::string::npos);
    CHECK(reason_of(plan_of(nvjet_fp8, tail, on_hopper)).find("tail of split FP8") != std::string::npos);
    CHECK(order_of(nvjet_fp8, problem("e4m3", "TN", 64, 64, 1024)).piece == 512);
    CHECK(order_of(cutlass, tf32).piece == 512);
    CHECK(order_of(cutlass, tail).merge == Merge::fp32);
    CHECK_THROWS_AS(heuristic_answer_of("1.2.3", "here: "), ulp::DataError);
    CHECK_THROWS_AS(heuristic_answer_of("1.2.3.4.5.6.7.8.9.", "here: "), ulp::DataError);
    CHECK(heuristic_answer_of("66.24.35.2.1.0.3.0.5", "").cluster == 5);
}

TEST_CASE("an order's product is that of the library of products where both know it") {
    const LibraryProblem p = problem("fp16", "TN", 3, 2, 300);
    const ProblemSample sample = sample_of(p, InputSet::spread);
    const auto values = [](const std::vector<std::uint32_t>& codes) {
        std::vector<float> list;
        for (const std::uint32_t code : codes) list.push_back(ulp::in_fp32_container(ulp::formats::fp16, code));
        return list;
    };
    const auto a = values(sample.a), b = values(sample.b);
    std::vector<float> d(6);
    ulp::soft_product(ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32"), {.piece_k = 104, .tile_k = 32},
                      {{a.data(), 3, 300, 300, 1}, {b.data(), 300, 2, 1, 300}, {}, {d.data(), 3, 2}});
    const KernelOrder order{.unit = "sm_90:mma.fp16.fp32", .piece = 104, .tile = 32, .merge = Merge::fp32};
    const auto words = ordered_product(order, p, sample);
    for (std::size_t i = 0; i < d.size(); ++i) CHECK(words[i] == std::bit_cast<std::uint32_t>(d[i]));
    for (const KernelOrder& mutant : mutants_of(order, p)) CHECK_FALSE(mutant == order);
}

TEST_CASE("predictions hold on the library that they were made for, and survive their file") {
    const auto library = open_software_library(90);
    const PredictionFile file = predict(*library, few_problems());
    const TextFile written(predictions_text(file));
    const PredictionFile back = read_predictions(written.path());
    CHECK(predictions_text(back) == predictions_text(file));
    const Judgement found = judged(*library, back);
    CHECK(found.holds());
    CHECK(found.all.of(Verdict::equal) >= 7);
    CHECK(found.all.of(Verdict::declined) == 2);  // fp32, and one row
    CHECK(found.all.of(Verdict::not_offered) == 1);
    CHECK(found.all.told_from_all > 0);
    CHECK(found.all.told_from_one >= found.all.told_from_all);
    // Every row counts once in each kind of group.
    for (const std::string kind : {"type ", "layout ", "family ", "D "}) {
        VerdictCounts sum;
        for (const auto& [group, counts] : found.groups) {
            if (!group.starts_with(kind)) continue;
            for (const Verdict v : verdicts) sum.by_verdict[static_cast<std::size_t>(v)] += counts.of(v);
            sum.told_from_one += counts.told_from_one;
            sum.told_from_all += counts.told_from_all;
        }
        CAPTURE(kind);
        CHECK(sum == found.all);
    }
    CHECK(found.groups.at("family 66").compared() > 0);
    CHECK(found.groups.at("layout NN").compared() == 1);
    CHECK(found.groups.count("D sampled") == 0);
    CHECK_FALSE(found.stopped);
    CHECK(judged(*library, back, 3).stopped);
    // A GPU whose memory is full at a row keeps the verdicts before it, goes on behind it, and comes back to it.
    const auto small = open_software_library(90, StandInFault::none, library_workspace + 300'000);
    Judgement kept;
    CHECK_THROWS_WITH_AS(judge(*small, back, kept, [] { return true; }), doctest::Contains("close other programs"),
                         ulp::DataError);
    CHECK(kept.verdicts.size() > 1);
    CHECK(kept.verdicts.size() < found.verdicts.size());
    CHECK(kept.verdicts.back() == Verdict::failed);
    judge(*library, back, kept, [] { return true; });
    CHECK(kept.verdicts == found.verdicts);
    CHECK(kept.all == found.all);
}

TEST_CASE("a judgement is taken up from its file, and a file of other verdicts is refused") {
    const auto library = open_software_library(90);
    const PredictionFile file = predict(*library, few_problems());
    Judgement whole = judged(*library, file);
    whole.date = "2026-01-02";
    const std::string text = judgement_text(file, "digest", whole);
    for (const std::size_t most : {0U, 1U, 5U, 1000U}) {
        Judgement part = judged(*library, file, most);
        part.date = whole.date;
        const TextFile written(judgement_text(file, "digest", part));
        Judgement taken = read_judgement(written.path(), file, "digest");
        CHECK(taken.verdicts == part.verdicts);
        judge(*library, file, taken, [] { return true; });
        CHECK(judgement_text(file, "digest", taken) == text);
        CHECK(taken.groups == whole.groups);
        CHECK(taken.all == whole.all);
    }
    const auto refused = [&](std::string from, const std::string& to, const char* fault) {
        std::string changed = text;
        changed.replace(changed.find(from), from.size(), to);
        const TextFile written(changed);
        CHECK_THROWS_WITH_AS(static_cast<void>(read_judgement(written.path(), file, "digest")),
                             doctest::Contains(fault), ulp::DataError);
    };
    refused("judged 1", "judged 2", ":1: ");
    refused("# predictions digest", "# predictions other", "other predictions");
    refused("# date", "# day", ":4: ");
    refused(",verdict", "", ":5: ");
    refused("equal", "equals", "is no verdict on");
    refused("fp16,TN,96", "fp16,TN,97", ":6: ");
    refused("equal\n", "equal\nfp16,TN,7,7,65,1,0,equal\n", ":7: ");
    const TextFile longer(text + "fp16,TN,7,7,65,1,0,equal\n");
    CHECK_THROWS_WITH_AS(static_cast<void>(read_judgement(longer.path(), file, "digest")),
                         doctest::Contains("more verdicts"), ulp::DataError);
}

TEST_CASE("the judge finds a wrong bit, another order, another answer and a wrong entry of the table") {
    const auto good = open_software_library(90);
    const PredictionFile file = predict(*good, few_problems());
    CHECK(judged(*open_software_library(90, StandInFault::one_bit), file).all.of(Verdict::different) == 1);
    CHECK(judged(*open_software_library(90, StandInFault::other_order), file).all.of(Verdict::different) >= 1);
    std::vector<LibraryProblem> many;
    while (many.size() < 150) many.push_back(few_problems()[4]);
    const PredictionFile repeated = predict(*open_software_library(90), many);
    CHECK(judged(*open_software_library(90, StandInFault::other_answer), repeated).all.of(Verdict::moved) > 0);
    PredictionFile wrong = file;
    KernelOrder mistaken = order_of({.id = 66, .stages = 35}, wrong.rows[0].problem);
    mistaken.piece = 128;
    mistaken.merge = Merge::fp32;
    wrong.rows[0] = predicted(wrong.rows[0].problem, mistaken, wrong.rows[0].answer);
    CHECK(judged(*good, wrong).all.of(Verdict::different) == 1);
}

TEST_CASE("the judge refuses predictions for another library or GPU, and files whose shapes were changed") {
    const auto library = open_software_library(90);
    PredictionFile file = predict(*library, few_problems());
    file.info.version = "13.1.0";
    CHECK_THROWS_WITH_AS(judged(*library, file), doctest::Contains("13.1.0"), ulp::DataError);
    std::string text = predictions_text(predict(*library, few_problems()));
    text.replace(text.find("fp16,TN,96"), 10, "fp16,TN,97");
    const TextFile changed(text);
    CHECK_THROWS_WITH_AS(read_predictions(changed.path()), doctest::Contains("digest"), ulp::DataError);
    const TextFile cut(text.substr(0, text.size() / 2));
    CHECK_THROWS_AS(read_predictions(cut.path()), ulp::DataError);
}

TEST_CASE("stored answers predict what the library does: listed shapes, points of the grid, and between them") {
    const auto library = open_software_library(90);
    StoredAnswers asked(library->info(), {{16, 64, 256}, {64, 128, 512}});
    CHECK(asked.ask(*library, few_problems(), {&problem_type("fp16")}));
    const TextFile file(asked.text());
    const StoredAnswers stored = StoredAnswers::read(file.path());
    CHECK(stored.text() == asked.text());
    for (const LibraryProblem& p : few_problems()) {
        const auto answer = library->ask(p);
        const KernelPlan plan = stored.plan(p);
        CHECK(reason_of(plan) ==
              (answer ? reason_of(plan_of(*answer, p, library->info())) : std::string(no_such_product)));
    }
    int guessed = 0;
    for (std::int64_t m = 16; m <= 256; m += 24) {
        for (const std::int64_t k : {64, 96, 104, 128, 200, 512}) {
            const LibraryProblem p = problem("fp16", "TN", m, 128, k);
            const KernelPlan plan = stored.plan(p);
            const auto* order = std::get_if<KernelOrder>(&plan);
            if (order == nullptr) continue;
            ++guessed;
            const auto answer = library->ask(p);
            REQUIRE(answer.has_value());
            CHECK(plan_of(*answer, p, library->info()).index() == 0);
            CHECK(*order == std::get<KernelOrder>(plan_of(*answer, p, library->info())));
        }
    }
    CHECK(guessed > 10);
    CHECK(reason_of(stored.plan(problem("fp16", "TN", 4096, 128, 64))).find("outside") != std::string::npos);
    CHECK(reason_of(stored.plan(problem("bf16", "TN", 128, 128, 64))).find("no answers") != std::string::npos);
}

TEST_CASE("answers that are asked in parts, each read from the file of the part before, are those asked at once") {
    const auto library = open_software_library(90);
    const AnswerGrid grid{{16, 64}, {64, 128}};
    const std::vector<const ProblemType*> types{&problem_type("fp32"), &problem_type("e4m3")};
    StoredAnswers at_once(library->info(), grid);
    CHECK(at_once.ask(*library, few_problems(), types));
    StoredAnswers part(library->info(), grid);
    std::size_t parts = 1;
    for (; !part.ask(*library, few_problems(), types, [] { return false; }); ++parts) {
        REQUIRE(part.shapes() + part.classes() == parts);
        const TextFile file(part.text());
        part = StoredAnswers::read(file.path());
    }
    CHECK(parts == at_once.shapes() + at_once.classes() + 1);
    CHECK(part.text() == at_once.text());
}

TEST_CASE("a damaged file of answers is refused with its line") {
    const auto library = open_software_library(90);
    StoredAnswers answers(library->info(), {{16, 64}, {64, 128}});
    CHECK(answers.ask(*library, few_problems(), {&problem_type("e4m3")}));
    const std::string good = answers.text();
    const auto damaged = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        text.replace(text.find(from), from.size(), to);
        const TextFile file(text);
        CHECK_THROWS_AS(StoredAnswers::read(file.path()), ulp::DataError);
    };
    damaged("answers 1", "answers 2");
    damaged("workspace 33554432", "workspace 0");
    damaged("tuples ", "tuples 9");
    damaged("grid 16 64", "grid 64 16");
    damaged("e4m3 TN 16 16 16 ", "e4m3 TN 16 16 16 99*1 ");
    damaged("end\n", "");
    damaged("source software", "source nobody");
}

TEST_CASE("SIMT kernels in chunks: lengths, blocks and what is unknown, with the sums worked out beside") {
    const HeuristicAnswer two{.id = 11};
    const HeuristicAnswer four{.id = 11, .custom = 1};
    CHECK(order_of(two, problem("fp16", "TN", 8, 8, 500)) ==
          KernelOrder{.unit = "fp32 fma", .piece = 250, .merge = Merge::fp32});
    CHECK(order_of(four, problem("bf16", "NN", 8, 8, 1001)) ==
          KernelOrder{.unit = "fp32 fma", .piece = 251, .promote = 128, .merge = Merge::fp32});
    CHECK(reason_of(plan_of({.id = 11, .custom = 2}, problem("fp16", "TN", 8, 8, 500), on_hopper)).find("option 2") !=
          std::string::npos);
    CHECK(!reason_of(plan_of(two, problem("fp32", "TN", 8, 8, 500), on_hopper)).empty());
    CHECK(!reason_of(plan_of({.id = 11, .split = 2}, problem("fp16", "TN", 8, 8, 500), on_hopper)).empty());
    // By hand: two chunks of 600, each in blocks of 256, 256 and 88, in plain fp32; products of fp16 are exact.
    const LibraryProblem p = problem("fp16", "TN", 3, 2, 1200);
    const ProblemSample sample = sample_of(p, InputSet::spread);
    const auto words = ordered_product(order_of(two, p), p, sample);
    const auto value = [](std::uint32_t code) { return ulp::in_fp32_container(ulp::formats::fp16, code); };
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 2; ++j) {
            float total = 0;
            for (const std::size_t chunk : {0U, 600U}) {
                float of_chunk = 0;
                for (const std::size_t block : {0U, 256U, 512U}) {
                    float sum = 0;
                    for (std::size_t k = chunk + block; k < chunk + std::min<std::size_t>(block + 256, 600); ++k) {
                        sum += value(sample.a[i * 1200 + k]) * value(sample.b[j * 1200 + k]);
                    }
                    of_chunk += sum;
                }
                total += of_chunk;
            }
            CHECK(words[i * 2 + j] == std::bit_cast<std::uint32_t>(total));
        }
    }
}
