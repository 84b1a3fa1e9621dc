"""What do methods read in tests? Four rows of whatever they eat, of different lengths."""

FIRST = [
    "no",
    "a man plays a guitar",
    "two women talk about the weather while they wait for a late train to the city",
    "the dog runs after a red ball in the park",
]
SECOND = [
    "not in the city",
    "A man is playing the guitar on a stage",
    "two women wait and talk",
    "the dog is in the park after the ball",
]
THIRD = ["a late train", "the man is a dog", "no women", "a red guitar runs"]

COLUMNS = {
    "sentences": (FIRST,),
    "pairs": (FIRST, SECOND),
    "triplets": (FIRST, SECOND, THIRD),
    "back-translations": (FIRST, SECOND),
}
