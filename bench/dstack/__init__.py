"""D-STACK (TCC'24)."""
