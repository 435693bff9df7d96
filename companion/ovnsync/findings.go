package ovnsync

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
)

// differenceKind is the side of a difference.
type differenceKind int

const (
	missing differenceKind = iota
	extra
	different
)

// warningPatterns classify the warnings of the tool by their prefix: the kind of the object, and the side for each number in
// the warning. If two prefixes match, the longer one is listed first. Warnings without a kind are ignored:   - actions of a
// repair, and failed ones, which the next comparison finds again;   - details of access rules, which are counted in a
// separate warning;   - QoS policies, which the tool lists for all objects that have one, without reading OVN;   - private
// VLANs, whose plugin is not supported by claims.
//
// From neutron/plugins/ml2/drivers/ovn/mech_driver/ovsdb/ovn_db_sync.py of neutron 26.0.6, 27.0.4, 28.0.2 and 29.0.0.
var warningPatterns = []struct {
	prefix string
	kind   string
	sides  []differenceKind
}{
	{"Network found in Neutron", "Network", []differenceKind{missing}},
	{"Network found in OVN", "Network", []differenceKind{extra}},
	{"Provider network found in Neutron", "ProviderNetworkPort", []differenceKind{missing}},
	{"Provider network port found in OVN", "ProviderNetworkPort", []differenceKind{extra}},
	{"Port found in Neutron", "Port", []differenceKind{missing}},
	{"Port found in OVN", "Port", []differenceKind{extra}},
	{"Missing metadata port found in Neutron", "MetadataPort", []differenceKind{missing}},
	{"Metadata port %s for network %s found in Neutron", "MetadataPort", []differenceKind{missing}},
	{"Unnecessary DHCP port", "MetadataPort", []differenceKind{extra}},
	{"DHCP options for subnet %s present", "SubnetDHCPOptions", []differenceKind{different}},
	{"Out of sync DHCP options for subnet", "SubnetDHCPOptions", []differenceKind{extra}},
	{"Out of sync port DHCP", "PortDHCPOptions", []differenceKind{extra}},
	{"Number of Port Groups to add", "SecurityGroup", []differenceKind{missing, extra}},
	{"ACLs to be added", "SecurityGroupRule", []differenceKind{missing, extra}},
	{"Router found in Neutron", "Router", []differenceKind{missing}},
	{"Router found in OVN", "Router", []differenceKind{extra}},
	{"Router Port found in Neutron", "RouterPort", []differenceKind{missing}},
	{"Router Port found in OVN", "RouterPort", []differenceKind{extra}},
	{"Router Port port_id=%s needs to be updated", "RouterPort", []differenceKind{different}},
	{"Router %(id)s static routes %(route)s found in Neutron", "StaticRoute", []differenceKind{missing}},
	{"Router %(id)s static routes %(route)s found in OVN", "StaticRoute", []differenceKind{extra}},
	{"Router %(id)s floating IPs %(fip)s found in Neutron", "FloatingIP", []differenceKind{missing}},
	{"Router %(id)s floating IPs %(fip)s found in OVN", "FloatingIP", []differenceKind{extra}},
	{"The floating IP NAT rules must be updated", "FloatingIP", []differenceKind{different}},
	{"Router %(id)s port forwarding for floating IPs %(fip)s found in OVN", "PortForwarding", []differenceKind{extra}},
	{"Router %(id)s port forwarding for floating IPs %(fip)s Neutron out of sync", "PortForwarding", []differenceKind{different}},
	{"Router %(id)s SNAT %(snat)s found in Neutron", "SNAT", []differenceKind{missing}},
	{"Router %(id)s SNAT %(snat)s found in OVN", "SNAT", []differenceKind{extra}},

	{"ACL", "", nil}, {"Property %(item)s", "", nil}, {"False-positive ACLs", "", nil}, {"Removing ACLs", "", nil},
	{"Add ", "", nil}, {"Adding/Updating DHCP options", "", nil}, {"Create ", "", nil}, {"Creating ", "", nil}, {"Delete ", "", nil},
	{"Deleting ", "", nil}, {"Update ", "", nil}, {"Updating ", "", nil}, {"Could not allocate IP address", "", nil},
	{"No more IP addresses", "", nil}, {"Network %s for subnet %s not found", "", nil}, {"Port group ", "", nil},
	{"Port QoS policy missing", "", nil}, {"Floating IP QoS policy missing", "", nil},
	{"PG %s ", "", nil}, {"Isolated PVLAN", "", nil}, {"Promiscuous PVLAN", "", nil}, {"Community PVLAN", "", nil},
	{"%s not found in OVN NB DB", "", nil}, {"Removing extra ACL", "", nil}, {"Adding missing ACL", "", nil},
}

// other is the kind of warnings that are not in the table.
const other = "Other"

// warning is the report on the warnings with one format string.
type warning struct {
	Count    []int32  `json:"count"`
	Examples []string `json:"examples"`
}

// toolReport is the report of the program. Repaired is nil in mode Log.
type toolReport struct {
	Found    map[string]warning `json:"found"`
	Repaired map[string]warning `json:"repaired"`
}

// parseReport parses the report of the program in its output.
func parseReport(output string) (toolReport, error) {
	var found []string
	for line := range strings.Lines(output) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), mark); ok {
			found = append(found, text)
		}
	}
	if len(found) != 1 {
		return toolReport{}, errors.New("the output must contain exactly one result line")
	}
	var out toolReport
	if err := json.Unmarshal([]byte(found[0]), &out); err != nil || out.Found == nil {
		return toolReport{}, errors.New("the result line cannot be parsed")
	}
	return out, nil
}

// differences returns the differences that the warnings report, sorted by kind, and their number.
func differences(warnings map[string]warning) (out []common.OVNDifference, total int32) {
	kinds := map[string]common.OVNDifference{}
	for _, form := range slices.Sorted(maps.Keys(warnings)) {
		w := warnings[form]
		kind, sides := classifyWarning(form)
		if kind == "" {
			continue
		}
		d := kinds[kind]
		d.Kind = kind
		for i, n := range w.Count {
			on := different
			if i < len(sides) {
				on = sides[i]
			}
			switch on {
			case missing:
				d.Missing += n
			case extra:
				d.Extra += n
			case different:
				d.Different += n
			}
			total += n
		}
		d.Examples = examples(d.Examples, w.Examples)
		kinds[kind] = d
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if d := kinds[kind]; d.Missing+d.Extra+d.Different > 0 {
			out = append(out, d)
		}
	}
	return out, total
}

// classifyWarning returns the kind and the sides of a warning; an empty kind if it is ignored.
func classifyWarning(form string) (kind string, sides []differenceKind) {
	for _, f := range warningPatterns {
		if strings.HasPrefix(form, f.prefix) {
			return f.kind, f.sides
		}
	}
	return other, []differenceKind{different}
}

// examples returns examples within the limits of the status, with redacted secrets.
func examples(all, more []string) []string {
	const some, length = 3, 256
	for _, text := range more {
		if len(all) == some {
			break
		}
		all = append(all, condition.Truncate(batchjob.TailForStatus(text), length))
	}
	return all
}

// summary lists differences for messages.
func summary(all []common.OVNDifference) string {
	out := make([]string, 0, len(all))
	for _, d := range all {
		var sides []string
		for _, s := range []struct {
			count int32
			label string
		}{{d.Missing, "missing in OVN"}, {d.Extra, "unknown to Neutron"}, {d.Different, "different"}} {
			if s.count > 0 {
				sides = append(sides, fmt.Sprintf("%d %s", s.count, s.label))
			}
		}
		out = append(out, d.Kind+" "+strings.Join(sides, ", "))
	}
	return strings.Join(out, "; ")
}
