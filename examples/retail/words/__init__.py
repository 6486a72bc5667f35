"""What the customer's words say."""
