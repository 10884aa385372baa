// The list of subcommands. A new one is named twice here: declared, and put in its place.
#include <array>

#include "experiments/commands/command.hpp"

namespace ulp {

Command doctor_command();
Command verify_command();

std::span<const Command> commands() {
    static const std::array list = {
        doctor_command(),
        verify_command(),
    };
    return list;
}

}  // namespace ulp
