"""
Answers the probes of a uWSGI server in a process of its own (a mule), so that neither busy workers nor silent clients delay an answer.

/live fails if only a restart of the container helps, /ready also while no worker takes requests. A worker that hangs is ended alone: a
restart of the container would end the requests of the others. uWSGI's own statistics do not replace
it: the master serves one connection after another, and waits for silent clients. Answers contain no data of requests.
"""
import os
import selectors
import signal
import socket
import time
import traceback

import uwsgi

# TICK is the time between two looks at the workers, SILENCE the time that a client has for its request (in seconds).
TICK, SILENCE = 1.0, 2.0
# CLIENTS is the largest number of open connections. A new one replaces the oldest, so that silent clients keep no one out.
CLIENTS = 64
# RESPITE is the time in seconds that the kernel has to end a worker, and the master to start another one.
RESPITE = 30.0
# REQUEST is the largest request in bytes.
REQUEST = 8192


class Workers:
    """The state of the workers."""

    def __init__(self, hung, absent, now):
        self.hung = hung  # seconds after which a request hangs that makes no progress
        self.absent = absent  # seconds after which a server without a loaded application is broken
        self.draining = False  # the master waits for running requests, and then ends or replaces all processes
        self.loaded = now  # the last time when a worker took requests
        self.progress = {}  # by worker: its progress, and the time of its last change
        self.killed = {}  # by worker that was ended and is still there: its process, and the time
        self.live, self.ready, self.reason = True, True, "starting"

    def look(self, now, workers):
        """Updates the state. Returns the workers that run."""
        running = [w for w in workers if not ended(w["pid"])]
        loaded = [w for w in running if w["apps"]]
        busy = [w for w in loaded if w["status"] == b"busy"]
        before, self.progress = self.progress, {}
        for w in busy:
            progress = (w["pid"], w["requests"], moved(w["pid"]))
            last = before.get(w["id"])
            self.progress[w["id"]] = last if last and last[0] == progress else (progress, now)
        hanging = {w["id"]: w["pid"] for w in busy if now - self.progress[w["id"]][1] > self.hung}
        if not self.draining:
            self.end(now, hanging)
        stuck = [i for i in hanging if i in self.killed and now - self.killed[i][1] > RESPITE]
        if loaded and not self.draining:
            self.loaded = now
        absent = now - self.loaded > self.absent
        self.ready = not (absent or stuck)
        # Draining ends without a restart: uWSGI kills workers that take longer than worker-reload-mercy.
        self.live = self.ready or self.draining
        if self.draining:
            self.reason = f"draining: {len(running)} of {len(workers)} workers finish their requests"
        elif absent:
            self.reason = f"broken: {len(running)} of {len(workers)} workers run, and none has loaded the application"
        elif stuck:
            self.reason = f"broken: workers {stuck} have made no progress in a request for {self.hung} s, and cannot be ended"
        else:
            self.reason = f"working: {len(loaded)} of {len(workers)} workers take requests, {len(busy)} of them busy"
        return running

    def end(self, now, hanging):
        """Ends workers that hang, by process, each once. None of their requests moves a byte, so that no transfer is lost."""
        self.killed = {i: (pid, at) for i, (pid, at) in self.killed.items() if hanging.get(i) == pid}
        for i, pid in hanging.items():
            if i not in self.killed:
                self.killed[i] = (pid, now)
                print(f"health: worker {i} has made no progress in a request for {self.hung} s and is ended", flush=True)
                kill(pid)


def kill(pid):
    """Ends a process. The master starts a worker again that ends."""
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass  # It has ended, or it stays and the probes fail.


def ended(pid):
    """Reports whether a process has ended. The master sets 0 for one that it has not replaced yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def moved(pid):
    """Returns the bytes that a process has read and written: a transfer may take hours if it moves."""
    try:
        with open(f"/proc/{pid}/io", encoding="ascii") as file:
            return [line for line in file if line.startswith(("rchar", "wchar"))]
    except OSError:
        return time.monotonic()  # Unknown: no request counts as hanging.


class Endpoint:
    """A socket and its connections, served without waiting for any of them."""

    def __init__(self, address, workers):
        host, _, port = address.rpartition(":")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.workers = workers
        self.listener = socket.create_server(
            (host.strip("[]"), int(port)), family=family, backlog=2 * CLIENTS, dualstack_ipv6=family == socket.AF_INET6)
        self.listener.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.clients = {}  # by connection: its start, and its request; the oldest first

    def serve(self, seconds):
        """Serves the connections with data, for which it waits for the given time, and closes silent ones."""
        for key, _ in self.selector.select(seconds):
            if key.fileobj is self.listener:
                self.accept()
            elif key.fileobj in self.clients:
                self.read(key.fileobj)
        now = time.monotonic()
        for client in [c for c, (start, _) in self.clients.items() if now - start > SILENCE]:
            self.close(client)

    def accept(self):
        for _ in range(CLIENTS):
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            client.setblocking(False)
            if len(self.clients) >= CLIENTS:
                self.close(next(iter(self.clients)))
            self.clients[client] = (time.monotonic(), b"")
            self.selector.register(client, selectors.EVENT_READ)

    def read(self, client):
        start, request = self.clients[client]
        try:
            data = client.recv(REQUEST)
            request += data
            if data and b"\r\n\r\n" not in request and len(request) < REQUEST:
                self.clients[client] = (start, request)
                return
            if data:
                client.send(self.answer(request))
        except BlockingIOError:
            return
        except OSError:
            pass  # The client has gone.
        self.close(client)

    def answer(self, request):
        path = (request.split(b"\r\n", 1)[0].split(b" ") + [b""])[1]
        good = {b"/live": self.workers.live, b"/ready": self.workers.ready}.get(path)
        status = {True: "200 OK", False: "503 Service Unavailable", None: "404 Not Found"}[good]
        body = ("paths: /live, /ready" if good is None else self.workers.reason) + "\n"
        return (f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
                f"Connection: close\r\n\r\n{body}").encode()

    def close(self, client):
        del self.clients[client]
        self.selector.unregister(client)
        client.close()


def main():
    def option(name):
        return uwsgi.opt[name].decode()

    workers = Workers(int(option("health-hung")), int(option("health-absent")), time.monotonic())

    def drain(*_):
        workers.draining = True

    # The master ends mules together with the workers. Those may take minutes for their requests, and probes go on meanwhile.
    signal.signal(signal.SIGHUP, drain)
    endpoint = Endpoint(option("health-address"), workers)
    last, ready = float("-inf"), True
    while True:
        now = time.monotonic()
        if now - last >= TICK:
            last = now
            try:
                running = workers.look(now, uwsgi.workers())
            except (IndexError, SystemError):
                # A worker has just loaded its application: uWSGI reads the number of applications twice. The next look shows it.
                running = None
            if workers.draining and running == []:
                os._exit(0)
            if ready != workers.ready:
                ready = workers.ready
                print(f"health: {workers.reason}", flush=True)
        endpoint.serve(max(0.0, last + TICK - time.monotonic()))


if __name__ == "__main__":
    try:
        main()
    except Exception:
        traceback.print_exc()
        time.sleep(TICK)  # The master starts this process again at once.
