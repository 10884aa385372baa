// What is refused of a compiler's output, and what is not.
#include <doctest/doctest.h>

#include "experiments/course/exercise.hpp"

using ulp::course::refused_in_assembly;

TEST_CASE("assembler text that plain C++ does not need is refused, line by line") {
    const std::string before = "\t.text\n\t.globl\tf\nf:\n\tmovaps\t%xmm0, %xmm1\n";
    CHECK_FALSE(refused_in_assembly(before + "\tret\n"));
    const std::pair<const char*, const char*> refused[] = {
        {"#APP\n\tnop\n#NO_APP\n", "uses assembler"},
        {"\tcall\t__truncsfhf2\n", "another format (__truncsfhf2)"},
        {"\tcall\t__extendhfsf2@PLT\n", "another format (__extendhfsf2)"},
        {"\tjmp\t__addtf3\n", "another format (__addtf3)"},
        {"\tcall\t__unordtf2\n", "another format"},
        {"\tcall\t__trunctfsf2\n", "another format"},
        {"\tcall\t__truncsfbf2\n", "another format"},
        {"\tcall\t__bid_adddd3\n", "another format"},
        {"\tcall\t__gnu_f2h_ieee\n", "another format"},
        {"\tleaq\t__addtf3(%rip), %rax\n", "another format"},
        {"\tfldt\t(%rdi)\n", "long double (fldt)"},
        {"\tvcvtps2ph\t$0, %xmm0, %xmm0\n", "not every processor"},
        {"\tmulps\t%xmm1, %xmm0\n", "vector instructions (mulps)"},
        {"\troundss\t$0, %xmm1, %xmm0\n", "vector instructions"},
        {"\t.incbin \"/etc/passwd\"\n", "assembler (.incbin)"},
        {"\t.include \"/etc/passwd\"\n", "assembler (.include)"},
        {"\t.macro x\n", "assembler (.macro)"},
        {"\t.byte\t0xC4\n", "instructions as numbers (.byte)"},
        {"\t.section\t.code,\"ax\",@progbits\n\t.long\t1\n", "instructions as numbers (.long)"},
        {"\tret; .incbin \"x\"\n", "through a symbol's name"}};
    for (const auto& [code, says] : refused) {
        const std::string line = code;
        const auto why = refused_in_assembly(before + line);
        INFO(line, why.value_or("not refused"));
        REQUIRE(why.has_value());
        CHECK(why->find(says) != std::string::npos);
    }
    // A million letters take no stack.
    CHECK_FALSE(refused_in_assembly(before + "\tcall\t__add" + std::string(1000000, 'd') + "\n"));
    CHECK(refused_in_assembly(before + "\tpmul" + std::string(1000000, 'd') + "\t%xmm0\n"));
}

TEST_CASE("exercises for integers refuse floating-point arithmetic, and nothing else") {
    for (const char* line : {"\taddsd\t%xmm1, %xmm0\n", "\tmulss\t%xmm1, %xmm0\n", "\tcvtss2sd\t%xmm0, %xmm0\n",
                             "\tucomisd\t%xmm1, %xmm0\n", "\taddps\t%xmm1, %xmm0\n", "\tcall\tfma@PLT\n",
                             "\tjmp\tfmaf\n", "\tcall\tldexp\n", "\tcall\t__muldc3\n"}) {
        const std::string text = std::string("\tmovl\t%eax, %edi\n") + line;
        INFO(line);
        CHECK_FALSE(refused_in_assembly(text));
        const auto why = refused_in_assembly(text, ulp::course::Arithmetic::integers);
        REQUIRE(why.has_value());
        CHECK(why->find("integers alone") != std::string::npos);
    }
    CHECK_FALSE(
        refused_in_assembly("\tmovd\t%xmm0, %eax\n\tmovss\t%xmm0, (%rdi)\n\taddl\t%eax, %edi\n"
                            "\tcall\t_Z9format_mapv\n\tpaddd\t%xmm1, %xmm0\n\tsubq\t$8, %rsp\n",
                            ulp::course::Arithmetic::integers));
}

TEST_CASE("what compilers write for plain C++ is not refused") {
    const char* accepted[] = {
        // Tables of numbers outside of code, and text in strings.
        "\t.section\t.rodata\n\t.long\t1036831949\n\t.string\t\"a; b .incbin #APP\"\n\t.text\n\tret\n",
        "\t.section\t.text._ZN1fEv,\"axG\",@progbits,_ZN1fEv,comdat\n\tret\n",
        // g++ 13's <iostream> names a symbol.
        "#APP\n\t.globl _ZSt21ios_base_library_initv\n#NO_APP\n",
        "\tcvtss2sd\t%xmm0, %xmm0\n\tcvtsi2ssq\t%rax, %xmm0\n\tpunpckldq\t%xmm1, %xmm0\n\tsubpd\t%xmm1, %xmm0\n",
        "\tcall\tldexpf@PLT\n\tcall\t__stack_chk_fail@PLT\n\tcall\t__printf_chk\n\tcall\t__cxa_throw\n",
        "\tcall\t__udivti3\n", "\t.quad\t.LFB1\n", "\t.cfi_startproc\n\t.set\tx,y\n"};
    for (const char* text : accepted) {
        const bool data = std::string_view(text).starts_with("\t.quad");
        const auto why = refused_in_assembly(std::string(data ? "\t.data\n" : "") + text);
        INFO(text, why.value_or(""));
        CHECK_FALSE(why.has_value());
    }
}
