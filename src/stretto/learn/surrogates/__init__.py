"""Surrogates: small networks that foretell what follows a step, learnt from recorded runs and from each batch."""
