package controllertest

import "k8s.io/client-go/tools/events"

// Events returns the events since the previous call.
func Events(recorder *events.FakeRecorder) []string {
	var out []string
	for len(recorder.Events) > 0 {
		out = append(out, <-recorder.Events)
	}
	return out
}
