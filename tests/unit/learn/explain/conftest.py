"""Networks as small as these are slower on several threads."""

import torch

torch.set_num_threads(1)
