package preview

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAssumeReferences(t *testing.T) {
	const (
		missing = "spec.controlPlaneRef: there is no ControlPlaneCluster prod in namespace team; create it"
		blocked = "not checked, because HypervisorCluster pool, to which it refers, is invalid; correct that claim first"
		other   = "spec.size: must be small"
	)
	cases := map[string]struct {
		reason string
		errs   map[string][]string
		want   []string
	}{
		"Missing":  {"A claim that does not exist is assumed.", map[string][]string{"HypervisorCluster pool": {missing}}, nil},
		"Other":    {"Other errors remain.", map[string][]string{"HypervisorCluster pool": {missing, other}}, []string{other}},
		"Blocked":  {"A claim that refers to an assumed one is valid.", map[string][]string{"HypervisorCluster pool": {missing}, "X x": {blocked}}, nil},
		"Rejected": {"A claim that refers to an invalid one is not.", map[string][]string{"HypervisorCluster pool": {other}, "X x": {blocked}}, []string{other, blocked}},
		"Nothing":  {"There are no errors.", nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var errs []*ValidationErrors
			for _, input := range []string{"HypervisorCluster pool", "X x"} {
				if len(tc.errs[input]) > 0 {
					errs = append(errs, &ValidationErrors{Input: input, Sentences: tc.errs[input]})
				}
			}
			var got []string
			for _, e := range AssumeReferences(errs) {
				got = append(got, e.Sentences...)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
