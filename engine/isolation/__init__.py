"""Models in processes of their own, so that what ends one of them ends nothing else."""
