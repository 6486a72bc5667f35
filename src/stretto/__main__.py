"""`python -m stretto`: the command line, for a Python whose scripts are not on the PATH."""

from stretto.cli import main

if __name__ == "__main__":
    main()
