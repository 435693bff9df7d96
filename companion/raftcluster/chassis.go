package raftcluster

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"time"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// grace is how long a chassis may take to apply the desired configuration. It is longer than the interval between two
// heartbeats of Neutron, each of which increments nb_cfg.
const grace = 2 * time.Minute

// maxNamed is the maximum number of nodes that the status lists.
const maxNamed = 8

// chassis is a registered node and the progress of its controller: the applied nb_cfg and the time of its application.
// https://www.ovn.org/support/dist-docs/ovn-sb.5.html, Chassis_Private
type chassis struct {
	Name    string `json:"name"`
	Applied int64  `json:"nb_cfg"`
	At      int64  `json:"nb_cfg_timestamp"` // in milliseconds
}

// rowsOf is the result of a select operation.
type rowsOf[T any] struct {
	Rows []T `json:"rows"`
}

// count reads the chassis from a member of OVN's southbound database and closes the connection.
//
// A node is out of date if it has missed more than the latest nb_cfg and its own value is older than the grace period. Neutron
// uses the same rule for the liveness of an agent: neutron/plugins/ml2/drivers/ovn/agent/neutron_agent.py.
func count(ctx context.Context, conn net.Conn, name string, now time.Time) (*c5c3v1.RaftChassis, []host, error) {
	rows := func(table string, columns ...string) map[string]any {
		return map[string]any{"op": "select", "table": table, "where": []any{}, "columns": columns}
	}
	results, err := transact(ctx, conn, name,
		rows("SB_Global", "nb_cfg"), rows("Chassis", "name", "hostname", "other_config"),
		rows("Chassis_Private", "name", "nb_cfg", "nb_cfg_timestamp"), rows("Encap", "chassis_name", "type", "ip"))
	if err != nil {
		return nil, nil, err
	}
	var desired, reported rowsOf[chassis]
	var registered rowsOf[registration]
	var tunnels rowsOf[tunnel]
	for i, into := range []any{&desired, &registered, &reported, &tunnels} {
		if err := json.Unmarshal(results[i], into); err != nil {
			return nil, nil, err
		}
	}
	newest := int64(0)
	for _, r := range desired.Rows {
		newest = max(newest, r.Applied)
	}
	done := map[string]chassis{}
	for _, r := range reported.Rows {
		done[r.Name] = r
	}
	out := &c5c3v1.RaftChassis{Registered: int32(len(registered.Rows))} //nolint:gosec // nodes
	var nodes []host
	for _, r := range registered.Rows {
		n := nodeOf(r, tunnels.Rows)
		private, ok := done[r.Name]
		if ok && private.At > 0 {
			n.heartbeat = time.UnixMilli(private.At)
		}
		if n.active = ok && (newest-private.Applied <= 1 || now.Sub(time.UnixMilli(private.At)) < grace); n.active {
			out.Active++
		} else {
			out.OutOfDate = append(out.OutOfDate, r.Name)
		}
		nodes = append(nodes, n)
	}
	slices.Sort(out.OutOfDate)
	out.OutOfDate = out.OutOfDate[:min(len(out.OutOfDate), maxNamed)]
	return out, nodes, nil
}
