# SPDX-License-Identifier: GPL-2.0
"""What the models of several threads share."""


class State:
    """The values of FIELDS, which a subclass names: each can be a part of a key."""
    FIELDS = ()

    def __init__(self, **values):
        for name in self.FIELDS:
            setattr(self, name, values[name])

    def key(self):
        return tuple(getattr(self, name) for name in self.FIELDS)

    def copy(self):
        return type(self)(**{name: getattr(self, name) for name in self.FIELDS})
