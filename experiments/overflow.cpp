#include "experiments/framework/experiment.hpp"
namespace ulp {
namespace {
void run(const RunContext&, Result& result) { result.claim_value("x", "s", "t", 1.0, fp16(1)); }
}  // namespace
Experiment overflow_experiment() { return {"overflow", "Overflow", "What?", Chapter::overflow, {}, run}; }
}  // namespace ulp
