"""What several commands share: the line of progress, and flags with what they mean."""
