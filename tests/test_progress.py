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
