#include "driver.hpp"
#include "exercise.hpp"

driver::Words driver::answer(const Words& question) { return {half_from_single(single(question[0]))}; }
