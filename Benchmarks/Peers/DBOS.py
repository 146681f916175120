"""Measures DBOS on SQLite: steps of workflows that do nothing, one after the other, and of 256 workflows at once.

Usage: DBOS.py DIRECTORY
"""
import os
import statistics
import sys
import tempfile
import time

from dbos import DBOS

directory = tempfile.TemporaryDirectory(dir=sys.argv[1], ignore_cleanup_errors=True)
DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{directory.name}/dbos.sqlite", "log_level": "ERROR"})
times = []
@DBOS.step()
def step(number):
    times.append(time.perf_counter())
    return number
@DBOS.workflow()
def flow(count):
    for number in range(count): step(number)
DBOS.launch()
flow(20)
lone = []
for _ in range(10):
    times.clear()
    flow(20)
    lone += [(b - a) * 1e9 for a, b in zip(times, times[1:])]
print("lone", statistics.median(lone))
start = time.perf_counter()
handles = [DBOS.start_workflow(flow, 4) for _ in range(256)]
for handle in handles: handle.get_result()
print("steps", 256 * 4 / (time.perf_counter() - start), flush=True)
directory.cleanup()
# Its threads go on.
os._exit(0)
