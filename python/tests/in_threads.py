# SPDX-License-Identifier: Apache-2.0
"""Work that several threads do at once."""
import threading


def in_threads(count, work):
    """Calls work(i) in that many threads; returns the results, or raises what one of them raised."""
    results, errors = [None] * count, []

    def run(i):
        try:
            results[i] = work(i)
        except BaseException as error:  # noqa: BLE001, it is raised again
            errors.append(error)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
