"""A gateway in front of a model server: any agent's calls become runs, token ids and log-probabilities and all."""
