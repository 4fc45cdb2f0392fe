"""What each operator costs on each device and width, and each copy: profiles and costs."""
