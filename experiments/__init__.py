"""The experiments behind the claims: those of the paper, and the evidence for what goes beyond it."""
