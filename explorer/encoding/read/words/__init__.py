"""The words of a sentence, and the exact part of each in the sentence's vector."""
