"""Telling people and other systems what happened: late rather than never, and without leaking a credential."""
