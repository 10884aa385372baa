// Which aspects of a row the recordings decide: replayed under every policy set and other parameters. The table claims
// these and no others.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "gpu/devices/executor.hpp"
#include "gpu/devices/recording.hpp"
#include "gpu/devices/reference.hpp"
#include "softfloat/lab/recordings.hpp"
#include "softfloat/matrix_units/alternatives.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "tests/shared_data.hpp"
#include "tests/softfloat/cases.hpp"

using namespace ulp;

namespace {

const std::filesystem::path folder = ULPLAB_RECORDINGS;

/// What the recordings of a key in a folder decide together.
using Decided = std::map<std::pair<std::string, std::string>, AspectSet>;
using Replayed = std::map<std::pair<std::string, std::string>, DecidedDots>;

RecordedDot dot_of(const gpu::HostProduct& p, std::uint64_t row, std::uint64_t column, std::uint64_t d) {
    const std::uint64_t b_row = row / (p.d.rows() / p.extents.batch) * p.d.columns() + column;
    RecordedDot dot;
    for (std::uint64_t k = 0; k < p.a.columns(); ++k) {
        dot.a.push_back(p.a.get(row, k));
        dot.b.push_back(p.b.get(b_row, k));
    }
    dot.c = p.c.empty() ? 0 : p.c.get(row, column);
    dot.d = d;
    return dot;
}

void add_elements(std::vector<RecordedDot>& dots, const gpu::HostProduct& p) {
    for (std::uint64_t i = 0; i < p.d.rows(); ++i) {
        for (std::uint64_t j = 0; j < p.d.columns(); ++j) dots.push_back(dot_of(p, i, j, p.d.get(i, j)));
    }
}

/// The cases of the first digest of each bulk run: where the model gives that digest, its results are the hardware's.
std::vector<RecordedDot> bulk_dots_of(const gpu::Recording& recording) {
    std::vector<RecordedDot> dots;
    const std::uint32_t tiles = gpu::tiles_per_digest(*recording.instruction);
    for (const gpu::RecordedRun& run : recording.runs) {
        gpu::HostProduct product = gpu::make_tiles(*recording.instruction, run.input_class, run.seed, tiles);
        gpu::expected_product(product, recording.device.architecture);
        CHECK(gpu::digests_of(product).front() == run.digests.front());
        if (gpu::digests_of(product).front() == run.digests.front()) add_elements(dots, product);
    }
    return dots;
}

/// Its probes, and every element of its tiles.
std::vector<RecordedDot> dots_of(const gpu::Recording& recording) {
    std::vector<RecordedDot> dots;
    for (const gpu::RecordedProbe& probe : recording.probes) {
        dots.push_back(dot_of(gpu::probe_tile(*recording.instruction, probe.lanes, probe.c), 0, 0, probe.d));
    }
    for (const gpu::RecordedTile& tile : recording.tiles) add_elements(dots, tile.product);
    return dots;
}

std::vector<RecordedDot> dots_of(const RecordedSet& set) {
    std::vector<RecordedDot> dots;
    const bool zero_c = recorded_with_zero_c(set);
    for (std::int64_t row = 0; row < set.rows; ++row) {
        RecordedDot dot;
        const auto first = row * set.products;
        dot.a.assign(set.a.begin() + first, set.a.begin() + first + set.products);
        dot.b.assign(set.b.begin() + first, set.b.begin() + first + set.products);
        dot.c = zero_c ? 0 : set.c[static_cast<std::size_t>(row)];
        dot.d = set.d[static_cast<std::size_t>(row)];
        dots.push_back(std::move(dot));
    }
    return dots;
}

/// The row's model with the instruction's own k, where it has another shape.
UnitModel model_of_instruction(const gpu::Recording& recording, const std::string& key) {
    if (const auto promised = gpu::promised_model(*recording.instruction, recording.device.architecture)) {
        return promised->model;
    }
    UnitModel model = find_unit(key).model;
    if (auto* integer = std::get_if<IntegerModel>(&model)) integer->instruction_k = recording.instruction->shape.k;
    return model;
}

void add(Replayed& decided, const std::string& key, const std::string& where, const UnitModel& model,
         const std::vector<RecordedDot>& dots) {
    DecidedDots& found = decided[{key, where}];
    decide(model, dots, found);
    CHECK(found.differ == 0);
}

std::string lines_of(const Decided& decided) {
    std::string text;
    for (const auto& [place, aspects] : decided) {
        text += "    {\"" + place.first + "\", \"" + place.second + "\", \"" + aspects.letters() + "\"},\n";
    }
    return text;
}

Decided aspects_of(const Replayed& replayed) {
    Decided decided;
    for (const auto& [place, found] : replayed) decided[place] = found.aspects();
    return decided;
}

/// Every recording below a folder with a folder for each card, in the project's layout and in the published one.
Decided decided_in_repository(const std::filesystem::path& root) {
    const auto card_of = [&](const std::filesystem::path& file) {
        const auto inside = std::filesystem::relative(file, std::filesystem::canonical(root));
        return "tests/recordings/" + inside.begin()->string();
    };
    Replayed found;
    for (const auto& file : gpu::find_recording_files(root)) {
        CAPTURE(file.filename().string());
        const gpu::Recording recording = gpu::read_recording_file(file);
        const std::string key = gpu::claimed_key(*recording.instruction, recording.device.architecture);
        if (key.empty()) continue;
        const std::string where = card_of(file);
        const UnitModel model = model_of_instruction(recording, key);
        add(found, key, where, model, dots_of(recording));
        if (found[{key, where}].aspects() == aspects_of(model)) continue;
        add(found, key, where, model, bulk_dots_of(recording));
    }
    for (const auto& files : list_recordings(root)) {
        CAPTURE(files.d.string());
        const RecordedSet set = read_recording(files);
        const auto row = model_of(set);
        if (row) add(found, row->row.key(), card_of(files.d), row->model, dots_of(set));
    }
    return aspects_of(found);
}

/// The committed lines of the folders that were replayed.
Decided committed(const std::set<std::string>& folders) {
    Decided decided;
    for (const DecidedAspects& line : decided_aspects()) {
        if (!folders.contains(std::string(line.folder))) continue;
        decided[{std::string(line.key), std::string(line.folder)}] = AspectSet(line.letters);
    }
    return decided;
}

/// The table has exactly these lines of their folders.
void compare(const Decided& found, const char* name) {
    std::set<std::string> folders;
    for (const auto& [place, aspects] : found) folders.insert(place.second);
    const bool same = lines_of(found) == lines_of(committed(folders));
    CHECK(same);
    if (same) return;
    std::ofstream(name) << lines_of(found);
    std::cout << "softfloat/matrix_units/decided_aspects.inc is not what the recordings decide; they decide "
              << std::filesystem::absolute(name).string() << "\n";
}

}  // namespace

TEST_CASE("the table claims of a row what the committed recordings decide, aspect by aspect") {
    const Decided found = decided_in_repository(folder);
    REQUIRE_FALSE(found.empty());
    compare(found, "decided_in_repository.inc");
}

TEST_CASE("what folders of volunteers decide is recorded, and verified live with a bulk run") {
    namespace fs = std::filesystem;
    const auto root = fs::temp_directory_path() / ("ulplab-aspects-" + std::to_string(getpid()));
    fs::create_directories(root / "l40s");
    const auto device = gpu::open_software_device(89);
    const gpu::Instruction& mma = gpu::instruction_by_name("mma.m16n8k16.fp16.fp32");
    gpu::Recording recording = gpu::make_recording(*device, mma, {.bulk_digests = 1, .date = "2030-01-01"});
    recording.model = "none";
    gpu::write_recording(root / "l40s" / gpu::recording_file_name(mma), recording);
    // Ordinary numbers, as its model multiplies them.
    const auto& mfma = unit_model<TensorCoreModel>("gfx942:mfma.fp16.fp32");
    const auto layout = root / "gfx942" / "mfma.16x16x16.fp16.fp32" / "fp16";
    fs::create_directories(layout);
    std::ofstream a(layout / "a_gfx942_fp16.txt"), b(layout / "b_gfx942_fp16.txt");
    std::ofstream c(layout / "c_gfx942_fp32.txt"), d(layout / "d_gfx942_fp32.txt");
    test::RandomWords random(1);
    const auto word = [](std::uint64_t code) {
        const float value = in_fp32_container(formats::fp16, static_cast<std::uint32_t>(code));
        return fmt::format("{:08X} ", std::bit_cast<std::uint32_t>(value));
    };
    for (int row = 0; row < 200; ++row) {
        std::vector<std::uint64_t> x, y;
        for (int k = 0; k < 16; ++k) {
            for (auto* codes : {&x, &y}) codes->push_back(0x3000 + random.below(0x1000));
            a << word(x.back());
            b << word(y.back());
        }
        a << '\n';
        b << '\n';
        c << fmt::format("{:032b}\n", 0x3F800000);
        d << fmt::format("{:032b}\n", chain_dot(mfma, x.data(), y.data(), std::uint64_t{0x3F800000}, 16));
    }
    for (auto* file : {&a, &b, &c, &d}) file->close();

    const Decided found = decided_in_repository(root);
    fs::remove_all(root);
    CHECK(found.size() == 2);
    for (const auto& [row, card] : {std::pair{"sm_89:mma.fp16.fp32", "tests/recordings/l40s"},
                                    std::pair{"gfx942:mfma.fp16.fp32", "tests/recordings/gfx942"}}) {
        const std::string key = row;
        CAPTURE(key);
        const auto line = found.find({key, card});
        REQUIRE(line != found.end());
        CHECK(line->second.has(Aspect::ordinary));
        const std::string letters = line->second.letters();
        const DecidedAspects decided{key, card, letters};
        const AspectEvidence weaker{Aspect::ordinary, Evidence::published, "a paper"};
        for (const AspectEvidence& each : evidence_of_row(key, AspectSet("ozfsin"), weaker, {&decided, 1}, {})) {
            const bool is_decided = line->second.has(each.aspect);
            CHECK(each.evidence == (is_decided ? Evidence::recorded : Evidence::published));
            CHECK(each.data == (is_decided ? card : "a paper"));
        }
        const auto live = evidence_of_row(key, AspectSet("o"), weaker, {&decided, 1}, "1e9 blocks");
        CHECK(live.front().evidence == Evidence::verified_live);
    }
}

TEST_CASE("the table claims of a row what the published recordings decide, aspect by aspect") {
    const auto root = test::shared_folder("recordings");
    if (!root) return;
    Replayed found;
    for (const auto& files : find_recordings(*root)) {
        CAPTURE(files.d.string());
        const RecordedSet set = read_recording(files);
        const auto row = model_of(set);
        REQUIRE(row.has_value());
        const bool listed = std::any_of(decided_aspects().begin(), decided_aspects().end(),
                                        [&](const DecidedAspects& line) { return line.folder == set.gpu; });
        if (listed) {
            add(found, row->row.key(), set.gpu, row->model, dots_of(set));
        } else {
            CHECK(decide(row->model, dots_of(set)).differ == 0);  // a GPU of the same architecture as one listed
        }
    }
    compare(aspects_of(found), "decided_published.inc");
}

TEST_CASE("a recording of ordinary numbers decides ordinary values alone, one of probes decides its policies") {
    const UnitModel& model = find_unit("sm_90:mma.bf16.fp32").model;
    const auto dot = [](std::initializer_list<std::pair<std::uint64_t, std::uint64_t>> lanes, std::uint64_t c,
                        std::uint64_t d) {
        RecordedDot one{std::vector<std::uint64_t>(16), std::vector<std::uint64_t>(16), c, d};
        std::size_t k = 0;
        for (const auto& [a, b] : lanes) {
            one.a[k] = a;
            one.b[k++] = b;
        }
        return one;
    };
    // 1.5 * 1.5 - 2^-25: every kind of wrong alignment shows.
    const RecordedDot ordinary = dot({{0x3FC0, 0x3FC0}, {0xB980, 0x3900}}, 0, 0x400FFFFF);
    CHECK(decide(model, {&ordinary, 1}).aspects().letters() == "o");
    // A zero product that counts, as in B and E, would cut c. A zero c that counts, as in B and D, would cut 2^-155 of
    // 2^-149 - 2^-155. Zeros are decided by both dots together: each leaves the other's alternatives open.
    const RecordedDot zero_product = dot({{0x0000, 0x7F00}}, 0x00000001, 0x00000001);
    const RecordedDot zero_c = dot({{0x1A80, 0x1A00}, {0x9900, 0x1880}}, 0, 0);
    CHECK_FALSE(decide(model, {&zero_product, 1}).aspects().has(Aspect::zeros));
    CHECK_FALSE(decide(model, {&zero_c, 1}).aspects().has(Aspect::zeros));
    const RecordedDot both[] = {zero_product, zero_c};
    CHECK(decide(model, both).aspects().has(Aspect::zeros));
    DecidedDots one_by_one = decide(model, {&zero_product, 1});
    decide(model, {&zero_c, 1}, one_by_one);
    CHECK(one_by_one.aspects() == decide(model, both).aspects());
    const RecordedDot floor = dot({{0x1A80, 0x1A00}, {0x9780, 0x1680}}, 0, 1);
    CHECK(decide(model, {&floor, 1}).aspects().has(Aspect::exponent_floor));
    const RecordedDot nan = dot({{0x7F80, 0x0000}}, 0, 0x7FFFFFFF);
    CHECK(decide(model, {&nan, 1}).aspects().letters() == "n");
    const RecordedDot overflow = dot({{0x7F00, 0x3F80}, {0x7F00, 0x3F80}}, 0, 0x7F800000);
    CHECK(decide(model, {&overflow, 1}).aspects().has(Aspect::specials));
    // A recording that the model does not give decides nothing.
    const RecordedDot wrong = dot({{0x3FC0, 0x3FC0}, {0xB980, 0x3900}}, 0, 0x40100000);
    CHECK(decide(model, {&wrong, 1}).differ == 1);
    CHECK(decide(model, {&wrong, 1}).aspects() == AspectSet());
}

TEST_CASE("a zero product is open where no recording contradicts every policy set that differs there") {
    // wgmma of e5m2: policy set B differs from H here, and on no committed recording of this instruction.
    const UnitModel& model = find_unit("sm_90:wgmma.e5m2.fp32").model;
    RecordedDot dot{std::vector<std::uint64_t>(32), std::vector<std::uint64_t>(32), 0x01000000, 0};
    dot.b[0] = 0xF8;  // 0 * -2^15
    dot.d = hypothesis_of(model)(dot);
    CHECK(dot.d == 0x01000000);
    CHECK(hypothesis_of(with_policies(std::get<TensorCoreModel>(model), policy_set("B")))(dot) != dot.d);
    for (const DecidedAspects& line : decided_aspects()) {
        if (line.key == "sm_90:wgmma.e5m2.fp32") CHECK_FALSE(AspectSet(line.letters).has(Aspect::zeros));
    }
}
