"""How an experiment is declared, run, drawn, checked and shown."""
