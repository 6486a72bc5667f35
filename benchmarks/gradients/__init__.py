"""`make bench-gradients`: gradients and explanations held against what is known."""
