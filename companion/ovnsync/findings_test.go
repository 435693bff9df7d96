package ovnsync

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

func TestDifferences(t *testing.T) {
	one := func(example string) warning { return warning{Count: []int32{1}, Examples: []string{example}} }
	for name, tc := range map[string]struct {
		reason   string
		warnings map[string]warning
		want     []common.OVNDifference
		total    int32
		summary  string
	}{
		"None": {reason: "There were no warnings.", warnings: map[string]warning{}},
		"Sides": {
			reason: "Both sides of a kind are counted in one entry.",
			warnings: map[string]warning{
				"Port found in Neutron but not in OVN NB DB, port_id=%s":     {Count: []int32{2}, Examples: []string{"a", "b"}},
				"Port found in OVN NB DB but not in Neutron, port_id=%s":     {Count: []int32{5}, Examples: []string{"c", "d", "e"}},
				"Router found in OVN NB DB but not in Neutron, router id=%s": one("r"),
			},
			want: []common.OVNDifference{
				{Kind: "Port", Missing: 2, Extra: 5, Examples: []string{"a", "b", "c"}}, {Kind: "Router", Extra: 1, Examples: []string{"r"}},
			},
			total: 8, summary: "Port 2 missing in OVN, 5 unknown to Neutron; Router 1 unknown to Neutron",
		},
		"Numbers": {
			reason:   "Some warnings contain counts, and 0 is no difference.",
			warnings: map[string]warning{"ACLs to be added: %(add)d ACLs to be removed: %(remove)d": {Count: []int32{0, 4}}},
			want:     []common.OVNDifference{{Kind: "SecurityGroupRule", Extra: 4}}, total: 4, summary: "SecurityGroupRule 4 unknown to Neutron",
		},
		"Zero": {
			reason:   "After the second comparison, a count may be 0.",
			warnings: map[string]warning{"Number of Port Groups to add: %d, remove: %d": {Count: []int32{0, 0}}},
		},
		"Noise": {
			reason: "Warnings that are no differences, or occur in any case, do not count.",
			warnings: map[string]warning{
				"Port QoS policy missing in OVN NB DB, port_id=%s": one("q"), "False-positive ACLs to remove: (%s)": one("f"),
				"Creating the port %s in OVN NB DB": one("c"), "ACL should be present in OVN but is not, adding:%(acl)s": one("l"),
				"%s not found in OVN NB DB.": one("p"),
			},
		},
		"Other": {
			reason:   "Unknown warnings are not hidden.",
			warnings: map[string]warning{"Load balancer %s is different": one("x")},
			want:     []common.OVNDifference{{Kind: "Other", Different: 1, Examples: []string{"x"}}}, total: 1, summary: "Other 1 different",
		},
		"Secret": {
			reason:   "A status contains no secret, and is limited in size.",
			warnings: map[string]warning{"Load %s": one("mysql://neutron:hunter2@mariadb " + strings.Repeat("ä ", 200))},
			want: []common.OVNDifference{{
				Kind: "Other", Different: 1, Examples: []string{"mysql://neutron:***@mariadb " + strings.Repeat("ä ", 76)},
			}},
			total: 1, summary: "Other 1 different",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, total := differences(tc.warnings)
			if diff := cmp.Diff(tc.want, got); diff != "" || total != tc.total || summary(got) != tc.summary {
				t.Errorf("%s\n%d, %q (-want +got):\n%s", tc.reason, total, summary(got), diff)
			}
		})
	}
}

// TestLongerPrefixesComeFirst: of two rows with a common prefix the longer one is first, and each row with a kind has sides.
func TestLongerPrefixesComeFirst(t *testing.T) {
	for i, f := range warningPatterns {
		if (f.kind == "") != (len(f.sides) == 0) {
			t.Errorf("%q: %q has sides %v", f.prefix, f.kind, f.sides)
		}
		for _, later := range warningPatterns[i+1:] {
			if strings.HasPrefix(later.prefix, f.prefix) {
				t.Errorf("%q hides %q", f.prefix, later.prefix)
			}
		}
	}
}

func TestParseReport(t *testing.T) {
	for name, tc := range map[string]struct{ reason, output, err string }{
		"Good": {reason: "It is the last line.", output: "something\n" + mark + ` {"found": {}}` + "\n"},
		"None": {reason: "It was stopped.", output: "something\n", err: "the output must contain exactly one result line"},
		"Twice": {reason: "One is from another run.", output: strings.Repeat(mark+` {"found": {}}`+"\n", 2),
			err: "the output must contain exactly one result line"},
		"Half":  {reason: "It was truncated.", output: mark + ` {"found`, err: "the result line cannot be parsed"},
		"Empty": {reason: "The tool compared nothing.", output: mark + ` {}`, err: "the result line cannot be parsed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseReport(tc.output)
			if got := ""; err != nil && err.Error() != tc.err || err == nil && tc.err != got {
				t.Errorf("%s\n%v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}
