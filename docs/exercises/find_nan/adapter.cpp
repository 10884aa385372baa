#include "driver.hpp"
#include "exercise.hpp"

driver::Words driver::answer(const Words& question) {
    std::vector<Operation> operations;
    for (std::size_t at = 0; at + 4 <= question.size(); at += 4) {
        operations.push_back({static_cast<Code>(question[at]), single(question[at + 1]), single(question[at + 2]),
                              single(question[at + 3])});
    }
    const Finding finding = find_first(operations.data(), static_cast<int>(operations.size()));
    return {static_cast<Word>(finding.index), static_cast<Word>(finding.cause)};
}
