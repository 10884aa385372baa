from exercise import VALUES
from level_table import effective

NOT_GIVEN = 0xFFFFFFFF


def answer(question):
    overrides = {name: values[word] for (name, values), word in zip(VALUES.items(), question[1:]) if word != NOT_GIVEN}
    properties = effective(question[0], overrides)
    if properties is None:
        return [0]
    return [1] + [values.index(properties[name]) for name, values in VALUES.items()]
