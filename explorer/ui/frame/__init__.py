"""What all pages share around them: menu, sidebar, model B, figure format."""
