"""What level_table.py works with: properties are a dictionary with these keys and values."""
VALUES = {
    "cast_model_type": ["none", "fp32", "fp16"],
    "patch_functions": [False, True],
    "keep_batchnorm_fp32": ["none", "no", "yes"],
    "master_weights": ["none", "no", "yes"],
    "loss_scale": ["dynamic", 1, 128],
}
