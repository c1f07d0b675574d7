"""The one exception that reading an object may raise."""


class DecodeError(ValueError):
    """An object, or a part of one, cannot be read: one line that says what is wrong, and where.

    Everything that enters from outside is hostile until it is decoded. Whoever decodes need catch
    this class alone; the object is left out and nothing else is harmed.
    """
