"""Learning from recorded runs: fold runs into samples, samples into a gradient, and step the weights."""
