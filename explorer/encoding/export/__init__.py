"""Write a tuned encoder as a folder that other libraries open."""
