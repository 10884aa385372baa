#include "driver.hpp"
#include "exercise.hpp"

driver::Words driver::answer(const Words& question) { return {round_stochastically(single(question[0]), question[1])}; }
