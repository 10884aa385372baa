#include "tests/fuzz/loaders.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/analysis/token_mismatch.hpp"
#include "engine/files/format_file.hpp"
#include "engine/files/npy.hpp"
#include "engine/files/safetensors.hpp"
#include "engine/files/sharded_model.hpp"
#include "engine/files/stored_arrays.hpp"
#include "engine/nets/net.hpp"
#include "engine/products/unit_file.hpp"
#include "experiments/course/submissions.hpp"
#include "gpu/devices/recording.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/lab/recordings.hpp"

namespace ulp::fuzz {
namespace {

namespace fs = std::filesystem;

/// A file of this process in memory, if there is such a folder.
fs::path scratch_file(const std::string& name) {
    static const fs::path folder = [] {
        const fs::path memory = "/dev/shm";
        return fs::exists(memory) ? memory : fs::temp_directory_path();
    }();
    return folder / ("ulplab_fuzz_" + std::to_string(getpid()) + name);
}

/// A file that lives as long as this.
class ScratchFile {
  public:
    ScratchFile(const std::string& name, std::string_view bytes) : path(scratch_file(name)) {
        std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    ~ScratchFile() { fs::remove(path); }
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    const fs::path path;
};

template <class Function>
void unless_refused(const Function& load) {
    try {
        load();
    } catch (const DataError&) {  // a sentence, which is what a bad file should get
    }
}

void read_pieces(const fs::path& file) {
    for (const StoredBytes& tensor : stored_bytes(file)) {
        const PieceReader next = tensor.open();
        std::uint64_t size = 0;
        for (std::string_view piece = next(); !piece.empty(); piece = next()) size += piece.size();
        if (size != tensor.size) std::abort();
    }
}

void read_arrays(const fs::path& file) {
    for (const auto& [name, array] : stored_arrays(file)) {
        unless_refused([&each = array] { (void)each.numbers(); });
    }
}

void load_tensors(std::string_view bytes) {
    const ScratchFile file("", bytes);
    unless_refused([&] { read_pieces(file.path); });
    unless_refused([&] { read_arrays(file.path); });
}
void load_npy(std::string_view bytes) {
    const ScratchFile file(".npy", bytes);
    unless_refused([&] { read_pieces(file.path); });
    unless_refused([&] { (void)npy::read_numbers(file.path); });
}
void load_safetensors(std::string_view bytes) {
    const ScratchFile file(".safetensors", bytes);
    unless_refused([&] { (void)read_safetensors(file.path); });
    load_tensors(bytes);
}
void load_tokens(std::string_view bytes) {
    const ScratchFile file(".jsonl", bytes);
    unless_refused([&] { (void)read_token_sequences(file.path); });
}

/// The index of a folder without a shard.
void load_model_index(std::string_view bytes) {
    const fs::path folder = scratch_file("_model");
    fs::create_directory(folder);
    std::ofstream(folder / model_index, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    unless_refused([&] { (void)shards_of(folder); });
    fs::remove_all(folder);
}

void load_net(std::string_view bytes) {
    unless_refused([&] { (void)json_of(net_from_json(bytes)); });
}
void load_unit(std::string_view bytes) {
    unless_refused([&] { (void)unit_json(unit_from_json(bytes)); });
}
void load_format(std::string_view bytes) {
    const ScratchFile file(".json", bytes);
    unless_refused([&] { (void)format_json(format_of_file(file.path.string())); });
}
void load_recording(std::string_view bytes) {
    const ScratchFile file(".recording", bytes);
    unless_refused([&] { (void)gpu::read_recording_file(file.path); });
}

/// What one student of a class handed in, as an archive.
void load_submission(std::string_view bytes) {
    const fs::path folder = scratch_file("_class"), work = scratch_file("_unpacked");
    fs::create_directories(folder / "student");
    std::ofstream(folder / "student/work.zip", std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    unless_refused([&] { (void)course::read_class(folder, work); });
    fs::remove_all(folder);
    fs::remove_all(work);
}

/// The four files of a set, one after the other with a form feed between.
void load_recorded_set(std::string_view bytes) {
    std::array<std::string_view, 4> parts;
    for (std::string_view& part : parts) {
        part = bytes.substr(0, bytes.find('\f'));
        bytes.remove_prefix(std::min(bytes.size(), part.size() + 1));
    }
    const ScratchFile a("a", parts[0]), b("b", parts[1]), c("c", parts[2]), d("d", parts[3]);
    unless_refused([&] { (void)read_recording({"H100", "fp16", "fp32", a.path, b.path, c.path, d.path}); });
}

constexpr std::array all_loaders = {Loader{"npy", load_npy},
                                    Loader{"npz", load_tensors},
                                    Loader{"safetensors", load_safetensors},
                                    Loader{"model_index", load_model_index},
                                    Loader{"net", load_net},
                                    Loader{"tokens", load_tokens},
                                    Loader{"unit", load_unit},
                                    Loader{"format", load_format},
                                    Loader{"recording", load_recording},
                                    Loader{"recorded_set", load_recorded_set},
                                    Loader{"submission", load_submission}};

}  // namespace

std::span<const Loader> loaders() { return all_loaders; }

}  // namespace ulp::fuzz
