#include "engine/files/zip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "softfloat/errors.hpp"

namespace ulp {
namespace {

constexpr std::uint64_t first_of_1980 = 0x0021;

void append(std::string& to, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> 8 * i & 0xFF);
}

uLong checksum(uLong before, std::string_view content) {
    return crc32_z(before, reinterpret_cast<const Bytef*>(content.data()), content.size());
}

std::string deflated_content(std::string_view content) {
    z_stream stream{};
    constexpr int raw = -15;  // no header of zlib's
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, raw, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
    std::string result(deflateBound(&stream, static_cast<uLong>(content.size())), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    deflate(&stream, Z_FINISH);
    result.resize(stream.total_out);
    deflateEnd(&stream);
    return result;
}

constexpr std::uint64_t most_bytes = 0xFFFFFFFF;
constexpr std::size_t most_files = 0xFFFE;

[[noreturn]] void refuse_to_grow() { throw std::length_error("too much for a zip archive"); }

}  // namespace

/// What a file's own header and its entry in the directory share: version 2.0, no flags, method, time, date, checksum,
/// sizes, length of the name, no extra field.
std::string ZipWriter::shared_fields(const Entry& entry) {
    std::string bytes;
    for (const std::uint64_t word :
         {std::uint64_t{20}, std::uint64_t{0}, entry.method, std::uint64_t{0}, first_of_1980}) {
        append(bytes, word, 2);
    }
    for (const std::uint64_t word : {entry.crc, entry.packed_size, entry.size}) append(bytes, word, 4);
    append(bytes, entry.name.size(), 2);
    append(bytes, 0, 2);
    return bytes;
}

void ZipWriter::put(std::string_view bytes) {
    at_ += bytes.size();
    if (at_ > most_bytes || entries_.size() > most_files) refuse_to_grow();
    write_(bytes);
}

void ZipWriter::begin(Entry entry) {
    entry.at = at_;
    entries_.push_back(std::move(entry));
    put("PK\x03\x04" + shared_fields(entries_.back()) + entries_.back().name);
}

void ZipWriter::add_stored(const std::string& name, const std::vector<std::string_view>& pieces) {
    uLong crc = 0;
    std::uint64_t size = 0;
    for (const std::string_view piece : pieces) {
        crc = checksum(crc, piece);
        size += piece.size();
    }
    if (size > most_bytes) refuse_to_grow();
    begin({name, 0, crc, size, size, 0, 0});
    for (const std::string_view piece : pieces) put(piece);
}

void ZipWriter::add_deflated(const std::string& name, std::string_view content, bool executable) {
    if (content.size() > most_bytes) refuse_to_grow();
    const std::string packed = deflated_content(content);
    begin({name, ZipArchive::deflated, checksum(0, content), packed.size(), content.size(), 0,
           executable ? 0100755U : 0100644U});
    put(packed);
}

void ZipWriter::finish() {
    constexpr std::uint64_t made_by_unix = 3 << 8;
    const std::uint64_t directory_at = at_;
    for (const Entry& entry : entries_) {
        std::string bytes = "PK\x01\x02";
        append(bytes, (entry.unix_mode == 0 ? 0 : made_by_unix) | 20, 2);
        bytes += shared_fields(entry);
        append(bytes, 0, 6);  // no comment, disk 0, binary
        append(bytes, entry.unix_mode << 16, 4);
        append(bytes, entry.at, 4);
        put(bytes + entry.name);
    }
    const std::uint64_t size = at_ - directory_at;
    std::string end = "PK\x05\x06";
    append(end, 0, 4);
    for (int i = 0; i < 2; ++i) append(end, entries_.size(), 2);
    append(end, size, 4);
    append(end, directory_at, 4);
    append(end, 0, 2);
    put(end);
}

std::string zip_archive(const std::vector<ZippedFile>& files) {
    std::string archive;
    ZipWriter writer([&](std::string_view bytes) { archive += bytes; });
    std::string name;
    try {
        for (const ZippedFile& file : files) {
            name = file.name;
            writer.add_deflated(name, file.content, file.executable);
        }
        writer.finish();
    } catch (const std::length_error&) {
        throw DataError("a zip archive of 4 GiB or more is not written: " + name);
    }
    return archive;
}

// Archives that others wrote (APPNOTE.TXT 6.3.10, sections 4.3.7 to 4.3.16 and 4.5.3).

void refuse_zip(const std::filesystem::path& file, const std::string& why) {
    throw DataError(fmt::format("{}: {}; it is no complete {} file", file.string(), why, file.extension().string()));
}

std::uint64_t ZipArchive::number(std::uint64_t at, std::size_t count) const {
    const std::string_view word = part(at, count);
    std::uint64_t value = 0;
    for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(word[i]);
    return value;
}

std::string_view ZipArchive::part(std::uint64_t at, std::uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) refuse_zip(file_, "cut short, or its lengths are wrong");
    return bytes_.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
}

namespace {

/// Sizes and places that do not fit 32 bits stand in an extra field, in this order.
void widen(const ZipArchive& archive, std::uint64_t extra_at, std::uint64_t extra_size, ZipArchive::Member& member) {
    constexpr std::uint64_t beyond = 0xFFFFFFFF;
    constexpr std::uint64_t zip64 = 1;
    for (std::uint64_t at = extra_at; at + 4 <= extra_at + extra_size;) {
        const std::uint64_t size = archive.number(at + 2, 2);
        if (archive.number(at, 2) == zip64) {
            std::uint64_t field = at + 4;
            for (std::uint64_t* each : {&member.size, &member.compressed, &member.header_at}) {
                if (*each != beyond) continue;
                if (field + 8 > at + 4 + size) refuse_zip(archive.file(), "its sizes are malformed");
                *each = archive.number(field, 8);
                field += 8;
            }
        }
        at += 4 + size;
    }
}

/// The entry of the central directory at `at`, which is moved behind it.
ZipArchive::Member member_at(const ZipArchive& archive, std::uint64_t& at) {
    if (archive.part(at, 4) != "PK\x01\x02") refuse_zip(archive.file(), "its directory is malformed");
    const std::uint64_t name_size = archive.number(at + 28, 2);
    const std::uint64_t extra_size = archive.number(at + 30, 2);
    ZipArchive::Member member{std::string(archive.part(at + 46, name_size)),
                              archive.number(at + 10, 2),
                              archive.number(at + 16, 4),
                              archive.number(at + 20, 4),
                              archive.number(at + 24, 4),
                              archive.number(at + 42, 4)};
    if ((archive.number(at + 8, 2) & 1) != 0) refuse_zip(archive.file(), member.name + " is encrypted");
    if (member.method != ZipArchive::stored && member.method != ZipArchive::deflated) {
        refuse_zip(archive.file(),
                   fmt::format("{} is compressed by method {}; 0 and 8 are read", member.name, member.method));
    }
    (void)archive.part(at + 46 + name_size, extra_size);
    widen(archive, at + 46 + name_size, extra_size, member);
    at += 46 + name_size + extra_size + archive.number(at + 32, 2);
    if (archive.part(member.header_at, 4) != "PK\x03\x04") refuse_zip(archive.file(), member.name + " has no header");
    member.data_at =
        member.header_at + 30 + archive.number(member.header_at + 26, 2) + archive.number(member.header_at + 28, 2);
    (void)archive.part(member.data_at, member.compressed);
    // Deflate shrinks by 1032 at most.
    const bool plausible = member.method == ZipArchive::stored ? member.size == member.compressed
                                                               : member.size / 1032 <= member.compressed;
    if (!plausible)
        refuse_zip(archive.file(),
                   fmt::format("{} claims {} bytes in {}", member.name, member.size, member.compressed));
    return member;
}

}  // namespace

/// The central directory's members, which must not overlap: else a small file could stand for a huge one.
std::vector<ZipArchive::Member> ZipArchive::members() const {
    const std::size_t end = bytes_.rfind("PK\x05\x06");
    if (end == std::string::npos) refuse_zip(file_, "has no directory");
    if (end + 22 + number(end + 20, 2) != bytes_.size()) refuse_zip(file_, "cut short, or with text after its end");
    std::uint64_t count = number(end + 10, 2);
    std::uint64_t at = number(end + 16, 4);
    if (end >= 20 && part(end - 20, 4) == "PK\x06\x07") {
        const std::uint64_t wide = number(end - 12, 8);
        count = number(wide + 32, 8);
        at = number(wide + 48, 8);
    }
    std::vector<Member> members;
    for (std::uint64_t i = 0; i < count; ++i) members.push_back(member_at(*this, at));
    std::vector<Member> by_place = members;
    std::ranges::sort(by_place, {}, &Member::header_at);
    for (std::size_t i = 1; i < by_place.size(); ++i) {
        const Member& before = by_place[i - 1];
        if (before.data_at + before.compressed > by_place[i].header_at) {
            refuse_zip(file_, fmt::format("{} and {} overlap", before.name, by_place[i].name));
        }
    }
    return members;
}

/// The first bytes of a member, at most `most`.
std::string ZipArchive::contents(const Member& member, std::uint64_t most) const {
    const std::string_view data = part(member.data_at, member.compressed);
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
    if (missing > 0) refuse_zip(file_, member.name + " is damaged");
    return result;
}

/// All of it, as its checksum says.
std::string ZipArchive::contents(const Member& member) const {
    std::string all = contents(member, member.size);
    const uLong found = crc32_z(0, reinterpret_cast<const Bytef*>(all.data()), all.size());
    if (found != member.crc) refuse_zip(file_, fmt::format("the checksum of {} is wrong", member.name));
    return all;
}

}  // namespace ulp
