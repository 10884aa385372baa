"""Self-attention in the layout and order of the trainer's (engine/layers/attention.hpp): examples, then places."""

import math

import torch
from torch.nn import functional


def _fits(self, query, key, value, padding, mask):
    plain = self.batch_first and self._qkv_same_embed_dim and self.bias_k is None and not self.add_zero_attn
    return (plain and query is key and key is value and query.dim() == 3 and padding is None
            and self.in_proj_bias is not None and (self.dropout == 0 or not self.training)
            and (mask is None or mask.dim() == 2))


def forward_of(original):
    """torch.nn.MultiheadAttention.forward: of a sequence to itself as here, else as PyTorch has it."""

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, **others):
        if others or not _fits(self, query, key, value, key_padding_mask, attn_mask):
            return original(self, query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights,
                            **others)
        batch, time, width = query.shape
        heads, each = self.num_heads, width // self.num_heads

        def split(x):
            return x.reshape(batch, time, heads, each).transpose(1, 2).reshape(batch * heads, time, each)

        q, k, v = (split(x) for x in functional.linear(query, self.in_proj_weight, self.in_proj_bias).split(width, -1))
        scores = torch.bmm(q * (1 / math.sqrt(each)), k.transpose(1, 2))
        if attn_mask is not None:
            scores = (scores.masked_fill(attn_mask, -math.inf) if attn_mask.dtype is torch.bool else scores + attn_mask)
        weights = torch.softmax(scores, -1)
        mixed = torch.bmm(weights, v).reshape(batch, heads, time, each).transpose(1, 2).reshape(batch, time, width)
        y = functional.linear(mixed, self.out_proj.weight, self.out_proj.bias)
        if not need_weights:
            return y, None
        weights = weights.reshape(batch, heads, time, time)
        return y, weights.mean(1) if average_attn_weights else weights

    return forward
