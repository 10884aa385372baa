#include "exercise.hpp"

float train_step(Trainer& trainer, const float* x, float target) {
    (void)trainer;
    (void)x;
    (void)target;
    return 0;  // to be written
}
