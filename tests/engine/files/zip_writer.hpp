// Zip archives for tests, so that they can also be wrong.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ulp::test {

struct ZipMember {
    std::string name;
    std::string contents;
    bool deflate = false;
};

inline std::string little_endian(std::uint64_t value, std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
    return text;
}

inline std::string deflated(const std::string& text) {
    std::string out(compressBound(static_cast<uLong>(text.size())) + 64, '\0');
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

/// As numpy.savez (stored) and numpy.savez_compressed (deflated) write them.
inline std::string zip_of(const std::vector<ZipMember>& members) {
    std::string file;
    std::string directory;
    for (const ZipMember& member : members) {
        const std::string data = member.deflate ? deflated(member.contents) : member.contents;
        const auto crc =
            crc32(0, reinterpret_cast<const Bytef*>(member.contents.data()), static_cast<uInt>(member.contents.size()));
        const std::string common =
            little_endian(20, 2) + little_endian(0, 2) + little_endian(member.deflate ? 8 : 0, 2) +
            little_endian(0, 4) + little_endian(crc, 4) + little_endian(data.size(), 4) +
            little_endian(member.contents.size(), 4) + little_endian(member.name.size(), 2) + little_endian(0, 2);
        directory += "PK\x01\x02" + little_endian(20, 2) + common + little_endian(0, 2) + little_endian(0, 2) +
                     little_endian(0, 2) + little_endian(0, 4) + little_endian(file.size(), 4) + member.name;
        file += "PK\x03\x04" + common + member.name + data;
    }
    const std::string end = "PK\x05\x06" + little_endian(0, 4) + little_endian(members.size(), 2) +
                            little_endian(members.size(), 2) + little_endian(directory.size(), 4) +
                            little_endian(file.size(), 4) + little_endian(0, 2);
    return file + directory + end;
}

}  // namespace ulp::test
