# SPDX-License-Identifier: GPL-2.0
"""exported.py node_exporter URL LINK LEAST, exported.py collectd DIR LINK LEAST: compares the
values that a monitoring program exports for the port of LINK with the counters in /sys. The values
of data must be at least LEAST octets. Fails, and prints each wrong value. DIR is the directory of
the plugin csv.

exported.py grows URL LINK: reads the values of node_exporter until the octets of both directions
have grown three times; fails if a value decreases.

exported.py dashboard URL LINK FILE: prints each fault of the dashboard in FILE: a metric that
node_exporter does not export for the link, a variable that the dashboard does not define, and a
metric of the table SHOWN that no panel shows. Fails if there is a fault.
"""
import glob
import json
import os
import re
import sys
import time
import urllib.request

# metric without prefix: counter, number by which the program multiplies the counter
METRICS = {
    "port_data_transmitted_bytes_total": ("port_xmit_data", 4),
    "port_data_received_bytes_total": ("port_rcv_data", 4),
    "port_packets_transmitted_total": ("port_xmit_packets", 1),
    "port_packets_received_total": ("port_rcv_packets", 1),
    "unicast_packets_transmitted_total": ("unicast_xmit_packets", 1),
    "unicast_packets_received_total": ("unicast_rcv_packets", 1),
    "multicast_packets_transmitted_total": ("multicast_xmit_packets", 1),
    "multicast_packets_received_total": ("multicast_rcv_packets", 1),
    "port_errors_received_total": ("port_rcv_errors", 1),
    "port_constraint_errors_received_total": ("port_rcv_constraint_errors", 1),
    "port_discards_transmitted_total": ("port_xmit_discards", 1),
    "port_transmit_wait_total": ("port_xmit_wait", 1),
    "link_downed_total": ("link_downed", 1),
}
# collectd's type and column: counter, number by which the program multiplies the counter
TYPES = {
    ("ib_octets", "tx"): ("port_xmit_data", 4),
    ("ib_octets", "rx"): ("port_rcv_data", 4),
    ("ib_packets-total", "tx"): ("port_xmit_packets", 1),
    ("ib_packets-total", "rx"): ("port_rcv_packets", 1),
    ("ib_packets-unicast", "tx"): ("unicast_xmit_packets", 1),
    ("ib_packets-unicast", "rx"): ("unicast_rcv_packets", 1),
    ("ib_packets-errors", "rx"): ("port_rcv_errors", 1),
    ("ib_packets-constraint_errors", "rx"): ("port_rcv_constraint_errors", 1),
    ("ib_packets-discards", "tx"): ("port_xmit_discards", 1),
    ("ib_link_error_recovery-downed", "value"): ("link_downed", 1),
    ("ib_xmit_wait", "value"): ("port_xmit_wait", 1),
}
# metrics without prefix that the panels of the dashboard must show
SHOWN = {
    "port_data_transmitted_bytes_total", "port_data_received_bytes_total", "port_packets_transmitted_total",
    "port_packets_received_total", "port_errors_received_total", "port_constraint_errors_received_total",
    "port_discards_transmitted_total", "port_transmit_wait_total", "link_downed_total",
}
PREFIX = "node_infiniband_"


def counter(link, name):
    with open(f"/sys/class/infiniband/{link}/ports/1/counters/{name}") as file:
        return int(file.read())


def from_node_exporter(url, link):
    """Returns the metrics of the link's port. The collector must have succeeded."""
    values, success = {}, False
    with urllib.request.urlopen(url) as answer:
        for line in answer.read().decode().splitlines():
            name, _, value = line.rpartition(" ")
            if name.startswith(PREFIX) and f'{{device="{link}",port="1"}}' in name:
                values[name[len(PREFIX):name.index("{")]] = float(value)
            elif name == 'node_scrape_collector_success{collector="infiniband"}':
                success = float(value) == 1
    if not success:
        sys.exit("the collector has failed")
    return values


def from_collectd(directory, link):
    """Returns the newest value of each type and column"""
    values = {}
    for kind in {kind for kind, _ in TYPES}:
        files = glob.glob(f"{directory}/infiniband-{link}:1/{kind}-20??-??-??")
        if files:
            with open(max(files, key=os.path.getmtime)) as file:
                lines = file.read().split("\n")
            # the last line may be incomplete
            for column, value in zip(lines[0].split(","), lines[-2].split(",")):
                values[kind, column] = float(value)
    return values


def wrong(values, table, link, least):
    """Prints the values that differ from the counters in /sys. Returns the number of lines."""
    faults = 0
    for name, (of, factor) in table.items():
        expected = counter(link, of) * factor
        if values.get(name) != expected or factor == 4 and expected < least:
            print(f"{name}: {values.get(name)} instead of {expected} ({of})")
            faults += 1
    return faults


def grows(url, link):
    octets = [f"port_data_{way}_bytes_total" for way in ("transmitted", "received")]
    was = from_node_exporter(url, link)
    grown = 0
    while grown < 3:
        time.sleep(0.1)
        now = from_node_exporter(url, link)
        for name in METRICS:
            if now[name] < was[name]:
                sys.exit(f"{name}: {now[name]} after {was[name]}")
        if all(now[name] > was[name] for name in octets):
            grown += 1
            was = now


def dashboard(url, link, path):
    """Prints the faults of the dashboard. Returns the number of faults."""
    with open(path) as file:
        board = json.load(file)
    variables = board["templating"]["list"]
    panels = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    queries = panels + [variable["query"] for variable in variables]
    # Grafana itself defines the variables that begin with two underscores
    defined = {variable["name"] for variable in variables}
    exported = from_node_exporter(url, link)
    faults = []
    for query in queries:
        names = re.findall(r"\bnode_\w+", query)
        faults += [f"{name}: not exported" for name in names if name.removeprefix(PREFIX) not in exported]
        faults += [f"${name}: not defined" for name in re.findall(r"\$([a-z]\w*)", query) if name not in defined]
    shown = {name.removeprefix(PREFIX) for query in panels for name in re.findall(r"\bnode_\w+", query)}
    faults += [f"{name}: not shown" for name in sorted(SHOWN - shown)]
    print("\n".join(faults))
    return len(faults)


kind, where, link = sys.argv[1:4]
if kind == "grows":
    grows(where, link)
elif kind == "dashboard":
    sys.exit(dashboard(where, link, sys.argv[4]) > 0)
elif kind == "node_exporter":
    sys.exit(wrong(from_node_exporter(where, link), METRICS, link, int(sys.argv[4])) > 0)
else:
    sys.exit(wrong(from_collectd(where, link), TYPES, link, int(sys.argv[4])) > 0)
