"""The composition root: files, components, engine and store become a workflow that runs."""
