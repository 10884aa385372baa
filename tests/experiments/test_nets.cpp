// Nets as data: the table's nets are files, files are checked with the place of what is wrong, and both train.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/files/npy.hpp"
#include "engine/files/whole_file.hpp"
#include "engine/nets/net_tasks.hpp"
#include "engine/tensor/random.hpp"
#include "softfloat/errors.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp;

constexpr const char* small = R"({"name": "small", "task": "images", "input": {"shape":[1,14,14]}, "outputs": 10,
 "layers": [
   {"layer":"conv","name":"conv","channels":4,"kernel":3},
   {"layer":"relu"},
   {"layer":"residual","inside":[{"layer":"conv","name":"inner","channels":4,"kernel":3},{"layer":"gelu"}]},
   {"layer":"linear","name":"out"}]}
)";

std::string changed(const std::string& from, const std::string& to) {
    std::string text = small;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

std::string why_not(const std::string& text) {
    try {
        (void)net_from_json(text);
    } catch (const DataError& error) {
        return error.what();
    }
    return "it is taken";
}

TEST_CASE(
    "every net of the table is written as JSON, read back to the same text, and built with the counted parameters") {
    for (const NamedNet& named : named_nets()) {
        CAPTURE(std::string(named.name));
        const NetDescription net = description_of(named);
        const std::string text = json_of(net);
        const NetDescription read = net_from_json(text);
        CHECK(json_of(read) == text);
        Model model(recipe_by_name("fp32"), 1);
        const Net built(model, read.layers, read.input.shape, read.outputs);
        CHECK(model.parameter_count() == parameters_of(read.layers, read.input.shape, read.outputs));
    }
    CHECK(json_of(net_from_json(small)) == small);
}

TEST_CASE("a step of each task has the same bits from the table as from a file, and its loss is that of a guess") {
    for (const char* name : {"mlp", "lstm", "transformer", "seq2seq", "encoder_decoder"}) {
        CAPTURE(std::string(name));
        const NetDescription net = description_of(net_by_name(name));
        std::vector<float> losses;
        for (const NetDescription& each : {net, net_from_json(json_of(net))}) {
            const NetTask task = task_of(each, {.examples = 40, .batch = 4});
            Trainer trainer(Engine("mixed_fp16", "soft:h100"), 1);
            const Net built(trainer.model(), each.layers, each.input.shape, each.outputs);
            trainer.optimize({.learning_rate = 0.01});
            const StepResult done = trainer.step([&](Tape& tape) { return task.loss(tape, built, 0); });
            losses.push_back(static_cast<float>(done.loss));
            const double right = task.right(trainer.evaluation(), built);
            CHECK(right >= 0);
            CHECK(right < 0.5);
        }
        CHECK(losses[0] == losses[1]);
        CHECK(losses[0] > 1);
        CHECK(losses[0] < 8);
    }
}

TEST_CASE("what is wrong with a net is said with its place") {
    struct Case {
        std::string text;
        const char* sentence;
    };
    const std::string conv = R"({"layer":"conv","name":"conv","channels":4,"kernel":3})";
    for (const Case& c : {
             Case{"", "the net is not JSON"},
             {"[]", "the net is not an object"},
             {std::string(100000, '['), "brackets stand in more than 32 others"},
             {R"({"a": 1, "a": 2})", "the name \"a\" stands twice"},
             {changed("\"task\": \"images\", ", ""), "the net has no \"task\""},
             {changed("\"outputs\": 10", "\"outputs\": 0"), "/outputs is 0; give a whole number from 1 to 1048576"},
             {changed("\"outputs\": 10", "\"outputs\": 10, \"classes\": 3"), "/classes is not known here"},
             {changed("[1,14,14]", "[]"), "/input/shape has not 1 to 3 extents"},
             {changed("[1,14,14]", "[1, 14, -1]"), "/input/shape/2 is -1; give a whole number"},
             {changed("[1,14,14]", "[1048576, 1048576, 1048576]"), "/input/shape has more than 2^31 numbers"},
             {changed("[1,14,14]}", "[1, 14, 14], \"tokens\": 5}"), "/input/shape of tokens is their number alone"},
             {changed("\"kernel\":3", "\"kernel\":2.5"), "/layers/0/kernel is 2.5; give a whole number"},
              {changed("\"kernel\":3", "\"kernel\":1e300"), "/layers/0/kernel is 1e+300"},
             {changed("\"channels\"", "\"chanels\""), "/layers/0 has no \"channels\""},
             {changed("\"kernel\":3", "\"kernel\":3,\"pad\":1"),
              "/layers/0/pad is not known here; there are layer, name, channels, kernel, stride"},
             {changed("\"layer\":\"relu\"", "\"layer\":\"rleu\""),
              "/layers/1/layer is \"rleu\"; there are linear, conv"},
             {changed("\"layer\":\"relu\"", "\"layer\":7"), "/layers/1/layer is 7; give a name"},
             {changed("\"name\":\"inner\"", "\"name\":\"conv\""),
              "/layers/2/inside/0/name is \"conv\", which another layer"},
             {changed("\"name\":\"inner\"", "\"name\":\"a/b\""),
              "/layers/2/inside/0/name is \"a/b\"; give a name of letters"},
             {changed("\"name\":\"inner\",\"channels\":4", "\"name\":\"inner\",\"channels\":5"),
              "/layers/2 adds (5, 14, 14) to (4, 14, 14)"},
             {changed("{\"layer\":\"relu\"}", R"({"layer":"attention","name":"a","heads":2})"),
              "/layers/1 takes no examples of the shape (4, 14, 14)"},
             {changed("{\"layer\":\"relu\"}", R"({"layer":"rows","count":5})"),
              "/layers/1 has 5 rows, which do not divide 784"},
             {changed("{\"layer\":\"relu\"}", R"({"layer":"pool","window":15})"),
              "/layers/1 leaves nothing of (4, 14, 14)"},
             {changed("{\"layer\":\"relu\"}", R"({"layer":"dropout","rate":1})"), "/layers/1/rate is 1; give a number"},
             {changed("{\"layer\":\"relu\"}", R"({"layer":"branches","branches":[]})"), "/layers/1/branches is empty"},
             {changed("{\"layer\":\"relu\"}", R"({"layer":"branches","branches":[[],[{"layer":"flatten"}]]})"),
              "/layers/1 puts (4, 14, 14) beside (784)"},
             {changed("{\"layer\":\"relu\"}", R"({"layer":"product","branches":[[],[{"layer":"flatten"}]]})"),
              "/layers/1 puts (4, 14, 14) and (784) together"},
             {changed("{\"layer\":\"relu\"}", R"({"layer":"experts","name":"e","top":3,"experts":[[],[]]})"),
              "/layers/1/top is 3 of 2 experts"},
             {changed("{\"layer\":\"relu\"}", R"({"layer":"experts","name":"e","top":1,"experts":[]})"),
              "/layers/1/top is 1 of 0 experts"},
             {changed("{\"layer\":\"relu\"}", R"({"layer":"batch_norm","name":"b","momentum":2})"),
              "/layers/1/momentum is 2; give a number above 0"},
             {changed("{\"layer\":\"relu\"}", R"({"layer":"rms_norm","name":"b","eps":0})"),
              "/layers/1/eps is 0; give a positive number"},
             {changed("\"kernel\":3", "\"kernel\":15,\"padding\":0"),
              "/layers/0/kernel is 15, on images of (1, 14, 14)"},
             {changed(conv, R"({"layer":"embedding","name":"e","words":4,"width":4})"),
              "/layers/0 takes tokens, not numbers"},
             {changed("\"name\":\"out\"", "\"name\":\"out\",\"outputs\":7"),
              "/layers end with (7) where the net's answer is (10)"},
             {changed("\"name\":\"out\"",
                      "\"name\":\"out\",\"outputs\":1048576},{\"layer\":\"linear\",\"name\":\"b\",\"outputs\":1048576"),
              "/layers/4 has more than 2^31 numbers or parameters"},
         }) {
        CAPTURE(c.text);
        CHECK(why_not(c.text).find(c.sentence) != std::string::npos);
        INFO(why_not(c.text));
        CHECK(why_not(c.text) != "it is taken");
    }
    const NetDescription sound = net_from_json(small);
    CHECK_THROWS_WITH_AS((void)task_of(net_from_json(changed("images", "speech")), {}),
                         "/task is \"speech\"; there are images, text, translation", DataError);
    CHECK_THROWS_WITH_AS((void)task_of(net_from_json(changed("images", "text")), {}),
                         doctest::Contains("/input/tokens is 0"), DataError);
    CHECK_THROWS_AS((void)task_of(sound, {.data = "x.npy"}), UsageError);
}

TEST_CASE("a net's JSON with any byte changed is taken or refused, never more") {
    Random random(1);
    const std::string whole = json_of(description_of(net_by_name("transformer")));
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
        std::string text = whole;
        text[static_cast<std::size_t>(random.below(whole.size()))] = static_cast<char>(random.below(256));
        refused += why_not(text) == "it is taken" ? 0 : 1;
    }
    CHECK(refused > 500);
}

TEST_CASE("an encoder and a decoder: the source's words count, later tokens do not, and misfits are told") {
    const NetDescription net = description_of(net_by_name("encoder_decoder"));
    const Index source = source_of(net.layers);
    CHECK(source == 10);
    Trainer trainer(Engine("fp32", "soft:ieee"), 1);
    const Net built(trainer.model(), net.layers, net.input.shape, net.outputs);
    const auto scores_of = [&](const std::vector<float>& tokens, const Net& f) {
        Evaluation evaluation = trainer.evaluation();
        Tape tape(evaluation);
        const Tensor& scores = f(tape.constant(Tensor({1, static_cast<Index>(tokens.size())}, tokens))).value();
        return std::vector<float>(scores.values().begin(), scores.values().end());
    };
    std::vector<float> tokens(21, 0.0F);
    for (std::size_t i = 0; i < 6; ++i) tokens[i] = static_cast<float>(3 + i);
    tokens[10] = 1;
    const std::vector<float> scores = scores_of(tokens, built);
    CHECK(scores.size() == 11 * 19);
    std::vector<float> other = tokens;
    other[5] = 17;
    CHECK(scores_of(other, built) != scores);
    other = tokens;
    other[11] = 9;  // the decoder looks at no later token
    CHECK(std::equal(scores.begin(), scores.begin() + 19, scores_of(other, built).begin()));

    const std::string text = json_of(net);
    const auto why = [&](const std::string& from, const std::string& to) {
        std::string wrong = text;
        const std::size_t at = wrong.find(from);
        REQUIRE(at != std::string::npos);
        return why_not(wrong.replace(at, from.size(), to));
    };
    CHECK(why("\"source\":10", "\"source\":21").find("/layers/0/source is 21 of 21 tokens") == 0);
    CHECK(why("\"encoder\":[", "\"encoder\":[],\"more\":[").find("/layers/0/more is not known here") == 0);
    const std::string small_pair = R"({"name":"p","task":"translation","input":{"shape":[12],"tokens":19},"outputs":19,
        "layers":[{"layer":"encoder_decoder","source":5,"encoder":[ENCODER],"decoder":[DECODER]}]})";
    const auto pair_of = [&](const std::string& encoder, const std::string& decoder) {
        std::string pair = small_pair;
        pair.replace(pair.find("ENCODER"), 7, encoder);
        return why_not(pair.replace(pair.find("DECODER"), 7, decoder));
    };
    const auto words = [](const std::string& name, const std::string& width) {
        return R"({"layer":"embedding","name":")" + name + R"(","words":19,"width":)" + width + "}";
    };
    const std::string cross = R"(,{"layer":"cross_attention","name":"c"})";
    const std::string out = R"(,{"layer":"linear","name":"out"})";
    CHECK(pair_of(words("a", "8"), words("b", "8") + cross + out) == "it is taken");
    CHECK(pair_of("", words("b", "8") + cross + out).find("/layers/0/encoder ends with (5)") == 0);
    CHECK(pair_of(words("a", "8"), words("b", "4") + cross + out)
              .find("/layers/0/decoder/1 has the width 4, the encoder's results 8") == 0);
    CHECK(pair_of(words("a", "8") + cross, words("b", "8") + out)
              .find("/layers/0/encoder/1 looks at an encoder's results") == 0);
    CHECK(pair_of(words("a", "8"), words("a", "8") + out).find("/layers/0/decoder/0/name is \"a\", which another") ==
          0);
    CHECK(pair_of(words("a", "8"), words("b", "8")).find("/layers end with (7, 8) where the net's answer is (7, 19)") ==
          0);
    NetDescription narrow = net_from_json(text);
    narrow.layers[0].size = 3;
    CHECK_THROWS_WITH_AS((void)task_of(narrow, {}), doctest::Contains("/layers/0/source is 3 of 21 tokens"), DataError);
}

TEST_CASE("a net learns from a user's examples and classes") {
    const test::TemporaryFolder folder;
    const std::string data = (folder.path() / "data.npy").string();
    const std::string labels = (folder.path() / "labels.npy").string();
    Random random(5);
    std::vector<float> inputs;
    std::vector<std::int64_t> classes;
    for (int i = 0; i < 120; ++i) {
        classes.push_back(static_cast<std::int64_t>(random.below(2)));
        for (int j = 0; j < 4; ++j)
            inputs.push_back(static_cast<float>(random.normal() + (j == classes.back() ? 3 : 0)));
    }
    npy::write(data, npy::matrix("<f4", 120, 4, inputs));
    npy::Array column = npy::matrix("<i8", 1, 120, classes);
    column.shape = {120};
    npy::write(labels, column);
    const NetDescription net = net_from_json(
        R"({"name":"two","task":"images","input":{"shape":[4]},"outputs":2,"layers":[{"layer":"linear","name":"fc"}]})");
    const NetTask task = task_of(net, {.batch = 12, .data = data, .labels = labels});
    Trainer trainer(Engine("fp32", "soft:ieee"), 1);
    const Net built(trainer.model(), net.layers, net.input.shape, net.outputs);
    trainer.optimize({.learning_rate = 0.1});
    for (int step = 0; step < 60; ++step) {
        trainer.step([&](Tape& tape) { return task.loss(tape, built, step); });
    }
    CHECK(task.right(trainer.evaluation(), built) > 0.9);
    NetDescription one = net;
    one.outputs = 1;
    CHECK_THROWS_WITH_AS((void)task_of(one, {.batch = 12, .data = data, .labels = labels}),
                         doctest::Contains("is 1; the net \"two\" has the classes 0 to 0"), DataError);
    CHECK_THROWS_WITH_AS((void)task_of(net, {.batch = 12, .data = data, .labels = data}),
                         doctest::Contains("give a class for each"), DataError);
    CHECK_THROWS_WITH_AS((void)task_of(net, {.batch = 500, .data = data, .labels = labels}),
                         doctest::Contains("108 examples are less than --batch 500"), DataError);
    NetDescription wide = net;
    wide.input.shape = {5};
    CHECK_THROWS_WITH_AS((void)task_of(wide, {.batch = 12, .data = data, .labels = labels}),
                         doctest::Contains("an example has 4 numbers, the net \"two\" takes (5)"), DataError);
}

TEST_CASE("a net learns a user's text, or tokens, and refuses what it does not know") {
    const test::TemporaryFolder folder;
    const std::string text = (folder.path() / "text.txt").string();
    const std::string tokens = (folder.path() / "tokens.npy").string();
    std::vector<std::int32_t> numbers;
    std::string letters;
    for (int i = 0; i < 2000; ++i) {
        letters += static_cast<char>('a' + i % 7);
        numbers.push_back('a' + i % 7);
    }
    replace_whole_file(text, letters);
    npy::Array row = npy::matrix("<i4", 1, 2000, numbers);
    npy::write((folder.path() / "matrix.npy").string(), row);
    row.shape = {2000};
    npy::write(tokens, row);
    const NetDescription net = description_of(net_by_name("lstm"));
    const NetTask of_text = task_of(net, {.batch = 16, .data = text});
    const NetTask of_tokens = task_of(net, {.batch = 16, .data = tokens});
    CHECK(of_text.data == of_tokens.data);
    std::vector<std::string> digests;
    for (const NetTask* task : {&of_text, &of_tokens}) {
        Trainer trainer(Engine("fp32", "soft:ieee"), 1);
        const Net built(trainer.model(), net.layers, net.input.shape, net.outputs);
        trainer.optimize({.kind = OptimizerKind::adam, .learning_rate = 0.02});
        for (int step = 0; step < 12; ++step) {
            trainer.step([&](Tape& tape) { return task->loss(tape, built, step); });
        }
        CHECK(task->right(trainer.evaluation(), built) > 0.9);
        digests.push_back(trainer.trace().digest());
    }
    CHECK(digests[0] == digests[1]);
    CHECK_THROWS_WITH_AS((void)task_of(net, {.data = (folder.path() / "matrix.npy").string()}),
                         doctest::Contains("has 2 dimensions; give the tokens in one row"), DataError);
    CHECK_THROWS_WITH_AS((void)task_of(net, {.data = text, .labels = tokens}),
                         doctest::Contains("leave --mnist and --labels out"), UsageError);
    replace_whole_file(text, "H\xC3\xA4llo");
    CHECK_THROWS_WITH_AS((void)task_of(net, {.data = text}),
                         doctest::Contains("token 1 is 195, the net \"lstm\" knows 0 to 127"), DataError);
    for (const std::string few : {"", "a", "only one piece of text, no more"}) {
        replace_whole_file(text, few);
        CHECK_THROWS_WITH_AS((void)task_of(net, {.data = text}), doctest::Contains("less than two pieces of 32"),
                             DataError);
    }
}

}  // namespace
