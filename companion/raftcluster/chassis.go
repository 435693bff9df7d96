package raftcluster

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"time"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// grace is how long a node may take for what is wanted. It is more than the time between two heartbeats of Neutron's, which makes a new
// number of what is wanted for each.
const grace = 2 * time.Minute

// maxNamed is how many nodes the status names.
const maxNamed = 8

// chassis is a node that has registered, and how far its controller has come: its number of what is wanted, and when it got there.
// https://www.ovn.org/support/dist-docs/ovn-sb.5.html, Chassis_Private
type chassis struct {
	Name    string `json:"name"`
	Applied int64  `json:"nb_cfg"`
	At      int64  `json:"nb_cfg_timestamp"` // in milliseconds
}

// rowsOf is the answer to a select.
type rowsOf[T any] struct {
	Rows []T `json:"rows"`
}

// count asks a member of OVN's southbound database for the nodes, by a connection that it closes.
//
// A node is behind if it has missed more than the last number of what is wanted, and has been at its own for longer than the grace. The
// same is how Neutron tells whether an agent is alive: neutron/plugins/ml2/drivers/ovn/agent/neutron_agent.py.
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
			out.Behind = append(out.Behind, r.Name)
		}
		nodes = append(nodes, n)
	}
	slices.Sort(out.Behind)
	out.Behind = out.Behind[:min(len(out.Behind), maxNamed)]
	return out, nodes, nil
}
