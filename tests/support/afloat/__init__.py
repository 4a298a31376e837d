"""An application of `async def` handlers that behave as a proof asks."""
