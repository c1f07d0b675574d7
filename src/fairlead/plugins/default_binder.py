"""DefaultBinder: posts the pod's Binding."""


class DefaultBinder:
    """The scheduler's own connections do the writing; see `binding.bind`."""

    name = "DefaultBinder"
    posts_binding = True
