"""From the words and the facts to a tool's arguments."""
