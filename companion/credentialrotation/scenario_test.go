package credentialrotation

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// timeline records the externally visible behavior of a CredentialRotation: its phase and conditions when they change, events,
// and steps in the log. IDs are numbered in order of appearance.
type timeline struct {
	lines []string
	last  string
	ids   []string
}

// quiet matches a step in the log without an event.
var quiet = regexp.MustCompile(`executed a step\s+\{.*"step": "(\w+)", "note": ""`)

var randomName = regexp.MustCompile(`glance-[0-9a-z]{10}-[0-9a-f]{16}`)

// watch records the current state.
func (s *timeline) watch(c *cluster) {
	status := c.rotation().Status
	if id := status.CurrentID; id != "" && !strings.Contains(strings.Join(s.ids, " "), id) {
		s.ids = append(s.ids, id)
	}
	for _, step := range quiet.FindAllStringSubmatch(c.logs.String(), -1) {
		s.lines = append(s.lines, ". "+step[1])
	}
	c.logs.Reset()
	observed := []string{status.Phase}
	for _, name := range []string{conditionReady, conditionDistributed, conditionRevoked} {
		if condition := meta.FindStatusCondition(status.Conditions, name); condition != nil {
			requested := map[bool]string{true: name, false: "not " + name}[condition.Status == "True"]
			observed = append(observed, requested+"="+condition.Reason)
		}
	}
	line := strings.Join(observed, " ")
	if line != s.last {
		s.lines, s.last = append(s.lines, line), line
	}
	for _, e := range controllertest.Events(c.events) {
		s.lines = append(s.lines, "- "+e)
	}
}

// recordedText returns the story, with numbers for IDs and a star for random names.
func (s *timeline) recordedText() []string {
	var out []string
	for _, line := range s.lines {
		for i, id := range s.ids {
			line = strings.ReplaceAll(line, id, fmt.Sprintf("#%d", i+1))
		}
		out = append(out, randomName.ReplaceAllString(line, "*"))
	}
	return out
}

// TestReportsProgressOfRotation: the visible behavior from the first to the second credential.
func TestReportsProgressOfRotation(t *testing.T) {
	for target, want := range map[string][]string{
		applicationCredential: {
			". CredentialStaged",
			"Idle not Ready=InProgress not Distributed=NoCredential not Revoked=NoCredential",
			"CreatingCredential not Ready=InProgress not Distributed=NoCredential not Revoked=NoCredential",
			"- Normal CredentialCreated created application credential *",
			"- Normal CredentialReplaced Secret glance-credential holds application credential #1",
			"Distributing Ready=CredentialInUse not Distributed=Waiting not Revoked=Distributing",
			"- Normal ConsumerRestarted restarted Deployment glance to distribute credential #1",
			"Distributing Ready=CredentialInUse Distributed=DistributedToConsumers not Revoked=Distributing",
			"- Normal CredentialDistributed every consumer has credential #1",
			". OtherCredentialsRevoked",
			"GracePeriod Ready=CredentialInUse Distributed=DistributedToConsumers not Revoked=Revoking",
			"Idle Ready=CredentialInUse Distributed=DistributedToConsumers Revoked=OtherCredentialsRevoked",
			". CredentialStaged",
			"CreatingCredential Ready=CredentialInUse Distributed=DistributedToConsumers Revoked=OtherCredentialsRevoked",
			"- Normal CredentialCreated created application credential *",
			"- Normal CredentialReplaced Secret glance-credential holds application credential #2",
			"Distributing Ready=CredentialInUse not Distributed=Waiting not Revoked=Distributing",
			"- Normal ConsumerRestarted restarted Deployment glance to distribute credential #2",
			"Distributing Ready=CredentialInUse Distributed=DistributedToConsumers not Revoked=Distributing",
			"- Normal CredentialDistributed every consumer has credential #2",
			"GracePeriod Ready=CredentialInUse Distributed=DistributedToConsumers not Revoked=GracePeriod",
			". CredentialsPendingRevocation",
			"GracePeriod Ready=CredentialInUse Distributed=DistributedToConsumers not Revoked=Revoking",
			"Revoking Ready=CredentialInUse Distributed=DistributedToConsumers not Revoked=Revoking",
			"- Normal CredentialRevoked revoked application credential #1",
			". OtherCredentialsRevoked",
			"Idle Ready=CredentialInUse Distributed=DistributedToConsumers Revoked=OtherCredentialsRevoked",
		},
		password: {
			"Idle not Ready=InProgress not Distributed=NoCredential not Revoked=NoCredential",
			"- Normal PasswordAdopted adopted the password in Secret glance-credential",
			"Distributing Ready=CredentialInUse not Distributed=Waiting not Revoked=Distributing",
			"- Normal ConsumerRestarted restarted Deployment glance to distribute credential #1",
			"Distributing Ready=CredentialInUse Distributed=DistributedToConsumers not Revoked=Distributing",
			"- Normal CredentialDistributed every consumer has credential #1",
			"Idle Ready=CredentialInUse Distributed=DistributedToConsumers Revoked=OtherCredentialsRevoked",
			". CredentialStaged",
			"CreatingCredential Ready=CredentialInUse Distributed=DistributedToConsumers Revoked=OtherCredentialsRevoked",
			"- Normal PasswordChanged changed the password in Keystone",
			"- Normal CredentialReplaced Secret glance-credential holds the new password",
			"Distributing Ready=CredentialInUse not Distributed=Waiting not Revoked=Distributing",
			"- Normal ConsumerRestarted restarted Deployment glance to distribute credential #2",
			"Distributing Ready=CredentialInUse Distributed=DistributedToConsumers not Revoked=Distributing",
			"- Normal CredentialDistributed every consumer has credential #2",
			"Idle Ready=CredentialInUse Distributed=DistributedToConsumers Revoked=OtherCredentialsRevoked",
		},
	} {
		t.Run(target, func(t *testing.T) {
			c := newCluster(t, rotationOf(target))
			got := &timeline{}
			c.onPass = func() { got.watch(c) }
			r := c.sound()
			c.place(r)
			before := controllertest.Series(t, metrics, "")["companion_credential_rotation_rotations_total"]
			c.untilRotation(r)
			if diff := cmp.Diff(want, got.recordedText()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			status := c.rotation().Status
			for name, want := range map[string]float64{
				"rotations_total":                 before + 1,
				"last_rotation_timestamp_seconds": float64(status.LastRotation.Unix()),
				"next_rotation_timestamp_seconds": float64(status.NextRotation.Unix()),
			} {
				if got := controllertest.Series(t, metrics, "")["companion_credential_rotation_"+name]; got != want {
					t.Errorf("%s is %v, want %v", name, got, want)
				}
			}
		})
	}
}
