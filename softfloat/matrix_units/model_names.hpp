// What the members of a model that are choices are called: in the files of units, and in the search for a description.
#pragma once

#include <string_view>

#include "softfloat/matrix_units/integer_model.hpp"
#include "softfloat/matrix_units/model.hpp"

namespace ulp::model_names {

template <class Value>
struct Named {
    std::string_view name;
    Value value;
};

inline constexpr Named<Summation> summations[] = {{"fused", Summation::fused},
                                                  {"fp8_by_hmma", Summation::fp8_by_hmma},
                                                  {"fma_chain", Summation::fma_chain},
                                                  {"fma_pairs", Summation::fma_pairs},
                                                  {"even_odd_fma", Summation::even_odd_fma},
                                                  {"pairwise", Summation::pairwise},
                                                  {"exact", Summation::exact},
                                                  {"late_addend", Summation::late_addend},
                                                  {"late_addend_even_odd", Summation::late_addend_even_odd}};
inline constexpr Named<NanStyle> nan_styles[] = {
    {"all_ones", NanStyle::all_ones}, {"quiet", NanStyle::quiet}, {"x86", NanStyle::x86}, {"dmma", NanStyle::dmma}};
inline constexpr Named<ZeroProduct> zero_products[] = {{"ignored", ZeroProduct::ignored},
                                                       {"operand_at_fp32_emin", ZeroProduct::operand_at_fp32_emin},
                                                       {"operand_as_subnormal", ZeroProduct::operand_as_subnormal}};
inline constexpr Named<ZeroAddend> zero_addends[] = {{"ignored", ZeroAddend::ignored},
                                                     {"at_fp32_emin", ZeroAddend::at_fp32_emin},
                                                     {"at_accumulator_emin", ZeroAddend::at_accumulator_emin}};
inline constexpr Named<SubnormalAddend> subnormal_addends[] = {{"at_emin", SubnormalAddend::at_emin},
                                                               {"at_leading_bit", SubnormalAddend::at_leading_bit}};
inline constexpr Named<UnderflowSign> underflow_signs[] = {{"positive", UnderflowSign::positive},
                                                           {"kept", UnderflowSign::kept}};
inline constexpr Named<AddendEntry> addend_entries[] = {{"with_products", AddendEntry::with_products},
                                                        {"after_products", AddendEntry::after_products},
                                                        {"beside_zeros_alone", AddendEntry::beside_zeros_alone},
                                                        {"never", AddendEntry::never}};
inline constexpr Named<LaneOrder> lane_orders[] = {
    {"ascending", LaneOrder::ascending}, {"descending", LaneOrder::descending}, {"even_first", LaneOrder::even_first}};
inline constexpr Named<IntegerProduct> integer_products[] = {{"multiply", IntegerProduct::multiply},
                                                             {"xor", IntegerProduct::exclusive_or},
                                                             {"and", IntegerProduct::conjunction}};

}  // namespace ulp::model_names
