#include "engine/operation.hpp"
#include "engine/ops.hpp"

namespace ulp {

template <class Real>
Var<Real> relu(Var<Real> x) {
    const Operation<Real> op("relu", {x});
    x = op.input(0);
    Tensor<Real> y = x.value();
    for (Real& v : y.values()) v = v <= 0 ? Real{0} : v;  // exact in every format
    Tape<Real>* tape = &op.tape();
    return op.finish(std::move(y), [=](const Tensor<Real>& dy) {
        Tensor<Real> dx = dy;
        const Tensor<Real>& in = x.value();
        for (Index i = 0; i < dx.size(); ++i) dx[i] = in[i] <= 0 ? Real{0} : dx[i];
        tape->accumulate(x, std::move(dx));
    });
}
template Var<float> relu(Var<float>);
template Var<double> relu(Var<double>);

template <class Real>
Var<Real> scaled(Var<Real> x, double factor) {
    const Operation<Real> op("scale", {x});
    x = op.input(0);
    const FloatFormat compute = op.precision().compute;
    const auto times = [compute, factor](const Tensor<Real>& in) {
        Tensor<Real> out(in.shape());
        with_steps<Real>(compute, [&](const auto& s) {
            const Real f = s.round(factor);
            for (Index i = 0; i < in.size(); ++i) out[i] = s.mul(in[i], f);
        });
        out.set_format(compute);
        return out;
    };
    Tape<Real>* tape = &op.tape();
    return op.finish(times(x.value()), [=](const Tensor<Real>& dy) { tape->accumulate(x, times(dy)); });
}
template Var<float> scaled(Var<float>, double);
template Var<double> scaled(Var<double>, double);

}  // namespace ulp
