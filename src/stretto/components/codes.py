"""Every code that a problem in a component's declaration may carry, in Python or in a workflow file."""

from enum import StrEnum


class ComponentCode(StrEnum):
    """Stable: tools and tests may rely on them."""

    SIGNATURE = "spec.component_signature"
    """What cannot be called with the fields of a request, or is no function or class."""
    HINT = "spec.component_hint"
    """A type hint that cannot be resolved, that no JSON value fits, or whose package is not installed."""
    OPTION = "spec.component_option"
    """An option that is unknown, of the wrong type, out of range, or without effect."""
    NAME = "spec.component_name"
    """A name that a workflow file could not use."""
    DUPLICATE = "spec.component_duplicate"
    """Two components of one name."""
    IMPORT = "spec.component_import"
    """A Python file that could not be imported."""
    NONE_FOUND = "spec.component_none"
    """A Python file that defines no component."""
    KIND = "spec.component_kind"
    """A kind that this version does not have."""
