"""One thread: what is computed here is tiny, and the machine is shared."""

import torch

torch.set_num_threads(1)
