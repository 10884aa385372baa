// SHA-256 (FIPS 180-4): the digests of data sets, parameters and traces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ulp {

class Sha256 {
  public:
    Sha256& add(std::span<const std::byte> bytes);
    Sha256& add(std::span<const std::uint8_t> bytes) { return add(std::as_bytes(bytes)); }
    /// Numbers as their fp32 words, little-endian; every NaN as 7fc00000, since processors disagree on NaN bits.
    Sha256& add(std::span<const float> values);
    Sha256& add(std::span<const double> values);
    /// 64 hexadecimal digits. The object is spent afterwards.
    std::string hex();

    /// Where it stands, as hexadecimal digits, and back: what is added afterwards gives the same digest. Throws
    /// std::invalid_argument for a text that state() does not write.
    [[nodiscard]] std::string state() const;
    static Sha256 at_state(std::string_view text);

  private:
    void compress(const std::uint8_t* block);

    std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<std::uint8_t, 64> buffer_{};
    std::size_t buffered_ = 0;
    std::uint64_t total_ = 0;
};

template <class Number>
std::string sha256_of(std::span<const Number> values) {
    return Sha256().add(values).hex();
}
inline std::string sha256_of(std::string_view text) { return sha256_of(std::as_bytes(std::span(text))); }

}  // namespace ulp
