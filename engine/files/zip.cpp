#include "engine/files/zip.hpp"

#include <zlib.h>

#include <new>
#include <stdexcept>

#include "softfloat/errors.hpp"

namespace ulp {
namespace {

constexpr std::uint64_t first_of_1980 = 0x0021;
constexpr std::uint64_t deflated = 8;

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
    begin({name, deflated, checksum(0, content), packed.size(), content.size(), 0, executable ? 0100755U : 0100644U});
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

}  // namespace ulp
