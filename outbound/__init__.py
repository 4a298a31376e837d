"""HTTP to hosts that somebody else named: to vetted addresses only, with an end and a cap."""
