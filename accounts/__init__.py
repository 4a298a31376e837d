"""Ways into an account: links that are mailed, and the pages they lead to. Accounts are Django's own users."""
