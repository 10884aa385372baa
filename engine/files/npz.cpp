// .npz is a zip archive of .npy files (APPNOTE.TXT 6.3.10, sections 4.3.7 to 4.3.16 and 4.5.3).
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "engine/files/npy.hpp"
#include "engine/files/stored_arrays.hpp"
#include "engine/files/zip.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

using Archive = ZipArchive;
using Member = ZipArchive::Member;

std::vector<Member> members_of(const Archive& archive) {
    std::vector<Member> members = archive.members();
    std::uint64_t all = 0;
    for (const Member& member : members) all += std::min(member.size, std::uint64_t{1} << 50);
    if (all <= Archive::always_good || all / Archive::most_times <= archive.size()) return members;
    throw DataError(
        fmt::format("{}: its arrays are {} bytes, more than {} times the {} bytes of the file, which is the limit; "
                    "save it uncompressed, with numpy.savez, or allow more by --max-expansion",
                    archive.file().string(), all, Archive::most_times, archive.size()));
}

std::vector<float> numbers_of(const Archive& archive, const Member& member) {
    const fs::path name = archive.file() / member.name;
    npy::Array array = npy::parse(name, archive.contents(member));
    if (!npy::is_c_ordered(array)) {
        const std::string ordered =
            npy::in_c_order(array, {reinterpret_cast<const char*>(array.data.data()), array.data.size()});
        std::memcpy(array.data.data(), ordered.data(), ordered.size());
    }
    std::vector<float> values(static_cast<std::size_t>(array.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::optional<double> value = npy::number_at(array, i);
        if (!value) throw DataError(fmt::format("{}: element {} is an integer beyond 2^53", name.string(), i));
        values[i] = static_cast<float>(*value);
    }
    return values;
}

/// Of an array of a type that is no number: its type alone.
npy::Beginning beginning_of(const Archive& archive, const Member& member) {
    constexpr std::uint64_t longest_header = 1 << 17;
    const fs::path name = archive.file() / member.name;
    const std::string bytes = archive.contents(member, longest_header);
    if (auto type = npy::odd_type(name, bytes)) return {{std::move(*type), {}, false, {}}, 0};
    npy::Beginning beginning = npy::parse_beginning(name, bytes);
    const npy::Array& array = beginning.array;
    if (member.size - beginning.header_size != static_cast<std::uint64_t>(array.size()) * array.item_size()) {
        refuse_zip(archive.file(), fmt::format("the size of {} does not fit its shape", member.name));
    }
    return beginning;
}

StoredArray array_of(const std::shared_ptr<const Archive>& archive, const Member& member) {
    const npy::Array array = beginning_of(*archive, member).array;
    const bool exact = array.dtype == "<f4" || array.dtype.ends_with('2') || array.dtype.ends_with('1');
    return {array.dtype, array.shape, exact, [archive, member] { return numbers_of(*archive, member); }};
}

/// A member from its beginning on, in pieces; its checksum is compared at the end.
class MemberReader {
  public:
    MemberReader(std::shared_ptr<const Archive> archive, const Member& member)
        : archive_(std::move(archive)), member_(member), left_(member.size) {
        if (member.method == ZipArchive::stored) return;
        if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    }
    ~MemberReader() {
        if (member_.method != ZipArchive::stored) inflateEnd(&stream_);
    }
    MemberReader(const MemberReader&) = delete;
    MemberReader& operator=(const MemberReader&) = delete;

    std::string_view next(std::size_t most) {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(most, left_));
        if (size == 0) return {};
        const std::string_view piece = member_.method == ZipArchive::stored
                                           ? archive_->part(member_.data_at + member_.size - left_, size)
                                           : inflated(size);
        left_ -= size;
        checksum_ = crc32_z(checksum_, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
        if (left_ == 0 && checksum_ != member_.crc) {
            refuse_zip(archive_->file(), fmt::format("the checksum of {} is wrong", member_.name));
        }
        return piece;
    }

  private:
    std::string_view inflated(std::size_t size) {
        constexpr std::uint64_t step = 1 << 20;
        buffer_.resize(size);
        stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
        stream_.avail_out = static_cast<uInt>(size);
        while (stream_.avail_out > 0) {
            if (stream_.avail_in == 0) {
                const std::uint64_t more = std::min(step, member_.compressed - taken_);
                const std::string_view data = archive_->part(member_.data_at + taken_, more);
                stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
                stream_.avail_in = static_cast<uInt>(more);
                taken_ += more;
            }
            if (inflate(&stream_, Z_NO_FLUSH) != Z_OK) break;
        }
        if (stream_.avail_out > 0) refuse_zip(archive_->file(), member_.name + " is damaged");
        return buffer_;
    }

    std::shared_ptr<const Archive> archive_;
    Member member_;
    std::uint64_t left_;       // bytes of the member that were not handed on
    std::uint64_t taken_ = 0;  // compressed bytes that the stream has
    uLong checksum_ = 0;
    z_stream stream_{};
    std::string buffer_;
};

PieceReader pieces_of(const std::shared_ptr<const Archive>& archive, const Member& member,
                      const npy::Beginning& beginning) {
    const auto reader = std::make_shared<MemberReader>(archive, member);
    (void)reader->next(beginning.header_size);
    if (npy::is_c_ordered(beginning.array)) return [reader] { return reader->next(piece_size); };
    std::string all;
    for (std::string_view piece = reader->next(piece_size); !piece.empty(); piece = reader->next(piece_size))
        all += piece;
    return ulp::pieces_of(npy::in_c_order(beginning.array, all));
}

std::string array_name(const fs::path& file, const Member& member) {
    if (!member.name.ends_with(".npy")) refuse_zip(file, fmt::format("{} is not a .npy file", member.name));
    return member.name.substr(0, member.name.size() - 4);
}

}  // namespace

StoredArrays npz_arrays(const fs::path& file) {
    const auto archive = std::make_shared<const Archive>(file);
    StoredArrays arrays;
    for (const Member& member : members_of(*archive)) {
        if (!arrays.emplace(array_name(file, member), array_of(archive, member)).second) {
            refuse_zip(file, fmt::format("{} stands twice", array_name(file, member)));
        }
    }
    return arrays;
}

std::vector<StoredBytes> npz_bytes(const fs::path& file) {
    const auto archive = std::make_shared<const Archive>(file);
    std::vector<StoredBytes> tensors;
    std::set<std::string> names;
    for (const Member& member : members_of(*archive)) {
        const std::string name = array_name(file, member);
        if (!names.insert(name).second) refuse_zip(file, fmt::format("{} stands twice", name));
        const npy::Beginning beginning = beginning_of(*archive, member);
        tensors.push_back({name, beginning.array.dtype, beginning.array.shape, member.size - beginning.header_size,
                           [archive, member, beginning] { return pieces_of(archive, member, beginning); }});
    }
    return tensors;
}

StoredArrays stored_arrays(const fs::path& file) {
    return MappedFile(file).bytes().starts_with("PK") ? npz_arrays(file) : safetensors_arrays(file);
}

}  // namespace ulp
