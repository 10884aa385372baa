#include <doctest/doctest.h>

#include "experiments/framework/settings.hpp"
#include "softfloat/errors.hpp"

namespace {

using namespace ulp;

std::vector<Setting> declared() {
    return {integer_setting("steps", "training steps", 100, 5000, 1, 10000),
            real_setting("rate", "learning rate", 0.1, 0.1, 0, 1),
            text_setting("recipe", "how to train", "fp32", {"fp32", "bf16"}),
            text_setting("folder", "where the files are", "")};
}

std::string refusal(const std::string& assignment) {
    Settings settings(declared(), RunSize::quick);
    try {
        settings.set(assignment);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("defaults are those of the mode") {
    CHECK(Settings(declared(), RunSize::quick).integer("steps") == 100);
    CHECK(Settings(declared(), RunSize::full).integer("steps") == 5000);
}

TEST_CASE("each type of setting can be set, up to the ends of its range") {
    Settings settings(declared(), RunSize::quick);
    settings.set("steps=10000");
    settings.set("rate=0");
    settings.set("recipe=bf16");
    settings.set("folder=a=b c");  // everything after the first = is the value
    CHECK(settings.integer("steps") == 10000);
    CHECK(settings.real("rate") == 0);
    CHECK(settings.text("recipe") == "bf16");
    CHECK(settings.text("folder") == "a=b c");
}

TEST_CASE("a bad assignment is refused with the reason") {
    CHECK(refusal("steps") == "--set takes key=value, not \"steps\"");
    CHECK(refusal("steps=0") == "setting steps must be an integer from 1 to 10000, not \"0\"");
    CHECK(refusal("steps=10001") == "setting steps must be an integer from 1 to 10000, not \"10001\"");
    CHECK(refusal("steps=1.5") == "setting steps must be an integer from 1 to 10000, not \"1.5\"");
    CHECK(refusal("steps=") == "setting steps must be an integer from 1 to 10000, not \"\"");
    CHECK(refusal("steps=99999999999999999999") ==
          "setting steps must be an integer from 1 to 10000, not \"99999999999999999999\"");
    CHECK(refusal("rate=nan") == "setting rate must be a number from 0 to 1, not \"nan\"");
    CHECK(refusal("rate=1.1") == "setting rate must be a number from 0 to 1, not \"1.1\"");
    CHECK(refusal("recipe=fp8") == "setting recipe must be one of fp32, bf16, not \"fp8\"");
}

TEST_CASE("an unknown key lists the keys there are") {
    const std::string message = refusal("step=1");
    CHECK(message.find("there is no setting \"step\"") == 0);
    for (const char* key : {"steps", "rate", "recipe", "folder"}) CHECK(message.find(key) != std::string::npos);
}

TEST_CASE("asking for a setting that was not declared is a mistake in the program") {
    const Settings settings(declared(), RunSize::quick);
    CHECK_THROWS_AS((void)settings.integer("rate"), std::logic_error);
    CHECK_THROWS_AS((void)settings.real("nothing"), std::logic_error);
}

TEST_CASE("paths are values of the run, not of the result") {
    Settings settings({path_setting("data", "where the data lie"), text_setting("recipe", "how", "fp32")},
                      RunSize::quick);
    settings.set("data=/some/where");
    CHECK(settings.text("data") == "/some/where");
    CHECK(settings.values().size() == 2);
    CHECK(settings.values_without_paths().size() == 1);
    CHECK(settings.values_without_paths().contains("recipe"));
}
