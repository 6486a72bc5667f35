"""The Agent Communication Protocol: its messages, their two forms, and its errors. Not the retired protocol of the same
name that merged into A2A."""
