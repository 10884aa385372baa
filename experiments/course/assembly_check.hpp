// What a compiler made of a student's file, looked at before it is assembled: the exercises are about numbers worked
// out by hand, so types that a compiler rounds by itself, instructions beyond the processor's baseline and assembler
// are refused. Words in the source decide nothing: macros and headers may spell them as they like.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ulp::course {

/// Which arithmetic an exercise allows.
enum class Arithmetic { plain, integers };

/// Why this assembler text (g++ -S, clang++ -S; complete for x86-64, library calls for every processor) is refused, a
/// sentence that continues "it"; nothing where it is not.
std::optional<std::string> refused_in_assembly(std::string_view assembly, Arithmetic allowed = Arithmetic::plain);

}  // namespace ulp::course
