"""Places in a workflow's frames: numbered across the whole workflow, bodies included."""


class Slots:
    """Which places there are, and which of them anything reads."""

    def __init__(self) -> None:
        self.names = ["input", "memory", "resources", "run"]
        self.read: set[int] = set()

    def new(self, name: str) -> int:
        """One more place; `name` says to people what it holds."""
        self.names.append(name)
        return len(self.names) - 1
