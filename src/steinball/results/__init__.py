"""What a test found: the decision, how far it can be trusted, and what it would have been."""
