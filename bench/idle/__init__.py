"""What loaded models cost that are seldom asked, or never."""
