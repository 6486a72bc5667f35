"""Kind ``rules``: a JDM decision model evaluated by zen-engine, and analysed before it is asked."""

from stretto.components.rules.component import RuleComponent

__all__ = ["RuleComponent"]
