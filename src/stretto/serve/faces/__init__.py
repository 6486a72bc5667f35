"""What a served workflow is to others: a component, a tool, a model."""
