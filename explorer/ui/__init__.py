"""What the pages share: every cache, the controls in the sidebar, background work and how it looks."""
