// Recordings as text, both ways.
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "engine/files/whole_file.hpp"
#include "gpu/devices/recording.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/support/read_number.hpp"

namespace ulp::gpu {
namespace {

std::string words_text(const PackedMatrix& matrix) {
    std::string text;
    text.reserve(matrix.words().size() * 8);
    for (const std::uint32_t word : matrix.words()) fmt::format_to(std::back_inserter(text), "{:08X}", word);
    return text;
}

void put_header(std::ostream& out, const Recording& r) {
    out << "ulplab recording 1\n"
        << "source " << (r.device.hardware ? "hardware" : "software") << '\n'
        << "gpu " << r.device.name << '\n'
        << "architecture " << architecture_name(r.device.architecture) << '\n'
        << "driver " << (r.device.driver.empty() ? "unknown" : r.device.driver) << '\n'
        << "cuda " << (r.device.cuda_driver.empty() ? "none" : r.device.cuda_driver) << ' '
        << (r.device.cuda_runtime.empty() ? "none" : r.device.cuda_runtime) << '\n'
        << "date " << r.date << '\n'
        << "instruction " << r.instruction->name() << '\n'
        << "model " << r.model << '\n';
}

void put_body(std::ostream& out, const Recording& r) {
    out << "probes " << r.probes.size() << '\n';
    for (const RecordedProbe& probe : r.probes) {
        out << fmt::format("{} c={:08X} d={:08X}", probe.id, probe.c, probe.d);
        for (const ProbeLane& lane : probe.lanes) out << fmt::format(" {}:{:X}*{:X}", lane.k, lane.a, lane.b);
        out << '\n';
    }
    out << "samples " << r.tiles.size() << '\n';
    for (const RecordedTile& tile : r.tiles) {
        out << fmt::format("tile {} seed {:016X} steps {}\n", name_of(tile.input_class), tile.seed,
                           tile.product.extents.steps_k);
        out << "a " << words_text(tile.product.a) << "\nb " << words_text(tile.product.b) << '\n';
        if (!tile.product.a_scales.empty()) {
            out << "a_scales " << words_text(tile.product.a_scales) << "\nb_scales "
                << words_text(tile.product.b_scales) << '\n';
        }
        out << "c " << words_text(tile.product.c) << "\nd " << words_text(tile.product.d) << '\n';
    }
    out << "bulk " << r.runs.size() << '\n';
    for (const RecordedRun& run : r.runs) {
        out << fmt::format("run {} seed {:016X} steps {} tiles {} inputs {:016X}\n", name_of(run.input_class), run.seed,
                           steps_of(run.input_class), run.tiles, run.input_digest);
        for (std::size_t i = 0; i < run.digests.size(); ++i) {
            out << fmt::format("{:016X}{}", run.digests[i], i + 1 == run.digests.size() ? "\n" : " ");
        }
    }
    out << "end\n";
}

/// Reads a file line by line, word by word; every complaint names file and line.
class LineReader {
  public:
    explicit LineReader(const std::filesystem::path& path) : path_(path), file_(path) {
        if (!file_) throw DataError(fmt::format("cannot open the recording {}; check the path", path.string()));
    }
    void next_line() {
        ++number_;
        std::string line;
        if (!std::getline(file_, line)) fail("the file ends here; it is truncated, fetch it again");
        words_ = std::istringstream(line);
    }
    [[noreturn]] void fail(const std::string& what) const {
        throw DataError(fmt::format("{}, line {}: {}", path_.string(), number_, what));
    }
    std::string word(const char* what) {
        std::string text;
        if (!(words_ >> text)) fail(fmt::format("{} is missing", what));
        return text;
    }
    bool another_word(std::string& text) { return static_cast<bool>(words_ >> text); }
    void end_of_line() {
        std::string text;
        if (another_word(text)) fail(fmt::format("'{}' stands where the line should end", text));
    }
    void end_of_file() {
        for (std::string line; std::getline(file_, line);) {
            ++number_;
            if (!line.empty()) fail("there is text after the end");
        }
    }
    void expect(const char* keyword) {
        const std::string text = word(keyword);
        if (text != keyword) fail(fmt::format("'{}' stands where '{}' belongs", text, keyword));
    }
    /// The rest of the line, without the blank before it.
    std::string rest() {
        std::string text;
        std::getline(words_ >> std::ws, text);
        return text;
    }
    template <class Integer>
    Integer number(const char* what, int base = 10) {
        return parse<Integer>(word(what), what, base);
    }
    template <class Integer>
    Integer parse(std::string_view text, const char* what, int base) {
        const std::optional<Integer> value = read_number<Integer>(text, base);
        if (!value) fail(fmt::format("'{}' is no {}", text, what));
        return *value;
    }
    void words_into(const char* name, PackedMatrix& matrix) {
        next_line();
        expect(name);
        const std::string text = word("data");
        end_of_line();
        if (text.size() != matrix.words().size() * 8) {
            fail(fmt::format("{} has {} hexadecimal digits instead of {}", name, text.size(),
                             matrix.words().size() * 8));
        }
        for (std::size_t i = 0; i < matrix.words().size(); ++i) {
            matrix.words()[i] =
                parse<std::uint32_t>(std::string_view(text).substr(i * 8, 8), "word of 8 hexadecimal digits", 16);
        }
    }
    InputClass input_class() {
        const std::string name = word("class");
        for (const InputClass c : input_classes) {
            if (name_of(c) == name) return c;
        }
        fail(fmt::format("there is no class '{}'", name));
    }
    /// "keyword text"
    std::string field(const char* keyword) {
        next_line();
        expect(keyword);
        return rest();
    }

  private:
    std::filesystem::path path_;
    std::ifstream file_;
    std::istringstream words_;
    int number_ = 0;
};

void get_header(LineReader& in, Recording& r) {
    if (in.field("ulplab") != "recording 1") in.fail("this is no 'ulplab recording 1'");
    const std::string source = in.field("source");
    if (source != "hardware" && source != "software") in.fail("the source is neither hardware nor software");
    r.device.hardware = source == "hardware";
    r.device.name = in.field("gpu");
    const std::string architecture = in.field("architecture");
    if (!architecture.starts_with("sm_")) in.fail("the architecture does not look like sm_90");
    r.device.architecture = in.parse<int>(std::string_view(architecture).substr(3), "architecture", 10);
    r.device.driver = in.field("driver");
    in.next_line();
    in.expect("cuda");
    r.device.cuda_driver = in.word("CUDA version of the driver");
    r.device.cuda_runtime = in.word("CUDA version of the runtime");
    in.end_of_line();
    r.date = in.field("date");
    const std::string name = in.field("instruction");
    try {
        r.instruction = &instruction_by_name(name);
    } catch (const std::invalid_argument& error) {
        in.fail(error.what());
    }
    if (!r.instruction->availability.on(r.device.architecture)) {
        in.fail(fmt::format("{} does not exist on {}", name, architecture));
    }
    r.model = in.field("model");
}

RecordedProbe get_probe(LineReader& in) {
    RecordedProbe probe;
    in.next_line();
    probe.id = in.word("probe's name");
    const auto assignment = [&](const char* name) {
        const std::string text = in.word(name);
        if (!text.starts_with(name)) in.fail(fmt::format("'{}' stands where {} belongs", text, name));
        return in.parse<std::uint32_t>(std::string_view(text).substr(2), "hexadecimal word", 16);
    };
    probe.c = assignment("c=");
    probe.d = assignment("d=");
    std::string lane;
    while (in.another_word(lane)) {
        const std::size_t colon = lane.find(':');
        const std::size_t star = lane.find('*');
        if (colon == std::string::npos || star == std::string::npos || star < colon) in.fail("a lane is not k:a*b");
        const std::string_view text(lane);
        probe.lanes.push_back({in.parse<int>(text.substr(0, colon), "lane's k", 10),
                               in.parse<std::uint32_t>(text.substr(colon + 1, star - colon - 1), "lane's a", 16),
                               in.parse<std::uint32_t>(text.substr(star + 1), "lane's b", 16)});
    }
    return probe;
}

RecordedTile get_tile(LineReader& in, const Instruction& instruction) {
    in.next_line();
    in.expect("tile");
    const InputClass input_class = in.input_class();
    in.expect("seed");
    const auto seed = in.number<std::uint64_t>("seed", 16);
    in.expect("steps");
    const auto steps = in.number<std::uint32_t>("number of steps");
    if (steps == 0 || steps > 64) in.fail("a tile has 1 to 64 steps");
    in.end_of_line();
    RecordedTile tile{input_class, seed, HostProduct(instruction, {.steps_k = steps}, true)};
    in.words_into("a", tile.product.a);
    in.words_into("b", tile.product.b);
    if (!tile.product.a_scales.empty()) {
        in.words_into("a_scales", tile.product.a_scales);
        in.words_into("b_scales", tile.product.b_scales);
    }
    in.words_into("c", tile.product.c);
    in.words_into("d", tile.product.d);
    return tile;
}

RecordedRun get_run(LineReader& in, const Instruction& instruction) {
    in.next_line();
    in.expect("run");
    RecordedRun run{};
    run.input_class = in.input_class();
    in.expect("seed");
    run.seed = in.number<std::uint64_t>("seed", 16);
    in.expect("steps");
    if (in.number<std::uint32_t>("number of steps") != steps_of(run.input_class)) in.fail("the class has other steps");
    in.expect("tiles");
    run.tiles = in.number<std::uint32_t>("number of tiles");
    in.expect("inputs");
    run.input_digest = in.number<std::uint64_t>("digest", 16);
    const std::uint32_t per_digest = tiles_per_digest(instruction);
    in.end_of_line();
    if (run.tiles == 0 || run.tiles % per_digest != 0 || run.tiles / per_digest > most_digests) {
        in.fail(fmt::format("the number of tiles, {}, is not a multiple of {} up to {}", run.tiles, per_digest,
                            most_digests * per_digest));
    }
    in.next_line();
    for (std::uint32_t i = 0; i < run.tiles / per_digest; ++i)
        run.digests.push_back(in.number<std::uint64_t>("digest", 16));
    in.end_of_line();
    return run;
}

std::size_t section(LineReader& in, const char* name, bool may_be_empty) {
    in.next_line();
    in.expect(name);
    const auto count = in.number<std::size_t>("count");
    in.end_of_line();
    if (count == 0 && !may_be_empty)
        in.fail(fmt::format("the recording has no {}; fetch it again, or record again", name));
    return count;
}

}  // namespace

void write_recording(const std::filesystem::path& path, const Recording& recording) {
    std::ostringstream out;
    put_header(out, recording);
    put_body(out, recording);
    replace_whole_file(path, std::move(out).str());
}

Recording read_recording_file(const std::filesystem::path& path) {
    LineReader in(path);
    Recording recording;
    get_header(in, recording);
    const Instruction& instruction = *recording.instruction;
    const auto lane_fits = [&](const ProbeLane& lane) { return lane.k >= 0 && lane.k < instruction.shape.k; };
    for (std::size_t left = section(in, "probes", probes_for(instruction).empty()); left > 0; --left) {
        recording.probes.push_back(get_probe(in));
        for (const ProbeLane& lane : recording.probes.back().lanes) {
            if (!lane_fits(lane)) in.fail(fmt::format("the instruction has no k {}", lane.k));
        }
    }
    for (std::size_t left = section(in, "samples", false); left > 0; --left)
        recording.tiles.push_back(get_tile(in, instruction));
    for (std::size_t left = section(in, "bulk", false); left > 0; --left)
        recording.runs.push_back(get_run(in, instruction));
    in.next_line();
    in.expect("end");
    in.end_of_line();
    in.end_of_file();
    return recording;
}

}  // namespace ulp::gpu
