//go:build openstack && linux

package ovn

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// testRoles checks that a node registers itself and binds ports with a certificate in its name, and that it changes neither other nodes
// nor the logical networks: at the members and at the relays, which forward its writes with a certificate of their own.
func testRoles(t *testing.T, n *ovnCluster, sb ovsdb) {
	status := n.simulation.XR.GetFields()["status"].GetStructValue().AsMap()
	places := map[string]string{}
	for place, part := range map[string]string{"members": "southbound", "relays": "relay"} {
		of, _ := status[part].(map[string]any)
		first, _, _ := strings.Cut(fmt.Sprint(of["chassisEndpoint"]), ",")
		host, port, err := net.SplitHostPort(strings.TrimPrefix(first, "ssl:"))
		if err != nil || port != fmt.Sprint(ovnv1.ChassisPort) {
			t.Fatalf("status.%s.chassisEndpoint is %v: %v", part, of["chassisEndpoint"], err)
		}
		places[place] = host
	}
	nb := n.northbound()
	_, leader := nb.members(3)
	if _, err := nb.transactAt(nb.host(leader), nb.schema,
		map[string]any{"op": "insert", "table": "Logical_Switch_Port", "uuid-name": "port", "row": map[string]any{"name": "port-of-roles"}},
		map[string]any{"op": "insert", "table": "Logical_Switch", "row": map[string]any{"name": "roles", "ports": []any{"named-uuid", "port"}}},
	); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, n.cluster, "the binding of the port", func() bool {
		found, err := sb.names(0, "Port_Binding", "logical_port")
		return err == nil && found["port-of-roles"] == 1
	})
	for place, host := range places {
		t.Run(place, func(t *testing.T) { testRolesAt(t, n, sb, place, host) })
	}
}

func testRolesAt(t *testing.T, n *ovnCluster, sb ovsdb, place, host string) {
	own, other := "first-of-"+place, "second-of-"+place
	at := func(client string) ovsdb {
		d := sb
		d.client, d.port = client, ovnv1.ChassisPort
		return d
	}
	registration := func(name, ip string) []map[string]any {
		return []map[string]any{
			{"op": "insert", "table": "Encap", "uuid-name": "encap", "row": map[string]any{"type": "geneve", "ip": ip, "chassis_name": name}},
			{"op": "insert", "table": "Chassis", "uuid-name": "chassis", "row": map[string]any{
				"name": name, "hostname": name, "encaps": []any{"named-uuid", "encap"},
			}},
			{"op": "insert", "table": "Chassis_Private", "row": map[string]any{"name": name, "chassis": []any{"named-uuid", "chassis"}}},
		}
	}
	where := func(column, value string) []any { return []any{[]any{column, "==", value}} }
	ids := []any{"map", []any{[]any{"neutron:ovn-metadata-id", "7"}}}
	for i, name := range []string{own, other} {
		if _, err := at(name).transactAt(host, sb.schema, registration(name, fmt.Sprintf("192.0.2.%d%d", len(place), i))...); err != nil {
			t.Fatalf("%s cannot register: %v", name, err)
		}
	}
	uuid := ""
	harness.WaitFor(t, n.cluster, own+" in the database", func() bool {
		text, err := at(own).transactAt(host, sb.schema, map[string]any{"op": "select", "table": "Chassis", "where": where("name", own), "columns": []any{"_uuid"}})
		var found struct {
			Rows []struct {
				ID []string `json:"_uuid"`
			} `json:"rows"`
		}
		if err != nil || json.Unmarshal(text, &found) != nil || len(found.Rows) != 1 {
			return false
		}
		uuid = found.Rows[0].ID[1]
		return true
	})
	update := func(table string, where []any, row map[string]any) []map[string]any {
		return []map[string]any{{"op": "update", "table": table, "where": where, "row": row}}
	}
	for name, tc := range map[string]struct {
		client  string
		ops     []map[string]any
		allowed bool
	}{
		"reports": {own, update("Chassis_Private", where("name", own), map[string]any{"nb_cfg": 1, "external_ids": ids}), true},
		"configures itself": {
			own, update("Chassis", where("name", own), map[string]any{"other_config": []any{"map", []any{[]any{"ovn-cms-options", ""}}}}), true,
		},
		"binds a port": {
			own, update("Port_Binding", where("logical_port", "port-of-roles"), map[string]any{"chassis": []any{"uuid", uuid}, "up": true}), true,
		},
		"learns an address": {own, []map[string]any{{"op": "insert", "table": "FDB", "row": map[string]any{
			"mac": "fa:16:3e:00:00:0" + fmt.Sprint(len(place)), "dp_key": 1, "port_key": 1,
		}}}, true},
		"registers as another node":   {own, registration("third-of-"+place, "192.0.2.99"), false},
		"configures another node":     {own, update("Chassis", where("name", other), map[string]any{"external_ids": ids}), false},
		"reports for another node":    {own, update("Chassis_Private", where("name", other), map[string]any{"nb_cfg": 9}), false},
		"moves another node's tunnel": {own, update("Encap", where("chassis_name", other), map[string]any{"ip": "192.0.2.66"}), false},
		"moves all tunnels":           {own, update("Encap", []any{}, map[string]any{"ip": "192.0.2.66"}), false},
		"removes another node":        {own, []map[string]any{{"op": "delete", "table": "Chassis", "where": where("name", other)}}, false},
		"renames itself":              {own, update("Chassis", where("name", own), map[string]any{"name": other + "-2"}), false},
		"removes flows":               {own, []map[string]any{{"op": "delete", "table": "Logical_Flow", "where": []any{}}}, false},
		"changes flows":               {own, update("Logical_Flow", []any{}, map[string]any{"actions": "next;"}), false},
		"removes a port":              {own, []map[string]any{{"op": "delete", "table": "Port_Binding", "where": where("logical_port", "port-of-roles")}}, false},
		"changes a port's address": {
			own, update("Port_Binding", where("logical_port", "port-of-roles"), map[string]any{"mac": []any{"set", []any{"fa:16:3e:00:00:01"}}}), false,
		},
		"changes networks":        {own, update("Datapath_Binding", []any{}, map[string]any{"external_ids": ids}), false},
		"changes global settings": {own, update("SB_Global", []any{}, map[string]any{"options": ids}), false},
		"changes its permissions": {own, update("RBAC_Permission", []any{}, map[string]any{"insert_delete": true}), false},
		"removes its role":        {own, []map[string]any{{"op": "delete", "table": "RBAC_Role", "where": []any{}}}, false},
		"opens a port without a role": {own, []map[string]any{{"op": "insert", "table": "Connection", "row": map[string]any{
			"target": "pssl:6699",
		}}}, false},
		"registers with a certificate without a name": {"", registration("fourth-of-"+place, "192.0.2.98"), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := at(tc.client).transactAt(host, sb.schema, tc.ops...)
			switch {
			case tc.allowed && err != nil:
				t.Error(err)
			case !tc.allowed && err == nil:
				t.Error("it is allowed")
			case !tc.allowed && !strings.Contains(err.Error(), "permission error"):
				t.Errorf("it fails for another reason: %v", err)
			}
		})
	}
}
