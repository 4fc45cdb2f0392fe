"""What runs come to, judged by a validator of their own."""
