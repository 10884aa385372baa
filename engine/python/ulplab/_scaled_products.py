"""Products of scaled FP8 and FP4 tensors, torch._scaled_mm and torch.nn.functional.scaled_mm, as a card computes them.

Sources: PyTorch 2.13, aten/src/ATen/native/cuda (ScaledBlas.cpp: which scales mean what, and what a card refuses;
RowwiseScaledMM.cu: the sum times a's scale, then b's, then plus the bias, in fp32); cuBLAS's documentation (scales of blocks
lie in tiles of 128 x 4; without fast accumulation Hopper's partial sums are promoted); PTX's cvt (FP8 results saturate)."""

from __future__ import annotations

import torch

from . import _core
from ._passes import DGRAD, FORWARD, WGRAD
from ._products import Order, matmul, units
from ._torch_products import grouped

FLOAT8 = {getattr(torch, name): format for name, format in (
    ("float8_e4m3fn", "e4m3"), ("float8_e5m2", "e5m2"), ("float8_e4m3fnuz", "e4m3fnuz"), ("float8_e5m2fnuz", "e5m2fnuz"))
    if hasattr(torch, name)}
PACKED = getattr(torch, "float4_e2m1fn_x2", None)
E8M0 = getattr(torch, "float8_e8m0fnu", None)
#: torch.nn.functional.ScalingType, by its numbers.
TENSOR, ROW, BLOCK16, BLOCK32, LINE128, SQUARE128 = range(6)
NAMES = ("TensorWise", "RowWise", "BlockWise1x16", "BlockWise1x32", "BlockWise1x128", "BlockWise128x128")
#: The scales of blocks: how many elements share one, and its format.
BLOCKS = {BLOCK16: (16, "e4m3"), BLOCK32: (32, "e8m0")}
#: After that many k a running sum goes into an fp32 accumulator.
PROMOTED = _core.usual_scale_block
#: Pairs of scalings beside those that are the same on both sides.
MIXED = {(LINE128, SQUARE128), (SQUARE128, LINE128)}


def _ceil(x, by):
    return -(-x // by)


def _fits(kind, x, scale, k):
    """Whether a scale is one of that kind for x, whose rows are of k elements."""
    lines, shape = x.shape[0], tuple(scale.shape)
    if kind in BLOCKS:
        block, format = BLOCKS[kind]
        of_type = scale.dtype is (E8M0 if format == "e8m0" else torch.float8_e4m3fn) and (kind == BLOCK32 or x.dtype is PACKED)
        return of_type and scale.is_contiguous() and scale.numel() == 128 * _ceil(lines, 128) * 4 * _ceil(_ceil(k, block), 4)
    wanted = {ROW: (lines, 1), LINE128: (lines, _ceil(k, 128)), SQUARE128: (_ceil(lines, 128), _ceil(k, 128))}
    return scale.dtype is torch.float32 and (scale.numel() == 1 if kind == TENSOR else shape == wanted[kind])


def _of_tiles(scale, lines, columns):
    """The codes of scales that lie in tiles of 128 x 4, each with the rows r, r + 32, r + 64, r + 96 side by side."""
    down, across = _ceil(lines, 128), _ceil(columns, 4)
    tiles = scale.view(torch.uint8).reshape(down, across, 32, 4, 4).permute(0, 3, 2, 1, 4)
    return tiles.reshape(128 * down, 4 * across)[:lines, :columns]


def _row(run, module, formats, kind):
    """The unit's row for operands of two formats whose scales are of a kind."""
    backend = run.backend_for(module)
    block, scale_format = BLOCKS.get(kind, (0, None))
    key = _core.unit_of_backend(backend, *formats, scale_format, block)
    row = next((u for u in units() if u.key == key), None)
    if row is None:
        where = f" in blocks of {block} with scales in {scale_format}" if block else ""
        raise ValueError(f"{backend.removeprefix('soft:')} multiplies no {formats[0]} by {formats[1]}{where}; choose "
                         f"{'b200' if block else 'h100 or b200'}")
    return row


def _require(a, b, kinds, fast):
    """What a card refuses, in a sentence."""
    if a.ndim != 2 or b.ndim != 2 or _depth(a) != _depth(b.t()):
        raise ValueError(f"a scaled product takes two matrices, m x k and k x n; these are {tuple(a.shape)} and {tuple(b.shape)}")
    if (a.dtype is PACKED) != (b.dtype is PACKED):
        raise ValueError(f"a card has no scaled product of {a.dtype} and {b.dtype}; quantise both to one of them")
    if a.shape[1] % 16 or b.shape[1] % 16:
        raise ValueError(f"a card takes scaled products whose k and n are multiples of 16; these are {tuple(a.shape)} and "
                         f"{tuple(b.shape)}: pad them")
    if a.dtype is b.dtype is torch.float8_e5m2:
        raise ValueError("a card has no scaled product of two float8_e5m2 matrices; make one of them float8_e4m3fn")
    if fast and PACKED in (a.dtype, b.dtype):
        raise ValueError("use_fast_accum is not for float4_e2m1fn_x2; leave it out")
    if kinds[0] != kinds[1] and kinds not in MIXED:
        raise ValueError(f"a card has no product of scales {NAMES[kinds[0]]} and {NAMES[kinds[1]]}; scale both operands alike")


def _place(run, a, b):
    """The module and the pass of a product; nothing but its k tells the two of a custom function's backward pass apart."""
    place = run.place()
    module = place.module if place is not None else run.module()
    if not run.passes.backward:
        run.scaled_extents[module] = a.shape[0], b.shape[1]
        return module, FORWARD
    m, n = run.scaled_extents.get(module, (0, 0))
    return module, WGRAD if _depth(a) == m != n else DGRAD


def _order_and_scales(order, row, kind, scales, lines, k, fast):
    """The order of the sums, and the scales that enter them: of blocks, by rows of A and columns of B."""
    if kind in BLOCKS:
        of_a, of_b = (_of_tiles(s, each, _ceil(k, BLOCKS[kind][0])) for s, each in zip(scales, lines))
        return order, (of_a.numpy(), of_b.t().numpy())
    if kind in (LINE128, SQUARE128):
        if row.architecture != "sm_90":
            raise ValueError("scales 1x128 and 128x128 are Hopper's in a scaled product of PyTorch: choose h100")
        if order is not None and order.promote not in (0, PROMOTED):
            raise ValueError(f"scales 1x128 and 128x128 enter where sums are promoted, every {PROMOTED} of k; the order says "
                             f"promote={order.promote}: leave it out")
        return (order or Order())._replace(promote=PROMOTED), (scales[0].numpy(), scales[1].t().numpy())
    promoted = row.architecture == "sm_90" and not fast and order is None
    return Order(promote=PROMOTED) if promoted else order, None


def _multiply(run, a, b, kinds, scales, alpha, bias, scale_result, out_dtype, fast):
    """A * B with scales of the given kinds; those of b as b.t() has them."""
    formats = ["e2m1" if x.dtype is PACKED else FLOAT8.get(x.dtype) for x in (a, b)]
    if None in formats:
        raise ValueError(f"a scaled product takes float8 and float4_e2m1fn_x2 matrices; these are {a.dtype} and {b.dtype}")
    _require(a, b, kinds, fast)
    type = out_dtype or a.dtype
    if type is PACKED:
        raise ValueError("a scaled product has no results in float4_e2m1fn_x2; give out_dtype")
    packed, k = a.dtype is PACKED, _depth(a)
    module, which = _place(run, a, b)
    row = _row(run, module, formats, kinds[0])
    order, factors = _order_and_scales(run.order_for(module), row, kinds[0], scales, (a.shape[0], b.shape[1]), k, fast)
    x, y = (each.contiguous().view(torch.uint8).numpy() if packed else each.float().numpy() for each in (a, b.t()))
    d = torch.from_numpy(matmul(x, y.T, unit=row, order=order, scales=factors, alpha=alpha, packed=packed))
    promoted = f", promoted every {order.promote}" if order is not None and order.promote else ""
    run.count_products(module, which, row.key + promoted, torch.empty(0, k), d)
    if factors is None:
        d = d * scales[0] * scales[1].t()
    if bias is not None:
        d = d + bias.float()
    if type in FLOAT8:
        d = d if scale_result is None else d * scale_result.float()
        d = d.clamp(-torch.finfo(type).max, torch.finfo(type).max)
    return run._narrow(d, type, (a, b), run.where("_scaled_mm", module))


def _by_rows(scale):
    """A scale of b as b.t() has it; scales of blocks lie in memory as they are read, whatever their extents."""
    return scale.t() if scale.ndim == 2 and scale.dtype is torch.float32 else scale


def _depth(x):
    return x.shape[-1] * (2 if x.dtype is PACKED else 1)


def scaled_mm(run, a, b, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
    """torch._scaled_mm: the kinds of scales follow from their types and shapes."""
    sides = [(a, scale_a), (b.t(), _by_rows(scale_b))]
    fitting = []
    for name, (x, scale) in zip("ab", sides):
        fitting.append([kind for kind in range(6) if _fits(kind, x, scale, _depth(x))])
        if not fitting[-1]:
            raise ValueError(f"scale_{name} is {tuple(scale.shape)} of {scale.dtype}, which fits none of {', '.join(NAMES)} for "
                             f"{x.shape[0]} lines of {_depth(x)} elements of {x.dtype}")

    pairs = [(i, j) for i in fitting[0] for j in fitting[1]]
    kinds = next((pair for pair in pairs if pair[0] == pair[1] or pair in MIXED), pairs[0])
    return _multiply(run, a, b, kinds, [scale for _, scale in sides], None, bias, scale_result, out_dtype, use_fast_accum)


def scaled_mm_v2(run, a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, bias=None, out_dtype=None,
                 contraction_dim=(), use_fast_accum=False):
    """torch.nn.functional.scaled_mm: the kinds of scales are given; NVFP4 may have a second one, of the tensor."""
    if list(contraction_dim) not in ([], [1, 0], [-1, -2], [-1, 0], [1, -2]):
        raise ValueError(f"contraction_dim {list(contraction_dim)} is not a product's of m x k by k x n; leave it out")
    kinds, scales, alpha = [], [], None
    for name, x, given, recipe, swizzle in (("a", a, scale_a, recipe_a, swizzle_a), ("b", b.t(), scale_b, recipe_b, swizzle_b)):
        if list(recipe) not in ([BLOCK16, TENSOR], *([kind] for kind in range(6))) or len(given) != len(recipe):
            raise ValueError(f"scale_recipe_{name} is {[NAMES[r] for r in recipe]} with {len(given)} scales; give one of each, "
                             "and two of NVFP4 alone: BlockWise1x16 and TensorWise")
        scale = _by_rows(given[0]) if name == "b" else given[0]
        if not _fits(recipe[0], x, scale, _depth(x)):
            raise ValueError(f"scale_{name} is {tuple(given[0].shape)} of {given[0].dtype}, which is not {NAMES[recipe[0]]} for "
                             f"{x.shape[0]} lines of {_depth(x)} elements of {x.dtype}")
        if recipe[0] in BLOCKS and list(swizzle)[:1] != [1]:
            raise ValueError(f"a card takes scales of blocks in tiles: give swizzle_{name}=SwizzleType.SWIZZLE_32_4_4")
        if len(given) == 2:
            alpha = given[1].float().reshape(()) * (1.0 if alpha is None else alpha)
        kinds.append(recipe[0])
        scales.append(scale)
    return _multiply(run, a, b, tuple(kinds), scales, None if alpha is None else float(alpha), bias, None, out_dtype,
                     use_fast_accum)


def scaled_grouped_mm(run, a, b, scale_a, scale_b, offs=None, bias=None, scale_result=None, out_dtype=None,
                      use_fast_accum=False):
    """torch._scaled_grouped_mm: a scaled product for each group of rows, of columns or of k, each with scales of its own."""
    if bias is not None or scale_result is not None or scale_a.dtype is not torch.float32:
        raise ValueError("a scaled grouped product has fp32 scales of rows here, without bias and scale_result; multiply group "
                         "by group")
    type = out_dtype or torch.bfloat16
    of_k = a.ndim == b.ndim == 2

    def part(scale, x, i, s):
        if of_k:
            return scale.reshape(len(offs), -1)[i]
        return scale[i] if x.ndim == 3 else scale[s]

    def product(x, y, i, s):
        return scaled_mm(run, x, y, part(scale_a, a, i, s).unsqueeze(1), part(scale_b, b, i, s).unsqueeze(0), None, None,
                         type, use_fast_accum)

    if offs is None:
        return torch.stack([product(x, y, i, None) for i, (x, y) in enumerate(zip(a, b))])
    return grouped(a, b, offs, product, type)


def scaled_grouped_mm_v2(run, a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, offs=None, bias=None,
                         out_dtype=None, contraction_dim=(), use_fast_accum=False):
    """torch.nn.functional.scaled_grouped_mm with RowWise scales."""
    if [*recipe_a, *recipe_b] != [ROW, ROW] or list(contraction_dim):
        raise ValueError(f"a scaled grouped product has RowWise scales here; {NAMES[recipe_a[0]]} and {NAMES[recipe_b[0]]} are "
                         "torch.nn.functional.scaled_mm's, group by group")
    return scaled_grouped_mm(run, a, b, scale_a[0], scale_b[0], offs, bias, None, out_dtype, use_fast_accum)


HANDLERS = {"_scaled_mm": scaled_mm, "_scaled_mm_v2": scaled_mm_v2, "_scaled_grouped_mm": scaled_grouped_mm,
            "_scaled_grouped_mm_v2": scaled_grouped_mm_v2}
