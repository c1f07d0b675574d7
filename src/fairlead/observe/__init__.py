"""What the scheduler says about itself: metrics and logs."""
