"""Copies disks of servers between the nodes of a pool, for resize, cold migration, and images that Glance no longer has.

Nova runs the programs ssh and scp for that. nova-compute.sh puts this program in their place. It accepts the commands that Nova runs, and
sends each as one request over mutual TLS to the same program on the other node (serve). There is no shell, no login and no other command.

The server changes files below INSTANCES/<UUID of a server> only, and sends cached images and kernels of servers only. It opens each folder
by a descriptor and follows no symbolic link.

Each node has a certificate with its own names, and the common name of the pool. A pool of an earlier version has one certificate for all
nodes, with a wildcard for their names.

Variables: INSTANCES (the folder), TLS (a folder with ca.crt, tls.crt and tls.key), PEER (the common name that every certificate must have),
DOMAIN (of the names of nodes), PORT, SERVICE (a name whose addresses are all nodes), NODE_NAME; serve also needs LISTEN (addresses).
"""

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import socket
import ssl
import stat
import struct
import sys
import threading

INSTANCES, TLS, PEER = os.environ["INSTANCES"], os.environ["TLS"], os.environ["PEER"]
DOMAIN, PORT = os.environ["DOMAIN"], int(os.environ["PORT"])
SERVICE, NODE = os.environ["SERVICE"], os.environ["NODE_NAME"]

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
DEPTH = 6  # A vTPM has its state in <UUID>/swtpm/<UUID>/tpm2.
CHUNK = 1 << 20
HEADER = 4096
CONNECT, IDLE, ANSWER = 10, 60, 1800  # seconds; the answer to a disk comes when it is on stable storage
CONNECTIONS = 32
SEGMENT = struct.Struct(">QQ")  # offset and length of data; a length of 0 ends a file of that size


class Refused(Exception):
    """A request that the server does not accept, or cannot fulfil."""


def authority(side):
    """Returns the settings of one end, with the certificate of now: it is replaced regularly."""
    context = ssl.SSLContext(side)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(f"{TLS}/ca.crt")
    context.load_cert_chain(f"{TLS}/tls.crt", f"{TLS}/tls.key")
    return context


def check_peer(connection):
    names = [value for part in connection.getpeercert()["subject"] for key, value in part if key == "commonName"]
    if names != [PEER]:
        raise Refused(f"the certificate of the peer is for {names}, expected {PEER}")


def names_of(connection):
    """Returns the names in the certificate of the peer."""
    return [value for key, value in connection.getpeercert().get("subjectAltName", ()) if key == "DNS"]


def is_node(connection, node):
    """Reports whether the peer is a node. All nodes have the certificate with a wildcard, which proves the pool only."""
    names = names_of(connection)
    return node in names or names == ["*." + DOMAIN]


def name_of(address):
    return re.sub("[.:]", "-", address) + "." + DOMAIN


def address_of(name):
    """Returns the address that a name is made of. The certificate proves it, so that no DNS is asked."""
    label = name.removesuffix("." + DOMAIN)
    return label.replace("-", "." if re.fullmatch(r"\d+(-\d+){3}", label) else ":")


def receive(connection, length):
    data = bytearray()
    while len(data) < length:
        part = connection.recv(min(CHUNK, length - len(data)))
        if not part:
            raise Refused("the connection ended early")
        data += part
    return data


def send_message(connection, message):
    data = json.dumps(message).encode()
    connection.sendall(len(data).to_bytes(2, "big") + data)


def receive_message(connection):
    length = int.from_bytes(receive(connection, 2), "big")
    if length > HEADER:
        raise Refused("the message is too long")
    return json.loads(receive(connection, length))


def segments(file, size):
    """Yields offset and length of the parts of a file that are no holes."""
    offset = 0
    while offset < size:
        try:
            start = os.lseek(file, offset, os.SEEK_DATA)
        except OSError as e:
            if e.errno == errno.ENXIO:  # Only a hole is left.
                return
            raise
        offset = os.lseek(file, start, os.SEEK_HOLE)
        yield start, offset - start


def send_file(connection, file):
    size = os.fstat(file).st_size
    buffer = memoryview(bytearray(CHUNK))
    for offset, length in segments(file, size):
        connection.sendall(SEGMENT.pack(offset, length))
        while length:
            read = os.preadv(file, [buffer[:min(CHUNK, length)]], offset)
            if not read:
                raise Refused("the file became shorter")
            connection.sendall(buffer[:read])
            offset, length = offset + read, length - read
    connection.sendall(SEGMENT.pack(size, 0))


def receive_file(connection, file):
    while True:
        offset, length = SEGMENT.unpack(receive(connection, SEGMENT.size))
        if not length:
            os.ftruncate(file, offset)
            os.fsync(file)
            return
        while length:
            data = receive(connection, min(CHUNK, length))
            length -= len(data)
            while data:
                written = os.pwrite(file, data, offset)
                data, offset = data[written:], offset + written


def replace(folder, name, fill):
    """Makes a file that has its name only when it is complete."""
    part = f".{name}.part"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(part, dir_fd=folder)
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=folder)
    try:
        fill(file)
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    except BaseException:
        os.unlink(part, dir_fd=folder)
        raise
    finally:
        os.close(file)


def parts_of(path):
    """Returns the names below INSTANCES that lead to a path."""
    if not isinstance(path, str) or not path.startswith(INSTANCES + "/"):
        raise Refused(f"the path is not below {INSTANCES}")
    parts = path[len(INSTANCES) + 1:].rstrip("/").split("/")
    if len(parts) > DEPTH or not all(NAME.fullmatch(p) for p in parts):
        raise Refused("the path has a name that is not allowed")
    return parts


@contextlib.contextmanager
def folder_of(parts, make=False):
    """Opens the folder of the last of some names, without following a link."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    folder = os.open(INSTANCES, flags)
    try:
        for name in parts[:-1]:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=folder)
            below = os.open(name, flags, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def of_server(parts, inside):
    if not UUID.fullmatch(parts[0]) or len(parts) < 1 + inside:
        raise Refused("only files of servers are changed")


def make_folder(connection, parts):
    of_server(parts, 0)
    with folder_of([*parts, ""], make=True):
        pass


def make_file(connection, parts):
    of_server(parts, 1)
    with folder_of(parts) as folder:
        os.close(os.open(parts[-1], os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644, dir_fd=folder))


def remove_file(connection, parts):
    of_server(parts, 1)
    with folder_of(parts) as folder:
        os.unlink(parts[-1], dir_fd=folder)


def remove_folder(connection, parts):
    of_server(parts, 0)
    with contextlib.suppress(FileNotFoundError), folder_of(parts) as folder:
        if not stat.S_ISDIR(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False).st_mode):
            raise Refused("this is no folder")
        shutil.rmtree(parts[-1], dir_fd=folder)


def put(connection, parts):
    of_server(parts, 1)
    with folder_of(parts) as folder:
        send_message(connection, {"go": True})
        replace(folder, parts[-1], lambda file: receive_file(connection, file))


def get(connection, parts):
    kernel = len(parts) == 2 and UUID.fullmatch(parts[0]) and parts[1] in ("kernel", "ramdisk")
    if not kernel and (len(parts) != 2 or parts[0] != "_base"):
        raise Refused("only cached images and kernels are sent")
    with folder_of(parts) as folder:
        file = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise Refused("this is no file")
        send_message(connection, {"go": True})
        send_file(connection, file)
    finally:
        os.close(file)


REQUESTS = {
    "mkdir": make_folder, "touch": make_file, "rm": remove_file, "rmdir": remove_folder, "put": put, "get": get,
}


def answer(connection):
    check_peer(connection)
    request = receive_message(connection)
    operation = request.get("operation")
    if operation == "hello":
        send_message(connection, {"node": NODE})
        return
    try:
        if operation not in REQUESTS:
            raise Refused("there is no such operation")
        REQUESTS[operation](connection, parts_of(request.get("path")))
    except (Refused, OSError) as e:
        print(f"{operation} {request.get('path')!r}: {e}", file=sys.stderr, flush=True)
        send_message(connection, {"error": str(e)})
        return
    print(f"{operation} {request['path']} for {' '.join(names_of(connection))}", file=sys.stderr, flush=True)
    send_message(connection, {"done": True})


def accept(plain, peer, free):
    try:
        plain.settimeout(CONNECT)
        with authority(ssl.PROTOCOL_TLS_SERVER).wrap_socket(plain, server_side=True) as connection:
            connection.settimeout(IDLE)
            answer(connection)
    except (Refused, OSError, ValueError) as e:
        print(f"{peer}: {e}", file=sys.stderr, flush=True)
    finally:
        plain.close()
        free.release()


def serve():
    """Answers until it is terminated, and then completes the requests that have begun."""
    free, stopping = threading.BoundedSemaphore(CONNECTIONS), threading.Event()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def listen(address):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.create_server((address, PORT), family=family) as server:
            server.settimeout(1)
            while not stopping.is_set():
                try:
                    plain, peer = server.accept()
                except TimeoutError:
                    continue
                if not free.acquire(blocking=False):
                    plain.close()
                    continue
                threading.Thread(target=accept, args=(plain, peer[0], free)).start()

    def guard(address):
        try:
            listen(address)
        except OSError as e:
            print(f"{address}:{PORT}: {e}", file=sys.stderr, flush=True)
            os._exit(1)

    for address in dict.fromkeys(os.environ["LISTEN"].split()):
        threading.Thread(target=guard, args=(address,)).start()
    signal.sigwait({signal.SIGTERM})
    stopping.set()


@contextlib.contextmanager
def connect(host, name):
    with socket.create_connection((host, PORT), CONNECT) as plain:
        with authority(ssl.PROTOCOL_TLS_CLIENT).wrap_socket(plain, server_hostname=name) as connection:
            connection.settimeout(IDLE)
            check_peer(connection)
            yield connection


def find(host):
    """Returns address and name of a node. Nova has its name of this domain, or its name in Kubernetes."""
    if host.endswith("." + DOMAIN):
        return address_of(host), host
    failures = []
    for address in sorted({info[4][0] for info in socket.getaddrinfo(SERVICE, PORT, type=socket.SOCK_STREAM)}):
        try:
            with connect(address, name_of(address)) as connection:
                send_message(connection, {"operation": "hello"})
                if receive_message(connection) == {"node": host} and is_node(connection, host):
                    return address, name_of(address)
        except (Refused, OSError) as e:
            failures.append(f"{address}: {e}")
    raise Refused("; ".join([f"no node of the pool is called {host}", *failures]))


def confirm(message, key):
    if key not in message:
        raise Refused(message.get("error", "the node does not understand"))


def ask(where, operation, path, transfer=None):
    with connect(*where) as connection:
        send_message(connection, {"operation": operation, "path": path})
        if transfer:
            confirm(receive_message(connection), "go")
            try:
                transfer(connection)
            except OSError:
                confirm(receive_message(connection), "done")  # The node may have an error, such as a full disk.
                raise
        connection.settimeout(ANSWER)
        confirm(receive_message(connection), "done")


def send(where, source, target):
    file = os.open(source, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        ask(where, "put", target, lambda connection: send_file(connection, file))
    finally:
        os.close(file)


def send_tree(where, source, target):
    ask(where, "mkdir", target)
    for entry in os.scandir(source):
        if entry.name == ".lock":  # swtpm locks the state of a TPM by it, and makes it anew.
            continue
        if entry.is_dir(follow_symlinks=False):
            send_tree(where, entry.path, f"{target}/{entry.name}")
        elif entry.is_file(follow_symlinks=False):
            send(where, entry.path, f"{target}/{entry.name}")


def split(remote):
    """Returns host and path of HOST:PATH. The path is absolute, and a host may have colons."""
    host, _, path = remote.partition(":/")
    return host.strip("[]"), "/" + path


def copy(source, target):
    """Does what scp -r does with what Nova names: a folder goes into the folder that is named, a file becomes the file."""
    if not target.startswith("/"):
        host, path = split(target)
        if os.path.isdir(source):
            send_tree(find(host), source, f"{path}/{os.path.basename(source)}")
        else:
            send(find(host), source, path)
        return
    host, path = split(source)
    folder = os.open(os.path.dirname(target), os.O_RDONLY | os.O_DIRECTORY)
    try:
        replace(folder, os.path.basename(target), lambda file: ask(find(host), "get", path, lambda c: receive_file(c, file)))
    finally:
        os.close(folder)


# Commands that Nova runs by ssh (nova/virt/libvirt/volume/remotefs.py).
COMMANDS = {("touch",): "touch", ("rm",): "rm", ("mkdir", "-p"): "mkdir", ("rm", "-rf"): "rmdir"}


def main(program, *arguments):
    if program == "serve":
        serve()
    elif program == "ready":
        address = os.environ["LISTEN"].split()[0]
        with connect(address, name_of(address)) as connection:
            send_message(connection, {"operation": "hello"})
            confirm(receive_message(connection), "node")
    elif program == "scp":
        copy(*[a for a in arguments if a not in ("-C", "-r")])
    elif program == "ssh" and arguments[:2] == ("-o", "BatchMode=yes"):
        host, *command, path = arguments[2:]
        if tuple(command) not in COMMANDS:
            raise Refused(f"nodes do not run {command}")
        ask(find(host), COMMANDS[tuple(command)], path)
    else:
        raise Refused("this is no shell: it runs the commands of Nova only")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Refused, OSError, ValueError) as e:
        sys.exit(f"{sys.argv[1] if len(sys.argv) > 1 else 'disk-transfer'}: {e}")
