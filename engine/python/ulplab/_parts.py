"""A module in another emulation than the model around it."""

import contextlib


@contextlib.contextmanager
def computed_in(module, emulation):
    """While this lasts, the module's forward pass runs in emulation(x), x its first argument."""
    own = module.__dict__.get("forward")
    original = module.forward

    def forward(*args, **kwargs):
        with emulation(args[0] if args else None):
            return original(*args, **kwargs)

    module.forward = forward
    try:
        yield
    finally:
        if own is None:
            del module.forward
        else:
            module.forward = own
