"""What the gateway adds to a call, against the bare server and the least that any proxy does."""
