"""Regions of torch.autocast for CUDA as they act on a card: its lists of functions, by the names users call them.

Sources: https://docs.pytorch.org/docs/stable/amp.html#cuda-ops-that-can-autocast-to-float16 and the three lists after it.
"""

import torch

LOW = frozenset("""
matmul __matmul__ __rmatmul__ addbmm addmm addmv addr baddbmm bmm chain_matmul multi_dot conv1d conv2d conv3d
conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc gru_cell lstm_cell rnn_tanh_cell rnn_relu_cell lstm gru rnn_tanh
rnn_relu linear mm mv prelu einsum scaled_dot_product_attention multi_head_attention_forward
""".split())

SINGLE = frozenset("""
__pow__ __rpow__ __rdiv__ __rtruediv__ acos asin cosh erfinv exp expm1 log log10 log1p log2 reciprocal rsqrt sinh tan pow
softplus layer_norm group_norm rms_norm norm frobenius_norm nuclear_norm vector_norm matrix_norm cosine_similarity
poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss
mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss cross_entropy
binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp prod softmax log_softmax softmin gumbel_softmax cumprod
cumsum sum normalize interpolate ctc_loss
""".split())

WIDEST = frozenset("""
addcdiv addcmul atan2 bilinear cross dot vdot grid_sample index_put scatter_add tensordot cat concat concatenate stack
""".split())

_FLOATS = (torch.float16, torch.bfloat16, torch.float32)


def _cast(x, dtype):
    if isinstance(x, torch.Tensor):
        return x.to(dtype) if x.dtype in _FLOATS and x.dtype is not dtype else x
    if isinstance(x, (list, tuple)) and x and any(isinstance(each, (torch.Tensor, list, tuple)) for each in x):
        return type(x)(_cast(each, dtype) for each in x)
    return x


def _types(values):
    for x in values:
        if isinstance(x, torch.Tensor) and x.dtype in _FLOATS:
            yield x.dtype
        elif isinstance(x, (list, tuple)):
            yield from _types(x)


def in_type(dtype, args, kwargs):
    """Arguments with their tensors of numbers cast to a type."""
    return tuple(_cast(x, dtype) for x in args), {key: _cast(x, dtype) for key, x in kwargs.items()}


def types_of(args, kwargs):
    return set(_types((*args, *kwargs.values())))


def cast(name, args, kwargs):
    """The arguments of a function as the region that is entered hands them on."""
    if name in LOW:
        dtype = torch.get_autocast_dtype("cuda")
    elif name in SINGLE:
        if kwargs.get("dtype") is not None:
            return args, kwargs
        dtype = torch.float32
    elif name in WIDEST:
        if len(types_of(args, kwargs)) < 2:
            return args, kwargs
        dtype = torch.float32
    elif name == "binary_cross_entropy":
        raise RuntimeError("binary_cross_entropy is unsafe to autocast: use binary_cross_entropy_with_logits, or a region "
                           "of torch.autocast('cuda', enabled=False) with float32 inputs")
    else:
        return args, kwargs
    return in_type(dtype, args, kwargs)
