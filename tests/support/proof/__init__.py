"""An application whose handlers do what a proof needs: wait at gates, hang, leak, kill their process."""
