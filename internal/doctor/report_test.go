package doctor

import (
	"strings"
	"testing"
)

// TestReportGroupsPods tests that pods with the same failure do not hide other causes.
func TestReportGroupsPods(t *testing.T) {
	deployment := Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "cloud", Name: "keystone"}
	pod := func(name, message string) Cause {
		return Cause{Object: Ref{APIVersion: "v1", Kind: "Pod", Namespace: "cloud", Name: name}, Chain: []Ref{deployment}, Reason: "ImagePullBackOff", Message: message}
	}
	other := Cause{Object: Ref{Kind: "MariaDB", Name: "mariadb"}, Reason: "NotReady", Message: "no primary"}
	cases := map[string]struct {
		reason   string
		causes   []Cause
		has, not []string
	}{
		"same message": {
			"The first of three pods stands for all.", []Cause{pod("a", "no image"), pod("b", "no image"), pod("c", "no image"), other},
			[]string{"Pod a", "the same message: 2 more of this kind", "MariaDB mariadb"}, []string{"Pod b", "Pod c", "more objects"},
		},
		"other messages": {
			"Pods with different failures are shown.", []Cause{pod("a", "no image"), pod("b", "no right"), other},
			[]string{"Pod a", "Pod b", "MariaDB mariadb"}, []string{"same message", "more objects"},
		},
		"too many": {
			"All objects that are not shown are counted.", []Cause{pod("a", "1"), pod("b", "2"), pod("c", "3"), pod("d", "4"), pod("e", "4"), pod("f", "3")},
			[]string{"Pod c", "the same message: 1 more", "2 more objects are not ready"}, []string{"Pod d", "Pod f"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := (&Report{Causes: tc.causes}).text()
			for _, s := range tc.has {
				if !strings.Contains(text, s) {
					t.Errorf("%s\nthe report lacks %q:\n%s", tc.reason, s, text)
				}
			}
			for _, s := range tc.not {
				if strings.Contains(text, s) {
					t.Errorf("%s\nthe report has %q:\n%s", tc.reason, s, text)
				}
			}
		})
	}
}
