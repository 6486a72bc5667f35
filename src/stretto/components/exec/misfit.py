"""A value that does not fit its field, told by what would have."""


class MisfitError(ValueError):
    """Raised where a value meets its field; who knows the field's name and place says them. The text is what was
    expected."""
