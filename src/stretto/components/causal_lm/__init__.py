"""Kind ``causal-lm``: a stock language model of the package ``transformers`` as a differentiable component.

Importing this package imports neither torch nor transformers; the modules that hold tensors do.
"""
