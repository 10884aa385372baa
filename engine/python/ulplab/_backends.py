"""The backend of the trainer that a unit's name stands for."""

import os

from . import _core


def backend_of(unit):
    """"soft:h100" for "h100", "soft:h100.wgmma" for a unit's key, "soft:FILE.json" for a file; others as they are."""
    if unit is None or isinstance(unit, (int, float)):
        raise TypeError(f"unit is {unit!r}; give a GPU such as 'h100', a unit's key or a file")
    text = str(unit)
    if text in ("ieee", "eigen"):
        return {"ieee": "soft:ieee", "eigen": "eigen"}[text]
    if text.startswith("soft:") or "(" in text:
        return text
    if text.endswith(".json"):
        return "soft:" + os.path.abspath(text)
    if ":" in text:
        row = _core.unit_row(text)
        backend = _core.backend_of_unit(row["architecture"], row["instruction"])
        if not backend:
            raise ValueError(f"no GPU with the unit {text} has a name here; write its description to a file FILE.json and "
                             "give that")
        return backend
    if text in dict(_core.recipes()):
        raise ValueError(f"'{text}' is a recipe, and no unit: give it as recipe='{text}'")
    return "soft:" + text


def with_ieee(backend):
    """The backend with fp32 products in IEEE's arithmetic, which matrix units lack."""
    return backend if "(" in backend or backend in ("soft:ieee", "eigen") else f"with_ieee({backend})"
