"""An application that keeps a queue busy while it is broken: handlers of every shape, and what enqueues for them."""
