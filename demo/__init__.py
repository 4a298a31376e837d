"""The demonstration: made-up data for every application, and the processes that work on it. Not shipped."""
