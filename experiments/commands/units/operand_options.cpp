#include "experiments/commands/units/operand_options.hpp"

#include "softfloat/errors.hpp"
#include "softfloat/rounding_names.hpp"

namespace ulp {

void Transpositions::declare(OptionParser& app) {
    app.add_parsed(
        "--transpose",
        [this](const std::string& text) {
            if (text != "a" && text != "b" && text != "a,b") {
                throw UsageError("--transpose takes a, b or a,b, not '" + text + "'");
            }
            a = a || text.starts_with("a");
            b = b || text.ends_with("b");
        },
        "a: the file of A holds k x m; b: that of B holds n x k; a,b: both");
}

void declare_unit_formats(OptionParser& app, std::string& input, std::string& output) {
    app.add_parsed(
           "--format",
           [&](const std::string& text) {
               const std::size_t comma = text.find(',');
               if (comma == std::string::npos || comma == 0 || text.find(',', comma + 1) != std::string::npos) {
                   throw UsageError("--format takes the operands' format and the accumulator's: fp16,fp32, not '" +
                                    text + "'");
               }
               input = text.substr(0, comma);
               output = text.substr(comma + 1);
           },
           "of backends and black boxes: number formats of A and B, and of C and D; s8,s32 for integer ones, whose "
           "operands are bytes; default " +
               input + "," + output)
        .type_name("IN,OUT");
}

void RoundingOptions::declare(OptionParser& app, const std::string& what) {
    app.add_option("--rounding", mode,
                   "rounds " + what + " to the input formats first: nearest_even, nearest_away or toward_zero");
    app.add_flag("--saturate", saturate,
                 "with --rounding: too large operands become the largest finite number (PTX: .satfinite)");
}

std::optional<OperandRounding> RoundingOptions::rounding() const {
    if (!given()) return std::nullopt;
    if (mode.empty()) throw UsageError("--saturate says how --rounding rounds; give --rounding nearest_even, too");
    for (const Rounding each : {Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero}) {
        if (mode == name_of(each)) return OperandRounding{each, saturate};
    }
    throw UsageError("there is no rounding '" + mode +
                     "' for operands; choose nearest_even, nearest_away (cvt.rna.tf32) or toward_zero");
}

}  // namespace ulp
