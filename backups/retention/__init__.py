"""Which archives stay at a target and which expire: pure functions, without Django and without a clock of their own."""
