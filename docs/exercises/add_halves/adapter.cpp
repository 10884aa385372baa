#include "driver.hpp"
#include "exercise.hpp"

driver::Words driver::answer(const Words& question) {
    return {add(static_cast<std::uint16_t>(question[0]), static_cast<std::uint16_t>(question[1]))};
}
