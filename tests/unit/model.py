# SPDX-License-Identifier: GPL-2.0
"""The state of a model of several threads."""


class State:
    """FIELDS of the subclass has the names of the values in a state. All must be hashable."""
    FIELDS = ()

    def __init__(self, **values):
        for name in self.FIELDS:
            setattr(self, name, values[name])

    def key(self):
        return tuple(getattr(self, name) for name in self.FIELDS)

    def copy(self):
        return type(self)(**{name: getattr(self, name) for name in self.FIELDS})
