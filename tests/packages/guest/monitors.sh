#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests in a laboratory that monitoring programs read the counters of a link's port: the collector
# infiniband of Prometheus's node_exporter, and the plugin infiniband of collectd. The exported
# values must be those of /sys. The packages of the programs are unpacked in /opt/iw_tcp/with.
. "$(dirname "$0")/../../lib/begin.sh"
# shellcheck source=tests/lib/drop.sh
. "$IWT_LIB/drop.sh"

WITH=/opt/iw_tcp/with
URL=http://127.0.0.1:9100/metrics
DASHBOARD=/usr/share/doc/iw-tcp/examples/grafana.json
HERE=$(dirname "$(realpath "$0")")
PINGS=300 SIZE=3000

# exported KIND WHERE [ARGUMENT...]: see exported.py
exported() { python3 "$HERE/exported.py" "$@"; }
pings() {
	pair "$1" 7174 "rping -s -a $IP_B -C $PINGS -V -S $SIZE" "rping -c -a $IP_B -C $PINGS -V -S $SIZE"
	busywait 20 no_qps "$DEV_A" && busywait 20 no_qps "$DEV_B"
}
# went_down LINK: has the port counted that it went down?
went_down() { [ "$(cat "/sys/class/infiniband/$1/ports/1/counters/link_downed")" -gt 0 ]; }
# no_complaint FILE: is there neither a warning nor an error in this log?
no_complaint() { not grep -iE 'level=(warn|error)|error|fail' "$1"; }

# agrees KIND WHERE LINK LEAST: waits until the program exports the right values, and otherwise prints
# the wrong values
agrees() { busywait 30 exported "$@"; exported "$@"; }

# counts KIND WHERE: checks the values that the program of this KIND exports
counts() {
	check "$1: the counters of A's port" agrees "$1" "$2" "$DEV_A" $((PINGS * SIZE))
	check "$1: the counters of B's port" agrees "$1" "$2" "$DEV_B" $((PINGS * SIZE))
}

# named: does node_exporter export each metric that the documents name?
named() {
	local name names
	names=$(grep -o 'node_infiniband_[a-z_]*[a-z]' "$HERE/../../../Documentation/looking-inside.rst" | sort -u)
	[ -n "$names" ] || return 1
	python3 -c "import urllib.request; print(urllib.request.urlopen('$URL').read().decode())" >"$TMP/metrics" || return 1
	for name in $names; do
		grep -q "^$name{" "$TMP/metrics" || { echo "no $name"; return 1; }
	done
}

# node_exporter needs no privileges
exporter() {
	local exporter
	start setpriv --reuid 65534 --regid 65534 --clear-groups "$WITH/usr/bin/prometheus-node-exporter" \
		--collector.disable-defaults --collector.infiniband --web.listen-address=127.0.0.1:9100 >"$TMP/exporter" 2>&1
	exporter=$PID
	counts node_exporter $URL
	check "node_exporter: the metrics that the documents name" named
	check "node_exporter: the metrics of the dashboard" exported dashboard $URL "$DEV_A" "$DASHBOARD"
	check "node_exporter: traffic" traffic_rping
	check "node_exporter: the values grow during traffic" iwt_patient "$IWT_TIME" python3 "$HERE/exported.py" grows $URL "$DEV_A"
	stop "$CLI" "$SRV"
	check "node_exporter: A's link is removed" link_del "$NS_A" "$DEV_A"
	check "node_exporter: exports nothing of a link that was removed" not exported node_exporter $URL "$DEV_A" 0
	check "node_exporter: the other link is still there" busywait "$IWT_TIME" exported node_exporter $URL "$DEV_B" 0
	check "node_exporter: no complaint" no_complaint "$TMP/exporter"
	check "node_exporter: still runs" alive "$exporter"
	stop "$exporter"
}

collectd() {
	local collectd
	cat >"$TMP/collectd.conf" <<-END
		Hostname "lab"
		FQDNLookup false
		Interval 1
		BaseDir "$TMP"
		PIDFile "$TMP/collectd.pid"
		PluginDir "$WITH/usr/lib/collectd"
		TypesDB "$WITH/usr/share/collectd/types.db"
		LoadPlugin infiniband
		LoadPlugin csv
		<Plugin csv>
			DataDir "$TMP/csv"
			StoreRates false
		</Plugin>
	END
	start "$WITH/usr/sbin/collectd" -f -C "$TMP/collectd.conf" >"$TMP/collectd" 2>&1
	collectd=$PID
	counts collectd "$TMP/csv/lab"
	check "collectd: no complaint" no_complaint "$TMP/collectd"
	check "collectd: still runs" alive "$collectd"
	stop "$collectd"
}

begin rping rdma python3 setpriv
only_iw_tcp "counters of iw_tcp"
ip link set lo up
two_links
pings "rping"
ip -n "$NS_B" link set "$IF_B" down
check "A's port counts that it went down" busywait 20 went_down "$DEV_A"
ip -n "$NS_B" link set "$IF_B" up
collectd
exporter
ktap_finish
