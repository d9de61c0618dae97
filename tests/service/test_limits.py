from __future__ import annotations

import threading
import time

from excalibr.service._limits import FairSemaphore


def test_turns_are_taken_in_the_order_in_which_requests_came() -> None:
    turns, order, threads = FairSemaphore(1), list[int](), list[threading.Thread]()

    def work(number: int) -> None:
        with turns:
            order.append(number)

    with turns:
        for number in range(5):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            while len(turns._waiting) <= number:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]
