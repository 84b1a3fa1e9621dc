"""Write down what a process asks outside this machine; Python imports this file if its folder is on the path."""

import ipaddress
import os
import sys
from pathlib import Path

LOOK_UPS = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
SENDINGS = {"socket.connect", "socket.sendto", "socket.sendmsg"}


def here(host):
    """Whether this is a name or an address of this machine."""
    if not isinstance(host, str):  # none at all: any address of this machine
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in ("", "localhost")


def watch(event, arguments):
    if event in LOOK_UPS:
        host = arguments[0]
    elif event in SENDINGS and isinstance(arguments[1], tuple):  # others are files
        host = arguments[1][0]
    else:
        return
    if not here(host):
        with Path(os.environ["STRATA_ASKED"]).open("a", encoding="utf-8") as file:
            file.write(f"{event} {arguments[1:] if event in SENDINGS else host}\n")


sys.addaudithook(watch)
