"""Which plan a model runs: candidates, choice, tuning, stored plans."""
