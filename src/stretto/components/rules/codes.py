"""Every code that a problem in a file of rules may carry."""

from enum import StrEnum


class RuleCode(StrEnum):
    """Stable: tools and tests may rely on them."""

    FORM = "rules.form"
    """Not a JDM decision model: a key is missing, or holds what it cannot hold."""
    FILE = "rules.file"
    """A decision node names a file that cannot be used."""
    NODE = "rules.node"
    """A node of a kind that rules may not have, or two nodes of one id."""
    EDGE = "rules.edge"
    """An edge from or to nothing, or out of a branch that its switch does not have."""
    PATH = "rules.path"
    """No way leads from the input to the output, or none through a node."""
    CYCLE = "rules.cycle"
    """Nodes, or files, that come back to themselves."""
    EXPRESSION = "rules.expression"
    """A cell, condition or expression that the engine cannot read."""
    NOT_DETERMINISTIC = "rules.not_deterministic"
    """An expression that asks the clock or a die."""
    LOOP = "rules.loop"
    """An expression that counts too far, or as far as its input says."""
    NEVER = "rules.never"
    """A cell that no value fits, or none that its field may hold."""
    GAP = "rules.gap"
    """An input that no row of a table answers."""
    UNREACHABLE = "rules.unreachable"
    """A row that never answers, since earlier rows do."""
