// Rows of the recordings in the published layout (softfloat/lab/recordings.hpp) as questions to students.
#include "experiments/course/grader.hpp"
#include "softfloat/lab/recordings.hpp"

namespace ulp::course {

std::vector<PublicTest> recorded_tests(const Exercise& exercise, const std::filesystem::path& recordings) {
    if (exercise.name != "tensor_core_block") return {};
    std::vector<PublicTest> tests;
    for (const RecordedFiles& files : find_recordings(recordings)) {
        if (files.input != "fp16" || files.output != "fp32") continue;
        const RecordedSet set = read_recording(files);
        const auto row = model_of(set);
        // Rows that are one block: a k16 instruction of eight products is a second, empty block.
        if (!row || set.products != row->model.group_size) continue;
        for (std::size_t i = 0; i < static_cast<std::size_t>(set.rows); ++i) {
            const auto n = static_cast<std::size_t>(set.products);
            Words question{static_cast<Word>(n), static_cast<Word>(row->model.fraction_bits), set.c[i]};
            const auto first = static_cast<std::ptrdiff_t>(i * n);
            const auto last = static_cast<std::ptrdiff_t>(i * n + n);
            question.insert(question.end(), set.a.begin() + first, set.a.begin() + last);
            question.insert(question.end(), set.b.begin() + first, set.b.begin() + last);
            tests.push_back({question, {set.d[i]}, static_cast<int>(i)});
        }
    }
    return tests;
}

}  // namespace ulp::course
