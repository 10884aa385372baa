"""Which of PyTorch's operations move numbers and which compute: what emulation does with each, by its name in aten.

An operation that stands in neither list and is no product is refused in strict mode: it may multiply matrices inside.
"""

import difflib

#: Results are numbers of an operand, or no floating-point numbers of this computation at all: nothing is rounded.
MOVES = frozenset("""
_reshape_alias _to_copy _unsafe_view alias arange argmax argmin as_strided bernoulli bool broadcast_to bucketize cat
clone constant_pad_nd contiguous copy detach diagonal dropout_mask _efficientzerotensor empty empty_like empty_strided eq equal
expand expand_as eye fill flatten flip full full_like gather ge gt index index_fill index_put index_select is_same_size isfinite
isinf isnan le lift lift_fresh lift_fresh_copy linspace logical_and logical_not logical_or lt masked_fill masked_scatter
masked_select max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d_with_indices movedim multinomial
nan_to_num narrow ne new_empty new_empty_strided new_full new_ones new_zeros nonzero normal numel ones ones_like
permute pin_memory random randint randn randn_like rand rand_like randperm reflection_pad1d reflection_pad2d repeat
replication_pad2d reshape resize roll scalar_tensor scatter select select_backward set slice slice_backward
slice_scatter sort split split_with_sizes squeeze stack t topk trace tril triu transpose unbind unfold uniform
unsafe_split unsafe_split_with_sizes unsqueeze upsample_nearest1d upsample_nearest2d view view_as_complex view_as_real
where zero zeros zeros_like zeros_like_ _local_scalar_dense item any all unique _unique2 bitwise_and bitwise_or
bitwise_not is_nonzero max min amax amin maximum minimum clamp clamp_min clamp_max relu threshold sign sgn abs neg
hardtanh native_dropout_mask exponential geometric cauchy log_normal repeat_interleave embedding
adaptive_max_pool2d adaptive_max_pool2d_backward max_unpool2d median nanmedian kthvalue mode cummin rot90 searchsorted bincount
histc tril_indices triu_indices isin diff upsample_nearest3d aminmax count_nonzero
pixel_shuffle pixel_unshuffle channel_shuffle _amp_foreach_non_finite_check_and_unscale _amp_update_scale _foreach_zero
_pack_padded_sequence _pack_padded_sequence_backward
_use_cudnn_ctc_loss _record_function_enter _record_function_enter_new _record_function_exit
""".split())

#: Point-wise operations and sums: results are rounded to the recipe's format.
ROUNDED = frozenset("""
_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _cdist_forward _cdist_backward
_ctc_loss _ctc_loss_backward _log_softmax _log_softmax_backward_data
_safe_softmax _softmax _softmax_backward_data acos add addcdiv addcmul asin atan atan2 avg_pool1d avg_pool2d avg_pool2d_backward
adaptive_avg_pool2d binary_cross_entropy binary_cross_entropy_backward binary_cross_entropy_with_logits
binary_cross_entropy_with_logits_backward ceil celu clamp_backward cos cosh cummax cumprod cumsum div div_ elu
elu_backward embedding_dense_backward erf erfc erfinv exp exp2 expm1 floor floor_divide fmod frac gelu gelu_backward
glu glu_backward hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh_backward huber_loss
huber_loss_backward index_add kl_div leaky_relu leaky_relu_backward lerp log log10 log1p log2 log_sigmoid_forward
log_sigmoid_backward logaddexp logit logsumexp mean mish mish_backward mse_loss mse_loss_backward mul
native_batch_norm native_batch_norm_backward native_dropout native_dropout_backward native_group_norm
native_group_norm_backward native_layer_norm native_layer_norm_backward nll_loss_backward nll_loss_forward
nll_loss2d_forward nll_loss2d_backward norm linalg_vector_norm pow prelu prelu_backward _prelu_kernel prod reciprocal
remainder rms_norm rrelu round rsqrt rsub scatter_add sigmoid sigmoid_backward silu silu_backward sin sinh smooth_l1_loss
smooth_l1_loss_backward softplus softplus_backward sqrt square std sub sum tan tanh tanh_backward threshold_backward
trunc upsample_bilinear2d upsample_bilinear2d_backward upsample_nearest2d_backward var var_mean xlogy index_backward
_weight_norm_interface _weight_norm_interface_backward _embedding_bag _embedding_bag_forward_only
_embedding_bag_backward _embedding_bag_dense_backward grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d
grid_sampler_3d_backward upsample_bicubic2d upsample_bicubic2d_backward upsample_linear1d upsample_linear1d_backward
upsample_trilinear3d upsample_trilinear3d_backward upsample_nearest1d_backward upsample_nearest3d_backward im2col col2im
avg_pool3d avg_pool3d_backward _adaptive_avg_pool3d _adaptive_avg_pool3d_backward reflection_pad1d_backward
reflection_pad2d_backward replication_pad1d_backward replication_pad2d_backward logcumsumexp nansum renorm _pdist_forward
_pdist_backward scatter_reduce index_reduce multi_margin_loss multi_margin_loss_backward multilabel_margin_loss_forward
multilabel_margin_loss_backward soft_margin_loss soft_margin_loss_backward _fused_rms_norm _fused_rms_norm_backward
_thnn_fused_lstm_cell _thnn_fused_gru_cell
masked_fill_backward l1_loss hardshrink softshrink selu std_mean
""".split())

#: Names that users and the recipes give, and the operations that each stands for.
GROUPS = {
    "layer_norm": {"native_layer_norm"},
    "batch_norm": {"native_batch_norm"},
    "group_norm": {"native_group_norm"},
    "softmax": {"_softmax", "_safe_softmax"},
    "log_softmax": {"_log_softmax"},
    "cross_entropy": {"_log_softmax", "nll_loss_forward", "nll_loss_backward", "nll_loss2d_forward",
                      "nll_loss2d_backward"},
    "mse": {"mse_loss"},
    "bce_with_logits": {"binary_cross_entropy_with_logits"},
    "binary_cross_entropy": {"binary_cross_entropy"},
    "ctc": {"_ctc_loss", "_ctc_loss_backward"},
    "norm": {"norm", "linalg_vector_norm"},
    "linear": {"mm", "addmm"},
    "matmul": {"mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot"},
    **{name: {name} for name in ("mm", "addmm", "bmm", "baddbmm", "convolution")},
    **{f"conv{d}d": {"convolution"} for d in (1, 2, 3)},
}

#: Sums whose order may follow the number of PyTorch's threads: run on one.
REDUCTIONS = frozenset("""
sum nansum mean norm linalg_vector_norm var var_mean std std_mean prod logsumexp native_batch_norm native_batch_norm_backward
native_layer_norm_backward native_group_norm native_group_norm_backward embedding_dense_backward nll_loss_forward
mse_loss huber_loss smooth_l1_loss binary_cross_entropy_with_logits index_add scatter_add index_put cumsum
""".split())


def plain_name(func):
    """"add" for aten::add_.Tensor: the schema's name without the mark of an operation in place."""
    name = func._schema.name.split("::")[-1]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def _is_operation(name):
    return name in GROUPS or name in ROUNDED


def listed(names):
    """An fp32 list as a tuple; one name may stand for itself. TypeError for what is no list."""
    if not isinstance(names, (str, list, tuple, set)):
        raise TypeError(f"fp32 is {names!r}; give a list of operations and of patterns of modules' paths, ['lm_head'] say, or "
                        "['*'] for every module")
    return (names,) if isinstance(names, str) else tuple(names)


def split_names(names):
    """Operations, and patterns of modules' paths, among the names of an fp32 list."""
    names = listed(names)
    return [name for name in names if _is_operation(name)], [name for name in names if not _is_operation(name)]


def is_sparse(name):
    """Whether an operation makes or reads sparse tensors, which are left alone."""
    return "sparse" in name or name in ("coalesce", "_coalesce", "_coalesced", "_indices", "_values", "_nnz")


def names_of(names):
    """The operations that the names of an fp32 list stand for."""
    return set().union(*(GROUPS.get(name, {name}) for name in names))


def operations_near(name):
    """Names of operations for a message."""
    public = [each for each in [*GROUPS, *sorted(ROUNDED)] if not each.startswith(("_", "native_"))]
    return difflib.get_close_matches(str(name), public, cutoff=0.5)
