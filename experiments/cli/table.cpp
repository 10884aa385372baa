// The list of subcommands. A new one is named twice here: declared, and put in its place.
#include <array>

#include "experiments/cli/command.hpp"

namespace ulp {

Command bound_command();
Command claims_command();
Command codes_command();
Command course_command();
Command dev_command();
Command diagnose_command();
Command discover_command();
Command doctor_command();
Command formats_command();
Command explain_command();
Command compare_command();
Command gpu_command();
Command grade_command();
Command inspect_command();
Command list_command();
Command matmul_command();
Command models_command();
Command quantize_command();
Command report_command();
Command run_command();
Command search_command();
Command show_command();
Command train_command();
Command verify_command();

std::span<const Command> commands() {
    static const std::array list = {
        // Experiments and what they found.
        list_command(),
        run_command(),
        report_command(),
        claims_command(),
        // Numbers.
        show_command(),
        formats_command(),
        codes_command(),
        inspect_command(),
        quantize_command(),
        // Matrix units and their models.
        models_command(),
        verify_command(),
        matmul_command(),
        explain_command(),
        bound_command(),
        discover_command(),
        gpu_command(),
        compare_command(),
        train_command(),
        diagnose_command(),
        search_command(),
        // The course.
        course_command(),
        grade_command(),
        // This machine, this program.
        doctor_command(),
        dev_command(),
    };
    return list;
}

}  // namespace ulp
