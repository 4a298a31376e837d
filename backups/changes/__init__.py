"""What changed since an archive: triggers that remember it, lines that tell it, and a chain that is applied."""
