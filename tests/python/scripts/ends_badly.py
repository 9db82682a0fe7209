import os
import signal
import sys
import time

how = sys.argv[1]
once = len(sys.argv) > 2


def run(mini_batch):
    if mini_batch[0].endswith("0003") and not (once and os.path.exists(sys.argv[2])):
        if once:
            open(sys.argv[2], "w").close()
        end()
    return mini_batch


def end():
    if how == "name":
        undefined_name
    if how == "sys.exit":
        sys.exit(42)
    if how == "os._exit":
        os._exit(0)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "memory":
        raise MemoryError("too much")
    if how == "fork":
        if os.fork() == 0:
            return
    if how == "binary":
        os.write(1, bytes(range(256)) * 1000)
        os.write(2, b"\x00\xff\xfe")
        return
    if how == "hang":
        import subprocess

        child = subprocess.Popen(["sleep", "300"], start_new_session=True)
        with open(os.environ["PIDS"], "a") as pids:
            pids.write(f"{os.getpid()}\n{child.pid}\n")
        time.sleep(300)
