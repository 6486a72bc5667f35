"""The kinds of component: each an adapter that gives something callable a card.

Kinds know nothing of the engine, and of each other only that `reward` takes its terms from functions, as `python` does.
"""
