#include "engine/files/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace ulp {
namespace {

constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::uint8_t* p) {
    return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

}  // namespace

void Sha256::compress(const std::uint8_t* block) {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 16; ++i) w[i] = big_endian(block + 4 * i);
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t x = w[i - 15];
        const std::uint32_t y = w[i - 2];
        w[i] = w[i - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3)) + w[i - 7] +
               (std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10));
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) +
                                 round_constants[i] + w[i];
        const std::uint32_t t2 =
            (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::array<std::uint32_t, 8> change = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state_[i] += change[i];
}

Sha256& Sha256::add(std::span<const std::byte> bytes) {
    total_ += bytes.size();
    while (!bytes.empty()) {
        const std::size_t taken = std::min(buffer_.size() - buffered_, bytes.size());
        std::memcpy(buffer_.data() + buffered_, bytes.data(), taken);
        bytes = bytes.subspan(taken);
        buffered_ += taken;
        if (buffered_ == buffer_.size()) {
            compress(buffer_.data());
            buffered_ = 0;
        }
    }
    return *this;
}

namespace {

/// The words of the numbers, little-endian, NaNs made alike.
template <class Word, class Real>
void add_words(Sha256& sha, std::span<const Real> values, Word nan) {
    std::array<std::byte, 4096> bytes{};
    std::size_t filled = 0;
    for (const Real value : values) {
        const Word word = std::isnan(value) ? nan : std::bit_cast<Word>(value);
        for (std::size_t i = 0; i < sizeof(Word); ++i) bytes[filled++] = static_cast<std::byte>(word >> (8 * i));
        if (filled == bytes.size()) {
            sha.add(bytes);
            filled = 0;
        }
    }
    sha.add(std::span(bytes).first(filled));
}

}  // namespace

Sha256& Sha256::add(std::span<const float> values) {
    add_words<std::uint32_t>(*this, values, 0x7fc00000);
    return *this;
}
Sha256& Sha256::add(std::span<const double> values) {
    add_words<std::uint64_t>(*this, values, 0x7ff8000000000000);
    return *this;
}

std::string Sha256::hex() {
    const std::uint64_t bits = total_ * 8;
    const std::byte one{0x80};
    const std::byte zero{0};
    add(std::span(&one, 1));
    while (buffered_ != 56) add(std::span(&zero, 1));
    std::array<std::byte, 8> length{};
    for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(bits >> (56 - 8 * i));
    add(length);
    std::string text;
    for (const std::uint32_t word : state_) {
        for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[(word >> shift) & 15];
    }
    return text;
}

std::string Sha256::state() const {
    std::string text;
    for (const std::uint32_t word : state_) text += fmt::format("{:08x}", word);
    text += fmt::format("{:016x}", total_);
    for (std::size_t i = 0; i < buffered_; ++i) text += fmt::format("{:02x}", buffer_[i]);
    return text;
}

Sha256 Sha256::at_state(std::string_view text) {
    const auto take = [&text](std::size_t digits) {
        std::uint64_t number = 0;
        const char* const end = text.data() + std::min(digits, text.size());
        const auto [at, error] = std::from_chars(text.data(), end, number, 16);
        if (error != std::errc() || text.size() < digits || at != end) {
            throw std::invalid_argument("this is not where a SHA-256 stands");
        }
        text.remove_prefix(digits);
        return number;
    };
    Sha256 sha;
    for (std::uint32_t& word : sha.state_) word = static_cast<std::uint32_t>(take(8));
    sha.total_ = take(16);
    sha.buffered_ = sha.total_ % sha.buffer_.size();
    for (std::size_t i = 0; i < sha.buffered_; ++i) sha.buffer_[i] = static_cast<std::uint8_t>(take(2));
    if (!text.empty()) take(text.size() + 1);
    return sha;
}

}  // namespace ulp
