"""Kind ``aligner``: what was learnt from labelled texts about which value of one domain they mean.

Reading and asking one needs numpy and safetensors alone; training it is `stretto.learn.semantics`.
"""
