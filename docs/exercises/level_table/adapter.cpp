#include "driver.hpp"
#include "exercise.hpp"

driver::Words driver::answer(const Words& question) {
    const Word not_given = 0xFFFFFFFF;
    const auto cast = static_cast<Cast>(question[1]);
    const bool patch = question[2] == 1;
    const auto batchnorm = static_cast<Choice>(question[3]);
    const auto masters = static_cast<Choice>(question[4]);
    const auto scale = static_cast<Scale>(question[5]);
    const Overrides overrides{question[1] == not_given ? nullptr : &cast, question[2] == not_given ? nullptr : &patch,
                              question[3] == not_given ? nullptr : &batchnorm,
                              question[4] == not_given ? nullptr : &masters,
                              question[5] == not_given ? nullptr : &scale};
    Properties properties{};
    if (!effective(static_cast<int>(question[0]), overrides, properties)) return {0};
    return {1,
            static_cast<Word>(properties.cast_model_type),
            properties.patch_functions ? Word{1} : Word{0},
            static_cast<Word>(properties.keep_batchnorm_fp32),
            static_cast<Word>(properties.master_weights),
            static_cast<Word>(properties.loss_scale)};
}
