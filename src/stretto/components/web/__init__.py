"""HTTP as several kinds speak it: connections that are kept alive, and what can break on them."""
