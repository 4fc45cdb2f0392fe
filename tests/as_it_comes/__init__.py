"""What users meet: nothing is switched off, everything in processes and folders of its own."""
