"""`make bench-gradients`: gradients held against exact ones, and learning against peers."""
