"""What the operating system says of a connection that could not be made."""

import os


def reason_of(error: OSError) -> str:
    """In the system's own words, such as ``Connection refused``: without numbers, addresses and a library's names."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error) or type(error).__name__
