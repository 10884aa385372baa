// The error function in double, and gelu: the quick first phase. Both are polynomials on each of 8 intervals.
#pragma once

#include "softfloat/functions/quick_exp_log.hpp"

namespace ulp::quick_phase {

/// erf(t) / t for 0 <= t <= 5.625, relative error 2^-49: on the intervals of width 0.75 around its multiples, the
/// polynomials through the Chebyshev points. From 5.6 on erf is 1, less 2^-48.
template <class Real>
constexpr Real erf(Real x) {
    constexpr double c[14][8] = {
        {0x1.20dd750429b65p+0, 0x1.e57b7477c1334p-1, 0x1.49c38e4b7a73dp-1, 0x1.c672068e64fbdp-2, 0x1.5553672d623fcp-2,
         0x1.11110f080c546p-2, 0x1.c71c71c59c1f2p-3, 0x1.861861861831p-3},
        {0, -0x1.a0cdd9ab35669p-2, -0x1.667ed552b838ap-2, -0x1.8d734c1fef1ddp-3, -0x1.c6e932c0394c7p-4,
         -0x1.234526458097ep-4, -0x1.948b0f94c6d9ap-5, -0x1.293725bb780c2p-5},
        {-0x1.812746b031dd7p-2, -0x1.9a7d8dd605972p-4, 0x1.d4d9711bc181dp-4, 0x1.4408c71d2d64cp-4, 0x1.2e2218ebc153p-5,
         0x1.36ac76646ee32p-6, 0x1.679809f5cdaebp-7, 0x1.c4e651df62cafp-8},
        {0, 0x1.5acfc2be8d5dap-3, 0x1.0946e10472fcfp-6, -0x1.a1de1a05939ddp-6, -0x1.8a39a4ff11d4fp-7,
         -0x1.4b3ef89efcb4p-8, -0x1.3fa3698d1d3dbp-9, -0x1.5911015afb8ddp-10},
        {0x1.ce2f219605f8p-4, -0x1.97842b6b749a2p-6, -0x1.4bfeaee4c4308p-5, 0x1.7610515040ba3p-9, 0x1.e000cccf0f209p-9,
         0x1.605c898bc91e4p-10, 0x1.1c1df54adab44p-11, 0x1.06e861d5c7b53p-12},
        {0, -0x1.35e003c1694a5p-5, 0x1.1847c30e08bacp-6, 0x1.c69ab0b05e098p-9, -0x1.ce5982e00cea9p-11,
         -0x1.72b720a4307d2p-12, -0x1.f904a45099429p-14, -0x1.909f038d42fd1p-15},
        {-0x1.b82cdc3c833a2p-6, 0x1.de96c7b4c1547p-7, 0x1.83d63b4db67b7p-10, -0x1.733cc685e9bcdp-9,
         0x1.9226f058e3bd6p-15, 0x1.75df9e8cdbc35p-14, 0x1.c07b9d0b4eb44p-16, 0x1.313be9937af16p-17},
        {0x1.66c4cfp-279, 0x1.4ea869dd1c994p-8, -0x1.0fdddc0b318fcp-8, 0x1.f7c0084f62582p-11, 0x1.df08867225ef3p-14,
         -0x1.45fbe1ce982ap-16, -0x1.8cc7d3adb84e9p-18, -0x1.d11b38398bec3p-20},
        {0x1.56599fe76fa1fp-8, -0x1.ea24bed765b22p-9, 0x1.3810a6118edbcp-10, 0x1.2054fb1f6fdb3p-16,
         -0x1.5c1c123d1b078p-14, 0x1.2925063f63999p-19, 0x1.59b841dfedb65p-20, 0x1.624f78f7b1dc7p-22},
        {-0x1.f94be5fap-276, -0x1.3fbe6f1dcb3a6p-12, 0x1.6b14784a518e2p-12, -0x1.685011511c98dp-13,
         0x1.0ef6b0827f6bbp-15, 0x1.16cdf6d55fd5fp-20, -0x1.1d3d6853fc76cp-22, -0x1.0db9cdecd3ac3p-24},
        {-0x1.bf772bd11577ap-11, 0x1.56bfda30cef75p-11, -0x1.32cc8ef84ac18p-12, 0x1.2ade236e243fdp-14,
         -0x1.75421a5462a89p-18, -0x1.04d8ba21b7afep-20, 0x1.84bcb4a85015p-25, 0x1.996e4d5655f49p-27},
        {0x1.55dd117937p-273, -0x1.5444318f7d737p-15, 0x1.aa1195feb2f16p-16, -0x1.68868f64db0d4p-19,
         -0x1.d57ac0dcabdb7p-20, 0x1.f49edcc01f5cep-22, -0x1.1d08b187fbaf2p-29, -0x1.332f436445dc7p-29},
        {0x1.dbd134f082a1ep-14, -0x1.5b264b0f3c896p-14, 0x1.1b865e016f2c7p-15, -0x1.28ba49d4a9542p-17,
         0x1.ac13898ff95eap-20, -0x1.3899b1c29a3d4p-23, -0x1.0f2c33b9b3da7p-28, 0x1.bbfab773751c7p-32},
        {-0x1.656cb705feb7p-272, 0x1.d4a58f7d8f4ebp-17, -0x1.5ceceebc0097dp-17, 0x1.a7f37cdc5b77ap-19,
         -0x1.f2340ab6e953fp-22, 0x1.74c493b2db82fp-26, 0x1.5692322bcf462p-29, -0x1.0bcf99d481814p-34},
    };
    const Real t = at_most(magnitude_of(x), 5.6);
    const auto interval = nearest(t, 4.0 / 3);
    const Real y = t * polynomial_at(interval.low_bits, multiply_add(interval.value, all<Real>(-0.75), t), c);
    return x < 0 ? -y : y;
}

/// e^(t^2 / 2) (1 - Phi(t)) for 0 <= t < 15, relative error 2^-44.7: on each half of [1, 2), [2, 4), [4, 8) and [8, 16)
/// for t + 1, the polynomials through the Chebyshev points. The interval's number, as the table has them: the
/// exponent's lowest two bits and the first bit of the fraction.
template <class Real>
constexpr Real scaled_normal_tail(Real t) {
    constexpr double c[14][8] = {
        {0x1.a5705596892b8p-3, 0x1.21725231700b8p-3, 0x1.82b4bb8c94dfdp-4, 0x1.095608c7b15f2p-4, 0x1.66ccb7b9c0d0cp-5,
         0x1.f3ddc25e8b10ep-6, 0x1.a7f808169e57p-2, 0x1.3370237bca626p-2},
        {-0x1.71c04c317211ep-4, -0x1.75ab63fbbab5p-5, -0x1.5cf97b0ae8849p-6, -0x1.5068c2372ace1p-7,
         -0x1.37812312a1c4ep-8, -0x1.3012a83933bbdp-9, -0x1.2e8651379bcf4p-2, -0x1.63e07140d7368p-3},
        {0x1.204038e2e6c7p-5, 0x1.bf399da0dabbp-7, 0x1.2dda040d50d9bp-8, 0x1.a0eee3ca27815p-10, 0x1.0b6e089914e58p-11,
         0x1.6fdc4065bdfebp-13, 0x1.5c5673c8b762bp-3, 0x1.5bf7f206f35bbp-4},
        {-0x1.99805968b6aacp-7, -0x1.f6275d265f9e5p-9, -0x1.f6a4f53ad1291p-11, -0x1.f9cc9d4bb1a7p-13,
         -0x1.c63991044cab5p-15, -0x1.ba914cd7ec915p-17, -0x1.594f58fe0683ap-4, -0x1.2c849dfda5455p-5},
        {0x1.0d602eb82f42p-8, 0x1.0ac206d1ee588p-10, 0x1.943c4ba35bf05p-13, 0x1.2cab6e8d34e45p-15,
         0x1.7db4e160d2287p-18, 0x1.08c63ecd96e9bp-20, 0x1.312c88a8f88c5p-5, 0x1.d68c6d8fac163p-7},
        {-0x1.4bf38a32c8fd4p-10, -0x1.0dee210073f71p-12, -0x1.3ae885a13489ap-15, -0x1.5eafc97c3d153p-18,
         -0x1.3d810161abacep-21, -0x1.3b1d7b3a26082p-24, -0x1.eb760ca7db0cep-7, -0x1.53aa0f1def69fp-8},
        {0x1.82624657fa4f8p-12, 0x1.057885910f895p-14, 0x1.dc695a3e9066fp-18, 0x1.91a64c2053b01p-21,
         0x1.057d1eef015c4p-24, 0x1.750c6c948dd44p-28, 0x1.6df18a780a84p-8, 0x1.c990dfd74a8f2p-10},
        {-0x1.ab8f466701902p-14, -0x1.e6e83c96b41e4p-17, -0x1.5ea38f5aa52a9p-20, -0x1.c41bea751a926p-24,
         -0x1.aa9244398ec7dp-28, -0x1.b75697173f4c4p-32, -0x1.fd64685ede2e2p-10, -0x1.22234f03af033p-11},
        {0x1.c41a13cac491cp-16, 0x1.b5403267642c3p-19, 0x1.f720e0a3c39c6p-23, 0x1.f48d2d91f5783p-27,
         0x1.58c0579a1e8ebp-31, 0x1.0163311bb3c8p-35, 0x1.4e1b4c6c277d9p-11, 0x1.5cc3a7e26a3c4p-13},
        {-0x1.cab5e9ff9fcdep-18, -0x1.7bc8100ccf97bp-21, -0x1.605b1adeb96ccp-25, -0x1.10b91ff483ad6p-29,
         -0x1.140588110f654p-34, -0x1.2c0d1cea95caap-39, -0x1.9fab9670f443p-13, -0x1.8f8bcd6793e33p-15},
        {0x1.bfc68d0db0957p-20, 0x1.3fabbf20792e8p-23, 0x1.e0b0a1ed0269fp-28, 0x1.2445cc7b8121dp-32,
         0x1.b2a6880332414p-38, 0x1.5b4a76085ec41p-43, 0x1.ecf47bd032bd5p-15, 0x1.b62062a564ddbp-17},
        {-0x1.a679e2e2f9e15p-22, -0x1.058dfb230cd45p-25, -0x1.422e30de39758p-30, -0x1.35227f894fd91p-35,
         -0x1.55ffa8c4759d8p-41, -0x1.90e2b9fe116b1p-47, -0x1.17df5e34ed796p-16, -0x1.cda14e5675783p-19},
        {0x1.929bfe737e4bp-24, 0x1.ae64c9dc33837p-28, 0x1.d03794e6f446cp-33, 0x1.55dbbc2b01f4p-38, 0x1.326cd4c902c6p-44,
         0x1.efbb43c16283ep-51, 0x1.35d630dd8a50ap-18, 0x1.dad0bc360069cp-21},
        {-0x1.63efef0d85d7bp-26, -0x1.4da10ad4f3784p-30, -0x1.29f3bc5a2fff1p-35, -0x1.5f2834669f238p-41,
         -0x1.d909446a4580bp-48, -0x1.1b2c7a29a158cp-54, -0x1.456a8c252e1ap-20, -0x1.d18fe301844a2p-23},
    };
    const Real shifted = t + 1;
    const WordOf<Real> interval = word_of(shifted) >> 51;
    const Real middle = real_of<Real>(interval << 51 | std::uint64_t{1} << 50);
    return polynomial_at(interval, shifted - middle, c);
}

/// x Phi(x), that is x or 0, whichever is greater, minus t (1 - Phi(t)) for t = |x|. From 14.5 on that part is below
/// 2^-150, and only this counts: beside x it is nothing, and by itself too small for any format within fp32.
template <class Real>
constexpr Real gelu(Real x) {
    const Real t = at_most(magnitude_of(x), 14.5);
    const auto [scale, rest] = exp_parts(-0.5 * t * t);
    const Real tail = multiply_add(scale, rest, scale) * scaled_normal_tail(t);
    return multiply_add(-t, tail, at_least(x, 0));
}

}  // namespace ulp::quick_phase
