// Trains a small net, from a checkpoint if there is one, and writes a checkpoint after every step: what the test kills.
//
//     resume_program CHECKPOINT STEPS
#include <filesystem>
#include <iostream>

#include "engine/data/generated.hpp"
#include "engine/training/checkpoint.hpp"
#include "tests/engine/training/resume_net.hpp"

int main(int, char** arguments) {
    ulp::test::ResumeRun run;
    if (std::filesystem::exists(arguments[1])) ulp::load_checkpoint(arguments[1], run.trainer);
    while (run.trainer.steps() < std::stoll(arguments[2])) {
        run.step();
        ulp::save_checkpoint(arguments[1], run.trainer);
    }
    std::cout << run.digest() << std::endl;
}
