"""When runs start by themselves."""
