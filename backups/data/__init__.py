"""What is backed up, how its rows leave the database and how they come back."""
