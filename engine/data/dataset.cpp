#include "engine/data/dataset.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <memory>
#include <numeric>
#include <utility>

#include "engine/files/sha256.hpp"
#include "engine/tensor/random.hpp"

namespace ulp {

Dataset Dataset::slice(Index first, Index count) const {
    Dataset part{channels, height, width, classes, {}, {}};
    const Index each = features();
    part.pixels.assign(pixels.begin() + first * each, pixels.begin() + (first + count) * each);
    part.labels.assign(labels.begin() + first, labels.begin() + first + count);
    return part;
}

std::string Dataset::digest() const {
    return Sha256().add(std::span<const std::uint8_t>(pixels)).add(std::span<const std::uint8_t>(labels)).hex();
}

Batch batch_of(const Dataset& data, const std::vector<Index>& which) {
    Batch batch{Matrix(static_cast<Index>(which.size()), data.features()), {}};
    for (Index i = 0; i < batch.images.rows(); ++i) {
        const Index image = which[static_cast<std::size_t>(i)];
        const std::uint8_t* pixel = data.pixels.data() + image * data.features();
        for (Index j = 0; j < data.features(); ++j) batch.images(i, j) = static_cast<float>(pixel[j]) / 255.0F;
        batch.labels.push_back(data.labels[static_cast<std::size_t>(image)]);
    }
    return batch;
}

std::vector<Index> index_range(Index first, Index end) {
    std::vector<Index> numbers(static_cast<std::size_t>(end - first));
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
}

namespace {

namespace fs = std::filesystem;

/// A file read through zlib, which passes plain files as they are.
class IdxFile {
  public:
    explicit IdxFile(const fs::path& path)
        : path_(path),
          file_(fs::is_regular_file(path) ? gzopen(path.c_str(), "rb") : nullptr) {  // a pipe may never come
        if (!file_) throw DataError(fmt::format("{}: cannot be opened", path.string()));
    }

    std::uint32_t word() {
        std::array<std::uint8_t, 4> b{};
        read(b.data(), b.size());
        return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
    }
    void expect_magic(std::uint32_t magic, const char* what) {
        const std::uint32_t found = word();
        if (found == magic) return;
        throw DataError(
            fmt::format("{}: magic number {:#010x} where an idx file of {} has {:#010x}; give the original MNIST files",
                        path_.string(), found, what, magic));
    }
    std::vector<std::uint8_t> bytes(std::size_t count) {
        std::vector<std::uint8_t> data;
        // Grown as the data comes: a wrong count must not ask for all of memory.
        while (data.size() < count) {
            const std::size_t old = data.size();
            data.resize(std::min(count, old + (std::size_t{1} << 20)));
            read(data.data() + old, data.size() - old);
        }
        return data;
    }
    void expect_end() {
        std::uint8_t extra = 0;
        if (gzread(file_.get(), &extra, 1) > 0) {
            throw DataError(fmt::format("{}: more data than its header counts; download it again", path_.string()));
        }
    }

  private:
    void read(std::uint8_t* to, std::size_t count) {
        const int got = gzread(file_.get(), to, static_cast<unsigned>(count));
        if (got == static_cast<int>(count)) return;
        throw DataError(fmt::format("{}: ends too early (cut short or damaged); download it again", path_.string()));
    }
    struct Close {
        void operator()(gzFile_s* file) const { gzclose(file); }
    };
    fs::path path_;
    std::unique_ptr<gzFile_s, Close> file_;
};

/// DIR/name or DIR/name.gz, or nothing.
fs::path find(const fs::path& folder, const std::string& name) {
    for (const char* suffix : {"", ".gz"}) {
        fs::path path = folder / (name + suffix);
        if (fs::exists(path)) return path;
    }
    return {};
}

}  // namespace

Dataset read_idx(const fs::path& images, const fs::path& labels) {
    IdxFile image_file(images);
    image_file.expect_magic(0x803, "images");
    const std::uint32_t count = image_file.word();
    const std::uint32_t height = image_file.word();
    const std::uint32_t width = image_file.word();
    if (height == 0 || width == 0 || height > 4096 || width > 4096) {
        throw DataError(
            fmt::format("{}: images of {} x {} pixels; the header is damaged", images.string(), height, width));
    }
    IdxFile label_file(labels);
    label_file.expect_magic(0x801, "labels");
    const std::uint32_t label_count = label_file.word();
    if (count != label_count) {
        throw DataError(fmt::format("{} holds {} images but {} holds {} labels; the two do not belong together",
                                    images.string(), count, labels.string(), label_count));
    }
    Dataset data{1, static_cast<Index>(height), static_cast<Index>(width), 10, {}, {}};
    data.pixels = image_file.bytes(std::size_t{count} * height * width);
    data.labels = label_file.bytes(count);
    image_file.expect_end();
    label_file.expect_end();
    for (const std::uint8_t label : data.labels) {
        if (label > 9) throw DataError(fmt::format("{}: label {} where digits go to 9", labels.string(), label));
    }
    return data;
}

DataSplit read_mnist(const fs::path& folder) {
    if (!fs::is_directory(folder)) throw DataError(fmt::format("{}: no such folder", folder.string()));
    const auto pair = [&](const std::string& set) -> std::pair<fs::path, fs::path> {
        return {find(folder, set + "-images-idx3-ubyte"), find(folder, set + "-labels-idx1-ubyte")};
    };
    const auto [test_images, test_labels] = pair("t10k");
    const auto [train_images, train_labels] = pair("train");
    if (test_images.empty() || test_labels.empty()) {
        throw DataError(
            fmt::format("{}: no t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte (or .gz); put the MNIST files there",
                        folder.string()));
    }
    const Dataset test = read_idx(test_images, test_labels);
    if (!train_images.empty() && !train_labels.empty()) return {read_idx(train_images, train_labels), test};
    const Index train = test.size() * 4 / 5;
    return {test.slice(0, train), test.slice(train, test.size() - train)};
}

}  // namespace ulp
