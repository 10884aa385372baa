#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/files/sha256.hpp"

namespace {

using ulp::Sha256;

std::string hash_text(const std::string& text) {
    return Sha256().add(std::as_bytes(std::span(text.data(), text.size()))).hex();
}

TEST_CASE("SHA-256 gives the digests of FIPS 180-4's examples") {
    CHECK(hash_text("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(hash_text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(hash_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(hash_text(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("numbers are hashed as little-endian words, and every NaN alike") {
    const std::vector<float> numbers = {1.0F, -0.0F, std::numeric_limits<float>::quiet_NaN()};
    const std::vector<float> other_nan = {1.0F, -0.0F, -std::numeric_limits<float>::quiet_NaN()};
    const std::string bytes("\0\0\x80\x3f\0\0\0\x80\0\0\xc0\x7f", 12);
    CHECK(Sha256().add(std::span<const float>(numbers)).hex() == hash_text(bytes));
    CHECK(Sha256().add(std::span<const float>(other_nan)).hex() == hash_text(bytes));
    // Longer than the internal buffers.
    const std::vector<float> ones(5000, 1.0F);
    std::string one_bytes;
    for (int i = 0; i < 5000; ++i) one_bytes += std::string("\0\0\x80\x3f", 4);
    CHECK(Sha256().add(std::span<const float>(ones)).hex() == hash_text(one_bytes));
}

TEST_CASE("a SHA-256 resumes from its state as if it had not stopped") {
    const std::string text(300, 'x');
    for (const std::size_t part : {0U, 1U, 63U, 64U, 65U, 128U, 299U, 300U}) {
        CAPTURE(part);
        const auto bytes = std::as_bytes(std::span(text));
        const std::string state = Sha256().add(bytes.first(part)).state();
        Sha256 other = Sha256::at_state(state);
        CHECK(other.state() == state);
        CHECK(other.add(bytes.subspan(part)).hex() == hash_text(text));
    }
    const std::string state = Sha256().state();
    for (const std::string& wrong : {std::string(), state + "0", state.substr(1), "g" + state.substr(1)}) {
        CHECK_THROWS_AS((void)Sha256::at_state(wrong), std::invalid_argument);
    }
}

}  // namespace
