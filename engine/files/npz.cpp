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
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
    throw DataError(fmt::format("{}: {}; it is no complete .npz file", file.string(), why));
}

/// Little-endian numbers at places of the archive; beyond its end it is refused.
class Archive {
  public:
    explicit Archive(const fs::path& file) : file_(file), mapped_(file), bytes_(mapped_.bytes()) {}

    [[nodiscard]] std::uint64_t number(std::uint64_t at, std::size_t count) const {
        const std::string_view word = part(at, count);
        std::uint64_t value = 0;
        for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(word[i]);
        return value;
    }
    [[nodiscard]] std::string_view part(std::uint64_t at, std::uint64_t size) const {
        if (at > bytes_.size() || size > bytes_.size() - at) refuse(file_, "cut short, or its lengths are wrong");
        return bytes_.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
    }
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }
    [[nodiscard]] std::size_t last(std::string_view mark) const { return bytes_.rfind(mark); }
    [[nodiscard]] const fs::path& file() const { return file_; }

  private:
    fs::path file_;
    MappedFile mapped_;
    std::string_view bytes_;
};

constexpr std::uint64_t stored = 0;
constexpr std::uint64_t deflated = 8;

struct Member {
    std::string name;
    std::uint64_t method, crc, compressed, size, header_at;
    std::uint64_t data_at = 0;
};

/// Sizes and places that do not fit 32 bits stand in an extra field, in this order.
void widen(const Archive& archive, std::uint64_t extra_at, std::uint64_t extra_size, Member& member) {
    constexpr std::uint64_t beyond = 0xFFFFFFFF;
    constexpr std::uint64_t zip64 = 1;
    for (std::uint64_t at = extra_at; at + 4 <= extra_at + extra_size;) {
        const std::uint64_t size = archive.number(at + 2, 2);
        if (archive.number(at, 2) == zip64) {
            std::uint64_t field = at + 4;
            for (std::uint64_t* each : {&member.size, &member.compressed, &member.header_at}) {
                if (*each != beyond) continue;
                if (field + 8 > at + 4 + size) refuse(archive.file(), "its sizes are malformed");
                *each = archive.number(field, 8);
                field += 8;
            }
        }
        at += 4 + size;
    }
}

/// The entry of the central directory at `at`, which is moved behind it.
Member member_at(const Archive& archive, std::uint64_t& at) {
    if (archive.part(at, 4) != "PK\x01\x02") refuse(archive.file(), "its directory is malformed");
    const std::uint64_t name_size = archive.number(at + 28, 2);
    const std::uint64_t extra_size = archive.number(at + 30, 2);
    Member member{std::string(archive.part(at + 46, name_size)),
                  archive.number(at + 10, 2),
                  archive.number(at + 16, 4),
                  archive.number(at + 20, 4),
                  archive.number(at + 24, 4),
                  archive.number(at + 42, 4)};
    if ((archive.number(at + 8, 2) & 1) != 0) refuse(archive.file(), member.name + " is encrypted");
    if (member.method != stored && member.method != deflated) {
        refuse(archive.file(),
               fmt::format("{} is compressed by method {}; 0 and 8 are read", member.name, member.method));
    }
    (void)archive.part(at + 46 + name_size, extra_size);
    widen(archive, at + 46 + name_size, extra_size, member);
    at += 46 + name_size + extra_size + archive.number(at + 32, 2);
    if (archive.part(member.header_at, 4) != "PK\x03\x04") refuse(archive.file(), member.name + " has no header");
    member.data_at =
        member.header_at + 30 + archive.number(member.header_at + 26, 2) + archive.number(member.header_at + 28, 2);
    (void)archive.part(member.data_at, member.compressed);
    // Deflate shrinks by 1032 at most.
    const bool plausible =
        member.method == stored ? member.size == member.compressed : member.size / 1032 <= member.compressed;
    if (!plausible)
        refuse(archive.file(), fmt::format("{} claims {} bytes in {}", member.name, member.size, member.compressed));
    return member;
}

/// A few bytes can stand for a thousand times as many.
void require_bounded(const Archive& archive, const std::vector<Member>& members) {
    constexpr std::uint64_t most_times = 100;
    constexpr std::uint64_t always_good = std::uint64_t{1} << 26;
    std::uint64_t all = 0;
    for (const Member& member : members) all += std::min(member.size, std::uint64_t{1} << 50);
    if (all <= always_good || all / most_times <= archive.size()) return;
    throw DataError(
        fmt::format("{}: its arrays are {} bytes, more than {} times the {} bytes of the file, which is the limit; "
                    "save it uncompressed, with numpy.savez",
                    archive.file().string(), all, most_times, archive.size()));
}

/// The central directory's members, which must not overlap: else a small file could stand for a huge one.
std::vector<Member> members_of(const Archive& archive) {
    const std::size_t end = archive.last("PK\x05\x06");
    if (end == std::string::npos) refuse(archive.file(), "has no directory");
    if (end + 22 + archive.number(end + 20, 2) != archive.size())
        refuse(archive.file(), "cut short, or with text after its end");
    std::uint64_t count = archive.number(end + 10, 2);
    std::uint64_t at = archive.number(end + 16, 4);
    if (end >= 20 && archive.part(end - 20, 4) == "PK\x06\x07") {
        const std::uint64_t wide = archive.number(end - 12, 8);
        count = archive.number(wide + 32, 8);
        at = archive.number(wide + 48, 8);
    }
    std::vector<Member> members;
    for (std::uint64_t i = 0; i < count; ++i) members.push_back(member_at(archive, at));
    require_bounded(archive, members);
    std::vector<Member> by_place = members;
    std::ranges::sort(by_place, {}, &Member::header_at);
    for (std::size_t i = 1; i < by_place.size(); ++i) {
        const Member& before = by_place[i - 1];
        if (before.data_at + before.compressed > by_place[i].header_at) {
            refuse(archive.file(), fmt::format("{} and {} overlap", before.name, by_place[i].name));
        }
    }
    return members;
}

/// The first bytes of a member, at most `most`.
std::string contents_of(const Archive& archive, const Member& member, std::uint64_t most) {
    const std::string_view data = archive.part(member.data_at, member.compressed);
    const auto wanted = static_cast<std::size_t>(std::min(most, member.size));
    if (member.method == stored) return std::string(data.substr(0, wanted));
    std::string result(wanted, '\0');
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    constexpr std::size_t step = std::size_t{1} << 30;  // zlib counts in 32 bits
    std::size_t in = data.size();
    std::size_t out = wanted;
    int status = Z_OK;
    while (status == Z_OK && out + stream.avail_out > 0) {
        if (stream.avail_in == 0) in -= stream.avail_in = static_cast<uInt>(std::min(in, step));
        if (stream.avail_out == 0) out -= stream.avail_out = static_cast<uInt>(std::min(out, step));
        status = inflate(&stream, Z_NO_FLUSH);
    }
    const std::size_t missing = out + stream.avail_out;
    inflateEnd(&stream);
    if (missing > 0) refuse(archive.file(), member.name + " is damaged");
    return result;
}

/// All of it, as its checksum says.
std::string contents_of(const Archive& archive, const Member& member) {
    std::string all = contents_of(archive, member, member.size);
    const uLong found = crc32_z(0, reinterpret_cast<const Bytef*>(all.data()), all.size());
    if (found != member.crc) refuse(archive.file(), fmt::format("the checksum of {} is wrong", member.name));
    return all;
}

std::vector<float> numbers_of(const Archive& archive, const Member& member) {
    const fs::path name = archive.file() / member.name;
    npy::Array array = npy::parse(name, contents_of(archive, member));
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
    const std::string bytes = contents_of(archive, member, longest_header);
    if (auto type = npy::odd_type(name, bytes)) return {{std::move(*type), {}, false, {}}, 0};
    npy::Beginning beginning = npy::parse_beginning(name, bytes);
    const npy::Array& array = beginning.array;
    if (member.size - beginning.header_size != static_cast<std::uint64_t>(array.size()) * array.item_size()) {
        refuse(archive.file(), fmt::format("the size of {} does not fit its shape", member.name));
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
        if (member.method == stored) return;
        if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    }
    ~MemberReader() {
        if (member_.method != stored) inflateEnd(&stream_);
    }
    MemberReader(const MemberReader&) = delete;
    MemberReader& operator=(const MemberReader&) = delete;

    std::string_view next(std::size_t most) {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(most, left_));
        if (size == 0) return {};
        const std::string_view piece =
            member_.method == stored ? archive_->part(member_.data_at + member_.size - left_, size) : inflated(size);
        left_ -= size;
        checksum_ = crc32_z(checksum_, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
        if (left_ == 0 && checksum_ != member_.crc) {
            refuse(archive_->file(), fmt::format("the checksum of {} is wrong", member_.name));
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
        if (stream_.avail_out > 0) refuse(archive_->file(), member_.name + " is damaged");
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
    if (!member.name.ends_with(".npy")) refuse(file, fmt::format("{} is not a .npy file", member.name));
    return member.name.substr(0, member.name.size() - 4);
}

}  // namespace

StoredArrays npz_arrays(const fs::path& file) {
    const auto archive = std::make_shared<const Archive>(file);
    StoredArrays arrays;
    for (const Member& member : members_of(*archive)) {
        if (!arrays.emplace(array_name(file, member), array_of(archive, member)).second) {
            refuse(file, fmt::format("{} stands twice", array_name(file, member)));
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
        if (!names.insert(name).second) refuse(file, fmt::format("{} stands twice", name));
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
