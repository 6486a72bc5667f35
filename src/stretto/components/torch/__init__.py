"""Kind ``torch``: PyTorch modules and functions, one row at a time in the engine, a batch in `learn.differentiable`.

Importing this package imports no torch; the modules that hold tensors do.
"""
