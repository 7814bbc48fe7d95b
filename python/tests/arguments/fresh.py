# SPDX-License-Identifier: Apache-2.0
"""Values that are made anew for each call, since calls change them or they belong to one graph."""


class Fresh:
    """A value that is made anew for each call."""

    def __init__(self, make):
        self.make = make

    def __repr__(self):
        return "a new " + type(self.make()).__name__
