"""The kinds of component: each an adapter that gives something callable a card.

Kinds know neither each other nor the engine.
"""
