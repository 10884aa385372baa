#include "experiments/program/zip.hpp"

#include <zlib.h>

#include <cstdint>

#include "softfloat/errors.hpp"

namespace ulp {
namespace {

void put(std::string& to, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> 8 * i & 0xFF);
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

}  // namespace

std::string zip_archive(const std::vector<ZipMember>& members) {
    constexpr std::uint64_t made_by_unix = 3 << 8 | 20;
    constexpr std::uint64_t first_of_1980 = 0x0021;
    std::string files;
    std::string directory;
    for (const ZipMember& member : members) {
        const std::string packed = deflated_content(member.content);
        if (member.content.size() + files.size() + packed.size() > 0xFFFFFFFF) {
            throw DataError("a zip archive of 4 GiB or more is not written: " + member.name);
        }
        // What the entries in both places share: version, flags, method, time, date, checksum, sizes, lengths.
        std::string common;
        for (const auto& [value, bytes] : std::initializer_list<std::pair<std::uint64_t, int>>{
                 {20, 2}, {0, 2}, {8, 2}, {0, 2}, {first_of_1980, 2}}) {
            put(common, value, bytes);
        }
        put(common, crc32_z(0, reinterpret_cast<const Bytef*>(member.content.data()), member.content.size()), 4);
        put(common, packed.size(), 4);
        put(common, member.content.size(), 4);
        put(common, member.name.size(), 2);
        put(common, 0, 2);
        put(directory, 0x02014B50, 4);
        put(directory, made_by_unix, 2);
        directory += common;
        for (int i = 0; i < 3; ++i) put(directory, 0, 2);  // no comment, disk 0, binary
        put(directory, std::uint64_t{member.executable ? 0100755U : 0100644U} << 16, 4);
        put(directory, files.size(), 4);
        directory += member.name;
        put(files, 0x04034B50, 4);
        files += common + member.name + packed;
    }
    std::string archive = files + directory;
    put(archive, 0x06054B50, 4);
    put(archive, 0, 4);
    put(archive, members.size(), 2);
    put(archive, members.size(), 2);
    put(archive, directory.size(), 4);
    put(archive, files.size(), 4);
    put(archive, 0, 2);
    return archive;
}

}  // namespace ulp
