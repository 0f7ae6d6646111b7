"""The mathematics: terms, fused tables and their plan, generative estimates, the objective."""
