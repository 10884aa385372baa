// What `ulplab train` refuses before it starts, and how it says so.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "experiments/program/subprocess.hpp"
#include "tests/experiments/ulplab_program.hpp"

namespace {

using namespace ulp;
using test::says;

Finished trained(std::vector<std::string> arguments, const std::vector<std::string>& environment = {}) {
    arguments.insert(arguments.begin(), {"train", "--batch=8"});
    return test::ulplab(arguments, environment);
}

/// Refused with this exit code and text, before a step.
void train_refuses(const std::vector<std::string>& arguments, int exit_code, const std::string& text) {
    const Finished refused = trained(arguments);
    INFO(refused.output);
    CHECK(refused.exit_code == exit_code);
    CHECK(says(refused, text));
    CHECK_FALSE(says(refused, "step "));
}

}  // namespace

TEST_CASE("whole numbers that the option's type does not hold are refused, and 010 is ten") {
    for (const char* option : {"--steps", "--batch", "--images", "--seed"}) {
        for (const char* value : {"99999999999999999999", "-9223372036854775809", "1e3", "0x10", "3.5", "7 "}) {
            CAPTURE(option);
            train_refuses({option, value}, 2, std::string("'") + value + "' is not a whole number from ");
        }
    }
    const Finished ten = trained({"--steps=010", "--images=64", "--seed=010"});
    CHECK(says(ten, "step     9 "));
    CHECK(ten.output == trained({"--steps=10", "--images=64", "--seed=10"}).output);
    for (const std::vector<std::string>& list :  // of 32 and of 64 bits
         {std::vector<std::string>{"--tiles", "32", "2147483648"}, {"--lengths", "16", "99999999999999999999"}}) {
        std::vector<std::string> command = {"gpu", "attention", "--device", "software:sm_90"};
        command.insert(command.end(), list.begin(), list.end());
        const Finished refused = test::ulplab(command);
        CHECK(refused.exit_code == 2);
        CHECK(says(refused, "'" + list.back() + "' is not a whole number from -"));
    }
}
