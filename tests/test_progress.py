from explorer.progress import Progress, finish


def test_finish_does_all_the_work_and_gives_its_result():
    steps = []

    def work():
        for step in range(3):
            steps.append(step)
            yield Progress("counting", step, 3)
        return "done"

    assert finish(work()) == "done"
    assert steps == [0, 1, 2]


def test_finish_tells_every_step():
    steps = [Progress("counting", step, 3) for step in range(3)]
    told = []

    def work():
        yield from steps

    finish(work(), told.append)
    assert told == steps


def test_an_amount_is_told_in_its_unit():
    assert Progress("reading tokens", 1200, 36689).amount == "1,200 of 36,689"
    assert Progress("fetching x", 12_500_000, 90_868_376, "bytes").amount == "12.5 MB of 90.9 MB"
    assert Progress("loading", 0, 0).amount == ""
