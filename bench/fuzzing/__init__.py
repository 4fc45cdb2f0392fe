"""Random valid models, and what of them is answered wrongly or refused."""
