#include "experiments/commands/command.hpp"

int main(int argc, char** argv) {
    return static_cast<int>(ulp::run_ulplab(std::vector<std::string>(argv + 1, argv + argc)));
}
