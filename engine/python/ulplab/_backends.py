"""The backend of the trainer that a unit's name stands for."""

import os

from . import _core


def backend_of(unit):
    """"soft:h100" for "h100", "soft:sm_90.wgmma" for a unit's key, "soft:FILE.json" for a file; others as they are."""
    text = str(unit)
    if text in ("ieee", "eigen"):
        return {"ieee": "soft:ieee", "eigen": "eigen"}[text]
    if text.startswith("soft:") or "(" in text:
        return text
    if text.endswith(".json"):
        return "soft:" + os.path.abspath(text)
    if ":" in text:
        row = _core.unit_row(text)
        return f"soft:{row['architecture']}.{row['instruction']}"
    return "soft:" + text
