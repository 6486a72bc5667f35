"""What other programs reach over HTTP. Needs the extra ``serve``."""
