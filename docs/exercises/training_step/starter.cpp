#include "exercise.hpp"

bool training_step(Model& model, const std::vector<float>& x, float target, const Settings& settings) {
    (void)model;
    (void)x;
    (void)target;
    (void)settings;
    return false;  // to be written
}
