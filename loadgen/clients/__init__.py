"""What queries can be sent through."""
